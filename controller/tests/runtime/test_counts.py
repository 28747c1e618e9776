# SPDX-License-Identifier: Apache-2.0

from airbound.core.edca import Category, Edca
from airbound.core.effects import Bound, CellForgotten, CloseStream, Effect, Note, SetBounds, WindowLimit
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.runtime.counts import Counts
from airbound_testing.scenario import BSSID, OTHER_BSSID, SERVER, mac

STREAM = Stream(7, Principal("terminal", "phone"))
BOUNDS, LIMITS = (Bound(SERVER, 2, 3),), (WindowLimit(mac(0), SERVER, 2896),)
QUEUES = (Edca(Category.BEST_EFFORT, 4, 15, 1023, 0),)
WHY = Reason(Code.STARTED_SENDING), Reason(Code.SHARE)


def counted(*effects: Effect) -> Counts:
    counts = Counts()
    for effect in effects:
        counts.count(effect)
    return counts


def test_a_set_is_counted_by_its_first_reason_for_all_and_for_its_cell() -> None:
    counts = counted(
        Note("info", "bounds", "phone", WHY, BOUNDS, cell=BSSID),
        Note("info", "bounds", "phone", WHY, (), cell=BSSID),
        Note("info", "edca", "cell", WHY, queues=QUEUES, cell=BSSID),
        Note("info", "edca", "cell", WHY, queues=(), cell=BSSID),
        Note("info", "windows", "cell", WHY, windows=LIMITS, cell=BSSID),
        Note("info", "windows", "cell", WHY, windows=(), cell=BSSID),
    )
    names = ("sets", "releases", "edca_sets", "edca_releases", "window_sets", "window_releases")
    assert counts.totals == {(f"{name}_total", Code.STARTED_SENDING): 1 for name in names}
    assert counts.cells == {BSSID: counts.totals}


def test_a_release_for_leaving_is_not_the_cells_that_was_left_nor_is_one_in_no_cell() -> None:
    left, elsewhere = Reason(Code.LEFT_CELL), Reason(Code.ADDRESS_MISMATCH)
    counts = counted(
        Note("info", "bounds", "phone", (left,), (), cell=BSSID), Note("info", "bounds", "phone", (elsewhere,), ())
    )
    assert counts.totals.total() == 2
    assert counts.cells == {}


def test_what_a_terminal_is_sent_is_counted_by_its_stream() -> None:
    counts = counted(SetBounds(STREAM, 1, BOUNDS, 6_000, WHY, 1, 1e6), SetBounds(STREAM, 2, (), 6_000, WHY, 0, 0.0))
    decided = {("sets_total", Code.STARTED_SENDING): 1, ("releases_total", Code.STARTED_SENDING): 1}
    assert counts.terminals == {7: decided}


def test_refusals_failures_ends_and_rules_are_counted_for_all() -> None:
    counts = counted(
        Note("counted", "refused", "phone", WHY),
        Note("warning", "failed", "phone", WHY),
        Note("info", "rules", "switch", WHY),
        CloseStream(STREAM, WHY[0]),
        Note("info", "connected", "phone"),
    )
    assert counts.totals == {
        ("refused_total", Code.STARTED_SENDING): 1,
        ("failures_total", Code.UNSPECIFIED): 1,
        ("rules_sets_total", Code.STARTED_SENDING): 1,
        ("closed_total", Code.STARTED_SENDING): 1,
    }


def test_a_cell_that_is_gone_or_another_replicas_begins_anew() -> None:
    sets = [Note("info", "edca", "cell", WHY, queues=QUEUES, cell=cell) for cell in (BSSID, OTHER_BSSID)]
    counts = counted(*sets, CellForgotten(BSSID), Note("info", "disowned", "cell", WHY, cell=OTHER_BSSID))
    assert counts.cells == {}
