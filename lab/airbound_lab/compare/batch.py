# SPDX-License-Identifier: Apache-2.0
"""A batch of runs as a command carries it out: what is stored already, how long the rest takes, and making that."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from airbound_lab.compare import execute
from airbound_lab.compare.execute import State, TaskT
from airbound_lab.compare.record import KeptT, Store
from airbound_lab.errors import LabError, MissingError, UsageError
from airbound_lab.report import tables
from airbound_lab.run import host
from airbound_lab.run.progress import Progress
from airbound_lab.run.runs import Setting
from airbound_lab.settings import arguments, modes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from airbound_lab.compare.execute import Job
    from airbound_lab.compare.record import Form
    from airbound_lab.plan.guest_paths import Programs
    from airbound_lab.settings.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Batch(Generic[TaskT, KeptT]):
    """What is known of the runs, and why some failed."""

    found: Mapping[TaskT, KeptT]
    failures: Mapping[TaskT, str]
    runs: int

    def check(self) -> None:
        """Raise LabError if a run failed."""
        if self.failures:
            reasons = "\n  ".join(f"{task}: {why}" for task, why in self.failures.items())
            raise LabError(
                f"{len(self.failures)} of {self.runs} runs failed; the next start makes them again:\n  {reasons}"
            )


def add_options(parser: argparse.ArgumentParser, directory: Path) -> None:
    """Add the options that `carry_out` reads."""
    option = parser.add_argument
    option("--directory", type=Path, default=directory, metavar="DIR", help="default: %(default)s")
    option("--list", action="store_true", help="show what would be run and how long it takes, and run nothing")
    arguments.add_guests(parser)


def carry_out(tasks: Sequence[TaskT], form: Form[KeptT], options: argparse.Namespace) -> Batch[TaskT, KeptT] | None:
    """Make the runs that are not stored in the directory yet; None if they were only listed.

    Raises:
        UsageError: a tool or a program is missing, or the directory cannot be written.
    """
    store = Store(options.directory / "runs", form)
    try:
        programs, kernel = _needed(tasks, options, build=not options.list)
    except MissingError as error:
        if not options.list:
            raise
        # A stored run is found by the hashes of what it was made with, so without those none is found.
        print(f"airbound-lab: {error}; until then every run counts as to make", file=sys.stderr)
        every = execute.jobs(tasks, "", lambda _: {})
        _list(State({}, every, []), every, options)
        return None
    every = execute.jobs(tasks, host.sha256(kernel), _hashes(programs))
    now = execute.state(every, store)
    _report_refused(now, "the run is made again")
    if options.list:
        _list(now, every, options)
        return None
    clock = execute.Clock(now, every, options.jobs)
    _make_directory(store.directory)
    seconds = max(task.parameters.seconds for task in tasks)
    limit_s = arguments.wall_limit_s(options, seconds)
    if now.to_do:
        print(f"airbound-lab: {len(now.to_do)} of {len(every)} runs to make, about {clock.left()}", file=sys.stderr)
    progress = Progress(sys.stderr, len(now.to_do), clock.left)
    try:
        failures = execute.make(now, store, Setting(kernel, programs, options.jobs, limit_s), progress, clock)
    finally:
        progress.close()
    return Batch(now.found, failures, len(every))


def stored(tasks: Sequence[TaskT], form: Form[KeptT], options: argparse.Namespace) -> Batch[TaskT, KeptT]:
    """Read the runs that are stored in the directory, and make none.

    Raises:
        UsageError: a tool or a program is missing (a stored run is found by the hashes of what it was made with), or
            nothing is stored.
    """
    programs, kernel = _needed(tasks, options, build=False)
    every = execute.jobs(tasks, host.sha256(kernel), _hashes(programs))
    now = execute.state(every, Store(options.directory / "runs", form))
    _report_refused(now, "it is left out")
    if not now.found:
        raise UsageError(f"--stored: {options.directory} has none of the {len(every)} runs with the present programs")
    print(f"airbound-lab: {len(now.found)} of {len(every)} runs are stored", file=sys.stderr)
    return Batch(now.found, {}, len(every))


def _report_refused(now: State[TaskT, KeptT], consequence: str) -> None:
    for sentence in now.refused:
        print(f"airbound-lab: {sentence}; {consequence}", file=sys.stderr)


def _needed(tasks: Sequence[TaskT], options: argparse.Namespace, *, build: bool) -> tuple[Programs, Path]:
    """Find our own programs and the kernel, which is built if there is none and `build`."""
    every = [task.parameters for task in tasks]
    host.check_tools(
        ovs=any(parameters.ovs for parameters in every),
        applications=any(parameters.scenario.application_actions() for parameters in every),
    )
    programs = host.programs(
        (mode for parameters in every for mode in parameters.modes),
        marks=any(parameters.live_marks for parameters in every),
        quic=any(parameters.scenario.has_quic() for parameters in every),
    )
    [line] = {parameters.kernel_line for parameters in every}
    kernel = (host.kernel if build else host.built_kernel)(options.kernel, line)
    host.check_line(kernel, line)
    return programs, kernel


def _hashes(programs: Programs) -> Callable[[Parameters], Mapping[str, str]]:
    """Hash what a run needs, each kind once."""
    by_kind: dict[tuple[bool | str, ...], Mapping[str, str]] = {}

    def hashes_of(parameters: Parameters) -> Mapping[str, str]:
        [mode] = parameters.modes
        applications = bool(parameters.scenario.application_actions())
        agents, policy = modes.parse(mode).has_agents, modes.parse(mode).policy
        kind = agents, parameters.ovs, applications, parameters.live_marks, policy
        if kind not in by_kind:
            by_kind[kind] = host.hashes(
                programs,
                agents=agents,
                ovs=parameters.ovs,
                applications=applications,
                marks=parameters.live_marks,
                policy=policy,
            )
        return by_kind[kind]

    return hashes_of


def _list(now: State[TaskT, KeptT], every: list[Job[TaskT]], options: argparse.Namespace) -> None:
    wanted = Counter(job.task.row for job in every)
    missing: dict[str, list[Job[TaskT]]] = {row: [] for row in wanted}
    for job in now.to_do:
        missing[job.task.row].append(job)
    lines = [["", "runs", "to make", "modes"]]
    for row, jobs in missing.items():
        names = dict.fromkeys(job.task.column for job in jobs)
        lines.append([row, str(wanted[row]), str(len(jobs)), " ".join(names)])
    print(tables.text(lines))
    clock = execute.Clock(now, every, options.jobs)
    print(f"{len(now.to_do)} of {len(every)} runs to make, about {clock.left()}")


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--directory: cannot make {path}: {error.strerror}") from error
