# SPDX-License-Identifier: Apache-2.0
"""Sentences of reasons are those of docs/reasons.md, whose table is tested in Go as well."""

import re
from pathlib import Path
from typing import Any

import pytest

from airbound import log_fields, reason_text
from airbound.core.reasons import Code, Reason

ROOT = Path(__file__).parents[2]
_, TABLE = (ROOT / "docs/reasons.md").read_text().split("| text |\n|---|---|---|---|---|---|\n")
PROTO = (ROOT / "proto/airbound/v1/reason.proto").read_text()
PLACE = re.compile(r"\{(\w+)(?::(?:ratio|ms|mbps|percent|time))?}")


def row(line: str) -> tuple[dict[str, Any], str]:
    """The fields of a reason, and its text."""
    _, code, subject, *numbers, text, _ = (cell.strip() for cell in line.split("|"))
    values = {name: float(number) for name, number in zip(log_fields.VALUES, numbers, strict=True) if number}
    return log_fields.reason(code, subject, values), text


ROWS = [row(line) for line in TABLE.splitlines()]
FIRST_ROWS = {fields["code"]: fields for fields, _ in reversed(ROWS)}


@pytest.mark.parametrize(("fields", "text"), ROWS, ids=str)
def test_a_sentence_is_that_of_the_document(fields: dict[str, Any], text: str) -> None:
    assert reason_text.sentence(fields) == text


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name.lower())
def test_every_code_has_a_template_of_the_values_that_it_has(code: Code) -> None:
    """Those are named beside the code in reason.proto, and are in the first row of the table."""
    comment = re.search(rf"((?:  //.*\n)*)  REASON_CODE_{code.name} =", PROTO)
    assert comment
    template = reason_text._TEMPLATES[code.name.lower()]
    assert template
    assert not set("{}") & set(PLACE.sub("", template))
    names = set(PLACE.findall(template))
    assert names == FIRST_ROWS[code.name.lower()].keys() - {"code"}
    assert names == set(re.findall(r"\b(subject|before|after|limit)\b(?=[,:])", comment[1]))


def test_every_code_has_a_text_of_its_own() -> None:
    values = {"subject": "SUBJECT", "before": 11, "after": 12, "limit": 13}
    texts = {reason_text.sentence({"code": code.name.lower(), **values}) for code in Code}
    assert len(texts) == len(Code)


def test_the_text_of_a_reason() -> None:
    assert reason_text.text(Reason(Code.ACTIVE_SENDERS, "", 0, 1)) == "active senders 0 -> 1"
    assert reason_text.text(Reason(Code.POLICY)) == "the policy or a parameter changed"


def test_a_value_is_not_a_template() -> None:
    reason = Reason(Code.TOO_MANY_STREAMS, "{limit}[: {subject}]", limit=float("nan"))
    assert reason_text.text(reason) == "more than nan streams from {limit}[: {subject}]"
