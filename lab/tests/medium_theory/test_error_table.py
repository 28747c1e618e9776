# SPDX-License-Identifier: Apache-2.0
"""The error model in C, compiled for user space, against its formulas."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from airbound_lab.medium_theory import error_rates, error_table
from airbound_lab.medium_theory.modulations import MODULATIONS

KERNEL = Path(__file__).parents[2] / "kernel"
SOURCES = KERNEL / "src/drivers/net/wireless"
QUARTER_DBS = range(-44, 164)
FRAMES_BYTES = (10, 14, 20, 32, 100, 256, 1000, 1500, 1534, 1538, 2346, 4000, 7991, 11_454)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("errors") / "dcf_error_test"
    sources = [KERNEL / "tests/dcf_error_test.c", SOURCES / "dcf_error.c"]
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address", "-fno-sanitize-recover"]
    subprocess.run(["gcc", *flags, f"-I{SOURCES}", "-o", path, *sources], check=True)
    return path


def ask(program: Path, cases: list[tuple[int, int, int]]) -> list[int]:
    lines = "".join(f"{modulation} {quarter_db} {frame_bytes}\n" for modulation, quarter_db, frame_bytes in cases)
    run = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    return [int(line) for line in run.stdout.split()]


def losses_ppm(program: Path, modulation: int) -> dict[int, list[int]]:
    """By length: the loss at each SNR of the grid."""
    cases = [(modulation, quarter_db, frame_bytes) for frame_bytes in FRAMES_BYTES for quarter_db in QUARTER_DBS]
    found = ask(program, cases)
    columns = len(QUARTER_DBS)
    return {frame_bytes: found[at * columns : (at + 1) * columns] for at, frame_bytes in enumerate(FRAMES_BYTES)}


@pytest.mark.parametrize("modulation", range(len(MODULATIONS)), ids=lambda at: MODULATIONS[at].name)
def test_c_is_the_formula(program: Path, modulation: int) -> None:
    """The task allows half a percentage point, the header promises 10 ppm."""
    for frame_bytes, found in losses_ppm(program, modulation).items():
        for quarter_db, ppm in zip(QUARTER_DBS, found, strict=True):
            expected = error_rates.loss_probability(MODULATIONS[modulation], quarter_db / 4, frame_bytes)
            assert ppm == pytest.approx(expected * 1e6, rel=0, abs=10), (quarter_db, frame_bytes)


@pytest.mark.parametrize("modulation", range(len(MODULATIONS)), ids=lambda at: MODULATIONS[at].name)
def test_more_signal_loses_less_and_a_longer_frame_more(program: Path, modulation: int) -> None:
    by_length = losses_ppm(program, modulation)
    for found in by_length.values():
        assert found == sorted(found, reverse=True)
        assert (found[0], found[-1]) == (1_000_000, 0)
    for shorter, longer in pairwise(FRAMES_BYTES):
        assert all(a <= b for a, b in zip(by_length[shorter], by_length[longer], strict=True))


def test_each_byte_more_loses_no_less(program: Path) -> None:
    """Where the exponent's fraction ends and a shift begins, too."""
    for modulation, quarter_db in [(0, 12), (3, 52), (7, 92), (9, 114)]:
        found = ask(program, [(modulation, quarter_db, frame_bytes) for frame_bytes in range(1, 12_001)])
        assert found == sorted(found)
        assert found[-1] > found[0]


def test_limits(program: Path) -> None:
    none = len(MODULATIONS)
    far, near = -(2**31), 2**31 - 1
    cases = [(0, 12, 0), (none, 400, 0), (none, 400, 1), (-1, 400, 1), (0, far, 1), (9, near, 2**32 - 1)]
    assert ask(program, cases) == [0, 0, 1_000_000, 1_000_000, 1_000_000, 0]
    assert ask(program, [(0, 12, 2**32 - 1)]) == [1_000_000]


def test_the_order_is_that_of_the_enum() -> None:
    (body,) = re.findall(r"enum dcf_modulation \{(.*?)\}", (SOURCES / "dcf_error.h").read_text(), re.DOTALL)
    names = re.findall(r"^\t(DCF_\w+),", body, re.MULTILINE)
    assert names == [*map(error_table.c_name, MODULATIONS), "DCF_MODULATIONS"]


def test_the_header_and_the_document_are_current(tmp_path: Path) -> None:
    header, document = tmp_path / "header.h", tmp_path / "ERRORS.md"
    document.write_text((KERNEL / "ERRORS.md").read_text())
    error_table.main(header, document)
    assert header.read_text() == (SOURCES / "dcf_error_table.h").read_text()
    assert document.read_text() == (KERNEL / "ERRORS.md").read_text()


def test_a_document_without_marks_is_refused(tmp_path: Path) -> None:
    document = tmp_path / "x.md"
    document.write_text("nothing\n")
    with pytest.raises(ValueError, match="expected a line"):
        error_table.main(tmp_path / "header.h", document)
    assert not (tmp_path / "header.h").exists()
