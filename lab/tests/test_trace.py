# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab import trace
from airbound_lab.errors import LabError, UsageError

if TYPE_CHECKING:
    from conftest import TraceLines

ZERO_US = 5_000_000


def parsed(lines: list[str], seconds: float = 10) -> trace.PhoneTrace:
    return trace.parse(lines, ZERO_US, seconds)


def test_only_changes_are_kept(trace_lines: TraceLines) -> None:
    connection = parsed(
        trace_lines(
            (0.5, "window", {"cwnd_segs": 10}),
            (0.6, "window", {"cwnd_segs": 10, "ssthresh_segs": 7}),
            (0.7, "window", {"cwnd_segs": 11, "ssthresh_segs": 7, "bound_min_segs": 3, "bound_max_segs": 9}),
            (0.8, "window", {"cwnd_segs": 9, "ssthresh_segs": 7}),
        )
    ).connections[0]
    assert connection.cwnd_segs == trace.Track([0.5, 0.7, 0.8], [10, 11, 9])
    assert connection.ssthresh_segs == trace.Track([0.5, 0.6], [None, 7])
    assert connection.bound_min_segs == trace.Track([0.5, 0.7, 0.8], [None, 3, None])
    assert connection.bound_max_segs == trace.Track([0.5, 0.7, 0.8], [None, 9, None])


def test_of_several_values_at_one_moment_the_last_is_kept_and_events_add_up(trace_lines: TraceLines) -> None:
    connection = parsed(
        trace_lines(
            (1, "window", {"cwnd_segs": 10}),
            (1, "dup_ack", {"cwnd_segs": 20, "times": 2}),
            (1, "dup_ack", {"cwnd_segs": 30}),
            (2, "timeout", {"cwnd_segs": 1}),
        )
    ).connections[0]
    assert connection.cwnd_segs == trace.Track([1, 2], [30, 1])
    assert connection.events["dup_ack"] == trace.Track([1], [3])
    assert connection.events["timeout"] == trace.Track([2], [1])
    assert connection.events["sack"] == trace.Track()


def test_the_queue_is_kept_every_50_ms_at_most(trace_lines: TraceLines) -> None:
    lines = trace_lines(*((n / 1000, "window", {"unsent_bytes": n, "unacked_bytes": 2 * n}) for n in range(0, 200, 10)))
    connection = parsed(lines).connections[0]
    assert connection.unsent_bytes == trace.Track([0, 0.05, 0.1, 0.15, 0.19], [0, 50, 100, 150, 190])
    assert connection.unacked_bytes == trace.Track([0, 0.05, 0.1, 0.15, 0.19], [0, 100, 200, 300, 380])


def test_the_queue_before_a_silence_is_as_it_was_last(trace_lines: TraceLines) -> None:
    full, empty = {"unsent_bytes": 9, "unacked_bytes": 8}, {"unsent_bytes": 0, "unacked_bytes": 0}
    lines = trace_lines((1, "window", full), (1.02, "window", full), (1.04, "window", empty), (3, "window", full))
    connection = parsed(lines).connections[0]
    assert connection.unsent_bytes == trace.Track([1, 1.04, 3], [9, 0, 9])
    assert connection.unacked_bytes == trace.Track([1, 1.04, 3], [8, 0, 8])


def test_connections_are_told_apart_by_their_cookie(trace_lines: TraceLines) -> None:
    history = parsed(trace_lines((1, "window", {}), (2, "window", {"cookie": 8}), (3, "window", {"cwnd_segs": 2})))
    assert [connection.cwnd_segs.t_s for connection in history.connections] == [[1, 3], [2]]


def test_the_reset_that_ends_the_flows_is_left_out(trace_lines: TraceLines) -> None:
    lines = trace_lines((9.999999, "window", {}), (10, "window", {"cwnd_segs": 2}))
    assert parsed(lines).connections[0].cwnd_segs == trace.Track([9.999999], [10])


def test_lost_records_are_counted(trace_lines: TraceLines) -> None:
    lines = trace_lines((1, "window", {}))
    holes = ",lost,12" + "," * 15
    assert parsed([*lines, holes, holes]).lost == 24


@pytest.mark.parametrize(
    "line",
    [
        ",refused,1" + "," * 15,
        "x" + "," * 17,
        "",
        "1,window",
        "1,window,1,7,10.0.0.11:1,10.0.4.1:5001,0,open,,,,,,,,,,",
        "1,thought,1,7,10.0.0.11:1,10.0.4.1:5001,0,open,1,2,0,0,1,1,1,1,1,1",
    ],
)
def test_a_line_that_is_no_record_is_named(trace_lines: TraceLines, line: str) -> None:
    if not line:
        # An empty line is none for the CSV reader: nothing is lost by it.
        assert parsed([*trace_lines((1, "window", {})), line]).lost == 0
        return
    with pytest.raises(LabError, match="trace, line 3"):
        parsed([*trace_lines((1, "window", {})), line])


def test_a_history_is_read_back_as_it_was_written(trace_lines: TraceLines) -> None:
    history = parsed(trace_lines((1, "window", {}), (2, "sack", {"cookie": 8, "ssthresh_segs": 5})))
    assert trace.from_json("here", asdict(history)) == history


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lost": "many"}, "here.lost"),
        ({"connections": {}}, "here.connections: not a list"),
        ({"more": 1}, "here: unknown key 'more'"),
        ({"connections": [1]}, r"here.connections\[0\]: not an object"),
    ],
)
def test_a_wrong_field_is_named(trace_lines: TraceLines, change: dict[str, Any], says: str) -> None:
    data = asdict(parsed(trace_lines((1, "window", {})))) | change
    with pytest.raises(UsageError, match=says):
        trace.from_json("here", data)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("cwnd_segs", {"t_s": [1.0], "values": []}, r"cwnd_segs: 0 values for 1 times"),
        ("cwnd_segs", {"t_s": [None], "values": [1]}, r"cwnd_segs.t_s: None"),
        ("cwnd_segs", {"t_s": [1.0], "values": ["x"]}, r"cwnd_segs.values: 'x'"),
        ("events", {}, r"events: 'dup_ack' is missing"),
    ],
)
def test_a_wrong_track_is_named(trace_lines: TraceLines, name: str, value: object, says: str) -> None:
    data = asdict(parsed(trace_lines((1, "window", {}))))
    data["connections"][0][name] = value
    with pytest.raises(UsageError, match=says):
        trace.from_json("here", data)


@given(
    st.lists(
        st.tuples(st.integers(0, 9_000), st.sampled_from(["window", *trace.EVENTS]), st.integers(1, 50)), min_size=1
    )
)
def test_every_event_is_counted_and_the_window_is_what_it_was(
    trace_lines: TraceLines, records: list[tuple[int, str, int]]
) -> None:
    records.sort(key=lambda record: record[0])
    lines = trace_lines(*((t_ms / 1000, event, {"cwnd_segs": segs, "times": segs}) for t_ms, event, segs in records))
    connection = parsed(lines).connections[0]
    for name, track in connection.events.items():
        assert sum(value or 0 for value in track.values) == sum(segs for _, event, segs in records if event == name)
    steps = dict(zip(connection.cwnd_segs.t_s, connection.cwnd_segs.values, strict=True))
    for t_ms, _, _ in records:
        last = [segs for other_ms, _, segs in records if other_ms == t_ms][-1]
        assert steps[max(t_s for t_s in steps if t_s <= t_ms / 1000)] == last
