# SPDX-License-Identifier: Apache-2.0
"""Runs a [[run]] or [[long]] of commands.toml, step by step."""

import signal
from collections.abc import Mapping
from typing import Any, NamedTuple

from machine import Checkout, Machine, Started

ENDED_BY_SIGINT = (0, 130)


class Step(NamedTuple):
    """As commands.toml describes it; `text` is that of its command or setup."""

    text: str
    is_command: bool
    status: int = 0
    kind: str = ""
    ready: str = "true"
    replace: Mapping[str, str] = {}
    where: str = ""
    home: str = ""

    @classmethod
    def from_table(cls, written: str | dict[str, Any]) -> "Step":
        """Of an entry."""
        table = {"command": written} if isinstance(written, str) else dict(written)
        command, setup = table.pop("command", None), table.pop("setup", None)
        assert (command is None) != (setup is None), written
        return cls((command or setup).strip(), command is not None, **table)


def play(machine: Machine | Checkout, steps: list[Step]) -> None:
    """Every step.

    Raises:
        AssertionError: one does not do what it is to do; with what it printed.
    """
    served = []
    for step in steps:
        text = step.text
        for placeholder, how in step.replace.items():
            assert placeholder in text, f"{text}: no {placeholder}"
            found = machine.run(how)
            assert not found.returncode, f"{how}: {found.stderr}"
            text = text.replace(placeholder, found.stdout.partition("\n")[0])
        if step.home:
            text = f"export HOME={step.home}; {text}"
        if step.where == "checkout":
            text = f'cd "$CHECKOUT"; {text}'
        if not step.kind or isinstance(machine, Checkout):
            done = machine.run(text)
            assert done.returncode == step.status, (
                f"{step.text}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
            )
        elif step.kind == "watch":
            printed, status = machine.watch(text)
            assert printed.strip(), f"{step.text}: prints nothing"
            assert status in ENDED_BY_SIGINT, f"{step.text}: exit status {status}\n{printed}"
        else:
            served.append((machine.start(text), step.status))
            try:
                machine.until(step.ready, served[-1][0])
            except TimeoutError as error:
                raise AssertionError(f"{step.text}: {error}") from error
            if step.kind == "try":
                stop(*served.pop())
    for started, status in reversed(served):
        stop(started, status)


def stop(started: Started, wanted: int) -> None:
    """As systemd does."""
    status = started.stop(signal.SIGTERM)
    assert status == wanted, f"{started.text}: exit status {status}\n{started.printed()}"
