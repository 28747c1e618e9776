# SPDX-License-Identifier: Apache-2.0
"""What docs/metrics.md says of metrics: the table, and queries."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from airbound.metrics.reference import replaced, table

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
UPDATE = "run 'make generate', or .venv/bin/python -m airbound.metrics.reference docs/metrics.md"
QUERIES = re.findall(r"```promql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_has_the_metrics_of_now() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == replaced(text), UPDATE


def test_a_page_without_its_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match="no <!-- metrics: begin"):
        replaced("# Metrics\n")


def test_the_queries_are_right_and_of_metrics_that_there_are(tmp_path: Path) -> None:
    known = set(re.findall(r"`(airbound_\w+)`", table()))
    assert len(QUERIES) >= 10
    for query in QUERIES:
        used = set(re.findall(r"airbound_\w+", query))
        assert used
        assert {name.removesuffix("_bucket") for name in used} <= known
    rules = [f"  - record: a:b{number}\n    expr: |\n" + _indented(query) for number, query in enumerate(QUERIES)]
    file = tmp_path / "rules.yml"
    file.write_text("groups:\n- name: docs\n  rules:\n" + "".join(rules), encoding="utf-8")
    program = shutil.which("promtool")
    assert program, "promtool is in Debian's package prometheus"
    run = subprocess.run([program, "check", "rules", str(file)], capture_output=True, check=False, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def _indented(query: str) -> str:
    return "".join(f"      {line}\n" for line in query.splitlines())
