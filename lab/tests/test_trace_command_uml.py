# SPDX-License-Identifier: Apache-2.0
"""`airbound-phone trace` as people use it, and the agent's own use of trace events, on a real kernel.

How the lab uses `trace` is tested in test_trace_uml.py.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from airbound_lab.run import boot, host

pytestmark = pytest.mark.uml

GUEST = Path(__file__).with_name("trace_command_guest.py")
SEED = 1
WALL_LIMIT_S = 300


@pytest.fixture(scope="module")
def scenes() -> dict[str, Any]:
    """What trace_command_guest.py found, by scene."""
    host.check_tools()
    program = host.programs((), trace=True).phone_agent
    command = boot.command_line(host.kernel(None), 0, "fixed", "fixed", SEED)
    command = [word for word in command if not word.startswith("init=")] + [
        f"init={GUEST}",
        f"airbound_phone={program}",
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WALL_LIMIT_S, check=False
    )
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert results, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(results[0].removeprefix("RESULTS "))
    assert {scene: result["left_after"] for scene, result in found.items()} == {scene: [] for scene in found}
    return found


def test_records_come_while_it_runs_and_it_ends_on_time(scenes: dict[str, Any]) -> None:
    found = scenes["live_beside_others"]
    assert found["live"]["status"] == 0
    records = [json.loads(line) for line in found["live"]["out"].splitlines()]
    assert len(records) > 10
    assert found["written_while_it_runs"] == len(records)
    assert {record["event"] for record in records} >= {"window"}
    assert found["client"] in {record["local"] for record in records}
    summary = rf"\b{len(records)} records; 0 [^;]+; 0 lost; 0 [^;]*refused"
    assert re.search(summary, found["live"]["stderr"])


def test_two_recordings_have_the_same_records(scenes: dict[str, Any]) -> None:
    found = scenes["live_beside_others"]
    assert len(found["during"]) == 2
    assert len(found["after_the_first"]) == 1
    assert found["until_signal"]["status"] == 0
    rows = list(csv.DictReader(found["csv"].splitlines()))
    records = [json.loads(line) for line in found["live"]["out"].splitlines()]
    assert [row["time_us"] for row in rows] == [str(record["time_us"]) for record in records]
    assert found["mode_of_csv"] == "0o600"


def test_what_another_tracer_has_set_is_neither_taken_over_nor_changed(scenes: dict[str, Any]) -> None:
    # With context-info off, or the format for latencies, no line could be read: the counts above show that all were.
    assert scenes["live_beside_others"]["options"] == {"overwrite": "0", "context-info": "0", "latency-format": "1"}


def test_a_reader_that_closes_the_pipe_is_no_error(scenes: dict[str, Any]) -> None:
    assert scenes["reader_that_closes_the_pipe"]["status"] == 0


def test_a_stuck_output_ends_recording_on_time_and_the_program_with_the_next_signal(scenes: dict[str, Any]) -> None:
    found = scenes["stuck_output"]
    assert (found["alive"], found["tracing_on"]) == (True, "0")
    assert found["status"] == 1
    assert "output" in found["stderr"]


def test_cleanup_removes_what_a_killed_recording_left(scenes: dict[str, Any]) -> None:
    found = scenes["killed"]
    assert len(found["left"]) == 1
    assert "Instances of tracing left behind and removed: 1." in found["cleanup"]
    assert found["status"] == 0


def test_the_agent_sees_what_begins_to_send_and_leaves_no_instance(scenes: dict[str, Any]) -> None:
    found = scenes["agent"]
    assert found["left"], "a killed agent's instance is not what is tested here"
    assert (found["during"], found["starts"], found["status"]) == (True, {"by": "trace events"}, 0)
    seen = found["seen"]
    assert seen["nothing"] < seen["connected"] == seen["nothing more"] < seen["first data"]
    assert seen["closed"] == seen["another network namespace"]
