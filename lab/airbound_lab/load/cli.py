# SPDX-License-Identifier: Apache-2.0
"""`airbound-lab load`: hands over to build/airbound-load, which starts the servers from this virtualenv."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from airbound_lab.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = Path(__file__).parents[3] / "build" / "airbound-load"
RAW = (
    "-m airbound_lab.load.rawserver --listen {listen} --operators {operators} --answers-per-report {answers}"
    " --tls-dir={tls-dir}"
)


def command_line(arguments: Sequence[str], program: Path, python: Path) -> list[str]:
    """The words that load a controller; what `arguments` say comes last and wins.

    Raises:
        UsageError: the program was not built.
    """
    if not os.access(program, os.X_OK):
        raise UsageError(f"load: there is no {program}; run 'make build'")
    controller = f"{python.with_name('airbound')} controller {{plain-text}} --config {{config}}"
    return [str(program), "--command", controller, "--raw-command", f"{python} {RAW}", *arguments]


def execute(arguments: Sequence[str]) -> None:
    """Become airbound-load; its exit status is this command's.

    Raises:
        UsageError: the program was not built.
    """
    words = command_line(arguments, PROGRAM, Path(sys.executable))
    os.execv(words[0], words)  # noqa: S606  # no shell is what is wanted
