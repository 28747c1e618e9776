# SPDX-License-Identifier: Apache-2.0
"""Carries out a set of runs, several guests at a time, and gathers their results."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from airbound_lab.errors import LabError
from airbound_lab.figures import applications as application_figures
from airbound_lab.figures import capacity, checked, grants, measure, senders
from airbound_lab.figures.results import Results, Run
from airbound_lab.medium import attempts
from airbound_lab.plan import applications, guest_paths, guest_plan, quic, topology
from airbound_lab.records import airtime
from airbound_lab.records import trace as trace_module
from airbound_lab.run import boot, compiled, videos
from airbound_lab.settings import modes, radio, variant
from airbound_lab.settings.validation import explain

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.application_results import ApplicationResult
    from airbound_lab.plan.guest_paths import Programs
    from airbound_lab.settings.parameters import Parameters
    from airbound_lab.settings.values import Window

RATE_CONTROL_NAMES = {"minstrel": "minstrel_ht", "fixed": "fixed", "aarf": "aarf"}
"""The lab's names, and mac80211's."""


MEDIUM_FILE = "medium.csv"
"""Who had the air when, in a run's logs."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run to be made; `mode` may have settings (variant.py)."""

    mode: str
    seed: int

    def __str__(self) -> str:
        """Return its name in messages."""
        return f"{self.mode}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Setting:
    """How the runs are carried out; has no influence on their figures, but for the last two."""

    kernel: Path
    programs: Programs
    jobs: int
    wall_limit_s: float
    logs: Path | None = None
    """Where each run's logs and raw samples are kept; None: those of a failed run only, in a temporary directory."""
    trace: bool = False
    """Whether the history of each phone is recorded; the figures are the same with and without."""
    edca_trace: bool = False
    """Whether what is set on the radios' transmit queues is recorded, for edca_trace.py; the same holds."""
    medium_trace: Window | None = None
    """The part of the run of which each attempt on the medium is written to `medium.csv` in the run's logs; the same
    holds."""
    switch_samples: bool = False
    """Whether the flows and meters of an Open vSwitch are written to `switch.log` in the run's logs, twice a second; to
    read them has a small influence on the figures."""
    debian_programs: bool = False
    """Whether phone 1 also uploads with iperf3 and measures with irtt, which write into the run's logs."""


def run_all(
    parameters: Parameters,
    setting: Setting,
    on_progress: Callable[[Task, str], None],
    on_done: Callable[[Task, Run], None],
    kernel_hash: str = "",
) -> Results:
    """Make every run of the parameters' modes and seeds, in any order; the results are in the order of the parameters.

    The first failure stops all and is raised as LabError.
    """
    tasks = [Task(mode, seed) for mode in parameters.modes for seed in parameters.seeds]
    done: dict[Task, Run] = {}
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=setting.jobs) as pool:
        futures = {pool.submit(run_one, parameters, task, setting, on_progress, stop.is_set): task for task in tasks}
        try:
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                on_done(futures[future], done[futures[future]])
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return Results(parameters, tuple(done[task] for task in tasks), kernel_hash)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a guest boots with."""

    plan: dict[str, Any]
    command: list[str]
    host_directories: dict[str, str]
    """Those that the guest mounts, by their names in it (plan/guest_paths.py)."""


def prepare(parameters: Parameters, task: Task, setting: Setting) -> Prepared:
    """Return what the guest of a run boots with. Nothing in it differs between equal runs but paths of the host: of the
    kernel, of the guest's first program and of its programs' directories.

    Raises:
        LabError: the controller's modules do not compile, or a video cannot be encoded.
    """
    parameters = parameters.of_mode(task.mode)
    (mode,) = parameters.modes
    needed = compiled.with_compiled(setting.programs) if variant.has_agents(mode) else setting.programs
    if policy := modes.parse(mode).policy:
        needed = replace(needed, policy=dict(setting.programs.policies)[policy])
    if live := parameters.scenario.live():
        needed = replace(needed, videos=str(videos.directory_with(live)))
    programs, host_directories = guest_paths.in_guest(needed)
    plan = guest_plan.plan(
        parameters,
        mode,
        task.seed,
        programs,
        host_directories=host_directories,
        trace=setting.trace,
        edca_trace=setting.edca_trace,
        medium_trace=setting.medium_trace,
        switch_samples=setting.switch_samples,
        debian_programs=setting.debian_programs,
    )
    command = boot.command_line(
        setting.kernel,
        radios=parameters.access_points + parameters.terminals,
        rate_control=RATE_CONTROL_NAMES[parameters.rate_control],
        ap_rate_control=RATE_CONTROL_NAMES[parameters.ap_rate_control or parameters.rate_control],
        seed=task.seed,
        medium=radio.boot_parameters(
            parameters.radio,
            parameters.streams or parameters.radio.streams,
            parameters.guard_interval,
            aql=parameters.aql,
            access_points=parameters.access_points,
        ),
    )
    return Prepared(plan, command, host_directories)


def run_one(
    parameters: Parameters,
    task: Task,
    setting: Setting,
    on_progress: Callable[[Task, str], None],
    stopped: Callable[[], bool],
) -> Run:
    """Boot a guest for one run and measure it."""
    directory = _directory(setting, task)
    prepared = prepare(parameters, task, setting)
    parameters = parameters.of_mode(task.mode)
    (directory / "plan.json").write_text(json.dumps(prepared.plan, indent=1), encoding="utf-8")

    def on_poll() -> None:
        on_progress(task, _progress(directory, parameters))

    try:
        with guest_paths.linked(directory, prepared.host_directories):
            wall_seconds = boot.boot(prepared.command, directory, setting.wall_limit_s, on_poll, stopped)
        run = _read(directory, parameters, task, trace=setting.trace)
        if setting.medium_trace is not None:
            _write_attempts(directory)
    except LabError as error:
        raise LabError(f"{task}: {error}") from error
    if setting.logs is None:
        shutil.rmtree(directory)
    return replace(run, wall_seconds=round(wall_seconds, 1))


def _directory(setting: Setting, task: Task) -> Path:
    if setting.logs is None:
        return Path(tempfile.mkdtemp(prefix="airbound-lab-"))
    directory = setting.logs / f"{modes.file_name(task.mode)}-{task.seed}"
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    return directory


def _read(directory: Path, parameters: Parameters, task: Task, *, trace: bool) -> Run:
    files = [directory / "samples.jsonl", *(directory / name for name in quic.sample_files(parameters, task.seed))]
    samples = measure.parse(line for path in files for line in path.read_text(encoding="utf-8").splitlines())
    if samples.errors:
        raise LabError(f"traffic failed: {'; '.join(samples.errors)}; logs: {directory}")
    end = json.loads((directory / "end.json").read_text(encoding="utf-8"))
    cell = topology.build(parameters)
    try:
        found = measure.figures(cell, parameters.modes[0], task.seed, samples)
        counted = airtime.parse((directory / "log" / "airtime.log").read_text(encoding="utf-8"))
        air_jain = measure.air_jain(cell, task.seed, counted)
        phones = tuple(
            replace(phone, air_s=air_s) for phone, air_s in zip(found.phones, measure.air_s(cell, counted), strict=True)
        )
        run = replace(
            found, mode=task.mode, peak_memory_kib=end["peak_memory_kib"], air_jain=air_jain, phones=phones,
            grants=_grants(directory, cell),
        )  # fmt: skip
        if (answers := directory / guest_plan.SENDERS_FILE).exists():
            run = _with_answers(run, answers, parameters, end["time_zero_monotonic_us"] * 1000)
        if (output := directory / guest_plan.CHECK_FILE).exists():
            run = replace(run, check=checked.parse(output.read_text(encoding="utf-8")))
        run = replace(run, applications=_applications(directory, cell, end))
    except ValidationError as error:
        raise LabError(f"samples: {explain(error)}; logs: {directory}") from error
    if not trace:
        return run
    traced = []
    for node, phone in zip(cell.phones, run.phones, strict=True):
        with (directory / guest_plan.trace_file(node)).open(encoding="utf-8", newline="") as lines:
            history = trace_module.parse(lines, end["time_zero_monotonic_us"], parameters.seconds)
        traced.append(replace(phone, trace=history))
    return replace(run, phones=tuple(traced))


def _grants(directory: Path, cell: topology.Topology) -> grants.Grants | None:
    parameters = cell.parameters
    if not parameters.scenario.live() or not variant.has_agents(parameters.modes[0]):
        return None
    log = (directory / "log" / "controller.log").read_text(encoding="utf-8")
    return grants.parse(log, {phone.address: phone.index for phone in cell.phones})


def _applications(
    directory: Path, cell: topology.Topology, end: dict[str, Any]
) -> tuple[ApplicationResult, ...] | None:
    actions = applications.started(cell)
    if not actions:
        return None
    ended, watched = (
        application_figures.parse((directory / name).read_text(encoding="utf-8"), name)
        for name in (applications.RESULT, applications.WATCHED)
    )
    outputs = {number: directory / applications.output_file(number) for number in range(len(actions))}
    recorded = {number: directory / applications.record_file(number) for number in range(len(actions))}
    records = application_figures.Records(
        ended=ended,
        watched=watched,
        outputs={number: path.read_text(encoding="utf-8") for number, path in outputs.items() if path.exists()},
        recorded={number: path.read_bytes() for number, path in recorded.items() if path.exists()},
        zero_monotonic_ns=end["time_zero_monotonic_us"] * 1000,
        zero_since_1970_s=end["time_zero_s_since_1970"],
        end_s=float(cell.parameters.seconds),
    )
    try:
        return application_figures.figures(actions, records)
    except LabError as error:
        raise LabError(f"{error}; logs: {directory}") from error


def _with_answers(run: Run, path: Path, parameters: Parameters, time_zero_ns: int) -> Run:
    with path.open(encoding="utf-8") as lines:
        answers = senders.parse(lines, time_zero_ns)
    window_ms = parameters.warmup_seconds * 1000, parameters.seconds * 1000
    flows = parameters.scenario.flows(parameters.terminals, parameters.seconds, run.seed)
    mac_of = {phone.index: phone.mac for phone in topology.build(parameters).phones}
    return replace(
        run,
        senders=senders.figures(flows, answers, mac_of, window_ms),
        capacity=capacity.figures(answers, window_ms),
    )


def _write_attempts(directory: Path) -> None:
    """Write the medium's events as CSV, in place of the kernel's pages."""
    pages, event_format = (directory / f"{guest_plan.MEDIUM_TRACE}.{kind}" for kind in ("pages", "format"))
    end = json.loads((directory / "end.json").read_text(encoding="utf-8"))
    found = attempts.parse(
        pages.read_bytes(), event_format.read_text(encoding="utf-8"), end["time_zero_monotonic_us"] * 1000
    )
    (directory / MEDIUM_FILE).write_text(attempts.to_csv(found), encoding="utf-8")
    pages.unlink()
    event_format.unlink()


def _progress(directory: Path, parameters: Parameters) -> str:
    """Return the state of a guest."""
    path, samples = directory / "progress", directory / "samples.jsonl"
    if not path.exists():
        return "booting"
    text = path.read_text(encoding="utf-8")
    if text != "measuring":
        return text
    lines = samples.read_text(encoding="utf-8").splitlines() if samples.exists() else []
    # The last line may be only half written.
    times_ms = re.findall(r'"t_ms":(\d+),', "".join(lines[-2:]))
    seconds = max((int(t_ms) // 1000 for t_ms in times_ms), default=0)
    return f"{seconds}/{parameters.seconds} s"
