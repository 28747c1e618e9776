# SPDX-License-Identifier: Apache-2.0

from airbound.core.reasons import Code
from airbound.metrics.decisions import CELL, TERMINAL, DecisionCounts

SET, RELEASE = ("sets_total", Code.ACTIVE_SENDERS), ("releases_total", Code.EXEMPT)
PHONE = {"terminal": "phone1"}


def test_a_reason_begins_at_0_and_then_shows_all_that_was_counted() -> None:
    counts = DecisionCounts(TERMINAL)
    assert counts.update(PHONE, [(1, ())]) == []
    line = '{terminal="phone1",action="set",reason="active_senders"} '
    assert counts.update(PHONE, [(1, ((SET, 3),))]) == [(line, 0)]
    assert counts.update(PHONE, [(1, ((SET, 3),))]) == [(line, 3)]
    assert counts.update(PHONE, [(1, ((SET, 4), (RELEASE, 1)))]) == [
        (line, 4),
        ('{terminal="phone1",action="release",reason="exempt"} ', 0),
    ]


def test_what_did_not_change_is_shown_again_and_under_other_labels_if_those_did() -> None:
    counts = DecisionCounts(TERMINAL)
    for _ in range(4):
        shown = counts.update(PHONE, [(1, ((SET, 3),))])
    assert shown == [('{terminal="phone1",action="set",reason="active_senders"} ', 3)]
    assert counts.update({"terminal": "phone2"}, [(1, ((SET, 3),))]) == [
        ('{terminal="phone2",action="set",reason="active_senders"} ', 3)
    ]
    ((_, value),) = counts.update(PHONE, [(1, ((SET, 4),))])
    assert value == 4


def test_a_new_stream_goes_on_where_the_one_before_ended() -> None:
    counts = DecisionCounts(TERMINAL)
    counts.update(PHONE, [(1, ((SET, 3),))])
    ((_, value),) = counts.update(PHONE, [(1, ((SET, 3),)), (2, ((SET, 1),))])
    assert value == 4
    ((_, value),) = counts.update(PHONE, [(2, ((SET, 2),))])
    assert value == 5


def test_a_cell_that_begins_again_never_falls() -> None:
    counts = DecisionCounts(CELL)
    cell = {"bssid": "02:00:00:00:00:01"}
    counts.update(cell, [(0, ((SET, 3),))])
    ((line, value),) = counts.update(cell, [(0, ((SET, 1),))])
    assert value == 4
    assert line == '{bssid="02:00:00:00:00:01",subject="bounds",action="set",reason="active_senders"} '
