# SPDX-License-Identifier: Apache-2.0
"""A check on the status page, in a browser: how far it is, what came out, and the button that asks for one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from luci_pages.browser import Page
from luci_pages.recording import CHECKED, WORTH_IT, recorded
from luci_pages.router import UPTIME_S, Output, Router

CHECK = {"id": "1", "asked_monotonic_us": (UPTIME_S - 130) * 1_000_000}
ASKED = "asked for 0h 2m 10s ago"
LAST = {"asked_monotonic_us": (UPTIME_S - 750) * 1_000_000, "line": CHECKED, "verdict": WORTH_IT}
LAST_ASKED = "asked for 0h 12m 30s ago"


def with_check(check: dict[str, Any] | None) -> Callable[[], Output]:
    """A connected agent with one BSS, for which this check was asked for."""
    account = json.loads(recorded("connected").stdout)
    account["agents"] = account["agents"][:1]
    state = account["agents"][0]["state"]
    state["last_report_us"] = UPTIME_S * 1_000_000
    del state["check"]
    if check is not None:
        state["check"] = check
    return lambda: Output(json.dumps(account))


def row(page: Page, site: str, router: Router, check: dict[str, Any] | None) -> list[str]:
    router.output = with_check(check)
    page.open(f"{site}/status", "#airbound-checks")
    (found,) = page.rows("#airbound-checks")
    return list(found)


def is_enabled(page: Page) -> bool:
    return bool(page.script("return !document.querySelector('#airbound-check').disabled;"))


def click(page: Page) -> None:
    page.script("document.querySelector('#airbound-check').click();")


@pytest.mark.parametrize(
    ("fields", "says", "may_ask"),
    [
        ({}, f"Asked for; the controller has not answered yet.\n{ASKED}", False),
        ({"turn": 4, "turns": 12}, f"turn 4 of 12\n{ASKED}", False),
        ({"refusal": "nobody sends"}, f"None: nobody sends\n{ASKED}", True),
        (
            {"turn": 4, "turns": 12, "refusal": "ended, since an operator chose a mode"},
            f"No result, in turn 4 of 12: ended, since an operator chose a mode\n{ASKED}",
            True,
        ),
        (
            {"refusal": "the last check began 620 s ago", "last": LAST},
            f"None: the last check began 620 s ago\n{ASKED}\n{WORTH_IT}\n{CHECKED}\n{LAST_ASKED}",
            True,
        ),
        ({"turn": 4, "turns": 12, "last": LAST}, f"turn 4 of 12\n{ASKED}\n{WORTH_IT}\n{CHECKED}\n{LAST_ASKED}", False),
        ({"turn": 12, "turns": 12, "line": CHECKED, "verdict": WORTH_IT}, f"{WORTH_IT}\n{CHECKED}\n{ASKED}", True),
    ],
)
def test_how_far_a_check_is_and_what_came_out(
    page: Page, site: str, router: Router, fields: dict[str, Any], says: str, *, may_ask: bool
) -> None:
    assert row(page, site, router, CHECK | fields) == ["phy0-ap0", says]
    assert is_enabled(page) is may_ask


def test_before_the_first_one(page: Page, site: str, router: Router) -> None:
    assert row(page, site, router, None) == ["phy0-ap0", "-"]
    assert is_enabled(page)


def test_the_recorded_result(page: Page, site: str, router: Router) -> None:
    assert router.output is not None
    page.open(f"{site}/status", "#airbound-checks")
    first, second = page.rows("#airbound-checks")
    assert first[1].startswith(f"{WORTH_IT}\n{CHECKED}")
    assert second == ["phy1-ap0", "-"]


def test_the_button_asks(page: Page, site: str, router: Router) -> None:
    row(page, site, router, None)
    click(page)
    page.wait(lambda: router.checks == 1)
    router.output = with_check(CHECK)
    page.wait(lambda: page.rows("#airbound-checks")[0][1].startswith("Asked for; "))
    assert not is_enabled(page)
    assert page.text("#airbound-check-failed") == ""


def test_why_none_could_be_asked_for(page: Page, site: str, router: Router) -> None:
    row(page, site, router, None)
    router.check = Output("phy0-ap0: not asked for: the agent is not connected to the controller\n", 1)
    click(page)
    says = "Not asked for: phy0-ap0: not asked for: the agent is not connected to the controller"
    page.wait(lambda: page.text("#airbound-check-failed") == says)
    assert is_enabled(page)
    # Also after the page has asked the router again.
    runs = router.runs
    page.wait(lambda: router.runs >= runs + 2)
    assert page.text("#airbound-check-failed") == says


def test_markup_from_the_controller_is_text(page: Page, site: str, router: Router) -> None:
    found = row(page, site, router, CHECK | {"line": "<b>x</b>", "verdict": "<img src=x onerror=alert(1)>"})
    assert found[1].startswith("<img src=x onerror=alert(1)>\n<b>x</b>")
