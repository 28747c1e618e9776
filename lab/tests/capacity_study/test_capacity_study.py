# SPDX-License-Identifier: Apache-2.0

import json
from dataclasses import replace
from typing import Any

import pytest

from airbound_lab import cli
from airbound_lab.capacity_study import design
from airbound_lab.capacity_study.cli import study
from airbound_lab.capacity_study.design import Estimate, Found, Point
from airbound_lab.errors import LabError
from airbound_lab.figures import capacity
from airbound_lab.figures.capacity import CapacityFigures
from airbound_lab.figures.results import Run
from airbound_lab.figures.senders import Answer
from airbound_lab.settings.parameters import Parameters

PARAMETERS = Parameters(phy="11ac-80", ap="openwrt", kernel_line="6.12", terminals=2, seconds=15, warmup_seconds=7)
TCP, UDP = Point(PARAMETERS, "tcp"), Point(PARAMETERS, "udp")


def run(mbps: float, found: CapacityFigures | None = None) -> Run:
    nothing: dict[str, Any] = dict.fromkeys(("jain", "rtt_mean_ms", "rtt_p95_ms", "rtt_ratio"))
    return Run("bdp", 1, total_goodput_mbps=mbps, retransmits=0, phones=(), wall_seconds=1.0, capacity=found, **nothing)


def test_figures_are_of_the_answers_in_the_window() -> None:
    answers = [
        Answer(at_ms, None, capacity_bps=bps)
        for at_ms, bps in (
            (999, 1),
            (1000, 10_000_000),
            (1500, 40_000_000),
            (2000, None),
            (2500, 20_000_000),
            (3000, 1),
        )
    ]
    assert capacity.figures(answers, (1000, 3000)) == CapacityFigures(20.0, 10.0, 40.0)
    assert capacity.figures(answers, (4000, 5000)) is None


def test_the_true_capacity_is_the_most_of_all_and_loads_are_shares_of_it() -> None:
    totals = {"cubic": 90.0, "vegas": 100.0, "bdp": 80.0}
    asked = list[Parameters]()

    def carry(parameters: Parameters) -> Run:
        asked.append(parameters)
        [mode], [action] = parameters.modes, parameters.scenario.actions
        if action.rate_mbps is None:
            return run(totals[mode])
        return run(action.rate_mbps * 2, CapacityFigures(100.0, 90.0, 110.0))

    found = study(TCP, 7, (5.0, 50.0), carry)
    true_mbps = 100 * 1500 / 1448
    assert (found.point.parameters.seeds, found.seed, found.true_mbps) == ((7,), 7, pytest.approx(true_mbps))
    rates = [parameters.scenario.actions[0].rate_mbps for parameters in asked]
    assert rates == [None, None, None, pytest.approx(2.5), pytest.approx(25)]
    assert [parameters.watch_senders_ms for parameters in asked] == [None, None, None, 500, 500]
    assert [each.carried_mbps for each in found.estimates] == pytest.approx([true_mbps * 0.05, true_mbps * 0.5])
    assert found.errors() == pytest.approx([1448 / 1500 - 1] * 2)
    assert len(design.true_modes(UDP)) == 1


def test_no_phone_offers_more_than_a_scenario_can() -> None:
    parameters = design.loaded(Point(replace(PARAMETERS, terminals=1), "udp"), 2000.0, 95.0)
    assert parameters.scenario.actions[0].rate_mbps == 1000


def test_a_run_without_an_estimate_is_an_error() -> None:
    with pytest.raises(LabError, match=r"11ac-80, 2 phones, udp, 5 %: the controller gave no estimate"):
        design.estimate(UDP, 5.0, run(1.0))


def test_what_was_found_as_table_and_as_json() -> None:
    estimates = (Estimate(5.0, 5.0, 95.0, 90.0, 99.0), Estimate(95.0, 94.0, 108.0, 100.0, 110.0))
    found = [Found(TCP, 1, 100.0, estimates)]
    assert design.rows(found, (5.0, 95.0)) == [
        ["", "seed", "true Mb/s", "at 5 %", "at 95 %"],
        ["11ac-80, 2 phones, tcp", "1", "100.0", "-5.0%", "+8.0%"],
    ]
    assert design.worst(found) == pytest.approx(0.08)
    [one] = json.loads(design.document(found))
    assert (one["phy"], one["true_mbps"], one["estimates"][1]["median_mbps"]) == ("11ac-80", 100.0, 108.0)


def test_a_wrong_protocol_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["study", "capacity", "--protocols", "sctp"]) == 2
    assert "'sctp' is none of tcp, udp" in capsys.readouterr().err
