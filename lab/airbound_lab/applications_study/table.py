# SPDX-License-Identifier: Apache-2.0
"""What the study of applications says, as tables and JSON; pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from airbound_lab.applications_study import measures, published, statements
from airbound_lab.applications_study.design import PHONES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound_lab.applications_study.design import Case
    from airbound_lab.applications_study.measures import Alone, Video
    from airbound_lab.applications_study.statements import Statement
    from airbound_lab.figures.results import Run

SCHEMA = 1


@dataclass(slots=True)
class Found:
    """What was found in one cell."""

    cell: str
    alone: dict[str, Alone] = field(default_factory=dict)
    throughput: dict[str, dict[int, float]] = field(default_factory=dict)
    """Mb/s of the TCP phone, by background and number of phones."""
    video: dict[tuple[str, int], list[Video]] = field(default_factory=dict)
    """The trials, by sender and number of phones."""

    def statements(self) -> list[Statement]:
        """Compare with the paper."""
        checked = statements.of_alone(self.alone)
        checked += statements.of_throughput(self.throughput.get("tcp", {}), self.throughput.get("udp", {}))
        for (sender, terminals), trials in self.video.items():
            if terminals == PHONES:
                checked += statements.of_video(sender, trials)
        return checked


def gather(runs: Iterable[tuple[Case, Run]]) -> list[Found]:
    """Sort runs by cell and part, in their order."""
    by_cell: dict[str, Found] = {}
    for case, run in runs:
        found = by_cell.setdefault(case.cell, Found(case.cell))
        if case.part == "alone":
            found.alone[case.what] = measures.alone(run)
        elif case.part == "throughput":
            found.throughput.setdefault(case.what, {})[case.terminals] = run.phones[0].goodput_mbps
        else:
            found.video.setdefault((case.what, case.terminals), []).append(measures.video(run))
    for found in by_cell.values():
        if 1 in (tcp := found.throughput.get("tcp", {})) and (udp := found.throughput.get("udp")):
            udp.setdefault(1, tcp[1])  # alone, there is no background
    return list(by_cell.values())


def alone_rows(found: Found) -> list[list[str]]:
    """Heading and a row for each application."""
    table = [["alone", "done after s", "Mb/s", "cwnd at most", "settles", "at its initial value again"]]
    for name, one in found.alone.items():
        seconds = one.status if one.seconds is None else f"{one.seconds:.2f}"
        row = [name, seconds, f"{one.mbps:.2f}", str(one.cwnd_max_segs), "yes" if one.settled else "no"]
        table.append([*row, str(one.falls)])
    return table


def throughput_rows(found: Found) -> list[list[str]]:
    """Heading and a row for each background: Fig 8."""
    numbers = sorted({number for by_number in found.throughput.values() for number in by_number})
    table = [["Mb/s of the TCP phone, by phones", *map(str, numbers)]]
    for background, by_number in found.throughput.items():
        cells = [f"{by_number[number]:.2f}" if number in by_number else "-" for number in numbers]
        table.append([f"beside {background}", *cells])
    return table


def trial_rows(sender: str, trials: Sequence[Video]) -> list[list[str]]:
    """Table 2: heading, a row for each trial, the means; beside them the paper's trials, in its order."""
    table = [
        [sender, "skipped", "continued", "together", "lengths of the skips, s", "still s", "missing s", "paper", "", ""]
    ]
    for number, trial in enumerate(trials):
        printed = ["", "", ""]
        if number < len(published.SKIPPED):
            skipped, continued = published.SKIPPED[number], published.CONTINUED[number]
            printed = [str(skipped), str(continued), str(skipped + continued)]
        lengths = " ".join(f"{length_s:.1f}" for length_s in trial.skipped_s) or "-"
        counts = (
            [str(trial.skipped), str(trial.continued), str(trial.total)] if trial.shown else ["never shown", "", ""]
        )
        table.append([str(trial.seed), *counts, lengths, f"{trial.still_s:.1f}", f"{trial.missing_s:.1f}", *printed])
    table.append(["mean", *_means(trials)])
    return table


def _means(trials: Sequence[Video]) -> list[str]:
    lengths = [length_s for trial in trials for length_s in trial.skipped_s]
    printed_s = [length_s for trial in published.SKIPPED_S for length_s in trial]
    columns: list[list[float]] = [
        [trial.skipped for trial in trials],
        [trial.continued for trial in trials],
        [trial.total for trial in trials],
        lengths,
        [trial.still_s for trial in trials],
        [trial.missing_s for trial in trials],
        list(published.SKIPPED),
        list(published.CONTINUED),
    ]
    cells = ["-" if (value := measures.mean(column)) is None else f"{value:.1f}" for column in columns]
    both = sum(published.SKIPPED) + sum(published.CONTINUED)
    return [*cells, f"{both / len(published.SKIPPED):.1f}; {sum(printed_s) / len(printed_s):.1f} s a skip"]


def number_rows(found: Found) -> list[list[str]]:
    """Heading and a row for each number of phones, of live video; means of the seeds."""
    table = [["sender", "phones", "interruptions", "still s", "missing s", "Mb/s"]]
    for (sender, terminals), trials in found.video.items():
        columns: list[list[float]] = [
            [trial.total for trial in trials],
            [trial.still_s for trial in trials],
            [trial.missing_s for trial in trials],
        ]
        cells = ["-" if (value := measures.mean(column)) is None else f"{value:.1f}" for column in columns]
        rate = measures.mean([trial.mbps for trial in trials])
        table.append([sender, str(terminals), *cells, "-" if rate is None else f"{rate:.2f}"])
    return table


def document(every: Iterable[Found]) -> dict[str, Any]:
    """JSON: all figures, and what was compared."""
    return {
        "schema": SCHEMA,
        "cells": [
            {
                "cell": found.cell,
                "alone": {name: asdict(one) for name, one in found.alone.items()},
                "throughput": {
                    background: [{"terminals": number, "mbps": mbps} for number, mbps in sorted(by_number.items())]
                    for background, by_number in found.throughput.items()
                },
                "video": [
                    {"sender": sender, "terminals": terminals, "trials": [asdict(trial) for trial in trials]}
                    for (sender, terminals), trials in found.video.items()
                ],
                "statements": [asdict(each) for each in found.statements()],
            }
            for found in every
        ],
    }
