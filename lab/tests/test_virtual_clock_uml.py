# SPDX-License-Identifier: Apache-2.0
"""The guest's clocks, by the vDSO and by system calls, and its memory: what its kernel shortens changes nothing."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from airbound_lab.run import boot, host
from airbound_lab.settings.values import KERNEL_LINES

if TYPE_CHECKING:
    from airbound_lab.settings.values import KernelLine

pytestmark = [pytest.mark.uml, pytest.mark.parametrize("line", KERNEL_LINES)]

GUEST = Path(__file__).with_name("virtual_clock_guest.py")
SEED = 1
WALL_LIMIT_S = 300
NS_PER_READING = 256
READINGS_PER_TICK_MAX = 1000


@functools.cache
def results(line: KernelLine, boot_number: int = 1) -> dict[str, Any]:
    """What virtual_clock_guest.py found; each number is a boot of its own."""
    command = [*boot.guest_command(host.kernel(None, line), SEED, init=GUEST), "mac80211_hwsim.radios=0"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WALL_LIMIT_S, check=False
    )
    found = [text for text in done.stdout.splitlines() if text.startswith("RESULTS ")]
    assert found, f"boot {boot_number}: {done.stdout}{done.stderr}"
    return cast("dict[str, Any]", json.loads(found[0].removeprefix("RESULTS ")))


def test_the_vdso_reads_the_clock_without_a_system_call(line: KernelLine) -> None:
    assert results(line)["forged"] == 123


def test_vdso_and_system_call_agree_to_the_nanosecond(line: KernelLine) -> None:
    clocks = results(line)["clocks"]
    for name, moments in clocks.items():
        assert [first for first, _ in moments] == [second for _, second in moments], name
    assert len({tuple(first) for first, _ in clocks["monotonic"]}) == len(clocks["monotonic"])
    refused = {name for name, moments in clocks.items() if moments[0][0][0] != 0 and name != "time"}
    assert refused == {"none", "negative"}


def test_they_agree_once_the_date_was_set(line: KernelLine) -> None:
    assert results(line)["date set"] == [[0, 1_800_000_000, 123_456_789]] * 2


def test_they_agree_in_each_process(line: KernelLine) -> None:
    assert results(line)["children"] == [True, True]


def test_a_loop_that_waits_for_time_to_pass_ends_however_it_reads_the_clock(line: KernelLine) -> None:
    [by_vdso, *others] = results(line)["spins"]
    readings, passed_ns = by_vdso
    assert others == [by_vdso] * len(others)
    assert 0 < readings < READINGS_PER_TICK_MAX
    assert passed_ns == NS_PER_READING * READINGS_PER_TICK_MAX


def test_pages_that_were_populated_are_empty_and_each_process_has_its_own(line: KernelLine) -> None:
    assert results(line)["memory"] == {
        "written": [7, 7, 7],
        "rest is empty": True,
        "child": 0,
        "parent is apart": True,
        "given back": True,
    }


def test_two_boots_have_the_same_times_to_the_nanosecond(line: KernelLine) -> None:
    assert results(line) == results(line, boot_number=2)
