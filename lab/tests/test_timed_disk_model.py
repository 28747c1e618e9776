# SPDX-License-Identifier: Apache-2.0
"""The storage model alone, compiled for user space: its own rules, and what holds for any requests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbound_lab.io_study.devices import DEVICES, NS_PER_MS, Times

KERNEL = Path(__file__).parents[1] / "kernel"
MODEL = KERNEL / "src/drivers/block"
SECTORS = 128 * 2048
KINDS = ("read", "write", "force", "flush", "discard")

Request = tuple[int, str, int, int]
requests = st.lists(
    st.tuples(
        st.integers(0, 50 * NS_PER_MS), st.sampled_from(KINDS), st.integers(0, SECTORS - 2048), st.integers(1, 2048)
    ),
    max_size=60,
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("disk") / "timed_disk_test"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address", "-fno-sanitize-recover"]
    sources = [KERNEL / "tests/timed_disk_test.c", MODEL / "timed_disk_model.c"]
    subprocess.run(["gcc", *flags, f"-I{MODEL}", "-o", program, *sources], check=True)
    return program


def test_the_rules_hold(program: Path) -> None:
    run = subprocess.run([program, "check"], capture_output=True, text=True, check=False)
    assert not [line for line in run.stdout.splitlines() if line.startswith("not ok")]
    assert run.returncode == 0
    assert run.stdout.splitlines()[-1] == f"1..{run.stdout.count('ok ')}"


def served(program: Path, times: Times, asked: list[Request]) -> list[int]:
    """Return when each request ends; each is sent its first number of ns after the one before."""
    names = [word.removeprefix("timed_disk.") for word in times.boot_parameters() if "size_mb" not in word]
    lines, now_ns = [], 0
    for after_ns, kind, sector, sectors in asked:
        now_ns += after_ns
        lines.append(f"{now_ns} {kind} {sector} {sectors}\n")
    run = subprocess.run(
        [program, "serve", *names, f"sectors={SECTORS}"],
        input="".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize("device", DEVICES)
@given(asked=requests)
@settings(max_examples=25, deadline=None)
def test_requests_end_after_they_came_and_a_flush_after_all_before_it(
    program: Path, device: str, asked: list[Request]
) -> None:
    ends = served(program, DEVICES[device].times, asked)
    assert len(ends) == len(asked)
    now_ns = latest_ns = 0
    for (after_ns, kind, _, _), end_ns in zip(asked, ends, strict=True):
        now_ns += after_ns
        assert end_ns >= now_ns
        if kind == "flush":
            assert end_ns >= latest_ns
        latest_ns = max(latest_ns, end_ns)


@pytest.mark.parametrize("device", DEVICES)
@given(asked=requests)
@settings(max_examples=10, deadline=None)
def test_the_same_requests_end_at_the_same_times(program: Path, device: str, asked: list[Request]) -> None:
    times = DEVICES[device].times
    assert served(program, times, asked) == served(program, times, asked)


def rate_of(program: Path, device: str, kind: str, *, step: int, sectors: int, count: int = 400) -> float:
    """Return MB/s of requests one after the other, `step` sectors apart."""
    times = DEVICES[device].times
    ends = served(program, times, [(0, kind, (number * step) % (SECTORS - 2048), sectors) for number in range(count)])
    flushed = served(
        program, times, [*[(0, kind, (n * step) % (SECTORS - 2048), sectors) for n in range(count)], (0, "flush", 0, 0)]
    )
    return count * sectors * 512 / 1e6 / (max(ends + flushed[-1:]) / 1e9)


@pytest.mark.parametrize(
    ("device", "kind", "mb_per_s"),
    [("disk-2010", "read", 125), ("card-2010", "write", 5), ("emmc-2010", "write", 12), ("ufs-today", "read", 2100)],
)
def test_in_sequence_a_device_is_as_fast_as_its_sources_say(
    program: Path, device: str, kind: str, mb_per_s: float
) -> None:
    assert rate_of(program, device, kind, step=1024, sectors=1024) == pytest.approx(mb_per_s, rel=0.1)


def test_a_disk_turns_and_seeks_in_the_mean_as_its_source_says(program: Path) -> None:
    # Two thirds of the disk away and back again, at moments that do not follow the turns.
    asked = [(37_123_457, "read", (number % 2) * SECTORS * 2 // 3, 1) for number in range(300)]
    ends = served(program, DEVICES["disk-2010"].times, asked)
    took_ms = [(end_ns - number * 37_123_457) / NS_PER_MS for number, end_ns in enumerate(ends, start=1)]
    # 1 ms + 13 ms x sqrt(2/3), and half of a turn of 8.33 ms
    assert sum(took_ms) / len(took_ms) == pytest.approx(1 + 13 * (2 / 3) ** 0.5 + 8.33 / 2, rel=0.05)


def test_a_card_writes_far_apart_as_its_sources_say(program: Path) -> None:
    # In a new unit each time: below 0.1 MB/s.
    assert rate_of(program, "card-2010", "write", step=8192, sectors=8, count=200) < 0.1
