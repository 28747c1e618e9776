# SPDX-License-Identifier: Apache-2.0
"""Prints what faults do to two replicas: one row each, as Markdown. A quarter of a minute for each.

faults.py [WORD...]     only faults whose name has one of the words
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from airbound_testing.fault_site import Site
from airbound_testing.fault_table import FAULTS, Fault

HEADS = ("fault", "right bounds again after", "leases that ended", "released", "moments with two owners")


async def row(fault: Fault) -> str:
    """Do it, in a site of its own."""
    with tempfile.TemporaryDirectory() as directory:
        async with Site(Path(directory), fault.equipment) as site:
            await fault.prepared(site)
            outcome = await site.fleet.endure(lambda: fault.happens(site))
    cells = (
        fault.name,
        f"{outcome.right_again_s:.1f} s",
        str(outcome.expired),
        str(outcome.released),
        str(outcome.owned_twice),
    )
    return f"| {' | '.join(cells)} |"


async def main(words: list[str]) -> None:
    """All rows."""
    print(f"| {' | '.join(HEADS)} |")
    print(f"|{'---|' * len(HEADS)}")
    for fault in FAULTS:
        if not words or any(word in fault.name for word in words):
            print(await row(fault), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
