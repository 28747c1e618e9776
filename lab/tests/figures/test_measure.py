# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import LabError
from airbound_lab.figures import measure
from airbound_lab.plan import topology
from airbound_lab.records.airtime import Airtime
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario, built_in

RATES = st.lists(st.floats(0.001, 1000), min_size=1, max_size=20)


@given(RATES)
def test_jain_lies_between_one_nth_and_one(rates: list[float]) -> None:
    index = measure.jain(rates)
    assert index is not None
    assert 1 / len(rates) - 1e-9 <= index <= 1 + 1e-9


@given(st.floats(0.001, 1000), st.integers(1, 20), st.floats(0.01, 100))
def test_jain_is_one_for_equal_rates_and_independent_of_the_unit(rate: float, phones: int, unit: float) -> None:
    assert measure.jain([rate] * phones) == pytest.approx(1)
    assert measure.jain([rate, 2 * rate]) == pytest.approx(measure.jain([rate * unit, 2 * rate * unit]))


def test_jain_of_one_who_has_everything() -> None:
    assert measure.jain([5, 0, 0, 0]) == pytest.approx(0.25)
    assert measure.jain([0, 0]) is None


def test_the_95th_percentile_is_linear_between_neighbours() -> None:
    assert measure.p95([*range(101)]) == pytest.approx(95)
    assert measure.p95([10.0, 6.0]) == pytest.approx(9.8)
    assert measure.p95([3.0]) == 3
    assert measure.p95([]) is None


def test_a_mean_of_nothing_is_none() -> None:
    assert measure.mean([1.0, 4.0]) == pytest.approx(2.5)
    assert measure.mean([]) is None


def lines_of(*lines: dict[str, object]) -> list[str]:
    return [json.dumps(line) for line in lines]


def received(second: int, phone: int, bytes_: int, server: str = "server1-tcp") -> dict[str, object]:
    return {"kind": "recv", "name": server, "t_ms": second * 1000, "source": f"10.0.0.{10 + phone}", "bytes": bytes_}


def sent(second: int, phone: int, **fields: int) -> dict[str, object]:
    defaults = {"cwnd_segs": 10, "srtt_us": 8000, "min_rtt_us": 4000, "retransmits": 0}
    bounds = {"bound_min_segs": 0, "bound_max_segs": 0}
    return {"kind": "send", "name": f"sta{phone}", "t_ms": second * 1000, **defaults, **bounds, **fields}


def test_the_warm_up_is_not_measured() -> None:
    parameters = Parameters(terminals=1, seconds=4, warmup_seconds=2)
    samples = measure.parse(
        lines_of(
            *(
                received(1, 1, 1_000_000),
                received(2, 1, 2_000_000),
                received(3, 1, 2_125_000),
                received(4, 1, 2_250_000),
            ),
            *(sent(1, 1, srtt_us=900_000, retransmits=7), sent(2, 1, srtt_us=900_000, retransmits=9)),
            *(sent(3, 1, srtt_us=6000, retransmits=10), sent(4, 1, srtt_us=10_000, retransmits=12)),
        )
    )
    run = measure.figures(topology.build(parameters), "cubic", 1, samples)
    assert run.total_goodput_mbps == pytest.approx(1.0)
    assert run.phones[0].series.goodput_mbps == pytest.approx([8, 8, 1, 1])
    assert run.rtt_mean_ms == pytest.approx(8)
    assert run.rtt_p95_ms == pytest.approx(9.8)
    assert run.rtt_ratio == pytest.approx(2)
    assert run.retransmits == 3


def test_the_ratio_is_over_the_smallest_rtt_of_any_phone_to_the_same_server() -> None:
    parameters = Parameters(terminals=3, wired_delays_ms=(4.0, 64.0), seconds=2, warmup_seconds=0)
    samples = measure.parse(
        lines_of(
            *(sent(1, 1, srtt_us=8000, min_rtt_us=4000), sent(1, 2, srtt_us=128_000, min_rtt_us=64_000)),
            # A late joiner on the same server as phone 1, which never measured the true minimum.
            sent(2, 3, srtt_us=80_000, min_rtt_us=40_000),
        )
    )
    run = measure.figures(topology.build(parameters), "cubic", 1, samples)
    assert run.phones[0].series.rtt_ratio == (2, None)
    assert run.phones[1].series.rtt_ratio == (2, None)
    assert run.phones[2].series.rtt_ratio == (None, 20)


def test_a_second_flow_of_a_phone_counts_its_retransmits_from_zero() -> None:
    parameters = Parameters(terminals=1, seconds=6, warmup_seconds=0)
    counted = (5, 5, 6, 2, 2, 4)
    samples = measure.parse(
        lines_of(*(sent(second, 1, retransmits=so_far) for second, so_far in enumerate(counted, 1)))
    )
    assert measure.figures(topology.build(parameters), "cubic", 1, samples).retransmits == 10


def test_a_second_without_a_sample_adds_nothing() -> None:
    parameters = Parameters(terminals=1, seconds=4, warmup_seconds=0)
    lines = lines_of(received(2, 1, 125_000), received(4, 1, 250_000), sent(2, 1, retransmits=3))
    run = measure.figures(topology.build(parameters), "cubic", 1, measure.parse(lines))
    assert run.phones[0].series.goodput_mbps == (0, 1, 0, 1)
    assert run.phones[0].series.cwnd_segs == (None, 10, None, None)
    assert run.phones[0].series.rtt_ratio == (None, 2, None, None)
    assert run.total_goodput_mbps == 0.5
    assert run.retransmits == 3


def udp(phone: int, second: int, bytes_: int, gap_max_us: int) -> dict[str, object]:
    return received(second, phone, bytes_, "server1-udp") | {"gap_max_us": gap_max_us}


def test_the_longest_gap_is_that_of_a_paced_sender_in_the_window() -> None:
    paced = {"protocol": "udp", "rate_mbps": 1.0}
    actions = (
        *(Action(0, "start-traffic", phone=phone, **paced) for phone in (1, 2)),
        Action(0, "start-traffic", phone=3, **paced, on_s=1.0, off_s=1.0),
        Action(0, "start-traffic", phone=4),
        *(Action(0, "start-traffic", phone=5, **paced), Action(2, "stop-traffic", phone=5)),
    )
    parameters = Parameters(scenario=Scenario("x", actions), terminals=5, seconds=4, warmup_seconds=1)
    samples = measure.parse(
        lines_of(
            *(udp(1, second, 1000 * second, gap) for second, gap in ((1, 900_000), (2, 11_000), (3, 150_500))),
            udp(1, 4, 4000, 10_000),
            # Nothing after second 2: no gap has ended.
            *(udp(2, second, 1000 * min(second, 2), 10_000) for second in (1, 2, 3, 4)),
            *(udp(3, second, 1000 * second, 1_000_000) for second in (1, 2, 3, 4)),
            *(udp(5, second, 1000, 500_000) for second in (1, 2, 3, 4)),
        )
    )
    run = measure.figures(topology.build(parameters), "cubic", 1, samples)
    assert [phone.gap_max_ms for phone in run.phones] == [150.5, 2000, None, None, None]


@pytest.mark.parametrize(
    ("mode", "agents", "ratio"),
    [("bdp", 1, 0.75), ("bdp", 2, 0.5), ("bdp", 0, None), ("bdp", 3, None), ("bdp", None, None), ("cubic", 1, None)],
)
def test_phones_without_an_agent_are_compared_with_those_with_one(
    mode: str, agents: int | None, ratio: float | None
) -> None:
    parameters = Parameters(terminals=3, seconds=2, warmup_seconds=1, agents=agents)
    counted = {1: 4_000_000, 2: 4_000_000, 3: 2_000_000}
    samples = measure.parse(
        lines_of(*(received(second, phone, (second - 1) * counted[phone]) for second in (1, 2) for phone in counted))
    )
    assert measure.figures(topology.build(parameters), mode, 1, samples).agentless_ratio == ratio


def test_air_times_are_compared_of_the_flows_that_share() -> None:
    cell = topology.build(Parameters(terminals=2, seconds=10, warmup_seconds=1))
    first, second = (phone.mac for phone in cell.phones)
    both = {first: Airtime(3_000_000, 70_000, 12), second: Airtime(1_000_000, 90_000, 12)}
    assert measure.air_jain(cell, 1, both) == pytest.approx(16 / 20)
    assert measure.air_jain(cell, 1, {first: both[first]}) is None  # the other one is gone
    late = both | {second: both[second]._replace(connected_s=9)}  # it associated again meanwhile
    assert measure.air_jain(cell, 1, late) is None
    none = {mac: Airtime(0, 70_000, 12) for mac in both}
    assert measure.air_jain(cell, 1, none) is None


def test_a_phones_time_on_the_air_is_of_both_ways() -> None:
    cell = topology.build(Parameters(terminals=2, seconds=10, warmup_seconds=1))
    first, _ = (phone.mac for phone in cell.phones)
    assert measure.air_s(cell, {first: Airtime(3_000_000, 70_000, 12)}) == [3.07, None]


def test_air_times_of_downloads_are_those_of_what_the_access_point_sent() -> None:
    download = Scenario("download", (Action(0, "start-traffic", direction="down"),))
    cell = topology.build(Parameters(terminals=2, seconds=10, warmup_seconds=1, scenario=download))
    counted = {phone.mac: Airtime(5, phone.index * 1_000_000, 12) for phone in cell.phones}
    assert measure.air_jain(cell, 1, counted) == pytest.approx(9 / 10)


@pytest.mark.parametrize("unknown_us", [0, 2**32 - 1])
def test_a_minimum_rtt_that_is_not_known_yet_is_not_the_smallest(unknown_us: int) -> None:
    parameters = Parameters(terminals=1, seconds=2, warmup_seconds=0)
    samples = measure.parse(lines_of(sent(1, 1, min_rtt_us=unknown_us), sent(2, 1, min_rtt_us=4_000)))
    assert measure.figures(topology.build(parameters), "cubic", 1, samples).phones[0].series.rtt_ratio == (2, 2)


def test_figures_have_six_decimals() -> None:
    """A byte a second is 0.000008 Mb/s."""
    parameters = Parameters(terminals=1, seconds=1, warmup_seconds=0)
    samples = measure.parse(lines_of(received(1, 1, 1), sent(1, 1, srtt_us=4_001, min_rtt_us=3_001)))
    run = measure.figures(topology.build(parameters), "cubic", 1, samples)
    assert run.total_goodput_mbps == 0.000008
    assert run.rtt_ratio == 1.333222


def test_a_run_without_samples_has_no_figures_but_zero() -> None:
    parameters = Parameters(terminals=2, seconds=2, warmup_seconds=1)
    run = measure.figures(topology.build(parameters), "cubic", 7, measure.parse([]))
    assert (run.mode, run.seed, run.total_goodput_mbps, run.retransmits, run.wall_seconds) == ("cubic", 7, 0, 0, 0)
    assert (run.jain, run.rtt_mean_ms, run.rtt_p95_ms, run.rtt_ratio) == (None, None, None, None)
    assert [phone.goodput_mbps for phone in run.phones] == [0, 0]
    assert [phone.series.t_s for phone in run.phones] == [(1, 2), (1, 2)]


@pytest.mark.parametrize(("min_rtt_us", "known"), [(0, False), (1, True), (2**32 - 2, True), (2**32 - 1, False)])
def test_a_minimum_rtt_that_the_kernel_does_not_know_yet(min_rtt_us: int, known: bool) -> None:  # noqa: FBT001
    parameters = Parameters(terminals=1, seconds=1, warmup_seconds=0)
    samples = measure.parse(lines_of(sent(1, 1, srtt_us=min_rtt_us or 1, min_rtt_us=min_rtt_us)))
    run = measure.figures(topology.build(parameters), "cubic", 1, samples)
    assert run.phones[0].series.min_rtt_ms == (min_rtt_us / 1000 if known else None,)
    assert run.phones[0].series.srtt_ms == ((min_rtt_us or 1) / 1000,)
    assert run.rtt_ratio == (1 if known else None)


def test_bytes_of_two_receivers_add_up() -> None:
    parameters = Parameters(terminals=1, seconds=1, warmup_seconds=0)
    samples = measure.parse(lines_of(received(1, 1, 100_000), received(1, 1, 25_000, server="server1-udp")))
    assert measure.figures(topology.build(parameters), "cubic", 1, samples).total_goodput_mbps == pytest.approx(1)


def test_no_bound_and_no_sample_are_none_and_not_zero() -> None:
    parameters = Parameters(terminals=1, seconds=2, warmup_seconds=0)
    never = 2**32 - 1
    samples = measure.parse(
        lines_of(sent(1, 1, srtt_us=0, min_rtt_us=never), sent(2, 1, bound_min_segs=3, bound_max_segs=9))
    )
    series = measure.figures(topology.build(parameters), "bdp", 1, samples).phones[0].series
    assert series.bound_max_segs == (None, 9)
    assert series.bound_min_segs == (None, 3)
    assert series.srtt_ms == (None, 8)
    assert series.min_rtt_ms == (None, 4)


def test_a_phone_that_never_sends_does_not_lower_jain() -> None:
    actions = (Action(0, "start-traffic", phone=1), Action(0, "start-traffic", phone=2))
    parameters = Parameters(scenario=Scenario("two", actions), terminals=3, seconds=2, warmup_seconds=0)
    samples = measure.parse(lines_of(received(2, 1, 500), received(2, 2, 1_500)))
    assert measure.figures(topology.build(parameters), "cubic", 1, samples).jain == pytest.approx(0.8)


def test_a_phone_that_stops_before_the_measured_window_does_not_lower_jain() -> None:
    def jain(stop_s: float) -> float | None:
        actions = (
            *(Action(0, "start-traffic", phone=1), Action(0, "start-traffic", phone=2)),
            Action(stop_s, "stop-traffic", phone=2),
        )
        parameters = Parameters(scenario=Scenario("two", actions), terminals=2, seconds=4, warmup_seconds=2)
        samples = measure.parse(lines_of(received(4, 1, 500)))
        return measure.figures(topology.build(parameters), "cubic", 1, samples).jain

    assert jain(2) == pytest.approx(1)
    assert jain(2.001) == pytest.approx(0.5)


def test_changes_of_rules_keep_their_moment() -> None:
    parameters = Parameters(terminals=1, seconds=1, warmup_seconds=0)
    change = {"kind": "rules", "name": "sta1", "t_ms": 350, "rules": "all 1 5\ndst 10.0.4.1/32 3 9\n"}
    phone = measure.figures(topology.build(parameters), "bdp", 1, measure.parse(lines_of(change))).phones[0]
    assert [(change.t_s, change.rules) for change in phone.rules] == [(0.35, ("all 1 5", "dst 10.0.4.1/32 3 9"))]


def test_a_sample_belongs_to_the_second_that_has_begun() -> None:
    parameters = Parameters(terminals=1, seconds=2, warmup_seconds=0)
    samples = measure.parse(
        lines_of(
            *({**received(0, 1, 125_000), "t_ms": 1_999}, {**sent(0, 1, cwnd_segs=3), "t_ms": 1_999}),
            *({**received(0, 1, 250_000), "t_ms": 2_000}, {**sent(0, 1, cwnd_segs=4), "t_ms": 2_000}),
        )
    )
    series = measure.figures(topology.build(parameters), "cubic", 1, samples).phones[0].series
    assert (series.goodput_mbps, series.cwnd_segs) == ((1, 1), (3, 4))


def test_flows_without_a_connection_are_counted() -> None:
    samples = measure.parse(lines_of(*[{"kind": "unconnected", "name": "sta1"}] * 2))
    assert samples.unconnected == 2
    assert samples.errors == []


@pytest.mark.parametrize(("flows", "figure"), [(0, None), (2, 2)])
def test_a_run_tells_of_flows_without_a_connection_only_if_there_were_some(flows: int, figure: int | None) -> None:
    cell = topology.build(Parameters(terminals=1, seconds=2, warmup_seconds=1))
    lines = [received(0, 1, 0), sent(0, 1), *[{"kind": "unconnected", "name": "sta1"}] * flows]
    assert measure.figures(cell, "cubic", 1, measure.parse(lines_of(*lines))).unconnected == figure


def test_errors_of_the_generator_are_kept() -> None:
    error = {"kind": "error", "name": "sta1", "error": "connect: Connection refused"}
    samples = measure.parse(lines_of(error, received(1, 1, 7)))
    assert samples.errors == ["sta1: connect: Connection refused"]
    assert samples.received_bytes == {"10.0.0.11": {1: 7}}


def test_only_the_beginning_of_a_line_that_is_no_sample_is_repeated() -> None:
    with pytest.raises(LabError) as raised:
        measure.parse(["x" * 119 + "yz"])
    assert str(raised.value).endswith(f": '{'x' * 119}y'")


def test_what_a_sender_does_not_report_is_none() -> None:
    parameters = Parameters(terminals=1, seconds=2, warmup_seconds=0)
    bare = {"kind": "send", "name": "sta1", "t_ms": 1_000}
    series = (
        measure.figures(topology.build(parameters), "cubic", 1, measure.parse(lines_of(bare, sent(2, 1))))
        .phones[0]
        .series
    )
    assert (series.cwnd_segs, series.bound_min_segs, series.bound_max_segs) == ((None, 10), (None,) * 2, (None,) * 2)
    assert (series.srtt_ms, series.min_rtt_ms, series.rtt_ratio) == ((None, 8), (None, 4), (None, 2))


@pytest.mark.parametrize("line", ["{", "[]", '{"kind": "recv"}', '{"kind": "odd", "name": "x", "t_ms": 1}', "null"])
def test_a_line_that_is_no_sample_is_named(line: str) -> None:
    good = json.dumps(received(1, 1, 1))
    with pytest.raises(LabError, match="line 2"):
        measure.parse([good, line])


def received_down(second: int, phone: int, bytes_: int) -> dict[str, object]:
    """What a phone counts: the source is the server, which sends to several phones."""
    return {"kind": "recv", "name": f"sta{phone}-down", "t_ms": second * 1000, "source": "10.0.4.1", "bytes": bytes_}


def both_ways() -> Parameters:
    actions = (Action(0, "start-traffic"), Action(0, "start-traffic", phone=1, direction="down"))
    return Parameters(
        scenario=Scenario("both", (*actions, Action(0, "start-traffic", phone=2, direction="down"))),
        terminals=3,
        seconds=2,
        warmup_seconds=1,
    )


def test_directions_are_counted_apart() -> None:
    lines = lines_of(
        *(received(1, i, 1_000_000) for i in (1, 2, 3)),
        *(received(2, i, 1_250_000) for i in (1, 2, 3)),
        *(received_down(1, 1, 500_000), received_down(2, 1, 875_000), received_down(2, 2, 125_000)),
        *(sent(2, i, srtt_us=8_000, retransmits=1) for i in (1, 2, 3)),
        {**sent(2, 1, srtt_us=16_000, min_rtt_us=2_000, retransmits=5), "name": "sta1-down"},
    )
    run = measure.figures(topology.build(both_ways()), "cubic", 1, measure.parse(lines))
    assert run.uplink is not None
    assert run.downlink is not None
    assert (run.total_goodput_mbps, run.uplink.total_goodput_mbps, run.downlink.total_goodput_mbps) == (10, 6, 4)
    # Three equal uploads; downloads of 3 and 1 Mb/s: 16 / (2 * 10).
    assert (run.uplink.jain, run.downlink.jain, run.jain) == (1, 0.8, 0.8)
    assert (run.uplink.rtt_mean_ms, run.downlink.rtt_mean_ms, run.rtt_mean_ms) == (8, 16, 10)
    assert (run.uplink.retransmits, run.downlink.retransmits, run.retransmits) == (3, 5, 8)
    assert [phone.goodput_mbps for phone in run.phones] == [2, 2, 2]
    assert [phone.download and phone.download.goodput_mbps for phone in run.phones] == [3, 1, None]
    # The smallest RTT is that of any flow to or from the server.
    assert run.phones[2].series.rtt_ratio == (None, 4)


def test_without_downloads_the_directions_are_not_there() -> None:
    parameters = Parameters(terminals=1, seconds=1, warmup_seconds=0)
    run = measure.figures(topology.build(parameters), "cubic", 1, measure.parse(lines_of(received(1, 1, 9))))
    assert (run.uplink, run.downlink, run.directions(), run.phones[0].download) == (None, None, {}, None)


def test_who_sends_at_its_own_rate_does_not_lower_jain() -> None:
    actions = (
        *(Action(0, "start-traffic", phone=i) for i in (1, 2)),
        Action(0, "start-traffic", phone=3, protocol="udp", rate_mbps=0.1),
    )
    parameters = Parameters(scenario=Scenario("x", actions), terminals=3, seconds=1, warmup_seconds=0)
    samples = measure.parse(lines_of(received(1, 1, 300), received(1, 2, 100), received(1, 3, 1)))
    assert measure.figures(topology.build(parameters), "cubic", 1, samples).jain == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("totals_mbps", "start_s", "recovery_s"),
    [
        # Later mean: of the last three seconds, 20; 18 is reached in the second that ends at 6.
        ([5, 5, 5, 9, 17.9, 18, 20, 20, 20], 3, 3),
        ([5, 5, 5, 9, 17.9, 18, 20, 20, 20], 2.5, 3.5),
        ([5, 5, 20, 20, 20], 2, 1),
        ([5, 5, 0, 0, 0, 0], 2, None),
        ([5, 5], 2, None),
        # 90 % of 7 are less than the 6.5 before.
        ([0, 0, 6, 7, 7, 6, 7, 7], 4, None),
        ([0, 0, 5, 5, 7, 6, 7, 7], 4, 1),
    ],
)
def test_recovered_is_who_first_has_nine_tenths_of_the_later_mean(
    totals_mbps: list[float], start_s: float, recovery_s: float | None
) -> None:
    assert measure.recovery_s(totals_mbps, start_s) == recovery_s


@pytest.mark.parametrize(("mode", "known"), [("bdp", True), ("cubic", False)])
def test_only_a_mode_with_a_controller_recovers(mode: str, known: bool) -> None:  # noqa: FBT001
    parameters = Parameters(scenario=built_in("recovery"), terminals=1, seconds=12, warmup_seconds=1)
    samples = measure.parse(lines_of(*(received(i, 1, (i + max(0, i - 10)) * 1_000_000) for i in range(1, 13))))
    recovery_s = measure.figures(topology.build(parameters), mode, 1, samples).recovery_s
    assert recovery_s == (1 if known else None)
