# SPDX-License-Identifier: Apache-2.0
"""SQLite on the lab's disk in a guest: the same requests in every run, and what a cut of the power leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from airbound_lab.io_study import measures
from airbound_lab.io_study import run as study
from airbound_lab.io_study.design import Case, Design
from airbound_lab.io_study.devices import DEVICES
from airbound_lab.io_study.measures import Measured, Outcome
from airbound_lab.run import host

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from airbound_lab.io_study.run import Recorded

pytestmark = pytest.mark.uml

UFS_WAL = Case("ufs-today", "ext4", "wal", rows=60, selects=3)


@pytest.fixture(scope="module")
def boot(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Recorded]:
    """Boots a guest of the study."""
    study.check_tools(("ext4", "f2fs"))
    kernel: Path = host.kernel(None, "6.12")

    def boot(case: Case) -> Recorded:
        return study.run(kernel, case, tmp_path_factory.mktemp("guest") / "run", lambda _: None, lambda: False)

    return boot


def measured(boot: Callable[[Case], Recorded], case: Case) -> Measured:
    found = boot(case)
    return measures.measured(case, found.result, found.requests, DEVICES[case.device].times)


def test_equal_runs_have_equal_requests_at_equal_times(boot: Callable[[Case], Recorded]) -> None:
    first, second = boot(UFS_WAL), boot(UFS_WAL)
    assert first.requests
    assert first == second


@pytest.mark.parametrize("filesystem", ["ext4", "f2fs"])
def test_a_seed_changes_no_number_of_requests(boot: Callable[[Case], Recorded], filesystem: str) -> None:
    case = replace(UFS_WAL, filesystem=filesystem)
    one, other = measured(boot, case), measured(boot, replace(case, seed=7))
    assert one.requests_per_insert == other.requests_per_insert
    assert one.flushes_per_insert == other.flushes_per_insert


def test_selects_read_nothing_until_the_cache_is_dropped(boot: Callable[[Case], Recorded]) -> None:
    found = measured(boot, UFS_WAL)
    assert found.reads_warm == 0
    assert found.reads_cold > 0


def test_a_transaction_costs_flushes_and_a_journal_of_its_own_more_of_them(boot: Callable[[Case], Recorded]) -> None:
    wal = measured(boot, UFS_WAL)
    delete = measured(boot, replace(UFS_WAL, journal="delete"))
    together = measured(boot, replace(UFS_WAL, rows_per_transaction=20))
    assert 1 <= wal.flushes_per_insert < delete.flushes_per_insert
    assert delete.inserts_per_s < wal.inserts_per_s < together.inserts_per_s / 5


def cuts(boot: Callable[[Case], Recorded], journal: str, synchronous: str) -> dict[Outcome, int]:
    [case] = Design(("ufs-today",), ("ext4",), (journal,), (synchronous,), rows=12, cuts=24).cases()
    return measures.outcomes(case, boot(case).result["cuts"])


@pytest.mark.parametrize(("journal", "synchronous"), [("delete", "extra"), ("wal", "full")])
def test_what_sqlite_made_durable_is_there_after_a_cut_at_any_request(
    boot: Callable[[Case], Recorded], journal: str, synchronous: str
) -> None:
    assert set(cuts(boot, journal, synchronous)) == {Outcome.WHOLE}


def test_a_journal_that_comes_back_takes_a_committed_transaction_away(boot: Callable[[Case], Recorded]) -> None:
    # "full" does not make the deletion of the journal durable; "extra" does (SQLite, PRAGMA synchronous).
    found = cuts(boot, "delete", "full")
    assert found[Outcome.LOST] > 0
    assert found[Outcome.DAMAGED] == 0


def test_what_nobody_made_durable_is_lost(boot: Callable[[Case], Recorded]) -> None:
    assert cuts(boot, "wal", "off")[Outcome.LOST] > 0


@pytest.mark.parametrize("filesystem", ["ext4", "f2fs"])
def test_the_phones_own_record_has_the_same_requests(tmp_path: Path, filesystem: str) -> None:
    phone = host.programs((), trace=True).phone_agent
    case = replace(UFS_WAL, filesystem=filesystem, journal="delete", phone_io=phone)
    study.run(host.kernel(None, "6.12"), case, tmp_path / "run", lambda _: None, lambda: False)
    found = study.agreement_in(tmp_path / "run")
    found.check()
    assert found.both > 8 * case.rows
