# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.channel_access import (
    CannotSetError,
    ChannelAccess,
    announcement,
    best_effort,
    formula,
    stations_aifsn,
    stations_formula,
    wanted,
    wanted_set,
)
from airbound.core.edca import CW_MAX, SET_AIFSN_MAX, Category, Edca
from airbound.core.parameters import EdcaParameters
from airbound.core.reasons import Code, Reason
from airbound.core.reports import EdcaState
from airbound_testing.scenario import NO_WMM, OWN_QUEUE, SECOND_US

DEFAULT = EdcaParameters(on_share=0.75, off_share=0.6)
VOICE = Edca(Category.VOICE, 1, 3, 7, 47)
HOSTAPD = EdcaState(  # its defaults, with WMM
    can_set=True,
    own=(VOICE, Edca(Category.BEST_EFFORT, 3, 15, 63, 0)),
    stations=(VOICE, Edca(Category.BEST_EFFORT, 3, 15, 1023, 0)),
    wmm=True,
)


def queue(aifsn: int, cw_min: int = 15, cw_max: int = 1023, txop_limit: int = 0) -> Edca:
    return Edca(Category.BEST_EFFORT, aifsn, cw_min, cw_max, txop_limit)


def reported(own: Edca, stations_queue: Edca | None = None) -> EdcaState:
    return EdcaState(can_set=True, own=(own,), stations=() if stations_queue is None else (stations_queue,), wmm=True)


@pytest.mark.parametrize(
    ("state", "parameters", "expected"),
    [
        (NO_WMM, {}, queue(4)),
        (HOSTAPD, {}, queue(5, 15, 1023)),  # as its stations' largest window
        (HOSTAPD, {"aifsn_extra": 0, "cw_max": 63}, queue(3, 15, 63)),
        (HOSTAPD, {"aifsn_extra": 4}, queue(7)),
        (HOSTAPD, {"aifsn_extra": 6}, queue(7)),
        (replace(HOSTAPD, wmm=False), {}, queue(4)),  # whatever else is reported, stations use DCF
        (reported(queue(6), queue(2)), {}, queue(6)),  # never less than its own
        (reported(queue(7), queue(7)), {}, queue(7)),
        (NO_WMM, {"cw_min": 31}, queue(4, 31)),
        (NO_WMM, {"cw_max": 63}, queue(4, 15, 63)),
        (NO_WMM, {"cw_max": 7}, queue(4, 7, 7)),
        (HOSTAPD, {"cw_min": 63}, queue(5, 63)),
        (reported(queue(2, 3, 7), queue(2)), {"cw_min": 15}, queue(4)),
        (reported(queue(2, 3, 7), queue(2, 3, 7)), {"cw_min": 15}, queue(4, 15, 15)),
        (NO_WMM, {"txop_limit": 94}, queue(4, txop_limit=94)),
        (reported(queue(2, txop_limit=62), queue(2)), {}, queue(4)),  # OpenWrt's
        (reported(queue(2, txop_limit=95), queue(2)), {}, queue(4)),  # more than can be set, and it is not kept
        (reported(queue(2), queue(2)), {"txop_limit": 20}, queue(4, txop_limit=20)),
        # Its own values are beyond what can be set, and are to stay as they are.
        (reported(queue(9, 127), queue(7)), {}, queue(9, 127)),
    ],
)
def test_what_the_queue_is_to_be(state: EdcaState, parameters: dict[str, Any], expected: Edca) -> None:
    assert wanted(state, EdcaParameters(**parameters)) == expected


@pytest.mark.parametrize(
    "state",
    [
        EdcaState(),
        replace(HOSTAPD, own=(VOICE,)),
        replace(HOSTAPD, stations=(VOICE,)),
        reported(queue(2, 127), queue(2)),
    ],
)
def test_what_cannot_be_set(state: EdcaState) -> None:
    with pytest.raises(CannotSetError, match=r"^(it does not report|its own parameters are out of)"):
        wanted(state, DEFAULT)


def test_a_queue_that_waits_longer_than_can_be_set_is_left_alone() -> None:
    state = reported(queue(9), queue(7))
    assert wanted(state, DEFAULT) == queue(9)
    with pytest.raises(CannotSetError):
        wanted(state, EdcaParameters(cw_max=63))


ABLE = replace(HOSTAPD, can_set_stations=True)


def told(aifsn: int, cw_min: int = 15, cw_max: int = 1023, txop_limit: int = 0) -> Edca:
    return Edca(Category.BEST_EFFORT, aifsn, cw_min, cw_max, txop_limit, announced=True)


def test_stations_are_told_nothing_by_default() -> None:
    assert announcement(ABLE, EdcaParameters()) is None
    assert wanted_set(ABLE, EdcaParameters()) == (queue(5),)
    assert stations_formula(ABLE, EdcaParameters()) == ""


@pytest.mark.parametrize(
    ("state", "parameters", "expected"),
    [
        (ABLE, {"stations_aifsn": 4}, (queue(6), told(4))),  # the access point waits longer than these
        (ABLE, {"stations_aifsn": 15}, (queue(7), told(15))),
        (ABLE, {"stations_cw_min": 127}, (queue(5), told(3, 127))),
        (ABLE, {"stations_cw_max": 63}, (queue(5, cw_max=63), told(3, 15, 63))),
        (ABLE, {"stations_txop_limit": 94}, (queue(5), told(3, txop_limit=94))),
        (ABLE, {"stations_aifsn": 3, "stations_cw_min": 15}, (queue(5),)),  # as it announces already
        (
            replace(ABLE, stations=(queue(3, 127, 127),)),
            {"stations_cw_max": 63},
            (queue(5, cw_max=63), told(3, 63, 63)),
        ),
        (
            replace(ABLE, stations=(queue(3, 3, 63),)),
            {"stations_cw_min": 127},
            (queue(5, cw_max=127), told(3, 127, 127)),
        ),
        (ABLE, {"stations_cw_min": 31, "aifsn_extra": 0, "cw_max": 63}, (told(3, 31),)),  # the stations' alone
        # As far as the access point can.
        (replace(ABLE, can_set=False), {"stations_cw_min": 31}, (told(3, 31),)),
        (replace(ABLE, can_set=False, own=()), {"stations_cw_min": 31}, (told(3, 31),)),
        (HOSTAPD, {"stations_aifsn": 4, "stations_cw_max": 63}, (queue(5),)),
        # What it announces where nothing is configured is beyond what can be set.
        (replace(ABLE, stations=(queue(3, 1, 63),)), {"stations_aifsn": 4}, (queue(5, cw_max=63),)),
    ],
)
def test_what_the_set_is_to_be(state: EdcaState, parameters: dict[str, Any], expected: tuple[Edca, ...]) -> None:
    assert wanted_set(state, EdcaParameters(**parameters)) == expected


def test_a_set_of_which_no_part_can_be() -> None:
    state = replace(ABLE, can_set=False, stations=(queue(3, 1, 63),))
    with pytest.raises(CannotSetError, match=r"^what it announces of its own is out of"):
        wanted_set(state, EdcaParameters(stations_aifsn=4))
    with pytest.raises(CannotSetError, match=r"^it does not report"):
        wanted_set(replace(ABLE, own=()), EdcaParameters())


def test_how_it_is_found_what_stations_are_told() -> None:
    assert stations_formula(ABLE, EdcaParameters(stations_cw_min=31)) == (
        "stations' best effort AIFSN 3, CW 31..1023, as configured"
    )
    state = replace(HOSTAPD, stations_refusal="the access point announces no WMM")
    assert stations_formula(state, EdcaParameters(stations_cw_min=31)) == (
        "its stations' cannot be set: the access point announces no WMM"
    )
    assert stations_formula(HOSTAPD, EdcaParameters(stations_cw_min=31)).endswith(": its agent cannot")
    assert "already" in stations_formula(ABLE, EdcaParameters(stations_cw_min=15))
    assert "out of the limits" in stations_formula(
        replace(ABLE, stations=(queue(3, 1, 63),)), EdcaParameters(stations_aifsn=4)
    )


WINDOWS = st.integers(1, 10).map(lambda k: 2**k - 1)
QUEUES = st.builds(
    lambda category, aifsn, windows, txop: Edca(category, aifsn, min(windows), max(windows), txop),
    st.sampled_from(Category),
    st.integers(1, 15),
    st.tuples(WINDOWS, WINDOWS),
    st.integers(0, 200),
)
STATES = st.builds(
    EdcaState,
    own=st.lists(QUEUES, max_size=4, unique_by=lambda queue: queue.category).map(tuple),
    stations=st.lists(QUEUES, max_size=4, unique_by=lambda queue: queue.category).map(tuple),
    wmm=st.booleans(),
)
PARAMETERS = st.builds(
    EdcaParameters,
    aifsn_extra=st.integers(0, 6),
    cw_min=st.none() | WINDOWS.filter(lambda slots: slots <= 63),
    txop_limit=st.integers(0, 94),
) | st.builds(EdcaParameters, cw_max=WINDOWS)


@given(
    STATES,
    st.builds(
        EdcaParameters,
        stations_cw_min=st.none() | WINDOWS.filter(lambda slots: slots >= 3),
        stations_aifsn=st.none() | st.integers(2, 15),
        stations_txop_limit=st.none() | st.integers(0, 94),
    )
    | st.builds(EdcaParameters, stations_cw_max=WINDOWS.filter(lambda slots: slots >= 63)),
)
def test_whatever_stations_are_told_is_within_what_agents_take(state: EdcaState, parameters: EdcaParameters) -> None:
    try:
        made = announcement(replace(state, can_set_stations=True), parameters)
    except CannotSetError:
        return
    if made is not None:
        assert made.announced
        assert made.category is Category.BEST_EFFORT
        assert 2 <= made.aifsn <= 15
        assert 3 <= made.cw_min <= made.cw_max <= CW_MAX
        assert made.cw_max >= 63
        assert 0 <= made.txop_limit <= 94
        for key in ("aifsn", "cw_min", "cw_max", "txop_limit"):
            configured = getattr(parameters, f"stations_{key}")
            assert configured is None or getattr(made, key) == configured


@given(STATES, PARAMETERS)
def test_whatever_is_set_is_within_what_agents_take_and_never_below_its_own(
    state: EdcaState, parameters: EdcaParameters
) -> None:
    try:
        made = wanted(state, parameters)
    except CannotSetError:
        return
    own = best_effort(state.own)
    assert own is not None
    assert str(made.aifsn) in formula(state, parameters)
    if made == own:
        return
    assert made.category is Category.BEST_EFFORT
    assert own.aifsn <= made.aifsn <= SET_AIFSN_MAX
    assert 0 <= made.cw_min <= min(made.cw_max, 63)
    assert made.cw_max <= CW_MAX
    assert made.txop_limit <= 94


def test_the_formula_has_its_values() -> None:
    assert formula(NO_WMM, DEFAULT) == "AIFSN 2 of the stations (DCF, no WMM) + 2, at least its own 2, at most 7: 4"
    assert formula(HOSTAPD, DEFAULT) == "AIFSN 3 of the stations + 2, at least its own 3, at most 7: 5"
    found = [stations_aifsn(state, DEFAULT) for state in (HOSTAPD, NO_WMM, EdcaState(wmm=True))]
    assert found == [3, 2, None]
    assert best_effort((OWN_QUEUE,)) is OWN_QUEUE


# When


class Cell:
    """What a cell carries, and what follows from it second by second."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = replace(DEFAULT, **parameters)
        self.access = ChannelAccess()
        self.now_us = 1_000 * SECOND_US

    def second(self, up: float, down: float, senders: int = 5, *, was_set: bool = False, seconds: float = 1.0) -> Code:
        self.now_us += round(seconds * SECOND_US)
        self.access.observe(up, down, seconds, self.parameters)
        self.reason = self.access.traffic(senders, self.now_us, self.parameters, was_set=was_set)
        return self.reason.code


def test_nothing_carried_is_no_upload() -> None:
    cell = Cell()
    assert cell.access.share == 0.0
    assert cell.second(0, 0) is Code.DOWNLOADS
    assert cell.reason == Reason(Code.DOWNLOADS, after=0.0, limit=0.75)


def test_uploads_dominate_from_one_share_on_and_down_to_another() -> None:
    cell = Cell(share_smoothing_s=0.1)
    assert cell.second(74.9, 25.1) is Code.DOWNLOADS
    assert cell.second(75.1, 24.9) is Code.UPLOADS
    assert cell.reason.limit == 0.75
    for _ in range(5):
        assert cell.second(60.1, 39.9) is Code.UPLOADS
    assert cell.second(59.8, 40.2) is Code.DOWNLOADS
    ended = cell.reason
    assert (ended.limit, ended.after) == (0.6, pytest.approx(0.598, abs=0.0005))
    for _ in range(5):
        assert cell.second(74.0, 26.0) is Code.DOWNLOADS
    assert cell.reason.limit == 0.75


def test_the_share_is_of_averaged_rates() -> None:
    cell = Cell()
    cell.second(10e6, 0)
    assert cell.access.uplink_bps == pytest.approx(10e6 * (1 - 0.606531))  # 1 - exp(-1/2)
    cell.second(0, 10e6, seconds=2.0)
    assert cell.access.downlink_bps == pytest.approx(10e6 * (1 - 0.367879))
    assert cell.access.share == pytest.approx(0.1863, abs=0.001)


def test_a_second_with_as_much_downlink_does_not_end_it_and_one_with_nothing_else_does() -> None:
    cell = Cell()
    for _ in range(10):
        cell.second(20e6, 0)
    assert cell.second(10e6, 10e6) is Code.UPLOADS
    assert cell.second(1e6, 20e6) is Code.DOWNLOADS


def test_a_pause_between_two_bursts_ends_nothing_and_a_longer_one_does() -> None:
    cell = Cell()
    assert cell.second(20e6, 0, 1) is Code.FEW_SENDERS
    assert cell.reason == Reason(Code.FEW_SENDERS, after=1, limit=2)
    assert cell.second(20e6, 0, 2) is Code.UPLOADS
    for _ in range(3):  # of its pause in the first
        assert cell.second(0, 10e3, 0) is Code.UPLOADS
    assert cell.second(20e6, 0, 2) is Code.UPLOADS
    pause = [cell.second(0, 10e3, 1) for _ in range(5)]
    assert pause == [Code.UPLOADS] * 3 + [Code.FEW_SENDERS] * 2
    assert cell.second(20e6, 0, 2) is Code.UPLOADS


def test_without_linger_it_ends_at_once() -> None:
    cell = Cell(linger_s=0.0, min_senders=3)
    assert cell.second(20e6, 0, 3) is Code.UPLOADS
    assert cell.second(20e6, 0, 2) is Code.FEW_SENDERS


def test_what_is_in_force_already_counts_as_decided_once() -> None:
    """A new process of the controller goes on where the one before stopped."""
    between = (65.0, 35.0)
    assert Cell().second(*between, was_set=False) is Code.DOWNLOADS
    cell = Cell()
    assert cell.second(*between, was_set=True) is Code.UPLOADS
    assert cell.second(0.0, 1e6, was_set=True) is Code.DOWNLOADS
    assert cell.second(*between, was_set=True) is Code.DOWNLOADS
    cell.access.restart()
    assert (cell.access.share, cell.access.waits) == (0.0, None)
    assert cell.second(*between, was_set=True) is Code.UPLOADS


def test_a_new_process_lets_a_pause_pass_too() -> None:
    cell = Cell()
    codes = [cell.second(0, 0, 0, was_set=True) for _ in range(3)]
    assert codes[0] is Code.DOWNLOADS  # nothing was ever carried
    cell = Cell()
    for _ in range(2):
        codes = [cell.second(5e6, 0, 1, was_set=True) for _ in range(5)]
        assert codes == [Code.UPLOADS] * 3 + [Code.FEW_SENDERS] * 2
        cell.access.restart()


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9), st.integers(0, 4), st.floats(0.01, 20)), max_size=30),
    st.booleans(),
)
def test_it_dominates_only_above_the_lower_share_and_ends_only_below_the_upper(
    seconds: list[tuple[float, float, int, float]],
    was_set: bool,  # noqa: FBT001
) -> None:
    cell = Cell()
    before = was_set
    for up, down, senders, duration_s in seconds:
        now = cell.second(up, down, senders, seconds=duration_s, was_set=was_set) is Code.UPLOADS
        share = cell.access.share
        assert 0 <= share <= 1
        assert not now or share >= (0.6 if before else 0.75)
        assert now or not before or share < 0.6 or senders < 2
        assert before or not now or senders >= 2
        before = now
