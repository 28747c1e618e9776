# SPDX-License-Identifier: Apache-2.0
"""The status page's first line, the devices and the switch, in a browser."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from luci_pages.browser import Page
from luci_pages.recording import recorded
from luci_pages.router import OK, PERMISSION_DENIED, UPTIME_S, Output, Router

Aged = Callable[..., Callable[[], Output]]

HIGH_US = 39_200
"""An RTT that is 30 ms above the least one of the first device."""


def first_line(page: Page, site: str) -> str:
    page.open(f"{site}/status", "#airbound-summary")
    return page.text("#airbound-summary p:first-child")


# By scripts, since the page replaces its elements.
def level(page: Page) -> str:
    return str(page.script("return document.querySelector('#airbound-summary').className"))


def click_the_switch(page: Page) -> None:
    click = "const found = document.querySelector('#airbound-switch'); found?.click(); return Boolean(found);"
    page.wait(lambda: page.script(click))


def with_state(change: Callable[[dict[str, Any]], None]) -> Callable[[], Output]:
    """A connected agent with one BSS, and something else about its state."""
    account = json.loads(recorded("connected").stdout)
    account["agents"] = account["agents"][:1]
    state = account["agents"][0]["state"]
    state["last_report_us"] = UPTIME_S * 1_000_000
    change(state)
    return lambda: Output(json.dumps(account))


def test_it_is_good(page: Page, site: str, router: Router) -> None:
    router.hints = {"02:00:00:00:01:07": {"name": "camera"}}
    assert first_line(page, site) == (
        "Airbound is working. 8 devices, uploading: camera (38 % of the air), 192.168.1.101 (31 % of the air), "
        "192.168.1.102 (12 % of the air); 2 devices are limited. The delay is low: 17 ms, at rest 9 ms."
    )
    assert "success" in level(page)


def test_the_delay_is_high(page: Page, site: str, router: Router) -> None:
    def with_rtt(rtt_us: int) -> Callable[[], Output]:
        def change(state: dict[str, Any]) -> None:
            state["devices"] = [{**state["devices"][0], "srtt_us": rtt_us}]

        return with_state(change)

    router.output = with_rtt(HIGH_US)
    assert first_line(page, site).endswith("1 device is limited. The delay is high: 39 ms, at rest 9 ms.")
    assert "warning" in level(page)
    router.output = with_rtt(HIGH_US - 1000)
    assert first_line(page, site).endswith("The delay is low: 38 ms, at rest 9 ms.")
    assert "success" in level(page)


@pytest.mark.parametrize(
    ("windows", "says"),
    [
        (None, 'nothing is limited, since the setting "Receive windows" does not permit it.'),
        (
            {"refusal": "the kernel has neither TCX nor clsact"},
            'the kernel has neither TCX nor clsact. Next step: "apk add kmod-sched-core kmod-sched-bpf"',
        ),
        ({"refusal": "no memory"}, 'nothing can be limited: no memory. Next step: "airbound-ap doctor"'),
        ({"reason": "observe mode: computed and shown, not applied"}, "nothing is limited: observe mode"),
        ({}, "nothing is limited."),
    ],
)
def test_nothing_is_limited_and_why(
    page: Page, site: str, router: Router, windows: dict[str, Any] | None, says: str
) -> None:
    def change(state: dict[str, Any]) -> None:
        state["devices"], state["windows"] = [], windows

    router.output = with_state(change)
    line = first_line(page, site)
    assert line.startswith("Airbound is working. 5 devices, none of them uploads; ")
    assert says in line
    assert "The delay is not known while nothing is uploaded." in line


def test_an_upload_without_a_limit_and_without_a_reason(page: Page, site: str, router: Router) -> None:
    def change(state: dict[str, Any]) -> None:
        state["devices"], state["windows"] = [{**state["devices"][0], "limit_bytes": 0}], {}

    router.output = with_state(change)
    line = first_line(page, site)
    assert 'nothing is limited, and the reason is unknown. Next step: "airbound-ap doctor" on the access' in line


def test_more_uploads_than_fit(page: Page, site: str, router: Router) -> None:
    def change(state: dict[str, Any]) -> None:
        state["devices"] = [{**state["devices"][0], "mac": f"02:00:00:00:02:{i:02x}"} for i in range(5)]

    router.output = with_state(change)
    assert "(38 % of the air), and 2 more; 5 devices are limited" in first_line(page, site)


def test_it_is_not_working(page: Page, site: str, router: Router, aged: Aged, ended: dict[str, Any]) -> None:
    router.output = aged(recorded("without-controller"), report_age_s=754)
    assert first_line(page, site).startswith("Airbound is not working now. The controller has no report")
    router.output = aged(recorded("connected"), report_age_s=20)
    assert "airbound-ap doctor" in first_line(page, site)
    router.output, router.service = aged(recorded("token-used")), ended
    assert first_line(page, site) == (
        "Airbound is not working now. All devices send as without it. The next step stands below."
    )


def test_devices_and_who_takes_the_air(page: Page, site: str, router: Router) -> None:
    router.hints = {"02:00:00:00:01:07": {"name": "<b>camera</b>"}}
    first_line(page, site)
    rows = page.rows("#airbound-devices")
    idle = rows[4:7]
    assert [row[0] for row in idle] == [f"192.168.1.{100 + i}\n02:00:00:00:01:{i:02x}, phy1-ap0" for i in (8, 9, 10)]
    assert [*rows[:4], *rows[7:]] == [
        [
            "<b>camera</b>\n192.168.1.107, 02:00:00:00:01:07, phy0-ap0",
            "38.2 %",
            "7.9",
            "0.2",
            "-54",
            "26.0 / 144.4",
            "18.2 (9.1)",
            "23 kB in flight",
        ],
        [
            "192.168.1.101\n02:00:00:00:01:01, phy0-ap0",
            "31.4 %",
            "22.3",
            "0.2",
            "-42",
            "144.4 / 144.4",
            "16.4 (8.7)",
            "47 kB in flight",
        ],
        [
            "192.168.1.102\n02:00:00:00:01:02, phy0-ap0",
            "12.0 %",
            "8.1",
            "0.2",
            "-44",
            "144.4 / 144.4",
            "15.9 (8.9)",
            "none by the controller: it has an agent of its own, or is exempt",
        ],
        [
            "192.168.1.103\n02:00:00:00:01:03, phy0-ap0",
            "0.6 %",
            "-",
            "4.1",
            "-46",
            "144.4 / 144.4",
            "-",
            "none: it does not upload",
        ],
        [
            "02:00:00:00:01:04\nphy0-ap0",
            "0.0 %",
            "-",
            "-",
            "-",
            "144.4 / 144.4",
            "-",
            "none: it does not upload",
        ],
    ]


def test_the_switch(page: Page, site: str, router: Router) -> None:
    first_line(page, site)
    assert page.text("#airbound-switch") == "Switch off"
    click_the_switch(page)
    page.wait(lambda: router.applied == ["apply", "confirm"])
    assert router.config
    assert router.config["main"]["enabled"] == "0"
    nothing = recorded("nothing")
    router.output, router.service = (lambda: nothing), {}
    page.wait(lambda: page.text("#airbound-switch") == "Switch on")
    off = "Airbound is switched off. All devices send as without it."
    page.wait(lambda: page.text("#airbound-summary p:first-child") == off)
    click_the_switch(page)
    page.wait(lambda: router.config["main"]["enabled"] == "1")


def test_a_switch_that_fails_goes_back(page: Page, site: str, router: Router) -> None:
    router.apply_status = PERMISSION_DENIED
    first_line(page, site)
    click_the_switch(page)
    page.wait(lambda: page.text("#airbound-switch-failed") == "Not changed: Permission denied")
    assert router.config
    assert router.config["main"]["enabled"] == "1"
    # Also after the page has asked the router again.
    runs = router.runs
    page.wait(lambda: router.runs >= runs + 2)
    assert page.text("#airbound-switch") == "Switch off"
    assert page.text("#airbound-switch-failed") == "Not changed: Permission denied"
    router.apply_status = OK
    click_the_switch(page)
    page.wait(lambda: page.text("#airbound-switch-failed") == "")
    page.wait(lambda: router.applied == ["apply", "confirm"])
    assert router.config["main"]["enabled"] == "0"


def test_the_switch_applies_nothing_else(page: Page, site: str, router: Router) -> None:
    router.waiting = {"wireless": [["set", "radio0", "channel", "6"]]}
    first_line(page, site)
    click_the_switch(page)
    page.wait(lambda: page.text("#airbound-switch-failed") != "")
    assert "other changes wait" in page.text("#airbound-switch-failed")
    assert router.changes == []
    assert router.applied == []
