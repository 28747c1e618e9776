# SPDX-License-Identifier: Apache-2.0
"""Makes the runs that are not stored yet, several guests at a time; failures do not stop the others."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from airbound_lab.compare import estimate, record
from airbound_lab.compare.record import KeptT
from airbound_lab.errors import LabError, UsageError
from airbound_lab.run import runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from airbound_lab.compare.record import Form, Store
    from airbound_lab.run.progress import Progress
    from airbound_lab.run.runs import Setting
    from airbound_lab.settings.parameters import Parameters


class Task(Hashable, Protocol):
    """One run that is wanted; `str` is its name in messages."""

    @property
    def parameters(self) -> Parameters:
        """Of one mode and one seed."""

    @property
    def row(self) -> str:
        """Under which condition it is listed."""

    @property
    def column(self) -> str:
        """What it is among those of that condition."""


TaskT = TypeVar("TaskT", bound=Task)


@dataclass(frozen=True, slots=True)
class Job(Generic[TaskT]):
    """One run, and all that it depends on."""

    task: TaskT
    parameters: Parameters
    inputs: Mapping[str, Any]


@dataclass(slots=True)
class State(Generic[TaskT, KeptT]):
    """What is stored and what is to be run."""

    found: dict[TaskT, KeptT]
    to_do: list[Job[TaskT]]
    refused: list[str]
    """Stored files that are no records; their runs are made again."""


def jobs(tasks: Iterable[TaskT], kernel: str, programs: Callable[[Parameters], Mapping[str, str]]) -> list[Job[TaskT]]:
    """All runs, and what they depend on; `kernel` is a hash, `programs` returns those of what a run uses."""
    every = []
    for task in tasks:
        parameters = task.parameters
        every.append(Job(task, parameters, record.inputs(parameters, kernel, programs(parameters))))
    return every


def state(every: list[Job[TaskT]], store: Store[KeptT]) -> State[TaskT, KeptT]:
    """Read what is stored."""
    now: State[TaskT, KeptT] = State({}, [], [])
    for job in every:
        try:
            found = record.load(store.directory, job.inputs, store.form)
        except UsageError as error:
            found = None
            now.refused.append(str(error))
        if found is None:
            now.to_do.append(job)
        else:
            now.found[job.task] = found
    return now


class Clock(Generic[TaskT]):
    """How long the rest takes, corrected by each run that is done."""

    def __init__(self, now: State[TaskT, KeptT], every: list[Job[TaskT]], at_a_time: int) -> None:
        estimates_s = {job.task: estimate.wall_s(job.parameters) for job in every}
        self._to_do_s = {job.task: estimates_s[job.task] for job in now.to_do}
        self._done = [(estimates_s[task], found.wall_seconds) for task, found in now.found.items()]
        self._at_a_time = at_a_time

    def finish(self, task: TaskT, wall_seconds: float | None) -> None:
        """Count a run, which failed if it has no duration."""
        estimated_s = self._to_do_s.pop(task)
        if wall_seconds is not None:
            self._done.append((estimated_s, wall_seconds))

    def left(self) -> str:
        """Return how long the rest takes, in words."""
        return estimate.text(estimate.left_s(self._to_do_s.values(), self._done, self._at_a_time))


def make(
    now: State[TaskT, KeptT], store: Store[KeptT], setting: Setting, progress: Progress, clock: Clock[TaskT]
) -> dict[TaskT, str]:
    """Make what is to be done, and store each run when it ends; return why runs failed."""
    stop = threading.Event()
    failures: dict[TaskT, str] = {}
    with ThreadPoolExecutor(max_workers=setting.jobs) as pool:
        futures = {pool.submit(_one, job, store.form, setting, progress, stop): job for job in now.to_do}
        try:
            for future in as_completed(futures):
                job = futures[future]
                try:
                    found = future.result()
                except UsageError:
                    raise
                except LabError as error:
                    failures[job.task] = str(error)
                    clock.finish(job.task, None)
                    progress.fail(job.task)
                    continue
                record.save(store.directory, job.inputs, found)
                now.found[job.task] = found
                clock.finish(job.task, found.wall_seconds)
                progress.finish(job.task, found)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return failures


def _one(job: Job[TaskT], form: Form[KeptT], setting: Setting, progress: Progress, stop: threading.Event) -> KeptT:
    [mode], [seed] = job.parameters.modes, job.parameters.seeds
    task = runs.Task(mode, seed)

    def on_progress(_: runs.Task, state: str) -> None:
        progress.update(job.task, state)

    return form.keep(runs.run_one(job.parameters, task, setting, on_progress, stop.is_set))
