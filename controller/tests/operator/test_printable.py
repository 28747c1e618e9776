# SPDX-License-Identifier: Apache-2.0
"""What commands write: nothing of a peer's text reaches the terminal that is not printable."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.operator import cli, color, pki_display, table
from airbound.operator.printable import output, printable
from airbound.v1 import pki_pb2

HOSTILE = "\x1b[31mRED\nnew line\x9b2J\u202eright to left\x07\x1b]0;title\x07"
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\x1b[]m;0123\n\t\r\x07\x9b\u202e\u2028"), max_size=60)


@given(TEXTS)
def test_nothing_but_styles_lines_and_tabs_is_left(text: str) -> None:
    assert printable(text).isprintable()
    written = output(text)
    assert len(written) == len(text)
    assert re.sub(r"\x1b\[[0-9]{1,2}m|[\n\t]", "", written).isprintable()
    assert all(now in (was, "?") for was, now in zip(text, written, strict=True))


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3), st.sampled_from([0, 10, 40]))
def test_a_row_of_a_table_is_a_line(rows: list[tuple[str, str]], limit: int) -> None:
    lines = table.lines(("NAME", "REASON"), rows, limit)
    assert all(line.isprintable() for line in lines)
    shown = list(itertools.takewhile(lambda line: not line.startswith("(not shown"), lines))
    assert len(shown) <= 1 + len(rows)  # a note of columns that found no room is as long as it is


def test_our_own_styles_stay() -> None:
    text = f"{color.paint('head', color.BOLD)}\n\tsecond \u30c6\u30b9\u30c8"
    assert output(text) == text


def test_the_reason_of_a_revocation_changes_no_line_of_another_operators_terminal() -> None:
    certificate = pki_pb2.IssuedCertificate(serial="1", not_after_s=1, revoked=True, revocation_reason=HOSTILE)
    found = pki_pb2.Enrolled(role="terminal", name="dup", certificates=[certificate])
    head, row = pki_display.enrolled(pki_pb2.ListEnrolledResponse(enrolled=[found])).split("\n")
    assert head.startswith("NAME")
    assert "revoked: ?[31mRED?new line" in row
    assert row.isprintable()


def test_errors_are_printable_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    cli._fail(f"refused: {HOSTILE}", 1)
    first, second = capsys.readouterr().err.removesuffix("\n").split("\n")
    assert first == "airbound: refused: ?[31mRED"
    assert second.isprintable()
