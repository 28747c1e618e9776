# SPDX-License-Identifier: Apache-2.0
"""HTTP transactions of a phone beside uploads of others: twice the same, and what bounds of the others change."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.http_study import table
from airbound_lab.http_study.design import Design
from airbound_lab.run import host

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.http_study.design import Case

pytestmark = pytest.mark.uml


@pytest.fixture(scope="module")
def boot(boot_cell: Callable[..., Cell]) -> Callable[..., Cell]:
    """Boots a cell of the study."""
    host.check_tools(applications=True)

    def boot(case: Case, *, fresh: bool = False) -> Cell:
        given: dict[str, Any] = {field.name: getattr(case.parameters, field.name) for field in fields(case.parameters)}
        [seed], [mode] = given.pop("seeds"), given.pop("modes")
        return boot_cell(mode, seed, fresh=fresh, **given)

    return boot


def case_of(mode: str, uploads: int, each_s: int, *transactions: str) -> Case:
    """A cell of the study at 4 ms."""
    asked = Design(
        delays_ms=(4.0,), uploads=(uploads,), transactions=transactions, each_s=each_s, modes=(mode,), seeds=(1,)
    )
    [case] = asked.cases()
    return case


def test_equal_runs_have_equal_transactions(boot: Callable[..., Cell]) -> None:
    case = case_of("cubic", 1, 1, "new-8", "kept-1")
    first, second = (boot(case, fresh=True) for _ in range(2))
    assert first.run.comparable() == second.run.comparable()
    for number in range(2):
        name = f"application-{number}.out"
        assert (first.logs / name).read_bytes() == (second.logs / name).read_bytes() != b""


def test_alone_a_transaction_takes_a_round_trip_and_one_more_for_its_connection(boot: Callable[..., Cell]) -> None:
    case = case_of("cubic", 0, 1, "new-1", "kept-1")
    new, kept = table.gather([(case, boot(case).run)])
    # Of the wire, and of the air less than 2 ms in a round trip. The end of the connection comes with the answer.
    assert 8 < (table.quantile(new.every_ms, 0.5) or 0) < 12
    assert 4 < (table.quantile(kept.every_ms, 0.5) or 0) < 6
    assert len(new.every_ms) == pytest.approx(1000 / (table.quantile(new.every_ms, 0.5) or 0), rel=0.1)


def test_bounds_of_those_that_upload_make_transactions_short(boot: Callable[..., Cell]) -> None:
    cases = [case_of(mode, 4, 8, "new-1") for mode in ("cubic", "airbound")]
    cubic, airbound = table.gather((case, boot(case).run) for case in cases)
    print(cubic.per_s, airbound.per_s)  # noqa: T201  (with -s: for the docs)
    assert airbound.per_s[0] > 20 * cubic.per_s[0] > 0
