# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import json
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pytest

from airbound_lab.guest import applications, cell, certificates, components, main, roaming, switch
from airbound_lab.plan import guest_paths, guest_plan, topology
from airbound_lab.plan.guest_paths import Programs
from airbound_lab.settings import modes, radio
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import (
    BUILT_IN,
    HOSTAPD_ACTIONS,
    OPERATOR_ACTIONS,
    ROAMING_ACTIONS,
    TRAFFIC_ACTIONS,
    WALKING_ACTIONS,
    Action,
    Do,
    Scenario,
    built_in,
)
from airbound_lab.settings.values import Window

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROGRAMS = Programs(
    "/b/airbound-traffic", "/b/python", "/b/controller", "/b/airbound-ap", "/b/airbound-phone", "/b/commands.py"
)

BUSY = Scenario(
    "busy",
    (
        Action(0, "start-traffic", phone=1),
        Action(1, "start-traffic", phone=2, protocol="udp", rate_mbps=1.5, on_s=0.5, off_s=0.25),
        Action(1, "start-traffic", phone=3, protocol="udp"),
        Action(2, "stop-traffic", phone=1),
        Action(3, "start-traffic", phone=1),
        Action(4, "kill", component="controller"),
        Action(6, "start", component="controller"),
        Action(99, "start", component="ap"),
    ),
)


@pytest.mark.parametrize("mode", [*modes.NAMED, "bdp+vegas", "paper-jb+bbr"])
@pytest.mark.parametrize("scenario", [*map(built_in, BUILT_IN), BUSY], ids=lambda s: s.name)
def test_the_generator_accepts_every_plan(mode: str, scenario: Scenario, traffic: Path, tmp_path: Path) -> None:
    parameters = Parameters(scenario=scenario, terminals=8, wired_delays_ms=(4.0, 64.0), seconds=8, access_points=2)
    cell = topology.build(parameters)
    plan = tmp_path / "plan"
    plan.write_text(guest_plan.traffic_plan(cell, mode, seed=1).replace("T0_NS", "1000000000"), encoding="utf-8")
    result = subprocess.run([traffic, "check", plan], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_flow_has_its_address_its_times_and_its_rate() -> None:
    cell = topology.build(Parameters(scenario=BUSY, terminals=3, wired_delays_ms=(4.0, 64.0), seconds=8))
    lines = guest_plan.traffic_plan(cell, "bbr", seed=1).splitlines()
    assert "recv name=server2-udp netns=server2 protocol=udp address=10.0.5.1:5001" in lines
    tcp = "send name=sta1 netns=sta1 protocol=tcp address=10.0.4.1:5001"
    assert f"{tcp} start_ms=0 stop_ms=2000 congestion=bbr" in lines
    assert f"{tcp} start_ms=3000 stop_ms=8000 congestion=bbr" in lines
    assert (
        "send name=sta2 netns=sta2 protocol=udp address=10.0.5.1:5001 start_ms=1000 stop_ms=8000 "
        "payload_bytes=1470 rate_kbps=1500 on_ms=500 off_ms=250"
    ) in lines


def test_dctcp_is_at_both_ends_of_an_upload_and_no_other_mode_names_a_receivers() -> None:
    cell = topology.build(Parameters(scenario=BUSY, terminals=3, wired_delays_ms=(4.0, 64.0), seconds=8))
    plans = {mode: guest_plan.traffic_plan(cell, mode, seed=1).splitlines() for mode in ("dctcp", "bbr")}
    recv = "recv name=server1-tcp netns=server1 protocol=tcp address=10.0.4.1:5001"
    assert f"{recv} congestion=dctcp" in plans["dctcp"]
    assert recv in plans["bbr"]
    assert "recv name=server2-udp netns=server2 protocol=udp address=10.0.5.1:5001" in plans["dctcp"]


@pytest.mark.parametrize("mode", [*modes.NAMED, "bdp+vegas", "paper-jb+bbr"])
def test_airbound_runs_in_its_own_modes_only(mode: str) -> None:
    plan = guest_plan.plan(Parameters(scenario=BUSY, terminals=3, seconds=8), mode, 1, PROGRAMS)
    names = [component["name"] for component in plan["components"]]
    if modes.parse(mode).has_agents:
        assert names == ["controller", "ap", "phone1", "phone2", "phone3"]
        assert [(a["at_ms"], a["do"]) for a in plan["timeline"]] == [(4000, "kill"), (6000, "start")]
        assert "watch name=sta3" in plan["traffic"]["plan"]
    else:
        assert names == []
        assert plan["timeline"] == []
        assert "watch" not in plan["traffic"]["plan"]


@pytest.mark.parametrize("mode", ["cubic", "bdp"])
def test_hostapd_reloads_in_every_mode_and_agents_end_where_there_are_any(mode: str) -> None:
    actions = (
        Action(0, "start-traffic"),
        Action(2, "reload-hostapd"),
        Action(3, "stop", component="ap"),
        Action(4, "restart-radio"),
        Action(9, "reload-hostapd"),
    )
    plan = guest_plan.plan(Parameters(scenario=Scenario("x", actions), terminals=1, seconds=8), mode, 1, PROGRAMS)
    expected = [(2000, "reload-hostapd", ""), (3000, "stop", "ap"), (4000, "restart-radio", "")]
    assert [(action["at_ms"], action["do"], action["component"]) for action in plan["timeline"]] == [
        action for action in expected if mode == "bdp" or not action[2]
    ]


def test_the_guest_carries_out_every_action() -> None:
    assert {*switch.SWITCH_ACTIONS} == {*components.ACTIONS}
    done = {*components.ACTIONS, *cell.HOSTAPD_ACTIONS, *certificates.OPERATOR_ACTIONS, *TRAFFIC_ACTIONS}
    assert done | {*ROAMING_ACTIONS, *WALKING_ACTIONS, applications.START_APPLICATION} == {*get_args(Do)}
    assert {*WALKING_ACTIONS} == {main.WALK}
    assert set(cell.HOSTAPD_ACTIONS) == set(HOSTAPD_ACTIONS)
    assert set(certificates.OPERATOR_ACTIONS) == set(OPERATOR_ACTIONS)


TWO = {"terminals": 3, "access_points": 2, "seconds": 30}


def test_the_second_access_point_has_a_radio_an_hostapd_and_an_agent_of_its_own() -> None:
    plan = guest_plan.plan(Parameters(**TWO, tls=True), "bdp", 1, PROGRAMS)
    [other] = plan["other_access_points"]
    assert [other[key] for key in ("name", "netns", "radio", "interface")] == ["ap2", "ap2", "phy1", "wlan1"]
    first, second = (
        dict(line.split("=", 1) for line in part["hostapd"].splitlines()) for part in (plan["access_point"], other)
    )
    assert {key for key in second if first[key] != second[key]} == {"interface", "beacon_int"}
    assert "ap2" in plan["namespaces"]
    assert [station["radio"] for station in plan["stations"]] == ["phy2", "phy3", "phy4"]
    assert [station["access_point"] for station in plan["stations"]] == [0, 1, 0]
    assert all("bssid=02:00:00:00:0" in station["wpa_supplicant"] for station in plan["stations"])
    agents = {component["name"]: component for component in plan["components"]}
    words = agents["ap2"]["argv"]
    assert agents["ap2"]["netns"] == "ap2"
    assert {"wlan1", "/run/hostapd/wlan1", other["hostapd_file"], "/run/lab/ap2", "/run/lab/ap2.token"} <= {*words}
    assert not {*words} & {"wlan0", "/run/hostapd/wlan0", "/run/lab/ap"}
    assert plan["certificates"]["revoke"]["ap2"][0]["words"] == ["revoke", "access-point/ap2"]


def test_one_access_point_has_no_other_and_its_phones_no_choice() -> None:
    plan = guest_plan.plan(Parameters(terminals=2), "bdp", 1, PROGRAMS)
    assert plan["other_access_points"] == []
    assert [(station["radio"], station["wpa_supplicant"]) for station in plan["stations"]] == [
        ("phy1", None),
        ("phy2", None),
    ]


@pytest.mark.parametrize(("channels", "second"), [("same", "6"), ("different", "11")])
def test_access_points_share_a_channel_or_do_not(channels: str, second: str) -> None:
    plan = guest_plan.plan(Parameters(**TWO, ap_channels=channels), "cubic", 1, PROGRAMS)
    found = [
        dict(line.split("=", 1) for line in part["hostapd"].splitlines())["channel"]
        for part in (plan["access_point"], plan["other_access_points"][0])
    ]
    assert found == ["6", second]
    listened = "2437" if channels == "same" else "2437 2462"
    for station in plan["stations"]:
        assert f"\tscan_freq={listened}\n\tfreq_list={listened}\n" in station["wpa_supplicant"]


def test_a_roam_is_a_step_or_two_with_the_deafness_in_between() -> None:
    actions = (
        Action(0, "start-traffic"),
        Action(2, "roam", phone=1, access_point=2, deaf_ms=0),
        Action(4, "roam", phone=3, access_point=2),
        Action(4.2, "roam", phone=1, access_point=1, deaf_ms=100, silent=False),
        Action(29.8, "roam", phone=1, access_point=2),  # and does not arrive before the end
        Action(99, "roam", phone=1, access_point=2),
    )
    for mode in ("cubic", "bdp"):
        parameters = Parameters(**TWO, scenario=Scenario("x", actions), deaf_ms=500)
        timeline = guest_plan.plan(parameters, mode, 1, PROGRAMS)["timeline"]
        assert [(step["at_ms"], step["do"], step["station"], step["bssid"][-5:]) for step in timeline] == [
            (2000, "roam", 0, "01:00"),
            (4000, "vanish", 2, "01:00"),
            (4200, "leave", 0, "00:00"),
            (4300, "arrive", 0, "00:00"),
            (4500, "arrive", 2, "01:00"),
            (29_800, "vanish", 0, "01:00"),
        ]
        assert {step["do"] for step in timeline} == {*roaming.ROAMING_STEPS}


def walk(at_s: float, from_m: float, to_m: float, over_s: float, *, phone: int = 2, access_point: int = 0) -> Action:
    return Action(at_s, "walk", phone=phone, access_point=access_point, from_m=from_m, to_m=to_m, over_s=over_s)


def test_a_walk_sets_both_directions_whenever_the_snr_has_changed() -> None:
    actions = (Action(0, "start-traffic"), walk(3, 10, 100, 1.05))
    parameters = Parameters(scenario=Scenario("x", actions), terminals=2, seconds=10, phy="11ac-80")
    snr = {
        distance_m: radio.link_snr_quarter_db(parameters.radio, distance_m)
        for distance_m in (10, 10 + 90 * 0.1 / 1.05, 100)
    }
    near, second, far = snr.values()
    assert near - far == 120
    for mode in ("cubic", "bdp"):
        plan = guest_plan.plan(parameters, mode, 1, PROGRAMS)
        # Until then it is where it begins, and a phone that does not walk is near enough for any rate.
        assert plan["links"] == [f"2 0 {near}", f"0 2 {near}"]
        steps = plan["timeline"]
        assert [step["at_ms"] for step in steps] == [*range(3000, 4001, 100), 4050]
        assert {(step["do"], step["component"]) for step in steps} == {(main.WALK, "")}
        assert [step["links"] for step in (steps[0], steps[1], steps[-1])] == [
            [f"2 0 {value}", f"0 2 {value}"] for value in (near, second, far)
        ]


def test_a_walk_whose_snr_stays_for_a_while_has_no_steps_then() -> None:
    actions = (Action(0, "start-traffic"), walk(1, 50, 51, 100))
    timeline = guest_plan.plan(Parameters(scenario=Scenario("x", actions), seconds=30), "cubic", 1, PROGRAMS)[
        "timeline"
    ]
    assert [step["at_ms"] for step in timeline] == sorted({step["at_ms"] for step in timeline})
    assert len(timeline) == len({step["links"][0] for step in timeline}) == 1


def test_a_walk_leads_from_one_access_point_to_another() -> None:
    actions = (
        Action(0, "start-traffic"),
        walk(8, 40, 5, 2, phone=1, access_point=1),
        walk(2, 5, 40, 2, phone=1, access_point=1),
        walk(2, 40, 5, 2, phone=1, access_point=2),
    )
    parameters = Parameters(**TWO, scenario=Scenario("x", actions), distances_m=(10,))
    plan = guest_plan.plan(parameters, "cubic", 1, PROGRAMS)
    near, middle, far = (radio.link_snr_quarter_db(parameters.radio, distance_m) for distance_m in (5, 10, 40))

    def links(until_ms: int) -> dict[str, int]:
        written = plan["links"] + [
            link for step in plan["timeline"] if step["at_ms"] <= until_ms for link in step["links"]
        ]
        return {" ".join(ends): int(snr) for *ends, snr in (link.split() for link in written)}

    # Radios 0 and 1 are the access points.
    others = {f"{phone} {ap}": middle for phone in (3, 4) for ap in (0, 1)}
    others |= {f"{ap} {phone}": middle for phone in (3, 4) for ap in (0, 1)}
    assert links(0) == {"2 0": near, "0 2": near, "2 1": far, "1 2": far} | others
    assert links(7999) == {"2 0": far, "0 2": far, "2 1": near, "1 2": near} | others
    assert links(30_000) == {"2 0": near, "0 2": near, "2 1": near, "1 2": near} | others


def test_phones_sleep_only_where_a_run_asks_for_it() -> None:
    for modes_, expected in (("cubic", [False]), ("cubic@power-save", [True])):
        parameters = Parameters(terminals=1, modes=(modes_,)).of_mode(modes_)
        stations = guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["stations"]
        assert [station["power_save"] for station in stations] == expected


def test_phones_without_an_agent_are_plain_phones() -> None:
    actions = (
        Action(0, "start-traffic"),
        Action(2, "kill", component="phones"),
        Action(3, "start", component="phone3"),
        Action(4, "kill", component="switch"),
    )
    parameters = Parameters(scenario=Scenario("x", actions), terminals=3, seconds=8, agents=1)
    plan = guest_plan.plan(parameters, "bdp", 1, PROGRAMS)
    assert [component["name"] for component in plan["components"]] == ["controller", "ap", "phone1"]
    assert [line for line in plan["traffic"]["plan"].splitlines() if line.startswith("watch")] == [
        "watch name=sta1 netns=sta1 interval_ms=1000"
    ]
    assert len(plan["stations"]) == 3
    # What does not run is neither killed nor started.
    assert [(action["at_ms"], action["component"]) for action in plan["timeline"]] == [(2000, "phone1")]
    assert plan["late_components"] == []


def test_open_vswitch_takes_the_place_of_the_bridge() -> None:
    actions = (Action(0, "start-traffic"), Action(4, "kill", component="switch"))
    parameters = Parameters(scenario=Scenario("x", actions), terminals=2, wired_delays_ms=(4.0, 64.0), seconds=8)
    plain = guest_plan.plan(parameters, "cubic", 1, PROGRAMS)
    plan = guest_plan.plan(replace(parameters, switch="ovs"), "cubic", 1, PROGRAMS)
    assert plain["access_point"]["switch"] is None
    assert [(action["at_ms"], action["component"]) for action in plan["timeline"]] == [(4000, "switch")]
    access_point = plan["access_point"]
    assert "type bridge" in plain["access_point"]["ip"]
    assert "br0" in plain["access_point"]["hostapd"]
    assert "type bridge" not in access_point["ip"]
    assert " master " not in access_point["ip"]
    assert "br0" not in access_point["hostapd"]
    assert "control_port_ap=1" in access_point["hostapd"]
    ports = access_point["switch"]["ports"]
    assert access_point["switch"]["when_connected"] is None
    assert "max_backoff" not in access_point["switch"]["after_restart"]
    added = [ports[place + 2] for place, word in enumerate(ports) if word == "add-port"]
    assert added == ["controller", "server1", "server2", "wlan0"]


def test_the_time_between_attempts_is_set_anew_whenever_the_switch_has_connected() -> None:
    plan = guest_plan.plan(Parameters(terminals=1, switch="openflow"), "airbound", 1, PROGRAMS)
    switch = plan["access_point"]["switch"]
    assert switch["when_connected"][-6:] == ["is_connected=true", "--", "set", "controller", "br0", "max_backoff=1000"]
    assert switch["after_restart"][-5:] == ["--", "clear", "controller", "br0", "max_backoff"]


def test_queues_and_medium_are_recorded_on_request() -> None:
    parameters = Parameters(terminals=1)
    assert guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["event_traces"] == []
    window = Window(2.5, 1.25)
    traces = guest_plan.plan(parameters, "cubic", 1, PROGRAMS, edca_trace=True, medium_trace=window)["event_traces"]
    assert [(trace["event"], trace["buffer_kib"], trace["window"]) for trace in traces] == [
        ("mac80211/drv_conf_tx", 256, None),
        ("hwsim_dcf/dcf_attempt", 2048, {"field": "start_ns", "from_ns": 2_500_000_000, "to_ns": 3_750_000_000}),
    ]


def test_the_policy_reaches_the_controller() -> None:
    parameters = Parameters(terminals=1, controller_config="a = 1\n")
    plan = guest_plan.plan(parameters, "paper-gb", 1, PROGRAMS)
    argv = " ".join(plan["components"][0]["argv"])
    assert argv == (
        "/b/python -S -m airbound controller --plain-text --listen 10.0.1.1:50051 --metrics= --policy paper "
        "--table gingerbread "
        "--config /run/lab/controller.config"
    )
    assert plan["controller_config"] == "a = 1\n\n[edca]\nenabled = false\n"


@pytest.mark.parametrize("tls", [False, True])
def test_controller_and_agents_are_in_plain_text_or_have_certificates(tls: bool) -> None:  # noqa: FBT001
    plan = guest_plan.plan(Parameters(terminals=2, tls=tls), "bdp", 1, PROGRAMS)
    controller, *agents = plan["components"]
    assert all(("--plain-text" in component["argv"]) is not tls for component in plan["components"])
    assert ("AIRBOUND_TLS__DIRECTORY" in controller["environment"]) is tls
    if not tls:
        assert plan["certificates"] is None
        return
    tokens = {command["output"]: command["words"] for command in plan["certificates"]["tokens"]}
    roles = {"ap": "access-point", "phone1": "terminal", "phone2": "terminal"}
    for agent in agents:
        words = dict(itertools.pairwise(agent["argv"]))
        name = agent["name"]
        assert tokens[words["--token-file"]] == ["enroll", roles[name], name]
        assert plan["certificates"]["revoke"][name][0]["words"] == ["revoke", f"{roles[name]}/{name}"]
    directories = {dict(itertools.pairwise(agent["argv"]))["--credentials-dir"] for agent in agents}
    assert len(directories) == len(agents)


def test_nobody_takes_random_numbers_from_the_processor() -> None:
    plan = guest_plan.plan(Parameters(terminals=1, tls=True), "bdp", 1, PROGRAMS)
    for environment in (plan["components"][0]["environment"], plan["certificates"]["environment"]):
        first, second = (int(word.removeprefix("~"), 16) for word in environment["OPENSSL_ia32cap"].split(":"))
        assert (first, second) == (1 << (32 + 30), 1 << 18), "CPUID: leaf 1, ECX bit 30; leaf 7, EBX bit 18"


def test_a_mode_without_agents_has_no_certificates() -> None:
    actions = (Action(0, "start-traffic"), Action(1, "revoke", component="phone1"))
    parameters = Parameters(scenario=Scenario("x", actions), terminals=1, tls=True)
    plan = guest_plan.plan(parameters, "cubic", 1, PROGRAMS)
    assert (plan["certificates"], plan["timeline"]) == (None, [])
    assert guest_plan.plan(parameters, "bdp", 1, PROGRAMS)["timeline"] == [
        {"at_ms": 1000, "do": "revoke", "component": "phone1"}
    ]


def test_each_traced_phone_records_in_its_own_namespace() -> None:
    parameters = Parameters(terminals=3, wired_delays_ms=(4.0, 64.0))
    assert guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["tracers"] == []
    tracers = guest_plan.plan(parameters, "cubic", 1, PROGRAMS, trace=True)["tracers"]
    assert [(tracer["name"], tracer["netns"]) for tracer in tracers] == [
        (f"trace-sta{i}", f"sta{i}") for i in (1, 2, 3)
    ]
    assert " ".join(tracers[1]["argv"]) == (
        "/b/airbound-phone trace --csv --out /run/result/trace-sta2.csv --remote 10.0.5.1 "
        "--read-at-end --buffer-kib 32768"
    )


def test_the_buffers_of_many_traced_phones_leave_the_guest_its_memory() -> None:
    tracers = guest_plan.plan(Parameters(terminals=100), "cubic", 1, PROGRAMS, trace=True)["tracers"]
    assert sum(int(tracer["argv"][-1]) for tracer in tracers) <= 256 << 10


def test_servers_merge_segments_where_a_run_asks_for_it() -> None:
    parameters = Parameters(terminals=3, wired_delays_ms=(4.0, 64.0))
    assert guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["merging"] == []
    plan = guest_plan.plan(replace(parameters, gro=True), "cubic", 1, PROGRAMS)
    assert [(part["netns"], part["interface"], part["feature"], part["on"]) for part in plan["merging"]] == [
        *(("", "server1", "tso", False), ("server1", "eth0", "gro", True)),
        *(("", "server2", "tso", False), ("server2", "eth0", "gro", True)),
    ]


def test_debians_programs_run_between_phone_1_and_its_server_where_a_run_asks_for_them() -> None:
    parameters = Parameters(terminals=2, wired_delays_ms=(4.0, 64.0), seconds=10, warmup_seconds=3)
    assert guest_plan.plan(parameters, "bbr", 1, PROGRAMS)["real_programs"] == []
    iperf3, irtt = guest_plan.plan(parameters, "bbr", 1, PROGRAMS, debian_programs=True)["real_programs"]
    for part in (iperf3, irtt):
        assert (part["server_netns"], part["client_netns"]) == ("server1", "sta1")
    assert (iperf3["at_ms"], irtt["at_ms"]) == (0, 3000)
    words = " ".join(iperf3["client"])
    assert "--client 10.0.4.1 " in words
    assert "--congestion bbr --omit 3 --time 7 " in words
    assert {"-d", "7s", "10.0.4.1:2112", "/run/result/irtt.json"} <= {*irtt["client"]}


def test_reports_of_access_point_and_phones_come_as_often_as_a_run_says() -> None:
    usual, seldom = (
        {part["name"]: part for part in guest_plan.plan(parameters, "bdp", 1, PROGRAMS)["components"]}
        for parameters in (Parameters(terminals=1), Parameters(terminals=1, report_interval_ms=2000))
    )
    for agent in ("ap", "phone1"):
        assert seldom[agent]["argv"] == [*usual[agent]["argv"], "--interval", "2000ms"]
    # The controller's own setting takes the place of a phone's.
    added = {"AIRBOUND_REPORTING__INTERVAL_MS": "2000"}
    assert seldom["controller"]["environment"] == usual["controller"]["environment"] | added


def test_the_medium_is_switched_on_last() -> None:
    parameters = Parameters(terminals=1, loss_percent=1.5, orphan=True, ap_driver_queue_frames=16, retry_limit=7)
    medium = guest_plan.plan(parameters, "cubic", 7, PROGRAMS)["medium"]
    assert list(medium)[-1] == "dcf"
    assert medium == {
        "dcf_seed": 7,
        "dcf_access_categories": 0,
        "dcf_sta_queue_frames": 64,
        "dcf_ap_queue_frames": 16,
        "dcf_retry_limit": 7,
        "dcf_orphan": 1,
        "dcf_loss_ppm": 15_000,
        "dcf": 1,
    }


def hostapd(parameters: Parameters) -> dict[str, str]:
    lines = guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["access_point"]["hostapd"].splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_the_access_points_driver_reports_the_rates_that_a_run_asks_for() -> None:
    media = [
        guest_plan.plan(Parameters(terminals=1, station_rates=rates), "cubic", 7, PROGRAMS)["medium"]
        for rates in ("data", "none", "one", "frame")
    ]
    assert [medium.get("dcf_station_rates") for medium in media] == [None, 1, 2, 3]


def test_without_wmm_the_access_point_contends_as_its_stations_do() -> None:
    queues = {key: value for key, value in hostapd(Parameters(terminals=1)).items() if key.startswith("tx_queue")}
    assert len(queues) == 16
    for queue in range(4):
        assert [queues[f"tx_queue_data{queue}_{key}"] for key in ("aifs", "cwmin", "cwmax", "burst")] == [
            *("2", "15", "1023", "0.0")
        ]


def test_with_wmm_the_access_point_has_hostapds_defaults_and_the_medium_four_queues() -> None:
    parameters = Parameters(terminals=1, wmm=True)
    config = hostapd(parameters)
    assert config["wmm_enabled"] == "1"
    assert not [key for key in config if key.startswith("tx_queue")]
    assert guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["medium"]["dcf_access_categories"] == 1


@pytest.mark.parametrize("wmm", [False, True])
def test_an_operator_sets_the_queue_for_best_effort(wmm: bool) -> None:  # noqa: FBT001
    parameters = Parameters(terminals=1, wmm=wmm, ap_aifsn=4, ap_cw_min=31, ap_cw_max=63, ap_txop_limit=94)
    config = hostapd(parameters)
    assert [config[f"tx_queue_data2_{key}"] for key in ("aifs", "cwmin", "cwmax", "burst")] == ["4", "31", "63", "3.0"]
    assert config.get("tx_queue_data0_aifs") == (None if wmm else "2")


def test_an_operator_sets_what_is_announced_to_the_stations() -> None:
    plain = hostapd(Parameters(terminals=1, wmm=True))
    assert not [key for key in plain if key.startswith("wmm_ac")]
    parameters = Parameters(terminals=1, wmm=True, sta_aifsn=4, sta_cw_min=31, sta_cw_max=63, sta_txop_limit=94)
    config = hostapd(parameters)
    assert config == plain | {
        "wmm_ac_be_aifs": "4", "wmm_ac_be_cwmin": "5", "wmm_ac_be_cwmax": "6", "wmm_ac_be_txop_limit": "94",
    }  # fmt: skip


PRINT_PLAN = """
import json
from airbound_lab.plan import guest_paths, guest_plan
from airbound_lab.settings import parameters
programs = guest_paths.Programs(*(f"/b/{name}" for name in ("traffic", "python", "source", "ap", "phone", "script")))
cell = parameters.Parameters(terminals=5, wired_delays_ms=(4.0, 64.0, 256.0), controller_config="a = 1", tls=True)
print(json.dumps(guest_plan.plan(cell, "bdp", 1, programs, trace=True)))
"""


def test_equal_runs_get_equal_plans(print_twice: Callable[[str], tuple[str, str]]) -> None:
    first, second = print_twice(PRINT_PLAN)
    assert first == second
    assert len(json.loads(first)["stations"]) == 5


def test_a_download_goes_from_the_phones_server_to_the_phone() -> None:
    actions = (
        Action(0, "start-traffic", phone=2),
        Action(1, "start-traffic", phone=2, direction="down"),
        Action(2, "start-traffic", phone=1, direction="down", protocol="udp", rate_mbps=1.0),
    )
    parameters = Parameters(scenario=Scenario("x", actions), terminals=2, wired_delays_ms=(4.0, 64.0), seconds=8)
    lines = guest_plan.traffic_plan(topology.build(parameters), "vegas", seed=1).splitlines()
    assert [line for line in lines if line.startswith("recv")] == [
        "recv name=server1-tcp netns=server1 protocol=tcp address=10.0.4.1:5001",
        "recv name=server2-tcp netns=server2 protocol=tcp address=10.0.5.1:5001",
        "recv name=sta1-down netns=sta1 protocol=udp address=10.0.0.11:5001",
        "recv name=sta2-down netns=sta2 protocol=tcp address=10.0.0.12:5001",
    ]
    # What the servers run is not the phones' mode.
    assert [line for line in lines if line.startswith("send")] == [
        (
            "send name=sta1-down netns=server1 protocol=udp address=10.0.0.11:5001 start_ms=2000 stop_ms=8000 "
            "payload_bytes=1470 rate_kbps=1000"
        ),
        "send name=sta2 netns=sta2 protocol=tcp address=10.0.5.1:5001 start_ms=0 stop_ms=8000 congestion=vegas",
        (
            "send name=sta2-down netns=server2 protocol=tcp address=10.0.0.12:5001 start_ms=1000 stop_ms=8000 "
            "congestion=cubic"
        ),
    ]


def test_what_starts_late_is_not_started_before() -> None:
    parameters = Parameters(scenario=built_in("recovery"), terminals=2, seconds=20)
    plan = guest_plan.plan(parameters, "bdp", 1, PROGRAMS)
    assert plan["late_components"] == ["controller", "ap", "phone1", "phone2"]
    assert [(action["at_ms"], action["do"], action["component"]) for action in plan["timeline"]] == [
        (10_000, "start", name) for name in plan["late_components"]
    ]
    assert guest_plan.plan(Parameters(terminals=2), "bdp", 1, PROGRAMS)["late_components"] == []


def test_the_mode_decides_whether_the_controller_sets_edca_parameters() -> None:
    for mode, config in (
        ("bdp", "[edca]\nenabled = false\n"),
        ("bdp+edca", "[edca]\nenabled = true\n"),
        ("airbound", None),
    ):
        plan = guest_plan.plan(Parameters(terminals=1), mode, 1, PROGRAMS)
        assert plan["controller_config"] == config
        assert ("--config" in plan["components"][0]["argv"]) == (config is not None)
        assert ("--policy" in plan["components"][0]["argv"]) == (mode != "airbound")


def test_a_policy_from_outside_is_in_the_guest_of_its_mode_alone() -> None:
    own = replace(PROGRAMS, policies=(("mine:decide", "/cache/0123"),))
    plans = {}
    for mode, policy in (("bdp", ""), ("mine:decide+bbr", "/cache/0123")):
        programs, directories = guest_paths.in_guest(replace(own, policy=policy))
        plans[mode] = guest_plan.plan(
            Parameters(terminals=1, modes=(mode,)), mode, 1, programs, host_directories=directories
        )
        (controller, *_) = plans[mode]["components"]
        assert ("/run/host/policy" in controller["environment"]["PYTHONPATH"]) == bool(policy)
        assert ("/cache/0123" in directories.values()) == bool(policy)
    argv = plans["mine:decide+bbr"]["components"][0]["argv"]
    assert argv[argv.index("--policy") + 1] == "mine:decide"
    plain, directories = guest_paths.in_guest(PROGRAMS)
    parameters = Parameters(terminals=1, modes=("bdp",))
    assert plans["bdp"] == guest_plan.plan(parameters, "bdp", 1, plain, host_directories=directories)
