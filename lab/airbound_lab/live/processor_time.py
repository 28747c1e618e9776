# SPDX-License-Identifier: Apache-2.0
"""How much processor time the processes of a session have taken."""

from __future__ import annotations

import os
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def parse(stat: str) -> tuple[int, int]:
    """Return session and ticks of a line of /proc/PID/stat (proc(5)): its own and of the children that it waited for.

    Raises:
        ValueError: it is no such line.
    """
    # A name may contain blanks and parentheses.
    _, parenthesis, rest = stat.rpartition(")")
    fields = rest.split()
    if not parenthesis or len(fields) < 15:  # noqa: PLR2004
        raise ValueError(f"not a line of /proc/PID/stat: {stat!r}")
    return int(fields[3]), sum(int(field) for field in fields[11:15])


def of_session(session: int, proc: Path = Path("/proc")) -> float:
    """Return the seconds of all processes of a session; what has ended counts with who waited for it."""
    ticks = 0
    for path in proc.glob("[0-9]*/stat"):
        try:
            found, taken = parse(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue  # it has ended meanwhile
        if found == session:
            ticks += taken
    return ticks / TICKS_PER_S
