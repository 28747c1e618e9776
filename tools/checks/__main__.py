# SPDX-License-Identifier: Apache-2.0
"""Prints what a run of the checks did: `python -m checks --elapsed-s N --seed N [--seconds] DIRECTORY`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from checks import record, summary


def main() -> int:
    """Return 0 if every step passed and no test was skipped, else 1."""
    parser = argparse.ArgumentParser(prog="checks", description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIRECTORY", help="what the steps of the run left")
    parser.add_argument("--elapsed-s", type=int, default=0, help="how long the run took")
    parser.add_argument("--seed", default="1", help="the seed of the run, for the commands that repeat a test")
    parser.add_argument("--seconds", action="store_true", help="print only the lines of scripts/check-seconds.txt")
    arguments = parser.parse_args()
    steps = record.read(arguments.directory, arguments.seed, Path("go.mod").read_text(encoding="utf-8").split()[1])
    if arguments.seconds:
        sys.stdout.write(summary.seconds(steps))
        return 0
    sys.stdout.write(summary.text(steps, arguments.elapsed_s))
    return 0 if summary.passed(steps) else 1


if __name__ == "__main__":
    sys.exit(main())
