# SPDX-License-Identifier: Apache-2.0
"""Figures of a run of the study of storage, and what a cut of the power left."""

from __future__ import annotations

from typing import Any

import pytest

from airbound_lab.errors import UsageError
from airbound_lab.io_study import measures, table
from airbound_lab.io_study.design import Case, Design
from airbound_lab.io_study.devices import DEVICES, Times
from airbound_lab.io_study.measures import Outcome
from airbound_lab.io_study.records import Kind, Request

CASE = Case("emmc-2010", "ext4", "wal", rows=2)


def request(phase: str, kind: Kind, sectors: int = 8) -> Request:
    return Request(phase, 0, 1, kind, forced=False, metadata=False, sector=100, sectors=sectors, issuer="sqlite3")


def test_figures_are_of_an_insert() -> None:
    requests = [
        request("insert", Kind.WRITE), request("insert", Kind.WRITE, 16), request("insert", Kind.FLUSH),
        request("select-cold", Kind.READ),
    ]  # fmt: skip
    times = Times(write_ns=1_000_000, flush_ns=2_000_000)
    found = measures.measured(CASE, {"insert_ns": 10_000_000}, requests, times)
    assert found.inserts_per_s == pytest.approx(200)
    assert found.predicted_inserts_per_s == pytest.approx(2 / 0.004)
    assert (found.requests_per_insert, found.flushes_per_insert, found.kib_per_insert) == (1.5, 0.5, 6.0)
    assert (found.reads_warm, found.reads_cold) == (0, 1)
    assert table.measured_rows([found])[1][:3] == ["emmc-2010", "ext4", "wal"]


def test_a_prediction_adds_what_each_request_takes_by_the_devices_times() -> None:
    card = DEVICES["card-2010"].times
    write_s = (card.write_ns + 4 * (card.write_kib_ns + card.program_kib_ns) + card.jump_ns) / 1e9
    read_s = (card.read_ns + 4 * card.read_kib_ns) / 1e9
    found = measures.predicted_s([request("insert", Kind.WRITE), request("insert", Kind.READ)], card)
    assert found == pytest.approx(write_s + read_s)


@pytest.mark.parametrize(
    ("cut", "outcome"),
    [
        ({"committed": 5, "verdict": "ok", "rows": 5, "in_order": True}, Outcome.WHOLE),
        ({"committed": 5, "verdict": "ok", "rows": 6, "in_order": True}, Outcome.WHOLE),
        ({"committed": 5, "verdict": "ok", "rows": 7, "in_order": True}, Outcome.DAMAGED),
        ({"committed": 5, "verdict": "ok", "rows": 4, "in_order": True}, Outcome.LOST),
        ({"committed": 5, "verdict": "ok", "rows": 5, "in_order": False}, Outcome.DAMAGED),
        (
            {"committed": 5, "verdict": "database disk image is malformed", "rows": 0, "in_order": False},
            Outcome.DAMAGED,
        ),
        ({"committed": 0, "verdict": "ok", "rows": 0, "in_order": True}, Outcome.WHOLE),
    ],
)
def test_what_a_cut_left(cut: dict[str, Any], outcome: Outcome) -> None:
    assert measures.outcome(CASE, cut) is outcome


def test_outcomes_are_counted() -> None:
    whole = {"committed": 2, "verdict": "ok", "rows": 2, "in_order": True}
    lost = {"committed": 1, "verdict": "ok", "rows": 0, "in_order": True}
    assert measures.outcomes(CASE, [whole, lost, lost]) == {Outcome.WHOLE: 1, Outcome.LOST: 2}
    assert table.cut_rows([(CASE, [whole, lost])])[1][-4:] == ["2", "1", "1", "0"]


def test_a_design_has_each_combination_once() -> None:
    design = Design(devices=tuple(DEVICES), synchronous=("full", "off"), rows_per_transaction=(1, 10), seeds=(1, 2))
    cases = design.cases()
    assert len(cases) == len(set(cases)) == len({str(case) for case in cases}) == len(DEVICES) * 2 * 4 * 2 * 2 * 2


def test_cuts_are_at_every_request_with_and_without_what_was_cached() -> None:
    [case] = Design(filesystems=("ext4",), journals=("wal",), cuts=2).cases()
    assert [after for after, _ in case.cuts] == [1, 1, 2, 2]
    assert [seed == 0 for _, seed in case.cuts] == [True, False, True, False]


@pytest.mark.parametrize(
    "wrong",
    [
        {"devices": ("floppy",)}, {"filesystems": ("fat",)}, {"journals": ("memory",)}, {"synchronous": ("often",)},
        {"rows": 0}, {"rows_per_transaction": (0,)}, {"cuts": -1}, {"selects": -1},
    ],
)  # fmt: skip
def test_a_design_that_is_wrong_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Design(**wrong)


def test_times_are_parameters_of_the_kernel() -> None:
    assert Times(read_ns=5).boot_parameters() == [
        "timed_disk.size_mb=128",
        "timed_disk.depth=1",
        "timed_disk.read_ns=5",
    ]
