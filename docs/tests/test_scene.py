# SPDX-License-Identifier: Apache-2.0
"""The runner notices what goes wrong. Machine itself is tried by every [[run]]."""

from pathlib import Path
from typing import Any

import pytest
from machine import Checkout
from scene import Step, play


def played(directory: Path, *steps: str | dict[str, Any]) -> None:
    play(Checkout(directory, {"HERE": "x"}), [Step.from_table(step) for step in steps])


def test_steps_follow_each_other_in_one_folder(tmp_path: Path) -> None:
    played(tmp_path, "echo a >f", {"setup": "grep -q a f"}, {"command": "grep -q b f", "status": 1})
    with pytest.raises(AssertionError, match=r"grep b f: exit status 1"):
        played(tmp_path, "grep b f")
    with pytest.raises(AssertionError, match=r"true: exit status 0"):
        played(tmp_path, {"command": "true", "status": 1})


def test_placeholders_are_replaced_by_what_a_command_prints(tmp_path: Path) -> None:
    played(tmp_path, {"command": 'test "FILE" = x-1', "replace": {"FILE": 'echo "$HERE-1"; echo more'}})
    with pytest.raises(AssertionError, match="no FILE"):
        played(tmp_path, {"command": "true", "replace": {"FILE": "echo x"}})
    with pytest.raises(AssertionError, match="false"):
        played(tmp_path, {"command": "cat FILE", "replace": {"FILE": "false"}})


@pytest.mark.parametrize("step", [{}, {"command": "a", "setup": "b"}])
def test_a_step_is_a_command_or_a_setup(step: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        Step.from_table(step)
