# SPDX-License-Identifier: Apache-2.0
"""The study's tables; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound_lab.io_study.measures import Outcome, outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from airbound_lab.io_study.design import Case
    from airbound_lab.io_study.measures import Measured

Rows = list[list[str]]


def _case_cells(case: Case) -> list[str]:
    return [
        case.device, case.filesystem, case.journal, case.synchronous, str(case.rows_per_transaction), str(case.seed)
    ]  # fmt: skip


CASE_HEADER = ["device", "file system", "journal", "synchronous", "rows", "seed"]


def measured_rows(found: Sequence[Measured]) -> Rows:
    """Return the table of inserts, its header first. `rows` are those of a transaction."""
    header = [
        *CASE_HEADER, "inserts/s", "predicted", "requests", "flushes", "KiB", "reads warm", "reads cold"
    ]  # fmt: skip
    return [header] + [
        [
            *_case_cells(one.case), f"{one.inserts_per_s:.1f}", f"{one.predicted_inserts_per_s:.1f}",
            f"{one.requests_per_insert:.2f}", f"{one.flushes_per_insert:.2f}", f"{one.kib_per_insert:.1f}",
            str(one.reads_warm), str(one.reads_cold),
        ]
        for one in found
    ]  # fmt: skip


def cut_rows(found: Sequence[tuple[Case, Sequence[dict[str, Any]]]]) -> Rows:
    """Return the table of cuts, its header first."""
    rows = [[*CASE_HEADER, "cuts", *(outcome.value for outcome in Outcome)]]
    for case, cuts in found:
        counts = outcomes(case, cuts)
        rows.append([*_case_cells(case), str(counts.total()), *(str(counts[outcome]) for outcome in Outcome)])
    return rows
