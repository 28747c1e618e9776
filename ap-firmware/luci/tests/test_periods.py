# SPDX-License-Identifier: Apache-2.0
"""Before and after a switch of the controller's mode, on the status page, in a browser."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from luci_pages.browser import Page
from luci_pages.recording import recorded
from luci_pages.router import UPTIME_S, Output, Router

OBSERVED = {
    "mode": "observe",
    "ended_monotonic_us": (UPTIME_S - 3700) * 1_000_000,
    "upload_seconds": 610,
    "carried_kbps": 24_300,
    "rtt_us": 412_000,
    "uploaders": 3.1,
}
CONTROLLED = {"mode": "control", "upload_seconds": 1735, "carried_kbps": 38_900, "rtt_us": 17_200, "uploaders": 3.0}
OF_OBSERVED = "observe (nothing is limited); 3.1 devices uploading, measured for 0h 10m 10s"
NOT_YET = "Not known yet: two devices or more must upload for a minute."


def with_state(**fields: Any) -> Callable[[], Output]:
    """A connected agent with one BSS, and something else in its state; of None nothing."""
    account = json.loads(recorded("connected").stdout)
    account["agents"] = account["agents"][:1]
    state = account["agents"][0]["state"]
    state |= {"last_report_us": UPTIME_S * 1_000_000, "mode": "control", "before": OBSERVED, "since": CONTROLLED}
    state |= fields
    account["agents"][0]["state"] = {name: value for name, value in state.items() if value is not None}
    return lambda: Output(json.dumps(account))


def row(page: Page, site: str, router: Router, **fields: Any) -> list[str]:
    router.output = with_state(**fields)
    page.open(f"{site}/status", "#airbound-periods")
    (found,) = page.rows("#airbound-periods")
    return list(found)


def test_before_and_after_a_switch(page: Page, site: str, router: Router) -> None:
    assert row(page, site, router) == [
        "phy0-ap0",
        "control",
        f"24.3 Mb/s, delay 412 ms\n{OF_OBSERVED}, until 1h 1m 40s ago",
        "38.9 Mb/s, delay 17 ms\ncontrol; 3.0 devices uploading, measured for 0h 28m 55s",
        "carried: +60 %, delay: -96 %",
    ]


def test_what_is_not_known_yet(page: Page, site: str, router: Router) -> None:
    found = row(page, site, router, before=None, since={**CONTROLLED, "upload_seconds": 59})
    assert found == ["phy0-ap0", "control", NOT_YET, NOT_YET, "-"]
    found = row(page, site, router, since={**CONTROLLED, "upload_seconds": 60})
    assert found[3].startswith("38.9 Mb/s")


def test_a_controller_that_does_not_say_its_mode(page: Page, site: str, router: Router) -> None:
    assert row(page, site, router, mode=None, before=None, since=None) == ["phy0-ap0", "not known", "-", "-", "-"]


def test_a_delay_that_is_not_known(page: Page, site: str, router: Router) -> None:
    found = row(page, site, router, before={**OBSERVED, "rtt_us": 0})
    assert found[2].startswith("24.3 Mb/s\nobserve")
    assert found[4] == "carried: +60 %"


@pytest.mark.parametrize(
    ("uploaders", "says"),
    [
        (3.8, "carried: +60 %, delay: -96 %"),
        (3.9, "Not comparable: the number of uploading devices differs."),
        (2.5, "carried: +60 %, delay: -96 %"),
        (2.4, "Not comparable: the number of uploading devices differs."),
    ],
)
def test_periods_with_other_numbers_of_senders_are_not_compared(
    page: Page, site: str, router: Router, uploaders: float, says: str
) -> None:
    assert row(page, site, router, since={**CONTROLLED, "uploaders": uploaders})[4] == says


def test_a_controller_that_only_observes(page: Page, site: str, router: Router) -> None:
    devices = [{"mac": "02:00:00:00:01:07", "uploads": True}]
    found = row(page, site, router, mode="observe", before=CONTROLLED, since=OBSERVED, devices=devices)
    assert found[1] == "observe: nothing is limited"
    assert found[4] == "carried: -38 %, delay: +2295 %"
    line = page.text("#airbound-summary p:first-child")
    assert 'nothing is limited: the controller only observes. Next step: "airbound mode control" where' in line
