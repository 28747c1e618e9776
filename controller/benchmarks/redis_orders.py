# SPDX-License-Identifier: Apache-2.0
"""Has faults of a real Redis happen around two replicas, in orders drawn at random, and prints how long after the last
of them the owner of a cell is right again, for good. Ends with 1 if one was not in time, or a cell had two owners.
"""

import argparse
import asyncio
import logging
import random
import sys

from airbound_testing.redis_orders import FAULTS, Outcome, endure

FAULTS_EACH = 3
RIGHT_S = 10.0  # a lease that nobody is there to give back, and the next report
WATCHED_S = 6.0


async def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=10, help="orders at a time, each with a Redis of its own")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logging.getLogger("airbound").setLevel(logging.CRITICAL)
    slots, found = asyncio.Semaphore(arguments.at_once), list[float]()

    async def one(seed: int) -> bool:
        dice = random.Random(seed)  # noqa: S311  # no secret
        faults = dice.choices(FAULTS, k=FAULTS_EACH)
        async with slots:
            outcome: Outcome = await endure(faults, seed, 6 * RIGHT_S, WATCHED_S)
        found.append(outcome.right_s)
        bad = outcome.right_s > RIGHT_S or outcome.twice
        if bad:
            names = ", ".join(fault.name for fault in faults)
            print(f"seed {seed}: {names}: right after {outcome.right_s:.1f} s, two owners {outcome.twice}", flush=True)
        return bad

    seeds = range(arguments.seed, arguments.seed + arguments.orders)
    bad = sum(await asyncio.gather(*(one(seed) for seed in seeds)))
    found.sort()
    late = sum(seconds > RIGHT_S / 2 for seconds in found)
    print(
        f"{len(found)} orders of {FAULTS_EACH} faults, {bad} bad; right again after {found[len(found) // 2]:.1f} s"
        f" (median), {found[-1]:.1f} s (maximum), {late} after more than {RIGHT_S / 2:g} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
