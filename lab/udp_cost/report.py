#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a rate of UDP costs, from the instructions counted by cost.sh.

    report.py FOLDER

FOLDER has `console` (output of init.sh), `counts` (output of kernel/tests/cost/count_insns.c) and `datagrams`. Status 1
if a limit is exceeded, or if the two counts without the program differ too much for a comparison.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

NOISE = 0.002
LIMIT = 1.02
LIMITED = ("wlan0", "all")
"""Interface and state of which the limit is: a phone's Wi-Fi, with the rate that phones have."""
WORK = re.compile(r"^work (?P<phase>\d+) (?P<interface>\S+) (?P<segments>\d+) (?P<state>\S+)\s*$", re.MULTILINE)


class Row(NamedTuple):
    """One phase, compared with that without the program."""

    interface: str
    segments: int
    state: str
    per_datagram: float
    more: float
    ratio: float

    @property
    def within_limit(self) -> bool:
        """Whether it is what it is to be."""
        if self.state == "again":
            return abs(self.ratio - 1) <= NOISE
        return (self.interface, self.state) != LIMITED or self.ratio <= LIMIT


def read_counts(text: str) -> dict[int, int]:
    """Return the sender's instructions of each phase.

    Raises:
        ValueError: a line is unknown, or a phase has no end.
    """
    phases: dict[int, int] = {}
    phase = None
    for line in text.splitlines():
        match line.split():
            case ["phase", number]:
                phase = int(number)
                phases[phase] = 0
            case ["kernel", _, instructions, sender, _] if phase is not None:
                phases[phase] += int(instructions) * int(sender)
            case ["end"]:
                phase = None
            case _:
                raise ValueError(f"counts: {line!r}")
    if phase is not None:
        raise ValueError(f"counts: phase {phase} has no end")
    return phases


def rows(console: str, counts: dict[int, int], datagrams: int) -> list[Row]:
    """Return a row for each phase.

    Raises:
        ValueError: the guest has not finished.
    """
    if "guest ends: done" not in console:
        raise ValueError("the guest did not finish; its last lines:\n" + "\n".join(console.splitlines()[-15:]))
    made, without = list[Row](), 0.0
    for found in WORK.finditer(console):
        per_datagram = counts[int(found["phase"])] / datagrams
        if found["state"] == "none":
            without = per_datagram
        more, ratio = per_datagram - without, per_datagram / without
        made.append(Row(found["interface"], int(found["segments"]), found["state"], per_datagram, more, ratio))
    return made


def main(folder: Path) -> int:
    """Print the table, and return the exit status."""
    try:
        console, counts, datagrams = (
            (folder / name).read_text(errors="replace") for name in ("console", "counts", "datagrams")
        )
        made = rows(console, read_counts(counts), int(datagrams))
    except (OSError, ValueError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 2
    print(f"{'interface':<11}{'in one buffer':>14}{'program':>9}{'insns per datagram':>20}{'more':>8}{'ratio':>9}")
    for row in made:
        note = "" if row.within_limit else "  exceeds the limit"
        print(
            f"{row.interface:<11}{row.segments:>14}{row.state:>9}{row.per_datagram:>20.1f}{row.more:>8.1f}"
            f"{row.ratio:>9.4f}{note}"
        )
    return 0 if made and all(row.within_limit for row in made) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
