# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.compare import record
from airbound_lab.errors import UsageError
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import built_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from airbound_lab.compare.record import Figures
    from airbound_lab.figures.results import Results

PARAMETERS = Parameters(modes=("cubic",), seeds=(1,))
INPUTS = record.inputs(PARAMETERS, "k", {"traffic": "t"})


@pytest.fixture
def found(make_results: Callable[..., Results]) -> Figures:
    return record.figures(make_results(modes=("cubic",)).runs[0])


def test_a_record_is_read_back_as_it_was_written(found: Figures, tmp_path: Path) -> None:
    assert record.load(tmp_path, INPUTS, record.FIGURES) is None
    record.save(tmp_path, INPUTS, found)
    assert record.load(tmp_path, INPUTS, record.FIGURES) == found
    assert [path.name for path in tmp_path.iterdir()] == [record.name(INPUTS)]


def test_the_figures_are_the_runs(make_results: Callable[..., Results]) -> None:
    [run] = make_results(modes=("cubic",), scenario=built_in("both-ways")).runs
    found = record.figures(run)
    assert (found.total_goodput_mbps, found.jain, found.rtt_p95_ms) == (
        run.total_goodput_mbps,
        run.jain,
        run.rtt_p95_ms,
    )
    assert run.uplink is not None
    assert run.downlink is not None
    assert (found.up_mbps, found.down_mbps) == (run.uplink.total_goodput_mbps, run.downlink.total_goodput_mbps)
    assert found.phones_mbps == tuple(phone.goodput_mbps for phone in run.phones)


@pytest.mark.parametrize(
    "other",
    [
        record.inputs(replace(PARAMETERS, seeds=(2,)), "k", {"traffic": "t"}),
        record.inputs(replace(PARAMETERS, modes=("bbr",)), "k", {"traffic": "t"}),
        record.inputs(replace(PARAMETERS, ap_aifsn=4), "k", {"traffic": "t"}),
        record.inputs(replace(PARAMETERS, controller_config=""), "k", {"traffic": "t"}),
        record.inputs(PARAMETERS, "another", {"traffic": "t"}),
        record.inputs(PARAMETERS, "k", {"traffic": "another"}),
    ],
)
def test_whatever_a_run_depends_on_is_in_the_name(other: dict[str, Any]) -> None:
    assert record.name(other) != record.name(INPUTS)


def test_the_name_is_the_same_in_every_process() -> None:
    assert record.name(INPUTS) == record.name(json.loads(json.dumps(INPUTS)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("figures"), "'figures' is missing"),
        (lambda data: data.update(schema=2), "schema: 2: "),
        (lambda data: data["figures"].update(jain="high"), "figures.jain: 'high': "),
        (lambda data: data["figures"].pop("recovery_s"), "figures: 'recovery_s' is missing"),
        (lambda data: data["inputs"].update(kernel="x"), "inputs: they are not those that the file is named by"),
    ],
)
def test_a_file_that_is_no_such_record_is_refused(
    change: Callable[[dict[str, Any]], object], message: str, found: Figures, tmp_path: Path
) -> None:
    record.save(tmp_path, INPUTS, found)
    path = tmp_path / record.name(INPUTS)
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        record.load(tmp_path, INPUTS, record.FIGURES)
    assert str(raised.value).startswith(f"{path}: {message}")


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / record.name(INPUTS)).write_text('{"schema": 1, "inp', encoding="utf-8")
    with pytest.raises(UsageError, match="not JSON"):
        record.load(tmp_path, INPUTS, record.FIGURES)


def test_where_nothing_can_be_written_is_named(found: Figures, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*nowhere.*: No such file"):
        record.save(tmp_path / "nowhere", INPUTS, found)
