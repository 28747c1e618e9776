# SPDX-License-Identifier: Apache-2.0
"""What classes of applications cost the controller: CPU time of a terminal's report with them over that without, from
the bytes of the message to the effects, without gRPC. Usage: classes.py [--terminals 10000] [--flows 4] [--pairs 9]
[--json FILE]

Two populations as of core.py, which send the same: each terminal to so many addresses. Those of one have a class for
each flow: live, burst, bulk, background in turn, and can do what the controller makes of that. A round of the one and a
round of the other are a pair, in either order in turn, so that what else the machine does meets both. CPU time of this
process, of the terminals' reports and of all.
"""

import argparse
import gc
import json
import statistics
import sys
from pathlib import Path

from core import ROUNDS_UNCOUNTED, STATIONS_PER_CELL, Costs, Population


def spent_us(population: Population) -> tuple[float, float]:
    """What one round costs: a report of a terminal, and all reports together."""
    costs = Costs()
    population.round(costs, changing=False)
    terminals = sum(len(cell.stations) for cell in population.cells)
    # Batches may differ in size by the last one.
    terminal_us = statistics.fmean(costs.terminal_us)
    return terminal_us, terminal_us * terminals + sum(costs.access_point_us)


def main() -> int:
    """Measure pairs; print each and the medians of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terminals", type=int, default=10_000, metavar="N", help="default %(default)s")
    parser.add_argument("--flows", type=int, default=4, metavar="N", help="of each; default %(default)s")
    parser.add_argument("--pairs", type=int, default=9, metavar="N", help="default %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments = parser.parse_args()
    if arguments.terminals < STATIONS_PER_CELL or arguments.flows < 1 or arguments.pairs < 1:
        parser.error(f"at least {STATIONS_PER_CELL} terminals, one flow and one pair")
    without, having = (
        Population(arguments.terminals, flows=arguments.flows, classes=classes) for classes in (False, True)
    )
    for population in (without, having):
        for _ in range(ROUNDS_UNCOUNTED):
            spent_us(population)
    gc.collect()
    gc.freeze()
    pairs = []
    print("terminal report, us: without  with classes  ratio;  all reports: ratio")
    for number in range(arguments.pairs):
        order = (without, having) if number % 2 else (having, without)
        spent = {population is having: spent_us(population) for population in order}
        pair = {
            "without_us": spent[False][0],
            "with_us": spent[True][0],
            "terminal_ratio": spent[True][0] / spent[False][0],
            "ratio": spent[True][1] / spent[False][1],
        }
        pairs.append(pair)
        print(
            f"{pair['without_us']:28.1f} {pair['with_us']:13.1f} {pair['terminal_ratio']:6.3f} {pair['ratio']:20.3f}",
            flush=True,
        )
    medians = {key: statistics.median(pair[key] for pair in pairs) for key in pairs[0]}
    print(f"medians: {medians['terminal_ratio']:.3f} of a terminal's report, {medians['ratio']:.3f} of all")
    if arguments.json:
        arguments.json.write_text(json.dumps({"medians": medians, "pairs": pairs}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
