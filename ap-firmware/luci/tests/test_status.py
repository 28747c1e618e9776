# SPDX-License-Identifier: Apache-2.0
"""The status page in a browser, for what an agent and a router may answer."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from luci_pages import recording
from luci_pages.browser import Page
from luci_pages.recording import recorded
from luci_pages.router import Output, Router

Aged = Callable[..., Callable[[], Output]]


def show(page: Page, site: str) -> str:
    page.open(f"{site}/status", "#airbound-status")
    return page.text()


def credentials(**values: Any) -> Callable[[], Output]:
    """An agent that runs, and what it says of its certificate."""

    def output() -> Output:
        account = json.loads(recorded("connected").stdout)
        for view in account["agents"]:
            view["credentials"] = values
        return Output(json.dumps(account))

    return output


def test_an_agent_that_is_connected(page: Page, site: str) -> None:
    show(page, site)
    assert page.titles() == []
    agent = dict(page.rows("#airbound-agent"))
    assert agent["Agent"] == "running, version 0.1.0, process 2417"
    assert agent["Controller"] == "connected: controller.example:50051"
    name, until, renewal = agent["Certificate"].splitlines()
    assert name == "spiffe://airbound.example/access-point/attic"
    assert until.startswith("until 20")
    assert until.endswith("UTC (in 19 days)")
    assert renewal.startswith("next renewal 20")


def test_each_bss_has_a_row(page: Page, site: str) -> None:
    show(page, site)
    assert page.rows("#airbound-bss") == [
        ["phy0-ap0", "Attic\n02:00:00:00:a0:01", "2.4 GHz, 2437 MHz", "yes", "5", "less than 15 s ago", "-"],
        ["phy1-ap0", "Attic\n02:00:00:00:a1:01", "5 GHz, 5180 MHz", "yes", "3", "less than 15 s ago", "-"],
    ]


def test_a_multi_link_device(page: Page, site: str, router: Router) -> None:
    account = json.loads(recorded("connected").stdout)
    account["agents"][0]["state"]["links"] = [0, 1]
    router.output = lambda: Output(json.dumps(account))
    show(page, site)
    assert page.rows("#airbound-bss")[0][2] == "2 links (multi-link device)"


def test_edca_parameters_in_force_and_why(page: Page, site: str) -> None:
    show(page, site)
    first, second = page.rows("#airbound-edca")
    assert first[:2] == ["phy0-ap0", "the controller's"]
    assert first[2].splitlines() == [
        "background: AIFSN 9, CW 15 to 1023 (own: AIFSN 7)",
        "best effort: AIFSN 5, CW 15 to 63 (own: AIFSN 3)",
        "video: AIFSN 1, CW 7 to 15, TXOP 3008 µs",
        "voice: AIFSN 1, CW 3 to 7, TXOP 1504 µs",
    ]
    reason, lease = first[3].splitlines()
    assert reason == recording.UPLOADS
    assert lease.startswith("The lease lasts for at least 4.")
    assert second[:2] == ["phy1-ap0", "the access point's own"]
    assert len(second[2].splitlines()) == 4
    assert second[3] == "the controller has not set EDCA parameters yet"


def test_what_stations_are_told(page: Page, site: str, router: Router) -> None:
    account = json.loads(recorded("connected").stdout)
    told = [{"category": "best effort", "aifsn": 3, "cw_min": 31, "cw_max": 1023, "txop_limit": 0}]
    for agent in account["agents"]:
        agent["state"]["announced"] = told
    router.output = lambda: Output(json.dumps(account))
    show(page, site)
    first, second = page.rows("#airbound-edca")
    assert first[2].splitlines()[-1] == "stations, best effort: AIFSN 3, CW 31 to 1023"
    assert len(second[2].splitlines()) == 4, "nothing is in force"


def test_windows_that_are_limited(page: Page, site: str) -> None:
    show(page, site)
    first, second = page.rows("#airbound-windows")
    assert first[:3] == ["phy0-ap0", "2 stations", "31"]
    reason, lease = first[3].splitlines()
    assert reason == recording.SENDERS
    assert lease.startswith("The lease lasts for at least 3.")
    assert second == ["phy1-ap0", "not limited", "31", "the controller has not limited windows yet"]


def test_packets_that_are_sent_as_video(page: Page, site: str) -> None:
    show(page, site)
    first, second = page.rows("#airbound-station-flows")
    assert first[:3] == ["phy0-ap0", "2 flows to 1 station", "9214"]
    reason, lease = first[3].splitlines()
    assert reason == recording.LIVE_FLOWS
    assert lease.startswith("The lease lasts for at least 2.")
    assert second == ["phy1-ap0", "none", "0", "the controller has not set flows yet"]


def test_an_agent_that_may_not_change_packets(page: Page, site: str, router: Router, aged: Aged) -> None:
    router.output = aged(recorded("without-controller"))
    show(page, site)
    assert page.rows("#airbound-station-flows") == [
        ["phy0-ap0", "switched off", "-", 'The setting "Live streams" of this access point does not permit it.']
    ]


@pytest.mark.parametrize(
    ("flows", "sent", "packets", "because"),
    [
        ({"refusal": "no BPF", "packets_marked_total": 3, "reason": "x"}, "cannot be changed", "-", "no BPF"),
        ({"generation": 1, "flows": 1, "stations": 3, "packets_marked_total": 5}, "1 flow to 3 stations", "5", "-"),
        ({"generation": 1, "flows": 2, "reason": "x"}, "2 flows to some stations", "-", "x"),
        ({"generation": 1, "stations": 1}, "1 station", "-", "-"),
        ({"generation": "x", "flows": [], "stations": {}, "reason": 7}, "none", "-", "-"),
    ],
)
def test_packets_that_are_sent_as_video_or_not_and_why(
    page: Page, site: str, router: Router, *, flows: dict[str, Any], sent: str, packets: str, because: str
) -> None:
    account = json.loads(recorded("connected").stdout)
    account["agents"][0]["state"]["station_flows"] = flows
    account["agents"][0]["station_flows_lease_left_ms"] = 0
    router.output = lambda: Output(json.dumps(account))
    show(page, site)
    assert page.rows("#airbound-station-flows")[0][1:] == [sent, packets, because]


def test_an_agent_that_may_not_follow_connections(page: Page, site: str, router: Router, aged: Aged) -> None:
    router.output = aged(recorded("without-controller"))
    show(page, site)
    assert page.rows("#airbound-windows") == [
        ["phy0-ap0", "switched off", "-", 'The setting "Receive windows" of this access point does not permit it.']
    ]


@pytest.mark.parametrize(
    ("windows", "limited", "because"),
    [
        ({"generation": 0, "reason": "the controller has not limited windows yet"}, "not limited", "the controller"),
        ({"refusal": "load the programs: operation not permitted"}, "cannot be limited", "load the programs"),
        ({"generation": 1, "stations": 1, "reason": "x"}, "1 station", "x"),
        ({"generation": 1, "limits": 3, "reason": "x"}, "limited", "x"),
    ],
)
def test_windows_that_are_not_limited_and_why(
    page: Page, site: str, router: Router, windows: dict[str, Any], limited: str, because: str
) -> None:
    account = json.loads(recorded("connected").stdout)
    account["agents"][0]["state"]["windows"] = windows
    account["agents"][0]["windows_lease_left_ms"] = 0
    router.output = lambda: Output(json.dumps(account))
    show(page, site)
    row = page.rows("#airbound-windows")[0]
    assert row[1] == limited
    assert row[3].startswith(because)


def test_the_page_refreshes_itself(page: Page, site: str, router: Router, aged: Aged) -> None:
    show(page, site)
    runs = router.runs
    router.output = aged(recorded("without-controller"), report_age_s=754)
    page.wait(lambda: len(page.rows("#airbound-bss")) == 1)
    assert router.runs > runs
    assert dict(page.rows("#airbound-agent"))["Controller"] == (
        "not connected, the agent tries again: controller.example:50051"
    )
    (row,) = page.rows("#airbound-bss")
    assert row[3:] == ["no", "0", "0h 12m 34s ago", "connect: dial tcp 192.0.2.1:50051: connect: no route to host"]


def test_a_router_that_does_not_answer_keeps_the_last_status_with_a_message(
    page: Page, site: str, router: Router
) -> None:
    show(page, site)

    def broken() -> Output:
        return Output("", 1, "airbound-ap: status: phy0-ap0: read the state file: input/output error")

    router.output = broken
    page.wait(lambda: page.titles() == ["The status cannot be read"])
    assert "input/output error" in page.text()


def test_a_token_that_was_used(page: Page, site: str, router: Router, aged: Aged, ended: dict[str, Any]) -> None:
    router.output, router.service = aged(recorded("token-used")), ended
    text = show(page, site)
    assert page.titles() == ["The agent is not running", "Enrolment failed"]
    assert f"{recording.REFUSED} (since 2026-11-22 10:00:00 UTC)" in text
    assert "airbound enroll access-point NAME" in text
    assert "ended with exit code 1" in text
    # By a script, since the page replaces its elements.
    link = page.script("return document.querySelector('.alert-message.danger:nth-of-type(3) a').href")
    assert link.endswith("/airbound/settings")
    assert dict(page.rows("#airbound-agent")) == {
        "Agent": "not running",
        "Controller": "-",
        "Certificate": "not enrolled",
    }


@pytest.mark.parametrize(
    ("code", "says", "needs_token"),
    [
        ("TOKEN_EXPIRED", "airbound enroll access-point NAME", True),
        ("TOKEN_MALFORMED", "Copy the whole token", False),
        ("CONTROLLER_UNREACHABLE", "Check that this access point has a network", False),
        ("CONTROLLER_NOT_IN_TOKEN", "The token is of another controller", True),
        ("DISK_FULL", "Delete what is not needed", False),
        ("A_CODE_OF_LATER", "the agent tries again by itself", True),
    ],
)
def test_what_to_do_about_a_failed_enrolment(
    page: Page,
    site: str,
    router: Router,
    code: str,
    says: str,
    *,
    needs_token: bool,
) -> None:
    router.output = credentials(last_error="it failed", last_error_code=code)
    text = show(page, site)
    assert page.titles() == ["Enrolment failed"]
    assert says in text
    assert ("airbound enroll" in text) is needs_token


def test_an_access_point_that_was_revoked(page: Page, site: str, router: Router) -> None:
    router.output = credentials(id="spiffe://a/access-point/b", last_error="x", last_error_code="CERTIFICATE_REVOKED")
    text = show(page, site)
    assert page.titles() == ["A connection or a renewal fails"]
    assert "An operator revoked this access point" in text


def test_an_agent_that_stopped(page: Page, site: str, router: Router, aged: Aged) -> None:
    router.output, router.service = aged(recorded("stopped")), {}
    text = show(page, site)
    assert page.titles() == ["The agent is not running"]
    assert "has not been started, or has ended" in text
    assert page.rows("#airbound-bss")[0][3:] == ["no agent", "-", "-", "-"]
    assert page.all("#airbound-edca") == []


def test_an_agent_that_was_killed_leaves_parameters(page: Page, site: str, router: Router, aged: Aged) -> None:
    router.output, router.service = aged(recorded("killed")), {}
    show(page, site)
    assert page.titles() == ["The agent is not running", "phy0-ap0: EDCA parameters were left changed"]


def test_a_disabled_agent(page: Page, site: str, router: Router) -> None:
    assert router.config
    router.config["main"]["enabled"] = "0"
    nothing = recorded("nothing")
    router.output, router.service = (lambda: nothing), {}
    show(page, site)
    assert page.titles() == ["The agent is disabled"]
    assert dict(page.rows("#airbound-agent"))["Agent"] == "disabled"
    assert page.rows("#airbound-bss") == [["There is none."]]


def test_no_controller(page: Page, site: str, router: Router) -> None:
    assert router.config
    del router.config["main"]["controller"]
    nothing = recorded("nothing")
    router.output, router.service = (lambda: nothing), {}
    show(page, site)
    assert page.titles() == ["No controller"]


def test_a_running_agent_without_a_bss(page: Page, site: str, router: Router) -> None:
    nothing = recorded("nothing")
    router.output = lambda: nothing
    show(page, site)
    assert page.titles() == ["No BSS"]
    assert dict(page.rows("#airbound-agent"))["Agent"] == "running"


def test_no_program(page: Page, site: str, router: Router) -> None:
    router.output, router.config, router.service = None, None, {}
    text = show(page, site)
    assert page.titles() == ["The agent is not installed"]
    assert "Install the package airbound-ap" in text


def test_a_user_without_the_right(page: Page, site: str, router: Router) -> None:
    del router.permissions.scopes["file"]
    show(page, site)
    assert page.titles() == ["No permission"]


@pytest.mark.parametrize(
    ("stdout", "says"),
    [
        ("", "JSON"),
        ("agent        not running\n", "JSON"),
        ('{"schema": 2, "agents": [', "JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"running": true}', "its schema is undefined, this page reads 2"),
        ('{"schema": 3, "agents": []}', "its schema is 3, this page reads 2"),
        ('{"schema": 2, "agents": {}}', "it has no list of agents"),
        ('{"schema": 2, "agents": [1]}', "it has no list of agents"),
    ],
)
def test_output_that_is_none(page: Page, site: str, router: Router, stdout: str, says: str) -> None:
    router.output = lambda: Output(stdout)
    text = show(page, site)
    assert page.titles() == ["The status cannot be read"]
    assert says in text
    assert dict(page.rows("#airbound-agent"))["Agent"] == "running"
    assert page.rows("#airbound-bss") == [["There is none."]]


@pytest.mark.parametrize(
    "view",
    [
        {},
        {"running": True},
        {"running": True, "state": {}, "credentials": {}},
        {"running": "yes", "state": [], "credentials": "none", "lease_left_ms": "many"},
        {"running": True, "state": {"windows": {"refusal": 1, "generation": "x"}}, "windows_lease_left_ms": []},
        {"running": True, "state": {"queues": [1, None], "own": {}, "stations_reported": None, "ssid": 7}},
        {"running": True, "credentials": {"id": "x", "not_after": "tomorrow"}},
    ],
)
def test_fields_may_be_absent_or_of_another_type(page: Page, site: str, router: Router, view: dict[str, Any]) -> None:
    router.output = lambda: Output(json.dumps({"schema": 2, "agents": [view]}))
    show(page, site)
    (row,) = page.rows("#airbound-bss")
    assert row[0] == "?"
    assert page.all("pre") == []
    assert "undefined" not in page.text()
    assert "NaN" not in page.text()


def test_what_a_network_calls_itself_is_text(page: Page, site: str, router: Router) -> None:
    evil = "<img src=x onerror=document.title='run'>"
    account = json.loads(recorded("connected").stdout)
    for view in account["agents"]:
        view["interface"] = evil
        view["not_restored"] = {}
        view["credentials"] = {"id": evil, "last_error": evil}
        view["state"].update(
            dict.fromkeys(("ssid", "bssid", "band", "controller", "reason", "refusal", "last_error", "version"), evil)
        )
        view["state"]["restore_error"] = evil
        view["state"]["windows"] = {"refusal": evil}
        view["state"]["station_flows"] = {"refusal": evil}
        view["state"]["queues"] = [{"category": evil, "aifsn": evil, "cw_min": evil, "cw_max": 1}]
    router.output = lambda: Output(json.dumps(account))
    text = show(page, site)
    assert text.count(evil) > 20
    assert page.all("#view img") == []
    assert page.driver.title != "run"


@pytest.mark.parametrize(
    ("left", "renewal", "titles"),
    [
        (timedelta(days=20), timedelta(days=8), []),
        (timedelta(days=2), timedelta(hours=1), []),
        (timedelta(days=2), timedelta(hours=-1), ["The certificate ends soon"]),
        (timedelta(hours=-1), timedelta(hours=-9), ["The certificate has ended"]),
    ],
)
def test_the_end_of_a_certificate(
    page: Page, site: str, router: Router, aged: Aged, left: timedelta, renewal: timedelta, titles: list[str]
) -> None:
    router.output = aged(recorded("connected"), left=left, renewal=renewal)
    show(page, site)
    assert page.titles() == titles


def test_a_renewal_that_fails(page: Page, site: str, router: Router) -> None:
    router.output = credentials(id="spiffe://a/access-point/b", last_error="renew the certificate: revoked")
    text = show(page, site)
    assert page.titles() == ["A connection or a renewal fails"]
    assert "renew the certificate: revoked" in text


def test_an_agent_without_certificate_and_token(page: Page, site: str, router: Router) -> None:
    router.output = credentials(plain_text=False)
    show(page, site)
    assert page.titles() == ["Not enrolled"]


def test_an_agent_that_is_about_to_use_its_token(page: Page, site: str, router: Router) -> None:
    assert router.config
    router.config["main"]["token"] = "A" * 66
    router.output = credentials(plain_text=False)
    show(page, site)
    assert page.titles() == []
    assert dict(page.rows("#airbound-agent"))["Certificate"] == "not enrolled"


def test_plain_text(page: Page, site: str, router: Router) -> None:
    router.output = credentials(plain_text=True)
    show(page, site)
    assert dict(page.rows("#airbound-agent"))["Certificate"] == "none: connections are not encrypted"
