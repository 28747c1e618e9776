# SPDX-License-Identifier: Apache-2.0
"""The host's side of a boot, with shell scripts in the guest's place."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airbound_lab.errors import LabError
from airbound_lab.run import boot

if TYPE_CHECKING:
    from collections.abc import Callable


def start(tmp_path: Path, script: str, wall_limit_s: float = 60, *, stopped: bool = False) -> float:
    return boot.boot(["sh", "-c", script], tmp_path, wall_limit_s, lambda: None, lambda: stopped)


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return "State:\tZ" not in status


def test_a_guest_that_is_done_is_done(tmp_path: Path) -> None:
    assert start(tmp_path, "printf done > progress") >= 0


@pytest.mark.parametrize("message", boot.PANIC_MESSAGES)
def test_a_panic_is_noticed_even_if_the_guest_reports_done(tmp_path: Path, message: str) -> None:
    with pytest.raises(LabError, match="kernel failed") as raised:
        start(tmp_path, f"printf done > progress; echo '{message} here'; echo last line")
    assert f"| {message} here\n  | last line" in str(raised.value)


def test_the_guests_reason_for_failing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="station sta3 did not associate") as raised:
        start(tmp_path, "printf 'associating 3/9' > progress; printf 'station sta3 did not associate' > error.txt")
    assert "while: associating 3/9" in str(raised.value)
    assert str(tmp_path) in str(raised.value)


def test_a_guest_that_ends_early_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"ended early \(status 3\)"):
        start(tmp_path, "printf measuring > progress; exit 3")


def test_a_guest_that_hangs_is_ended_with_all_its_processes(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="not done after 5 s"):
        start(tmp_path, "sleep 1000 & echo $! > child; wait", wall_limit_s=5)
    child = int((tmp_path / "child").read_text(encoding="utf-8"))
    # A killed process is not gone at once; "sleep" by itself would stay for a quarter of an hour.
    deadline_s = time.monotonic() + 300
    while alive(child) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not alive(child)


def test_a_guest_is_ended_when_the_others_failed(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="stopped"):
        start(tmp_path, "sleep 1000", stopped=True)


def test_nothing_of_the_users_environment_reaches_the_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "1")
    start(tmp_path, "env > environment; printf done > progress")
    names = {line.split("=")[0] for line in (tmp_path / "environment").read_text(encoding="utf-8").splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME"}


PRINT_COMMAND_LINE = """
from pathlib import Path
from airbound_lab.run import boot
print("\\n".join(boot.command_line(Path("/k"), 11, "aarf", "minstrel_ht", seed=3)))
"""


def test_equal_runs_have_equal_command_lines(print_twice: Callable[[str], tuple[str, str]]) -> None:
    first, second = print_twice(PRINT_COMMAND_LINE)
    assert first == second
    words = first.splitlines()
    assert words[:3] == ["setarch", "-R", "/k"]
    assert {"airbound_seed=3", "mac80211_hwsim.radios=11", "mac80211_hwsim.rate_control=aarf", "ro"} <= set(words)


def test_every_input_of_a_run_is_on_the_command_line() -> None:
    usual = {"kernel": Path("/k"), "radios": 11, "rate_control": "aarf", "ap_rate_control": "minstrel_ht", "seed": 3}
    changes = {"kernel": Path("/l"), "radios": 2, "rate_control": "fixed", "ap_rate_control": "aarf", "seed": 4}
    line = boot.command_line(**usual)  # type: ignore[arg-type]
    for name, value in changes.items():
        other = boot.command_line(**(usual | {name: value}))  # type: ignore[arg-type]
        assert len([1 for one, two in zip(line, other, strict=True) if one != two]) == 1


def test_what_radios_are_made_with_is_on_the_command_line() -> None:
    usual = {"kernel": Path("/k"), "radios": 11, "rate_control": "aarf", "ap_rate_control": "minstrel_ht", "seed": 3}
    line = boot.command_line(**usual)  # type: ignore[arg-type]
    assert boot.command_line(**usual, medium={"dcf_aql": 0}) == [*line, "mac80211_hwsim.dcf_aql=0"]  # type: ignore[arg-type]
