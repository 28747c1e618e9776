# SPDX-License-Identifier: Apache-2.0
"""A router for each test, a browser for all. With LUCI_SOURCE=DIR the pages run on the modules of a checkout of LuCI,
otherwise on the stand-in for them; the tests are the same.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "testing"))

from luci_pages import recording
from luci_pages.browser import Page, browser
from luci_pages.permissions import Permissions
from luci_pages.router import UPTIME_S, Output, Router
from luci_pages.site import RIGHTS, Modules, serve

RUNNING = {"instances": {"instance1": {"running": True, "pid": 2417}}}
ENDED = {"instances": {"instance1": {"running": False, "exit_code": 1}}}


@pytest.fixture(scope="session")
def modules() -> Modules:
    source = os.environ.get("LUCI_SOURCE")
    found = Modules(Path(source).resolve() if source else None)
    assert found.file("/luci-static/resources/luci.js"), f"no LuCI in {source}"
    return found


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as shown:
        yield shown


@pytest.fixture
def router() -> Router:
    """An access point whose agent is connected, with two BSSs."""
    return Router(
        Permissions.of_file(RIGHTS),
        output=at(recording.recorded("connected")),
        service=RUNNING,
        wireless={
            "phy0-ap0": {"mode": "Master", "ssid": "Attic"},
            "phy1-ap0": {"mode": "Master", "ssid": "Attic 5"},
            "phy1-sta0": {"mode": "Client", "ssid": "Uplink"},
        },
    )


@pytest.fixture
def site(router: Router, modules: Modules, page: Page) -> Iterator[str]:
    with serve(router, modules) as url:
        yield url
        # Nobody asks a router that is gone.
        page.driver.get("about:blank")
    assert router.complaints == []
    errors = [entry for entry in page.driver.get_log("browser") if is_script_error(entry)]
    assert errors == []


# LuCI shows what a form refuses, and leaves the promise that was rejected.
REFUSED = re.compile(r"Uncaught (?:\(in promise\) )?TypeError: (Option |The agent needs a controller)")


def is_script_error(entry: dict[str, Any]) -> bool:
    """Whether a line of the browser's console is about a script; files that the test's site lacks are not."""
    return entry["level"] == "SEVERE" and entry["source"] != "network" and not REFUSED.search(entry["message"])


def at(
    output: Output,
    *,
    left: timedelta = timedelta(days=20),
    renewal: timedelta = timedelta(days=8),
    report_age_s: float = 0.4,
) -> Callable[[], Output]:
    """A recorded output whose certificate ends, and is renewed, in some time from now, and of that last report."""

    def aged() -> Output:
        account = json.loads(output.stdout)
        now = datetime.now(UTC)
        for view in account["agents"]:
            if view["state"]:
                view["state"]["last_report_us"] = round((UPTIME_S - report_age_s) * 1_000_000)
            if "not_after" in (view.get("credentials") or {}):
                view["credentials"]["not_after"] = (now + left).isoformat()
                view["credentials"]["next_renewal"] = (now + renewal).isoformat()
        return Output(json.dumps(account), output.code, output.stderr)

    return aged


@pytest.fixture
def aged() -> Callable[..., Callable[[], Output]]:
    return at


@pytest.fixture
def ended() -> dict[str, Any]:
    return ENDED
