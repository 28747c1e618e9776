# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airbound_lab.compare import matrix
from airbound_lab.compare.matrix import PRESETS, Axes, Condition
from airbound_lab.errors import UsageError
from airbound_lab.settings.scenario import built_in

TWO = Axes(wired_delays_ms=((4.0,), (4.0, 64.0)), terminals=(1, 3), rate_controls=("aarf",), loss_percents=(0.0, 1.0))


def test_conditions_are_the_product_of_the_axes_in_the_order_of_the_rows() -> None:
    assert [str(condition) for condition in TWO.conditions()] == [
        "uplink, 802.11g, aarf (2013), 1 phone, 4 ms",
        "uplink, 802.11g, aarf (2013), 1 phone, 4+64 ms",
        "uplink, 802.11g, aarf (2013), 3 phones, 4 ms",
        "uplink, 802.11g, aarf (2013), 3 phones, 4+64 ms",
        "uplink, 802.11g, aarf (2013), 1 % loss, 1 phone, 4 ms",
        "uplink, 802.11g, aarf (2013), 1 % loss, 1 phone, 4+64 ms",
        "uplink, 802.11g, aarf (2013), 1 % loss, 3 phones, 4 ms",
        "uplink, 802.11g, aarf (2013), 1 % loss, 3 phones, 4+64 ms",
    ]


def test_a_condition_with_tls_has_it_in_its_name_and_in_its_parameters() -> None:
    condition = replace(TWO.conditions()[0], tls=True)
    assert str(condition) == "uplink, 802.11g, aarf (2013), mutual TLS, 1 phone, 4 ms"
    [plain] = matrix.build(TWO.conditions()[:1], ("bdp",), (1,)).tasks()
    [task] = matrix.build([condition], ("bdp",), (1,)).tasks()
    assert [job.condition.parameters(job.variant, 1).tls for job in (plain, task)] == [False, True]


def test_a_condition_on_another_kernel_has_it_in_its_name_and_in_its_parameters() -> None:
    condition = replace(TWO.conditions()[0], kernel_line="6.12")
    assert str(condition) == "uplink, 802.11g, aarf (2013), Linux 6.12, 1 phone, 4 ms"
    [plain] = matrix.build(TWO.conditions()[:1], ("bdp",), (1,)).tasks()
    [task] = matrix.build([condition], ("bdp",), (1,)).tasks()
    assert [job.condition.parameters(job.variant, 1).kernel_line for job in (plain, task)] == ["6.1", "6.12"]


def test_a_condition_with_agents_has_them_in_its_name_and_where_they_run() -> None:
    conditions = replace(
        TWO, terminals=(3,), wired_delays_ms=((4.0,),), loss_percents=(0.0,), agents=(0, 3)
    ).conditions()
    assert [condition.row() for condition in conditions] == [
        "3 phones, 0 with an agent, 4 ms",
        "3 phones, 3 with an agent, 4 ms",
    ]
    tasks = matrix.build(conditions, ("cubic", "bdp", "bdp@agents=2"), (1,)).tasks()
    # A run without agents is the same one under both conditions.
    assert [task.condition.parameters(task.variant, 1).agents for task in tasks] == [None, 0, 2, None, 3, 2]


def test_a_condition_of_the_controllers_wire_and_reports_is_named_and_made_where_there_is_a_controller() -> None:
    reporting = {"report_interval_ms": 2000, "controller_delay_ms": 500.0, "controller_loss_percent": 10.0}
    condition = replace(TWO.conditions()[0], **reporting)
    assert str(condition) == (
        "uplink, 802.11g, aarf (2013), a report every 2000 ms, reports and commands 500 ms late,"
        " 10 % of reports' and commands' packets lost, 1 phone, 4 ms"
    )
    cubic, bdp = matrix.build([condition], ("cubic", "bdp"), (1,)).tasks()
    for name, value in reporting.items():
        assert getattr(bdp.condition.parameters(bdp.variant, 1), name) == value
    plain = TWO.conditions()[0].parameters(cubic.variant, 1)
    assert cubic.condition.parameters(cubic.variant, 1) == plain


@pytest.mark.parametrize(
    ("station_rates", "name"),
    [
        ("none", "a driver without stations' rates"),
        ("one", "a driver with one rate for all stations"),
        ("frame", "a driver with rates of single frames"),
    ],
)
def test_a_driver_with_other_rates_is_a_condition_of_modes_with_agents(station_rates: Any, name: str) -> None:
    condition = replace(TWO.conditions()[0], station_rates=station_rates)
    assert str(condition) == f"uplink, 802.11g, aarf (2013), {name}, 1 phone, 4 ms"
    tasks = matrix.build([condition], ("cubic", "bdp"), (1,)).tasks()
    assert [task.condition.parameters(task.variant, 1).station_rates for task in tasks] == ["data", station_rates]


def test_servers_that_merge_segments_are_a_condition_for_everybody() -> None:
    condition = replace(TWO.conditions()[0], gro=True)
    assert str(condition) == "uplink, 802.11g, aarf (2013), servers with GRO, 1 phone, 4 ms"
    for task in matrix.build([condition], ("cubic", "bdp"), (1,)).tasks():
        assert task.condition.parameters(task.variant, 1).gro


def test_every_condition_runs_with_every_variant_and_seed_seed_by_seed() -> None:
    found = matrix.build(TWO.conditions()[:2], ("cubic", "bdp@aifsn=4"), (7, 9))
    assert [(task.seed, task.condition.row(), task.variant.name) for task in found.tasks()] == [
        (seed, row, name) for seed in (7, 9) for row in ("1 phone, 4 ms", "1 phone, 4+64 ms")
        for name in ("cubic", "bdp@aifsn=4")
    ]  # fmt: skip


def test_conditions_that_presets_have_in_common_are_run_once() -> None:
    conditions = TWO.conditions()
    assert matrix.build([*conditions, *conditions], ("cubic",), (1,)).conditions == tuple(conditions)


def test_a_run_has_the_conditions_and_the_variants_parameters() -> None:
    [task] = matrix.build(
        [replace(TWO.conditions()[-1], controller_config="a = 1")], ("vegas@cake@aifsn=4",), (5,)
    ).tasks()
    parameters = task.condition.parameters(task.variant, task.seed)
    assert (parameters.modes, parameters.seeds) == (("vegas",), (5,))
    assert (parameters.ap_qdisc, parameters.ap_aifsn, parameters.qdisc) == ("cake", 4, None)
    assert (parameters.terminals, parameters.wired_delays_ms, parameters.loss_percent) == (3, (4.0, 64.0), 1.0)
    assert (parameters.rate_control, parameters.ap_rate_control) == ("aarf", None)
    assert (parameters.seconds, parameters.warmup_seconds, parameters.controller_config) == (30, 10, "a = 1")


@pytest.mark.parametrize(
    ("axes", "names", "seeds", "message"),
    [
        (TWO, ("nomode",), (1,), "--modes: 'nomode': none of"),
        (TWO, ("cubic", "cubic"), (1,), "--modes: each only once"),
        (TWO, ("cubic",), (1, 1), "--seeds: each only once"),
        (TWO, ("cubic",), (-1,), "uplink, 802.11g, aarf (2013), 1 phone, 4 ms: cubic: --seeds[0]: -1: "),
        (TWO, ("cubic@aifsn=16",), (1,), "cubic@aifsn=16: --ap-aifsn: 16: "),
        (replace(TWO, terminals=(0,)), ("cubic",), (1,), "--terminals: 0: "),
        (replace(TWO, scenarios=(built_in("both-ways"),)), ("cubic",), (1,), "there is no phone 2 of 1"),
        (replace(TWO, warmup_seconds=30), ("cubic",), (1,), "--warmup-seconds: 30: not below seconds"),
    ],
)
def test_a_comparison_with_a_run_that_cannot_be_made_is_refused(
    axes: Axes, names: tuple[str, ...], seeds: tuple[int, ...], message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        matrix.build(axes.conditions(), names, seeds)
    assert message in str(raised.value)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_be_run(name: str) -> None:
    preset = PRESETS[name]
    conditions = [condition for axes in preset.axes for condition in axes.conditions()]
    found = matrix.build(conditions, preset.variants, preset.seeds)
    assert len(found.tasks()) == len(conditions) * len(preset.variants) * len(preset.seeds)
    assert "airbound" in preset.variants
    assert preset.seeds == (1, 2, 3)


def test_the_grid_is_the_whole_one() -> None:
    conditions = [condition for axes in PRESETS["grid"].axes for condition in axes.conditions()]
    assert {condition.terminals for condition in conditions} == {1, 2, 3, 5, 7, 10, 20}
    assert {condition.wired_delays_ms for condition in conditions} == {(4.0,), (16.0,), (64.0,), (256.0,)}
    assert {condition.rate_control for condition in conditions} == {"minstrel", "aarf"}
    assert {(condition.seconds, condition.warmup_seconds) for condition in conditions} == {(30, 10)}
    assert len(conditions) == 7 * 4 * 2


def test_delays_are_read_as_they_are_written() -> None:
    assert matrix.delays("256") == (256.0,)
    assert matrix.delays("4+64+0.5") == (4.0, 64.0, 0.5)
    assert matrix.delays_name((4.0, 64.0, 0.5)) == "4+64+0.5"
    with pytest.raises(ValueError, match=r"'4\+x' is neither a delay in ms nor a mix such as 4\+64\+256"):
        matrix.delays("4+x")


def test_an_unknown_age_of_rate_control_has_no_year() -> None:
    assert Condition(built_in("uplink"), (4.0,), 2, "fixed").group() == "uplink, 802.11g, fixed"


@pytest.mark.parametrize("radio", ["11n", "11ac"])
def test_the_cells_of_a_gate_are_some_of_the_matrix(radio: str) -> None:
    gate, whole = (
        {str(condition) for axes in PRESETS[f"{name}-{radio}"].axes for condition in axes.conditions()}
        for name in ("gate", "matrix")
    )
    assert len(gate) == 8
    assert gate < whole
    assert PRESETS[f"gate-{radio}"].variants == PRESETS[f"matrix-{radio}"].variants


def test_what_has_no_run_is_left_out_in_the_order_of_the_rest() -> None:
    whole = matrix.build(TWO.conditions(), ("cubic", "bbr", "vegas"), (1, 2, 3))
    tasks = whole.tasks()
    last, first = tasks[-1], tasks[1]
    assert (last.variant.name, first.variant.name) == ("vegas", "bbr")
    part = matrix.without_missing(whole, {last, first})
    assert part.conditions == (whole.conditions[0], whole.conditions[-1])
    assert [variant.name for variant in part.variants] == ["bbr", "vegas"]
    assert part.seeds == (1, 3)
    assert matrix.without_missing(whole, set(tasks)) == whole
    assert matrix.without_missing(whole, ()).tasks() == []
