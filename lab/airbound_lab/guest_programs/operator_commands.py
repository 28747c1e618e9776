# SPDX-License-Identifier: Apache-2.0
"""Runs `airbound` commands one after the other, in one process: to start Python and import gRPC takes seconds in a
guest, the commands themselves take milliseconds.

    operator_commands.py FILE                    FILE: a JSON list of {"words": [...], "output": PATH or null}
    operator_commands.py --output PATH WORD...    one command

The output of a command goes to PATH, which nobody else may read, or to standard output. Ends with the status of the
first command that fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from airbound.operator import cli

SECRET_MODE = 0o600


def run(words: list[str], output: str | None) -> int:
    """Run one command; return its exit status."""
    print("airbound", *words, flush=True)  # noqa: T201  (for the log: which command the rest is of)
    if output is None:
        return cli.main(words)
    with (
        open(output, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, SECRET_MODE)) as file,
        contextlib.redirect_stdout(file),
    ):
        return cli.main(words)


def main() -> int:
    """Run the commands of the file that the command line names, or the one that it has itself; return the first status
    that is not 0.
    """
    if sys.argv[1] == "--output":
        return run(sys.argv[3:], sys.argv[2])
    for command in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        if status := run(command["words"], command["output"]):
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
