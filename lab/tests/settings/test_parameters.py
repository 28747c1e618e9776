# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from airbound_lab import cli
from airbound_lab.errors import UsageError
from airbound_lab.settings.modes import NAMED
from airbound_lab.settings.parameters import Parameters, option_of
from airbound_lab.settings.qdisc import QDISCS
from airbound_lab.settings.scenario import Action, Scenario, built_in
from airbound_lab.settings.validation import usage_errors
from airbound_lab.settings.values import RATE_CONTROLS, STATION_RATES, SWITCHES

if TYPE_CHECKING:
    from pathlib import Path

VALID = st.builds(
    Parameters,
    terminals=st.integers(1, 100),
    wired_delays_ms=st.lists(st.floats(0, 10_000), min_size=1, max_size=5).map(tuple),
    seconds=st.integers(6, 3600),
    warmup_seconds=st.integers(0, 5),
    modes=st.lists(
        st.sampled_from([*NAMED, "bdp+vegas", "airbound+bbr", "vegas@cake@aifsn=4"]), min_size=1, unique=True
    ).map(tuple),
    seeds=st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True).map(tuple),
    rate_control=st.sampled_from(RATE_CONTROLS),
    qdisc=st.none() | st.sampled_from(QDISCS),
    loss_percent=st.floats(0, 99),
    wmm=st.booleans(),
    ap_aifsn=st.none() | st.integers(1, 15),
    ap_cw_min=st.none() | st.sampled_from([0, 1, 15, 31]),
    ap_cw_max=st.none() | st.sampled_from([31, 63, 1023]),
    ap_txop_limit=st.none() | st.integers(0, 65_535),
    controller_config=st.none() | st.text(),
    tls=st.booleans(),
    agents=st.none() | st.just(0),
    switch=st.sampled_from(["bridge", "ovs"]),
    ap_agent=st.booleans(),
    gro=st.booleans(),
    report_interval_ms=st.integers(250, 10_000),
    controller_delay_ms=st.floats(0, 10_000),
    controller_loss_percent=st.floats(0, 99),
    station_rates=st.sampled_from(STATION_RATES),
    deaf_ms=st.integers(0, 60_000),
)

REVOCATION = Scenario("revocation", (Action(0, "start-traffic"), Action(1, "revoke", component="phone1")))


@given(VALID)
def test_parameters_survive_a_round_trip_through_json(parameters: Parameters) -> None:
    for switch in SWITCHES:
        one = replace(parameters, switch=switch, tls=False)
        assert TypeAdapter(Parameters).validate_json(json.dumps(one.to_json())) == one
    assert TypeAdapter(Parameters).validate_json(json.dumps(parameters.to_json())) == parameters


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terminals": 0}, "--terminals: 0: "),
        ({"terminals": 101}, "--terminals: 101: "),
        ({"terminals": True}, "--terminals: True: "),
        ({"terminals": "3"}, "--terminals: '3': "),
        ({"seconds": 0}, "--seconds: 0: "),
        ({"switch": "hub"}, "--switch: 'hub': "),
        ({"switch": "openflow", "tls": True}, "switch: openflow: OpenFlow's process has no certificate"),
        ({"access_points": 0}, "--access-points: 0: "),
        ({"ap_agents": 2}, "ap-agents: 2, but there are 1 access points"),
        ({"access_points": 4}, "--access-points: 4: "),
        ({"access_points": 2, "switch": "ovs"}, "switch: ovs: of one access point only"),
        ({"access_points": 2, "watch_senders_ms": 100}, "watch-senders: of one access point only"),
        ({"ap_channels": "some"}, "--ap-channels: 'some': "),
        ({"deaf_ms": -1}, "--deaf-ms: -1: "),
        ({"scenario": built_in("roaming")}, "scenario roaming: actions[1]: roam: there is no access point 2 of 1"),
        ({"watch_senders_ms": 5}, "--watch-senders: 5: "),
        ({"watch_senders_ms": 100, "tls": True}, "watch-senders: who watches has no certificate"),
        ({"check_minutes": 4, "seconds": 1000}, "--check-minutes: 4: "),
        ({"check_minutes": 5, "seconds": 319}, "check-minutes: 5: the run is to have 320 s at least"),
        ({"check_minutes": 5, "seconds": 320, "tls": True}, "check-minutes: who checks has no certificate"),
        ({"window_clamp": True, "ap_agent": False}, "window-clamp: the access point has no agent"),
        ({"ap_edca": False, "ap_agent": False}, "no-ap-edca: the access point has no agent"),
        ({"seconds": 5, "warmup_seconds": 5}, "--warmup-seconds: 5: not below seconds, which is 5"),
        ({"wired_delays_ms": ()}, "--wired-delays: "),
        ({"wired_delays_ms": (4.0, float("nan"))}, "--wired-delays[1]: nan: "),
        ({"wired_delays_ms": (-1.0,)}, "--wired-delays[0]: -1.0: "),
        ({"loss_percent": 100.0}, "--loss: 100.0: "),
        ({"loss_percent": float("inf")}, "--loss: inf: "),
        ({"modes": ()}, "--modes: "),
        ({"modes": ("newreno",)}, "--modes[0]: 'newreno': none of cubic, reno, bbr, vegas, cdg, westwood, illinois"),
        ({"modes": ("cubic@red",)}, "--modes[0]: 'cubic@red': 'red' is none of phones-fq_codel, phones-cake-diffserv4"),
        ({"modes": ("bdp", "cubic@aifsn=16")}, "--modes: 'cubic@aifsn=16': --ap-aifsn: 16: "),
        (
            {"modes": ("cubic@cwmax=31",), "ap_cw_min": 63},
            "--modes: 'cubic@cwmax=31': --ap-cwmax: 31 is below --ap-cwmin, which is 63",
        ),
        ({"ap_aifsn": 0}, "--ap-aifsn: 0: "),
        ({"ap_aifsn": 16}, "--ap-aifsn: 16: "),
        ({"ap_cw_min": 16}, "--ap-cwmin: 16: not 2^k - 1"),
        ({"ap_cw_min": 2047}, "--ap-cwmin: 2047: "),
        ({"ap_cw_max": 7}, "--ap-cwmax: 7 is below --ap-cwmin, which is 15"),
        ({"ap_cw_min": 63, "ap_cw_max": 31}, "--ap-cwmax: 31 is below --ap-cwmin, which is 63"),
        ({"wmm": True, "ap_cw_min": 127}, "--ap-cwmax: 63 is below --ap-cwmin, which is 127"),
        ({"ap_txop_limit": 65_536}, "--ap-txop: 65536: "),
        ({"wmm": True, "sta_aifsn": 1}, "--sta-aifsn: 1: "),
        ({"wmm": True, "sta_cw_min": 0}, "--sta-cwmin: 0: "),
        ({"wmm": True, "sta_cw_min": 16}, "--sta-cwmin: 16: not 2^k - 1"),
        ({"wmm": True, "sta_cw_max": 7}, "--sta-cwmax: 7 is below --sta-cwmin, which is 15"),
        ({"wmm": True, "sta_txop_limit": 65_536}, "--sta-txop: 65536: "),
        ({"sta_aifsn": 4}, "--sta-aifsn: only an access point with WMM announces it (--wmm)"),
        ({"modes": ("cubic@sta-cwmin=31",)}, "--modes: 'cubic@sta-cwmin=31': --sta-cwmin: only an access point"),
        ({"wmm": 1}, "--wmm: 1: "),
        ({"modes": ("bdp", "bdp")}, "--modes: each only once"),
        ({"seeds": ()}, "--seeds: "),
        ({"seeds": (1, 1)}, "--seeds: each only once"),
        ({"seeds": (-1,)}, "--seeds[0]: -1: "),
        ({"rate_control": "arf"}, "--rate-control: 'arf': input should be 'minstrel', 'fixed' or 'aarf'"),
        ({"ap_rate_control": "arf"}, "--ap-rate-control: 'arf': "),
        ({"qdisc": "red"}, "--qdisc: 'red': "),
        ({"ap_qdisc": "red"}, "--ap-qdisc: 'red': "),
        ({"queue_packets": 0}, "--queue: 0: "),
        ({"ap_queue_packets": 0}, "--ap-queue: 0: "),
        ({"driver_queue_frames": 1}, "--driver-queue: 1: "),
        ({"ap_driver_queue_frames": 1}, "--ap-driver-queue: 1: "),
        ({"retry_limit": 256}, "--retry-limit: 256: "),
        ({"cwnd_clamp_segs": 1}, "--cwnd-clamp: 1: "),
        ({"window_scale": 15}, "--window-scale: 15: "),
        ({"bounds_interval_ms": 1}, "--bounds-interval-ms: 1: "),
        ({"orphan": 1}, "--orphan: 1: "),
        ({"gro": 1}, "--gro: 1: "),
        ({"report_interval_ms": 249}, "--report-interval-ms: 249: "),
        ({"report_interval_ms": 10_001}, "--report-interval-ms: 10001: "),
        ({"controller_delay_ms": -1.0}, "--controller-delay-ms: -1.0: "),
        ({"controller_loss_percent": 100.0}, "--controller-loss: 100.0: "),
        ({"station_rates": "some"}, "--station-rates: 'some': "),
        ({"aql": False}, "aql: mac80211 has no transmit queues of its own on 6.1; --kernel-line 6.12 is needed"),
        ({"modes": ("cubic@no-aql",)}, "--modes: 'cubic@no-aql': aql: mac80211 has no"),
        ({"scenario": built_in("saturation"), "orphan": True}, "orphan: "),
        ({"tls": 1}, "--tls: 1: "),
        (
            {"scenario": REVOCATION, "modes": ("cubic", "bdp@tls", "bdp")},
            "scenario revocation: without --tls bdp has no certificate to revoke",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_with_option_and_value(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised, usage_errors(name=option_of):
        Parameters(**changes)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    "changes",
    [
        *({"terminals": 1}, {"terminals": 100}, {"seconds": 6}, {"loss_percent": 0}),
        *({"ap_cw_min": 1023, "ap_cw_max": 1023}, {"scenario": REVOCATION, "modes": ("bdp",), "tls": True}),
        {"scenario": REVOCATION, "modes": ("cubic", "bdp@tls")},
        *({"kernel_line": "6.12", "aql": False}, {"kernel_line": "6.12", "modes": ("cubic", "cubic@no-aql")}),
    ],
)
def test_the_limits_themselves_can_be_run(changes: dict[str, Any]) -> None:
    assert Parameters(**changes)


def test_every_parameter_has_its_option_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert {option_of(parameter.name) for parameter in fields(Parameters)} <= options


def test_the_settings_of_a_mode_take_the_place_of_the_others() -> None:
    parameters = Parameters(modes=("cubic", "vegas@fq_codel@queue=200"), ap_qdisc="cake", ap_aifsn=3)
    assert parameters.of_mode("cubic") == Parameters(modes=("cubic",), ap_qdisc="cake", ap_aifsn=3)
    assert parameters.of_mode("vegas@fq_codel@queue=200") == Parameters(
        modes=("vegas",), ap_qdisc="fq_codel", ap_queue_packets=200, ap_aifsn=3
    )


def test_the_first_phones_have_agents() -> None:
    mixed = Scenario("mixed", (Action(0, "start-traffic"),), agents=1)
    for parameters, having in (
        (Parameters(terminals=3), [1, 2, 3]),
        (Parameters(terminals=3, agents=0), []),
        (Parameters(terminals=3, agents=2), [1, 2]),
        (Parameters(terminals=3, scenario=mixed), [1]),
        (Parameters(terminals=3, scenario=mixed, agents=3), [1, 2, 3]),
        (Parameters(terminals=5, access_points=2, ap_agents=1), [1, 3, 5]),
        (Parameters(terminals=5, access_points=2, ap_agents=2, agents=3), [1, 2, 3]),
        (Parameters(terminals=3, modes=("bdp@agents=2",)).of_mode("bdp@agents=2"), [1, 2]),
    ):
        phones = range(1, parameters.terminals + 1)
        assert [phone for phone in phones if parameters.has_agent(phone)] == having
    with pytest.raises(ValueError, match="agents: 4, but there are 3 phones"):
        Parameters(terminals=3, agents=4)


def test_phones_take_the_delays_in_turn() -> None:
    parameters = Parameters(terminals=5, wired_delays_ms=(4.0, 64.0))
    assert [parameters.wired_delay_ms(i) for i in range(1, 6)] == [4, 64, 4, 64, 4]


@pytest.mark.parametrize("more", [{"phy": "11n-20"}, {"ap": "openwrt", "kernel_line": "6.12"}, {"wmm": True}])
def test_every_access_point_with_wmm_announces_parameters(more: dict[str, Any]) -> None:
    parameters = Parameters(modes=("cubic@sta-cwmin=31",), **more)
    assert parameters.of_mode("cubic@sta-cwmin=31").sta_cw_min == 31


def test_a_mode_may_have_a_configuration_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "deep.toml"
    file.write_text("[bdp]\nqueue_segs = 40\n", encoding="utf-8")
    deep = f"bdp@config={file}"
    parameters = Parameters(modes=("bdp", deep), controller_config="[bdp]\ngain = 2.0\n")
    assert parameters.of_mode("bdp").controller_config == "[bdp]\ngain = 2.0\n"
    assert parameters.of_mode(deep).controller_config == "[bdp]\nqueue_segs = 40\n"
    file.unlink()
    assert Parameters(modes=(deep,)).modes == (deep,)  # results that are read again do not need it
    with pytest.raises(UsageError, match="cannot read"):
        parameters.of_mode(deep)
