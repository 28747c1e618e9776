# SPDX-License-Identifier: Apache-2.0

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from airbound.core.effects import Note
from airbound.edges import log

NOTE = Note("warning", "refused", "02:00:00:00:01:00", "mac = 'a\nb\x1b[31m': forged")


@pytest.fixture(autouse=True)
def _restore_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def logged(style: str, note: Note) -> str:
    stream = io.StringIO()
    log.set_up(style, stream)
    log.note(note)
    return stream.getvalue()


def test_text_is_one_line_whatever_a_report_holds() -> None:
    line = logged("text", NOTE)
    assert line.count("\n") == 1
    assert "\x1b" not in line
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warning refused 02:00:00:00:01:00: mac = 'a\\nb", line)


def test_a_subject_forges_no_line_either() -> None:
    line = logged("text", Note("warning", "refused", "x\n2026-01-31 info bounds\x1b[2J", "mac is wrong"))
    assert line.count("\n") == 1
    assert "\x1b" not in line


def test_json_is_one_object() -> None:
    line = logged("json", NOTE)
    assert line.count("\n") == 1
    fields = json.loads(line)
    assert list(fields) == ["time", "level", "what", "subject", "why"]
    assert (fields["level"], fields["what"], fields["subject"]) == ("warning", "refused", "02:00:00:00:01:00")


def test_an_error_of_ours_comes_with_its_trace_on_one_line() -> None:
    stream = io.StringIO()
    log.set_up("text", stream)
    try:
        raise ValueError("broken")  # noqa: TRY301
    except ValueError:
        logging.getLogger("asyncio").exception("task failed")
    assert stream.getvalue().count("\n") == 1
    assert "error asyncio: task failed" in stream.getvalue()
    assert "ValueError: broken" in stream.getvalue()
