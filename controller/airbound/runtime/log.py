# SPDX-License-Identifier: Apache-2.0
"""The "what and why" log: one line for each thing that happened, as text for people or as JSON for machines.

The event loop only puts records into a bounded queue; a thread makes the text and writes it. A reader that stands still
costs lines, never a lease. Lines beyond a rate are not made at all; warnings and errors have a rate of their own, so
that no number of other lines keeps them out. Both losses are counted and logged.
"""

import contextlib
import json
import logging
import logging.handlers
import os
import queue
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO, cast

from airbound import log_fields, log_text
from airbound.core.addresses import Mac, mac_text
from airbound.core.effects import Level, Note
from airbound.runtime.rate_limit import RateLimit

_LOGGER, _ROOT = logging.getLogger("airbound"), logging.getLogger()
_LEVELS: dict[Level, int] = {"info": logging.INFO, "warning": logging.WARNING}
_OBSERVERS: list[Callable[[Note, str], None]] = []
_JSON_BOUNDS_SHOWN = 32
LOSSES_LOGGED_EVERY_S = 10.0
BATCH_S = 0.05  # how long a line may wait for others
_STDERR = 2


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z info bounds 192.0.2.7: why`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        subject = _printable(getattr(record, "subject", ""))
        head = f"{_time(record)} {record.levelname.lower()} {getattr(record, 'what', record.name)}"
        note = getattr(record, "note", None)
        why = _message(self, record) if note is None else _note_text(note)
        return f"{head}{' ' if subject else ''}{subject}{': ' if why else ''}{why}"


class JsonFormatter(logging.Formatter):
    """The same as one JSON object, with the codes and values of the first reasons and the first bounds, and the number
    of those left out. docs/logs.md describes the fields.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        note = getattr(record, "note", None)
        if note is None:
            what = getattr(record, "what", record.name)
            about = {"kind": what.replace(" ", "_"), "subject": getattr(record, "subject", "")}
            cell = getattr(record, "cell", b"")
            if cell:
                about["cell"] = mac_text(cell)
            why = _message(self, record)
        else:
            about = log_fields.note(note, log_text.SHOWN, _JSON_BOUNDS_SHOWN)
            why = _printable(log_text.why(about))
        head = {"time": _time(record), "level": record.levelname.lower()}
        return json.dumps(head | about | {"why": why})


class Lines:
    """Records between the event loop and the thread that writes them: bounded, and read in batches. A thread that woke
    for every record would take the interpreter from the event loop each time.
    """

    def __init__(self, most: int) -> None:
        self._records: queue.SimpleQueue[logging.LogRecord | None] = queue.SimpleQueue()
        self._most = most
        self._batch = 0

    def put_nowait(self, record: logging.LogRecord | None) -> None:
        """Take a record.

        Raises:
            queue.Full: too many wait.
        """
        if self._records.qsize() >= self._most:
            raise queue.Full
        self._records.put(record)

    def get(self, block: bool = True) -> logging.LogRecord | None:  # noqa: FBT001, FBT002  # QueueListener's call
        """The next record; waits for more of them before the first of a batch."""
        if self._batch:
            self._batch -= 1
            return self._records.get(block)
        record = self._records.get(block)
        time.sleep(BATCH_S)
        self._batch = self._records.qsize()
        return record

    def empty(self) -> bool:
        """Whether nothing waits."""
        return self._records.empty()


class DroppingQueueHandler(logging.handlers.QueueHandler):
    """Hands records to a thread as they are; drops and counts those that find the queue full or come too fast."""

    def __init__(self, lines: Lines, lines_per_s: float) -> None:
        super().__init__(cast("Any", lines))
        self.dropped_total = 0
        self.unwritten: Callable[[], int] = lambda: 0  # lines that could not be written, as on a full disk
        self._infos, self._warnings = RateLimit(lines_per_s), RateLimit(lines_per_s)
        self._reported = 0
        self._reported_at_s = time.monotonic()

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Nothing is made here: all that a record has is immutable, and its text is the thread's work."""
        return record

    def may_log(self, level: int) -> bool:
        """Whether one more line of logging's level is within the rate; counted if not."""
        now_s = time.monotonic()
        if not (self._warnings if level >= logging.WARNING else self._infos).take(round(now_s * 1e6)):
            self.dropped_total += 1
            return False
        if now_s - self._reported_at_s >= LOSSES_LOGGED_EVERY_S:
            self._reported_at_s = now_s
            self.log_losses()
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record unless it is too many."""
        if self.may_log(record.levelno):
            self._put(record)

    def take(self, record: logging.LogRecord) -> None:
        """Take a record that `may_log` was asked for."""
        self._put(record)

    def log_losses(self) -> None:
        """Log how many lines were lost since that was logged last, if any."""
        total = self.dropped_total + self.unwritten()
        lost, self._reported = total - self._reported, total
        if lost:
            why = "too many, nobody read them, or they could not be written"
            self._put(_record("warning", "log", "", f"{lost} lines were not logged: {why}"))

    def _put(self, record: logging.LogRecord) -> None:
        try:
            self.enqueue(record)
        except queue.Full:
            self.dropped_total += 1


class _Target(logging.Handler):
    """Writes lines, in the listener's thread only. It needs no lock, and must have none: while a write waits for a
    reader that stands still, the interpreter's exit would wait for the lock; so it would for that of sys.stderr.
    """

    def __init__(self, stream: TextIO | None, descriptor: int) -> None:
        super().__init__()
        self._stream, self._descriptor = stream, descriptor
        self.unwritten_total = 0
        self._torn = False  # the last line ended in the middle

    def createLock(self) -> None:  # noqa: N802  # logging's name
        """None."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Write one line. One that cannot be written is counted, and the next begins a line of its own."""
        try:
            line = f"{self.format(record)}\n"
        except Exception as error:  # noqa: BLE001  # whatever it is, the next lines must be written
            line = f"{self.format(_lost(record, error))}\n"
        try:
            self._write(f"\n{line}" if self._torn else line)
        except OSError:
            self.unwritten_total += 1
        return True

    def _write(self, line: str) -> None:
        if self._stream is not None:
            self._stream.write(line)
            self._stream.flush()
            return
        left = line.encode(errors="backslashreplace")
        while left:
            written = os.write(self._descriptor, left)
            self._torn = not left[:written].endswith(b"\n")
            left = left[written:]


class Log:
    """This process's log while it is set up."""

    def __init__(
        self, style: str, stream: TextIO | None, descriptor: int, lines_per_s: float, lines_waiting: int
    ) -> None:
        target = self._target = _Target(stream, descriptor)
        target.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
        self._lines = Lines(lines_waiting)
        self.handler = DroppingQueueHandler(self._lines, lines_per_s)
        self.handler.unwritten = lambda: target.unwritten_total
        self._listener = logging.handlers.QueueListener(cast("Any", self._lines), target)
        root = logging.getLogger()
        root.handlers[:] = [self.handler]
        root.setLevel(logging.INFO)
        self._listener.start()

    @property
    def dropped_total(self) -> int:
        """Lines that were not logged."""
        return self.handler.dropped_total + self._target.unwritten_total

    def close(self, timeout_s: float = 1.0) -> None:
        """Write what waits, but wait no longer than that for a reader that stands still."""
        self.handler.log_losses()
        deadline_s = time.monotonic() + timeout_s
        while not self._lines.empty() and time.monotonic() < deadline_s:
            time.sleep(0.005)
        thread = self._listener._thread  # noqa: SLF001  # stop() would wait for it without end
        if self._lines.empty():
            self._listener.enqueue_sentinel()
        if thread is not None:
            thread.join(max(0.0, deadline_s - time.monotonic()))
        logging.getLogger().handlers[:] = []


def set_up(
    style: str,
    stream: TextIO | None = None,
    *,
    descriptor: int = _STDERR,
    lines_per_s: float = 1e6,
    lines_waiting: int = 10_000,
) -> Log:
    """Send this process's log to `stream`, or to a descriptor (the error output), as "text" or "json"."""
    return Log(style, stream, descriptor, lines_per_s, lines_waiting)


@contextlib.contextmanager
def observed(take: Callable[[Note, str], None]) -> Iterator[None]:
    """Meanwhile, whatever is given to `note` and `event` is given to `take` as well, with what no code says."""
    _OBSERVERS.append(take)
    try:
        yield
    finally:
        _OBSERVERS.remove(take)


def note(note: Note) -> None:
    """Log what happened at the edges and has codes, and keep it."""
    for take in _OBSERVERS:
        take(note, "")
    write(note)


def write(effect: Note) -> None:
    """Log what the engine notes; the text is made where it is written. Beyond the rate not even a record is made."""
    handlers = _ROOT.handlers
    handler = handlers[0] if handlers else None
    if isinstance(handler, DroppingQueueHandler):
        if handler.may_log(_LEVELS[effect.level]):
            handler.take(_record(effect.level, effect.what, effect.subject, "", note=effect))
    else:
        _LOGGER.handle(_record(effect.level, effect.what, effect.subject, "", note=effect))


def event(level: Level, what: str, subject: str, why: str, *, cell: Mac = b"") -> None:
    """Log something that happened at the edges, and keep it; `cell` if it concerns one."""
    for take in _OBSERVERS:
        take(Note(level, what, subject, cell=cell), why)
    _LOGGER.log(_LEVELS[level], "%s", why, extra={"what": what, "subject": subject, "cell": cell})


def _record(level: Level, what: str, subject: str, why: str, note: Note | None = None) -> logging.LogRecord:
    extra = {"what": what, "subject": subject, "note": note}
    return _LOGGER.makeRecord("airbound", _LEVELS[level], "", 0, "%s", (why,), None, extra=extra)


def _lost(record: logging.LogRecord, error: Exception) -> logging.LogRecord:
    """What is logged in the place of a record whose line cannot be made."""
    return logging.makeLogRecord(
        {
            "created": record.created,
            "msecs": record.msecs,
            "levelname": "ERROR",
            "what": "log",
            "msg": f"a line cannot be made: {error!r}",
        }
    )


def _time(record: logging.LogRecord) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"


def _note_text(note: Note) -> str:
    fields = log_fields.note(note, log_text.SHOWN, log_text.SHOWN)
    return _printable(": ".join(filter(None, [log_text.what(fields), log_text.why(fields)])))


def _message(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info:
        text = f"{text}: {formatter.formatException(record.exc_info)}"
    return _printable(text)


def _printable(text: str) -> str:
    """A report's text may be anything; it must not be able to forge a line of the log."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
