# SPDX-License-Identifier: Apache-2.0

import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from airbound.core.addresses import address_from_text
from airbound.core.edca import Category, Edca
from airbound.core.effects import Bound, Note, WindowLimit
from airbound.core.reasons import Code, Reason
from airbound.runtime import log

FORGED = Note("warning", "refused", "terminal x", (Reason(Code.MALFORMED, "mac 'a\nb\x1b[31m'"),))
BOUNDS = Note(
    "info",
    "bounds",
    "192.0.2.7",
    (Reason(Code.ACTIVE_SENDERS, "", 3, 4), Reason(Code.STARTED_SENDING, "10.0.4.1")),
    (Bound(address_from_text("10.0.4.1"), 20, 35), Bound(b"", 2, 4)),
)
TIMEOUT_S = 300.0


@pytest.fixture(autouse=True)
def _restore_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def logged(style: str, *notes: Note) -> str:
    stream = io.StringIO()
    opened = log.set_up(style, stream)
    for note in notes:
        log.note(note)
    opened.close(TIMEOUT_S)
    assert opened.dropped_total == 0
    return stream.getvalue()


def test_text_is_one_line_whatever_a_report_has() -> None:
    line = logged("text", FORGED)
    assert line.count("\n") == 1
    assert "\x1b" not in line
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warning refused terminal x: mac 'a\\nb\\x1b\[31m':", line)


def test_a_subject_forges_no_line_either() -> None:
    line = logged("text", Note("warning", "refused", "x\n2026-01-31 info bounds\x1b[2J", (Reason(Code.STOPPING),)))
    assert line.count("\n") == 1
    assert "\x1b" not in line


def test_bounds_and_all_their_reasons_are_in_the_text() -> None:
    line = logged("text", BOUNDS)
    assert line.endswith(
        " info bounds 192.0.2.7: 20..35 segs to 10.0.4.1, 2..4 segs to all:"
        " active senders 3 -> 4; the terminal began to send to 10.0.4.1\n"
    )
    released = logged("text", Note("info", "bounds", "192.0.2.7", (Reason(Code.OBSERVE_MODE),), ()))
    assert released.endswith(" info bounds 192.0.2.7: released: observe mode: computed and shown, not applied\n")
    many = tuple(Bound(bytes([10, 0, 4, number]), 1, 2) for number in range(11))
    assert logged("text", Note("info", "bounds", "x", (), many)).endswith(", 1..2 segs to 10.0.4.7, and 3 more\n")


def test_the_limits_of_windows_are_in_the_text() -> None:
    station, changed = bytes.fromhex("020000000101"), (Reason(Code.STATIONS_LIMITED, "", 0, 1),)
    limits = tuple(WindowLimit(station, bytes([10, 0, 4, number]), 28_960) for number in range(1, 3))
    line = logged("text", Note("info", "windows", "02:00:00:00:00:01", changed, windows=limits))
    assert line.endswith(
        " info windows 02:00:00:00:00:01: 02:00:00:00:01:01 28960 bytes to 10.0.4.1,"
        " 02:00:00:00:01:01 28960 bytes to 10.0.4.2: stations with limited windows 0 -> 1\n"
    )
    released = logged("text", Note("info", "windows", "x", (Reason(Code.NO_STATION_TO_LIMIT),), windows=()))
    assert released.endswith(" info windows x: released: no station without a working agent sends\n")


def test_the_queues_of_an_access_point_are_in_the_text() -> None:
    uploads = (Reason(Code.UPLOADS, after=0.98, limit=0.75),)
    queues = (Edca(Category.BEST_EFFORT, 4, 15, 1023, 0),)
    line = logged("text", Note("info", "edca", "02:00:00:00:00:01", uploads, queues=queues))
    assert line.endswith(
        " info edca 02:00:00:00:00:01: best effort AIFSN 4, CW 15..1023:"
        " uploads are 98.0 % of the payload (first needed: 75.0 %)\n"
    )
    released = logged("text", Note("info", "edca", "x", (Reason(Code.FEW_SENDERS, after=1, limit=2),), queues=()))
    assert released.endswith(" info edca x: released: active senders 1: fewer than 2\n")


def test_of_very_many_reasons_the_first_are_logged_and_the_others_counted() -> None:
    reasons = tuple(Reason(Code.STARTED_SENDING, f"10.0.4.{number}") for number in range(101))
    text = logged("text", Note("info", "bounds", "x", reasons), Note("info", "bounds", "x", reasons[:8]))
    many, eight = text.splitlines()
    assert many.endswith("; the terminal began to send to 10.0.4.7; and 93 more")
    assert many.count("the terminal began to send") == eight.count("the terminal began to send") == 8
    assert "more" not in eight
    text = logged("json", Note("info", "bounds", "x", reasons), Note("info", "bounds", "x", reasons[:8]))
    many_fields, eight_fields = map(json.loads, text.splitlines())
    assert [reason["subject"] for reason in many_fields["reasons"]] == [f"10.0.4.{number}" for number in range(8)]
    assert many_fields["reasons_left_out"] == 93
    assert many_fields["reasons"] == eight_fields["reasons"]
    assert "reasons_left_out" not in eight_fields


def test_a_note_without_reasons_ends_with_its_subject() -> None:
    assert logged("text", Note("info", "connected", "192.0.2.7")).endswith("Z info connected 192.0.2.7\n")


def test_json_has_codes_and_values() -> None:
    text = logged("json", BOUNDS, FORGED, Note("info", "connected", "192.0.2.7"))
    bounds, forged, connected = map(json.loads, text.splitlines())
    assert list(bounds) == ["time", "level", "kind", "subject", "reasons", "bounds", "why"]
    assert (bounds["level"], bounds["kind"], bounds["subject"]) == ("info", "bounds", "192.0.2.7")
    assert bounds["reasons"] == [
        {"code": "active_senders", "before": 3, "after": 4},
        {"code": "started_sending", "subject": "10.0.4.1"},
    ]
    assert forged["reasons"] == [{"code": "malformed", "subject": "mac 'a\nb\x1b[31m'"}]
    assert bounds["bounds"] == [
        {"destination": "10.0.4.1", "min_segs": 20, "max_segs": 35},
        {"min_segs": 2, "max_segs": 4},
    ]
    assert list(connected) == ["time", "level", "kind", "subject", "why"]


def test_a_value_of_zero_is_a_value() -> None:
    (line,) = logged("json", Note("info", "senders", "x", (Reason(Code.ACTIVE_SENDERS, "", 0, 1),))).splitlines()
    assert json.loads(line)["reasons"] == [{"code": "active_senders", "before": 0, "after": 1}]


def test_what_happens_at_the_edges_is_logged_as_it_is() -> None:
    stream = io.StringIO()
    opened = log.set_up("text", stream)
    log.event("info", "listening", "127.0.0.1:50051", "100 % sure: %s %d")
    opened.close(TIMEOUT_S)
    assert stream.getvalue().endswith(" info listening 127.0.0.1:50051: 100 % sure: %s %d\n")


def test_an_error_of_ours_comes_with_its_trace_on_one_line() -> None:
    stream = io.StringIO()
    opened = log.set_up("text", stream)
    try:
        raise ValueError("broken")  # noqa: TRY301
    except ValueError:
        logging.getLogger("elsewhere").exception("task failed")
    opened.close(TIMEOUT_S)
    assert stream.getvalue().count("\n") == 1
    assert "error elsewhere: task failed" in stream.getvalue()
    assert "ValueError: broken" in stream.getvalue()


class StandingStill(io.StringIO):
    """A reader that takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.writing, self.go = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        self.writing.set()
        self.go.wait(TIMEOUT_S)
        return super().write(text)


def test_what_finds_the_queue_full_is_dropped_counted_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    monkeypatch.setattr(log.time, "monotonic", lambda: now_s[0])
    stream = StandingStill()
    opened = log.set_up("text", stream, lines_waiting=3)
    log.event("info", "n", "0", "")
    assert stream.writing.wait(TIMEOUT_S)
    for number in range(1, 10):  # one is being written, three wait
        log.event("info", "n", str(number), "")
    assert opened.dropped_total == 6
    stream.go.set()
    _wait_until_empty(opened)
    log.event("info", "n", "10", "")
    _wait_until_empty(opened)
    now_s[0] += log.LOSSES_LOGGED_EVERY_S
    log.event("info", "n", "11", "")
    _wait_until_empty(opened)
    monkeypatch.undo()
    opened.close(TIMEOUT_S)
    lines = [re.sub(r"^\S+ ", "", line) for line in stream.getvalue().splitlines()]
    assert lines == [
        *(f"info n {number}" for number in range(4)),
        "info n 10",
        "warning log: 6 lines were not logged: too many, nobody read them, or they could not be written",
        "info n 11",
    ]


def _wait_until_empty(opened: log.Log) -> None:
    ends = threading.Event()
    for _ in range(int(TIMEOUT_S * 100)):
        if opened._lines.empty():
            return
        ends.wait(0.01)
    raise TimeoutError


def test_lines_beyond_the_rate_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    monkeypatch.setattr(log.time, "monotonic", lambda: now_s[0])
    stream = io.StringIO()
    opened = log.set_up("text", stream, lines_per_s=5)
    for _ in range(12):
        log.event("info", "n", "", "")
    assert opened.dropped_total == 2
    now_s[0] += 1
    for _ in range(12):
        log.event("info", "n", "", "")
    assert opened.dropped_total == 2 + 7
    _wait_until_empty(opened)
    monkeypatch.undo()
    opened.close(TIMEOUT_S)
    assert stream.getvalue().count("info n") == 15


def test_no_number_of_other_lines_keeps_warnings_and_errors_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log.time, "monotonic", lambda: 1000.0)
    stream = io.StringIO()
    opened = log.set_up("text", stream, lines_per_s=2)
    for _ in range(20):
        log.event("info", "n", "", "")
        log.note(Note("info", "n", "x"))
    log.note(Note("warning", "w", "x"))
    log.event("warning", "w", "", "")
    logging.getLogger("elsewhere").error("e")
    _wait_until_empty(opened)
    assert opened.dropped_total == 40 - 4
    for _ in range(3):  # they have a limit, too
        log.note(Note("warning", "w", "x"))
    assert opened.dropped_total == 40 - 4 + 2
    _wait_until_empty(opened)
    monkeypatch.undo()
    opened.close(TIMEOUT_S)
    assert [stream.getvalue().count(what) for what in (" info n", " warning w", " error elsewhere: e")] == [4, 3, 1]


def test_losses_that_nothing_follows_are_reported_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log.time, "monotonic", lambda: 1000.0)
    stream = io.StringIO()
    opened = log.set_up("text", stream, lines_per_s=1)
    for _ in range(5):
        log.event("info", "n", "", "")
    monkeypatch.undo()
    opened.close(TIMEOUT_S)
    assert (
        stream.getvalue()
        .splitlines()[-1]
        .endswith("warning log: 3 lines were not logged: too many, nobody read them, or they could not be written")
    )


# A log of a pipe that nobody reads: no line may wait for it, and the process has to end.
STUCK = """
from airbound.runtime import log

opened = log.set_up("text", lines_waiting=100)
for number in range(20_000):
    log.event("info", "n", str(number), "x" * 100)
opened.close(0.5)
print(opened.dropped_total, flush=True)
"""


def test_a_pipe_that_nobody_reads_holds_up_neither_a_line_nor_the_end() -> None:
    reader, writer = os.pipe()
    try:
        result = subprocess.run(
            [sys.executable, "-c", STUCK],
            stdout=subprocess.PIPE,
            stderr=writer,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
            cwd=Path(__file__).parents[2],
        )
    finally:
        os.close(writer)
        os.close(reader)
    assert result.returncode == 0
    assert int(result.stdout) > 10_000


def test_a_line_that_cannot_be_made_costs_itself() -> None:
    lines = logged("text", Note("info", "x", "y", (Reason(Code.STOPPING), None)), Note("info", "next", "")).splitlines()  # type: ignore[arg-type]
    assert "error log: a line cannot be made: AttributeError" in lines[0]
    assert lines[1].endswith("info next")


def test_a_log_that_nobody_can_write_ends_nothing() -> None:
    code = (
        "from airbound.runtime import log\nopened = log.set_up('text')\nlog.event('info', 'n', '', '')\nopened.close()"
    )
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        result = subprocess.run([sys.executable, "-c", code], stderr=full, check=False, timeout=TIMEOUT_S)
    assert result.returncode == 0


FULL = """
import os, time
from airbound.runtime import log

log.LOSSES_LOGGED_EVERY_S = 3600.0
opened = log.set_up("json")
full, usual = os.open("/dev/full", os.O_WRONLY), os.dup(2)
log.event("info", "n", "before", "")
while os.fstat(2).st_size == 0:
    time.sleep(0.01)
os.dup2(full, 2)
for number in range(5):
    log.event("info", "n", str(number), "")
while opened.dropped_total < 5:
    time.sleep(0.01)
os.dup2(usual, 2)
log.event("info", "n", "after", "")
opened.close(60)
"""


def test_lines_that_a_full_disk_did_not_take_are_counted_and_that_is_logged(tmp_path: Path) -> None:
    written = tmp_path / "log"
    with written.open("w", encoding="utf-8") as log_file:
        result = subprocess.run(
            [sys.executable, "-c", FULL],
            stderr=log_file,
            check=False,
            timeout=TIMEOUT_S,
            cwd=Path(__file__).parents[2],
        )
    text = written.read_text(encoding="utf-8")
    assert result.returncode == 0, text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["subject"] for line in lines] == ["before", "after", ""]
    assert lines[-1]["why"].startswith("5 lines were not logged: ")
