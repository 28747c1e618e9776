# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from airbound_lab.errors import LabError, UsageError
from airbound_lab.records import trace
from airbound_lab.settings.validation import usage_errors

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
    assert connection.cwnd_segs == trace.Track((0.5, 0.7, 0.8), (10, 11, 9))
    assert connection.ssthresh_segs == trace.Track((0.5, 0.6), (None, 7))
    assert connection.bound_min_segs == trace.Track((0.5, 0.7, 0.8), (None, 3, None))
    assert connection.bound_max_segs == trace.Track((0.5, 0.7, 0.8), (None, 9, None))


def test_of_several_values_at_one_moment_the_last_is_kept_and_events_add_up(trace_lines: TraceLines) -> None:
    connection = parsed(
        trace_lines(
            (1, "window", {"cwnd_segs": 10}),
            (1, "dup_ack", {"cwnd_segs": 20, "times": 2}),
            (1, "dup_ack", {"cwnd_segs": 30}),
            (2, "timeout", {"cwnd_segs": 1}),
        )
    ).connections[0]
    assert connection.cwnd_segs == trace.Track((1, 2), (30, 1))
    assert connection.events["dup_ack"] == trace.Track((1,), (3,))
    assert connection.events["timeout"] == trace.Track((2,), (1,))
    assert connection.events["sack"] == trace.Track()


def test_the_queue_is_kept_every_50_ms_at_most(trace_lines: TraceLines) -> None:
    lines = trace_lines(*((n / 1000, "window", {"unsent_bytes": n, "unacked_bytes": 2 * n}) for n in range(0, 200, 10)))
    connection = parsed(lines).connections[0]
    assert connection.unsent_bytes == trace.Track((0, 0.05, 0.1, 0.15, 0.19), (0, 50, 100, 150, 190))
    assert connection.unacked_bytes == trace.Track((0, 0.05, 0.1, 0.15, 0.19), (0, 100, 200, 300, 380))


def test_the_last_queue_before_a_pause_is_kept(trace_lines: TraceLines) -> None:
    full, empty = {"unsent_bytes": 9, "unacked_bytes": 8}, {"unsent_bytes": 0, "unacked_bytes": 0}
    lines = trace_lines((1, "window", full), (1.02, "window", full), (1.04, "window", empty), (3, "window", full))
    connection = parsed(lines).connections[0]
    assert connection.unsent_bytes == trace.Track((1, 1.04, 3), (9, 0, 9))
    assert connection.unacked_bytes == trace.Track((1, 1.04, 3), (8, 0, 8))


def test_the_queue_before_a_pause_of_50_ms_is_kept_and_before_a_shorter_one_is_not(trace_lines: TraceLines) -> None:
    for next_s, kept_s in ((0.06, (0, 0.01, 0.06)), (0.059999, (0, 0.059999))):
        lines = trace_lines(*((t_s, "window", {"unsent_bytes": round(t_s * 1e6)}) for t_s in (0, 0.01, next_s)))
        assert parsed(lines).connections[0].unsent_bytes.t_s == kept_s


def test_the_first_queue_is_kept_however_soon_after_boot(trace_lines: TraceLines) -> None:
    boot_s = -ZERO_US / 1e6
    lines = trace_lines(*((boot_s + t_s, "window", {"unsent_bytes": round(t_s * 1e6)}) for t_s in (0, 0.049999, 0.05)))
    connection = trace.parse(lines, 0, 10).connections[0]
    assert connection.unsent_bytes == trace.Track((0, 0.05), (0, 50_000))


def test_connections_are_distinguished_by_their_cookie(trace_lines: TraceLines) -> None:
    history = parsed(trace_lines((1, "window", {}), (2, "window", {"cookie": 8}), (3, "window", {"cwnd_segs": 2})))
    assert [connection.cwnd_segs.t_s for connection in history.connections] == [(1, 3), (2,)]


def test_the_reset_that_ends_the_flows_is_left_out(trace_lines: TraceLines) -> None:
    lines = trace_lines((9.999999, "window", {}), (10, "window", {"cwnd_segs": 2}))
    assert parsed(lines).connections[0].cwnd_segs == trace.Track((9.999999,), (10,))


def test_lost_records_are_counted(trace_lines: TraceLines) -> None:
    lines = trace_lines((1, "window", {}))
    lost = ",lost,12" + "," * 15
    assert parsed([*lines, lost, lost]).lost == 24


def test_records_after_lost_ones_and_after_the_end_are_read(trace_lines: TraceLines) -> None:
    lost = ",lost,12" + "," * 15
    header, *lines = trace_lines((1, "window", {}), (11, "window", {}), (2, "window", {"cwnd_segs": 3}))
    history = parsed([header, lost, *lines, lost])
    assert history.lost == 24
    assert history.connections[0].cwnd_segs == trace.Track((1, 2), (10, 3))


def test_the_largest_threshold_that_is_set(trace_lines: TraceLines) -> None:
    lines = trace_lines((1, "window", {"ssthresh_segs": 2**31 - 2}), (2, "window", {"ssthresh_segs": 2**31 - 1}))
    assert parsed(lines).connections[0].ssthresh_segs == trace.Track((1, 2), (2**31 - 2, None))


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
        # The CSV reader skips an empty line.
        assert parsed([*trace_lines((1, "window", {})), line]).lost == 0
        return
    with pytest.raises(LabError, match="trace, line 3"):
        parsed([*trace_lines((1, "window", {})), line])


def test_a_line_of_the_kernel_that_the_agent_could_not_read_is_told_from_one_that_we_cannot(
    trace_lines: TraceLines,
) -> None:
    with pytest.raises(LabError, match=r"^trace, line 3: airbound-phone could not read a line of the kernel$"):
        parsed([*trace_lines((1, "window", {})), ",refused,1" + "," * 15])


def document(history: trace.PhoneTrace) -> dict[str, Any]:
    """The trace as a results file has it."""
    data: dict[str, Any] = json.loads(json.dumps(asdict(history)))
    return data


def read(data: object) -> trace.PhoneTrace:
    with usage_errors("here"):
        return TypeAdapter(trace.PhoneTrace).validate_json(json.dumps(data))


def test_a_history_is_read_back_as_it_was_written(trace_lines: TraceLines) -> None:
    history = parsed(trace_lines((1, "window", {}), (2, "sack", {"cookie": 8, "ssthresh_segs": 5})))
    assert read(document(history)) == history


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lost": "many"}, "here: lost: 'many': "),
        ({"lost": -1}, "here: lost: -1: "),
        ({"connections": {}}, "here: connections: input should be a valid"),
        ({"more": 1}, "here: unknown key 'more'"),
        ({"connections": [1]}, "here: connections[0]: 1: input should be an object"),
    ],
)
def test_a_wrong_field_is_named(trace_lines: TraceLines, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(document(parsed(trace_lines((1, "window", {})))) | change)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cwnd_segs", {"t_s": [1.0], "values": []}, "cwnd_segs: 0 values for 1 times"),
        ("cwnd_segs", {"t_s": [None], "values": [1]}, "cwnd_segs.t_s[0]: None: "),
        ("cwnd_segs", {"t_s": [1.0], "values": ["x"]}, "cwnd_segs.values[0]: 'x': "),
        ("cwnd_segs", {"t_s": [float("nan")], "values": [1]}, "cwnd_segs.t_s[0]: nan: "),
        ("events", {}, "events: 'local_congestion' is missing"),
        ("events", {"thought": {"t_s": [], "values": []}}, "events: unknown key 'thought'"),
    ],
)
def test_a_wrong_track_is_named(trace_lines: TraceLines, name: str, value: object, message: str) -> None:
    data = document(parsed(trace_lines((1, "window", {}))))
    data["connections"][0][name] = value
    with pytest.raises(UsageError) as raised:
        read(data)
    assert str(raised.value).startswith(f"here: connections[0].{message}")


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
