# SPDX-License-Identifier: Apache-2.0
"""What classes of applications cost the controller: CPU time of a terminal's report with them over that without, from
the bytes of the message to the effects, without gRPC. Usage: classes.py [--terminals 10000] [--flows 4] [--pairs 9]
[--json FILE]

Two populations as of core.py, which send the same: each terminal to so many addresses. Those of one have a class for
each flow: live, burst, bulk, background in turn, and can do what the controller makes of that. A round of the one and a
round of the other are a pair, in either order in turn, so that what else the machine does meets both. CPU time of this
process, of the terminals' reports and of all. Python looks for garbage as rarely as in the controller: else it looks at
the objects of both, in rounds of either. At the end: where the time of a terminal's report goes.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from core import ROUNDS_UNCOUNTED, STATIONS_PER_CELL, Costs, Population

from airbound.core.principals import Stream
from airbound.grpc import convert
from airbound.runtime import garbage
from airbound.v1 import terminal_pb2


class Spent(NamedTuple):
    """What one round costs, CPU microseconds for each terminal."""

    reading_us: float  # of its report, from the bytes to the core's types
    terminal_us: float  # of its report, reading with it
    access_point_us: float  # its part of its access point's report

    @property
    def all_us(self) -> float:
        """Of all reports."""
        return self.terminal_us + self.access_point_us


class Readings(Population):
    """Such a population, with the time of reading beside that of all."""

    def __init__(self, terminals: int, *, flows: int, classes: bool) -> None:
        super().__init__(terminals, flows=flows, classes=classes)
        self._reading_us = list[float]()

    def _timed(self, handle: Callable[[Stream, bytes], list[Any]], batch: list[tuple[Stream, bytes]]) -> float:
        """What a batch takes. Terminals' reports are read once before that: what is read does not change the engine."""
        if handle == self._terminal_reported:
            start_ns = time.process_time_ns()
            for _, message in batch:
                convert.terminal_report(terminal_pb2.TerminalServiceConnectRequest.FromString(message).report)
            self._reading_us.append((time.process_time_ns() - start_ns) / 1000 / len(batch))
        return super()._timed(handle, batch)

    def spend(self) -> Spent:
        """One round."""
        self._reading_us, costs = [], Costs()
        self.round(costs, changing=False)
        terminals = sum(len(cell.stations) for cell in self.cells)
        # Batches may differ in size by the last one.
        return Spent(
            statistics.fmean(self._reading_us),
            statistics.fmean(costs.terminal_us),
            sum(costs.access_point_us) / terminals,
        )


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
        Readings(arguments.terminals, flows=arguments.flows, classes=classes) for classes in (False, True)
    )
    for population in (without, having):
        for _ in range(ROUNDS_UNCOUNTED):
            population.spend()
    garbage.tune()
    pairs = []
    print("terminal report, us: without  with classes  ratio;  all reports: ratio")
    for number in range(arguments.pairs):
        order = (without, having) if number % 2 else (having, without)
        spent = {population is having: population.spend() for population in order}
        pair = {
            "without_us": spent[False].terminal_us,
            "with_us": spent[True].terminal_us,
            "terminal_ratio": spent[True].terminal_us / spent[False].terminal_us,
            "ratio": spent[True].all_us / spent[False].all_us,
            "reading_without_us": spent[False].reading_us,
            "reading_with_us": spent[True].reading_us,
            "access_point_without_us": spent[False].access_point_us,
            "access_point_with_us": spent[True].access_point_us,
        }
        pairs.append(pair)
        print(
            f"{pair['without_us']:28.1f} {pair['with_us']:13.1f} {pair['terminal_ratio']:6.3f} {pair['ratio']:20.3f}",
            flush=True,
        )
    medians = {key: statistics.median(pair[key] for pair in pairs) for key in pairs[0]}
    print(f"medians: {medians['terminal_ratio']:.3f} of a terminal's report, {medians['ratio']:.3f} of all")
    for name, first, last in (
        ("reading a terminal's report", medians["reading_without_us"], medians["reading_with_us"]),
        (
            "the rest of it",
            medians["without_us"] - medians["reading_without_us"],
            medians["with_us"] - medians["reading_with_us"],
        ),
        ("its part of an access point's", medians["access_point_without_us"], medians["access_point_with_us"]),
    ):
        print(f"{name:30} {first:6.1f} us without, {last:6.1f} with: {last - first:5.1f} more")
    if arguments.json:
        arguments.json.write_text(json.dumps({"medians": medians, "pairs": pairs}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
