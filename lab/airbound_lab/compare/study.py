# SPDX-License-Identifier: Apache-2.0
"""What the commands of studies with stored runs have in common: make a design's runs, report them, write a document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from airbound_lab import output
from airbound_lab.compare import batch
from airbound_lab.compare.execute import TaskT
from airbound_lab.compare.whole_runs import RUNS
from airbound_lab.errors import UsageError
from airbound_lab.settings.parameters import option_of
from airbound_lab.settings.validation import usage_errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from airbound_lab.figures.results import Run


class Design(Protocol[TaskT]):
    """What is to be run."""

    def check(self) -> None:
        """Raise UsageError if something is unknown, there twice, or impossible."""

    def cases(self) -> list[TaskT]:
        """Return the runs."""


def add_options(parser: argparse.ArgumentParser, directory: Path) -> None:
    """Add the options that `execute` reads."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here")
    parser.add_argument("--stored", action="store_true", help="report on what is stored, and run nothing")
    batch.add_options(parser, directory)


def execute(
    design: Design[TaskT], options: argparse.Namespace, report: Callable[[Sequence[tuple[TaskT, Run]]], dict[str, Any]]
) -> None:
    """Make the runs that are not stored yet. `report` prints what they say, and returns it as a document.

    Raises:
        UsageError: the request is wrong.
        LabError: a run failed; what the others say is written all the same.
    """
    if options.stored and options.list:
        raise UsageError("--stored and --list: only one of them")
    design.check()
    with usage_errors(name=option_of):
        cases = design.cases()
    made = (batch.stored if options.stored else batch.carry_out)(cases, RUNS, options)
    if made is None:
        return
    document = report([(case, made.found[case]) for case in cases if case in made.found])
    if options.json is not None:
        output.write_json(options.json, document)
        print(options.json)
    made.check()
