# SPDX-License-Identifier: Apache-2.0
"""Which processors guests run on, with locks in a directory of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from airbound_lab.run import boot, processor

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = frozenset(os.sched_getaffinity(0))

OWN_ONE = """
import pathlib, sys
from airbound_lab.run import processor
with processor.own_processor(pathlib.Path(sys.argv[1])) as processors:
    print(*processors, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> frozenset[int]:
    """Three processors are allowed, whatever this machine has."""
    numbers = frozenset({2, 3, 5})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(numbers))
    return numbers


def test_each_guest_has_a_processor_of_its_own_until_there_is_none_left(tmp_path: Path, three: frozenset[int]) -> None:
    with ExitStack() as stack:
        own = [stack.enter_context(processor.own_processor(tmp_path)) for _ in three]
        assert {frozenset({number}) for number in three} == set(own)
        assert stack.enter_context(processor.own_processor(tmp_path)) == three


@pytest.mark.usefixtures("three")
def test_the_processor_of_a_guest_that_ended_is_given_again(tmp_path: Path) -> None:
    with processor.own_processor(tmp_path) as first, processor.own_processor(tmp_path) as second:
        assert first != second
    with processor.own_processor(tmp_path) as again:
        assert again == first


@pytest.mark.usefixtures("three")
def test_without_a_place_for_the_locks_a_guest_runs_on_all(tmp_path: Path, three: frozenset[int]) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    with processor.own_processor(in_the_way / "locks") as processors:
        assert processors == three


def test_guests_of_another_program_count(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWN_ONE, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        taken = frozenset(map(int, other.stdout.readline().split()))
        with processor.own_processor(tmp_path) as processors:
            assert processors == (ALLOWED if taken == ALLOWED else processors - taken)
        other.kill()
    with processor.own_processor(tmp_path) as processors:
        assert processors == taken


def test_a_guest_and_what_it_starts_stay_on_its_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRBOUND_CACHE", str(tmp_path / "cache"))
    # The script waits for what it reports, since the processors are set when it is running already.
    script = (
        'while [ "$(sed -n s/^Cpus_allowed_list:.//p /proc/self/status)" != "$1" ]; do sleep 0.01; done; '
        "printf done > progress"
    )
    boot.boot(["sh", "-c", script, "sh", str(min(ALLOWED))], tmp_path, 60, lambda: None, lambda: False)
    assert (tmp_path / "cache" / "processors" / str(min(ALLOWED))).exists()
