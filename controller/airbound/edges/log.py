# SPDX-License-Identifier: Apache-2.0
"""The "what and why" log: one line for each thing that happened, as text for people or as JSON for machines."""

import json
import logging
import sys
import time
from typing import TextIO

from airbound.core.effects import Note

_LOGGER = logging.getLogger("airbound")
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING}


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z info bounds 02:00:00:00:00:01: why`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        subject = _printable(getattr(record, "subject", ""))
        head = f"{_time(record)} {record.levelname.lower()} {getattr(record, 'what', record.name)}"
        return f"{head}{' ' if subject else ''}{subject}: {_one_line(self, record)}"


class JsonFormatter(logging.Formatter):
    """The same as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        fields = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "what": getattr(record, "what", record.name),
            "subject": getattr(record, "subject", ""),
            "why": _one_line(self, record),
        }
        return json.dumps(fields)


def set_up(style: str, stream: TextIO | None = None) -> None:
    """Send this process's log to `stream` (the error output) as "text" or "json"."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)


def note(effect: Note) -> None:
    """Log what the engine has to say."""
    extra = {"what": effect.what, "subject": effect.subject}
    _LOGGER.log(_LEVELS[effect.level], "%s", effect.why, extra=extra)


def _time(record: logging.LogRecord) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"


def _one_line(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info:
        text = f"{text}: {formatter.formatException(record.exc_info)}"
    return _printable(text)


def _printable(text: str) -> str:
    """A report's text may hold anything; it must not be able to forge a line of the log."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
