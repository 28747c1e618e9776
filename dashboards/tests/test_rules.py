# SPDX-License-Identifier: Apache-2.0
"""The rules by promtool, and what every alert has."""

import re
import shutil
import subprocess
from pathlib import Path

from airbound.metrics.reference import table

DASHBOARDS = Path(__file__).parents[1]
RULES = DASHBOARDS / "rules"
RUNBOOK = DASHBOARDS.parent / "docs" / "runbook.md"
ALERTS = (RULES / "alerts.yml").read_text(encoding="utf-8")
RECORDS = (RULES / "recording.yml").read_text(encoding="utf-8")
NAMES = re.findall(r"- alert: (\w+)", ALERTS)


def promtool(*arguments: str) -> tuple[int, str]:
    program = shutil.which("promtool")
    assert program, "promtool is in Debian's package prometheus"
    run = subprocess.run([program, *arguments], capture_output=True, check=False, text=True)
    return run.returncode, run.stdout + run.stderr


def test_promtool_finds_nothing_wrong_with_the_rules() -> None:
    files = sorted(map(str, RULES.glob("*.yml")))
    assert len(files) == 2
    code, output = promtool("check", "rules", "--lint=all", "--lint-fatal", *files)
    assert code == 0, output


def test_the_rules_pass_their_unit_tests() -> None:
    files = sorted(map(str, (RULES / "tests").glob("*.yml")))
    assert len(files) == 2
    code, output = promtool("test", "rules", *files)
    assert code == 0, output


def test_a_rule_that_is_wrong_fails_its_unit_test(tmp_path: Path) -> None:
    shutil.copytree(RULES, tmp_path / "rules")
    file = tmp_path / "rules" / "alerts.yml"
    file.write_text(ALERTS.replace("rtt_ratio:median > 5", "rtt_ratio:median > 50"), encoding="utf-8")
    # The tests of this alert alone: promtool needs a third of a second for each.
    tests = tmp_path / "rules" / "tests" / "alerts.yml"
    head, *each = tests.read_text(encoding="utf-8").split("  - name: ")
    its = [test for test in each if test.startswith('"AirboundCellBloated: ')]
    assert len(its) == 2
    tests.write_text("  - name: ".join([head, *its]), encoding="utf-8")
    code, output = promtool("test", "rules", str(tests))
    assert code == 1
    assert "AirboundCellBloated" in output


def test_every_alert_has_all_that_it_needs() -> None:
    assert len(NAMES) == len(set(NAMES)) > 15
    for text in ALERTS.split("- alert: ")[1:]:
        name = text.split("\n", 1)[0]
        assert re.search(r"\n +for: [1-9]\d*[mh]\n", text), name
        assert re.search(r"severity: (critical|warning|info)\b", text), name
        for annotation in ("summary", "description"):
            assert re.search(rf"\n +{annotation}: ", text), name
        assert f"runbook_url: docs/runbook.md#{name.lower()}\n" in text, name


def test_the_runbook_has_a_section_for_each_alert_and_for_no_other() -> None:
    text = RUNBOOK.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (Airbound\w+)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    assert list(sections) == NAMES
    for name, section in sections.items():
        for part in ("**What it means.**", "**What to look at.**", "**What to do.**"):
            assert part in section, f"{name}: {part}"


def test_every_alert_is_tested_where_it_fires_and_where_it_does_not() -> None:
    text = (RULES / "tests" / "alerts.yml").read_text(encoding="utf-8")
    expected = re.findall(r"alertname: (\w+)\n +exp_alerts:(.*)\n", text)
    assert {name for name, none in expected if not none} == set(NAMES)
    assert {name for name, none in expected if none} == set(NAMES)


def test_every_record_is_tested_or_used_by_a_record_that_is() -> None:
    text = (RULES / "tests" / "recording.yml").read_text(encoding="utf-8")
    names = re.findall(r"record: (\S+)", RECORDS)
    tested = {name for name in names if name in text}
    for record in RECORDS.split("- record: ")[1:]:
        name = record.split("\n", 1)[0]
        used = [other for other in names if other in record and other != name]
        tested |= set(used) if name in tested else set()
    assert set(names) <= tested


def test_the_rules_use_metrics_that_there_are() -> None:
    metrics = set(re.findall(r"`(airbound_\w+)`", table()))
    recorded = set(re.findall(r"record: (\S+)", RECORDS))
    for text in (ALERTS, RECORDS):
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        assert set(re.findall(r"\w+:airbound_\w+:\w+|airbound:\w+:\w+", code)) <= recorded
        plain = re.sub(r"\w*:?airbound\w*:\w+(:\w+)?", "", code)
        names = {re.sub("_bucket$", "", name) for name in re.findall(r"\bairbound_\w+", plain)}
        assert names
        assert names <= metrics
