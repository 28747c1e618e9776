# SPDX-License-Identifier: Apache-2.0
"""Looks for an order of faults at the store that leaves a cell without an owner, or with two, in virtual time.

Each order is some faults, one after the other, with a gap between them. Prints each order that is endured badly, and at
last how many were tried. Ends with 1 if there was one.
"""

import argparse
import itertools
import logging
import random
import sys
import time
from collections.abc import Iterable, Sequence

from airbound_testing.fault_orders import FAULTS, GAPS_S, Fault, endure


def every(length: int) -> Iterable[tuple[Sequence[Fault], float]]:
    """All orders."""
    return itertools.product(itertools.product(FAULTS, repeat=length), GAPS_S)


def drawn(length: int, count: int, seed: int) -> Iterable[tuple[Sequence[Fault], float]]:
    """Some of them, at random."""
    dice = random.Random(seed)  # noqa: S311  # no secret
    return ((dice.choices(FAULTS, k=length), dice.choice(GAPS_S)) for _ in range(count))


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=2, help="in an order (default 2)")
    parser.add_argument("--drawn", type=int, default=0, help="so many orders at random (default: every one)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logging.getLogger("airbound").setLevel(logging.CRITICAL)
    orders = every(arguments.faults)
    if arguments.drawn:
        orders = drawn(arguments.faults, arguments.drawn, arguments.seed)
    began_s, tried, bad = time.monotonic(), 0, 0
    for order, gap_s in orders:
        tried += 1
        wrong = endure(order, gap_s)
        if wrong:
            bad += 1
            print(f"{', '.join(fault.name for fault in order)}; every {gap_s} s: {wrong[0]}", flush=True)
    print(f"{tried} orders of {arguments.faults} faults, {bad} endured badly; {time.monotonic() - began_s:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
