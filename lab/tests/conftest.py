# SPDX-License-Identifier: Apache-2.0
"""Fixtures: our own traffic generator, built; synthetic results; and the lab's kernel for tests marked uml.

Hypothesis fails no test for how long an example took.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from airbound_lab.errors import LabError
from airbound_lab.figures import measure
from airbound_lab.figures.results import PhoneResult, Results, Run
from airbound_lab.plan import guest_paths, topology
from airbound_lab.records import edca_trace
from airbound_lab.run import compiled, host
from airbound_lab.run import runs as run_module
from airbound_lab.run.runs import Setting, run_all
from airbound_lab.settings.parameters import Parameters

sys.path.insert(0, str(Path(__file__).parent))

import kept_cells
from kept_cells import Cells

if TYPE_CHECKING:
    from airbound_lab.records.edca_trace import QueueSetting
    from airbound_lab.settings.values import KernelLine, Window

settings.register_profile("airbound", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("airbound")

LAB = Path(__file__).resolve().parents[1]

TRACE_DEFAULTS = {
    "times": 1, "cookie": 7, "local": "10.0.0.11:40000", "remote": "10.0.4.1:5001", "uid": 0, "ca_state": "open",
    "cwnd_segs": 10, "ssthresh_segs": 2**31 - 1, "bound_min_segs": 0, "bound_max_segs": 0, "in_flight_segs": 9,
    "srtt_us": 8000, "last_rtt_us": 8000, "min_rtt_us": 4000, "unsent_bytes": 0, "unacked_bytes": 1448,
}  # fmt: skip
TRACE_ZERO_US = 5_000_000

CELLS = pytest.StashKey[Cells]()

TraceLines = Callable[..., list[str]]


@pytest.fixture(scope="session")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The traffic generator, built from this tree's sources."""
    build = tmp_path_factory.mktemp("traffic")
    subprocess.run(["make", "-s", "-C", str(LAB / "traffic"), f"BUILD={build}"], check=True)
    return build / "airbound-traffic"


@pytest.fixture
def print_twice(tmp_path: Path) -> Callable[[str], tuple[str, str]]:
    """What a piece of Python prints in two processes that differ in all that must not matter to a run."""

    def run(code: str) -> tuple[str, str]:
        outputs = []
        for number in ("1", "22"):
            directory = tmp_path / ("elsewhere" * int(number))
            directory.mkdir()
            environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(LAB), "PYTHONHASHSEED": number}
            environment |= {"HOME": str(directory), "TZ": f"UTC{number}", "USER": f"user{number}"}
            command = [sys.executable, "-c", code]
            done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=True)
            outputs.append(done.stdout)
        return outputs[0], outputs[1]

    return run


class ProgramsBeside:
    """Has a program of a test run in the guest, beside the access point's agent.

    The guest sees it, and Python and the controller's packages, at paths that are the same wherever the checkout is.
    """

    _DIRECTORY = f"{guest_paths.GUEST_DIRECTORY}/access-point"
    AGENT = f"{_DIRECTORY}/agent"
    """The access point's agent itself."""
    AT_CONTROLLER = "nsenter --net=/run/netns/controller"
    """Begins a command of the shell that is to run in the controller's network namespace. `ip netns exec` would hide
    the guest's frequency of the cycle counter, and gRPC's library would sleep for 255 ms once (guest/first_process.py).
    """

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Run what is put into a directory in place of the agent."""
        self._directory = directory
        built = host.REPOSITORY / "build"
        links = {"airbound-traffic": "airbound-traffic", "airbound-phone": "airbound-phone", "agent": "airbound-ap"}
        for name, program in links.items():
            (directory / name).symlink_to(built / program)
        monkeypatch.setattr(host.programs, "__defaults__", (directory,))

    def add(self, program: Path) -> str:
        """Add a Python program; return the words of a shell that start it."""
        shutil.copy(program, self._directory)
        # With the compiled modules that the guest of a mode with agents has: to compile gRPC takes it seconds.
        programs, _ = guest_paths.in_guest(compiled.with_compiled(host.programs((), host.REPOSITORY / "build")))
        environment = [f"{name}={value}" for name, value in programs.python_environment.items()]
        return " ".join(["env", *environment, *programs.python_command, "-P", f"{self._DIRECTORY}/{program.name}"])

    def start(self, shell: str, more: str = "") -> None:
        """Have the commands of a shell carried out when an agent is started, and the agent with more arguments."""
        wrapper = self._directory / "airbound-ap"
        wrapper.write_text(f'#!/bin/sh\n{shell}\nexec {self.AGENT} "$@" {more}\n', encoding="utf-8")
        wrapper.chmod(0o755)


@pytest.fixture(scope="session")
def programs_beside() -> type[ProgramsBeside]:
    """For tests with a program of their own in the guest."""
    return ProgramsBeside


@dataclass(frozen=True)
class Cell:
    """One run of a real cell: its figures, and the directory with its logs."""

    run: Run
    logs: Path

    def seconds_of(self, stamp: str) -> float:
        """Return a time stamp of a component's log as seconds on the time line of the run."""
        zero: float = json.loads((self.logs / "end.json").read_text(encoding="utf-8"))["time_zero_s_since_1970"]
        return dt.datetime.fromisoformat(stamp).timestamp() - zero

    def queue_settings(self) -> list[QueueSetting]:
        """What was set on the access point's transmit queues; for a cell that was booted with edca_trace."""
        return [setting for setting in self._settings() if setting.interface == "wlan0"]

    def station_settings(self) -> list[QueueSetting]:
        """The same of the stations' queues, from the beginning of the run."""
        return [setting for setting in self._settings() if setting.interface != "wlan0"]

    def _settings(self) -> list[QueueSetting]:
        zero_us = json.loads((self.logs / "end.json").read_text(encoding="utf-8"))["time_zero_monotonic_us"]
        event_format = (self.logs / "edca-trace.format").read_text(encoding="utf-8")
        return edca_trace.parse((self.logs / "edca-trace.pages").read_bytes(), event_format, zero_us)


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Cells:
    """The cells of BOOTED_CELLS (scripts/test.sh), else of this session alone."""
    shared = os.environ.get("BOOTED_CELLS")
    found = Cells(Path(shared) if shared else tmp_path_factory.mktemp("cells"), tmp_path_factory.mktemp("fresh"))
    request.config.stash[CELLS] = found
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many cells were booted; also in the file CHECK_CELLS, for the table of a run (scripts/check-step.sh)."""
    found = config.stash.get(CELLS, None)
    if found is None:
        return
    terminalreporter.write_line(f"cells: {found.booted} booted, {found.taken} were there for the same inputs")
    if file := os.environ.get("CHECK_CELLS"):
        Path(file).write_text(f"{found.booted} {found.taken}\n", encoding="utf-8")


@pytest.fixture(scope="session")
def boot_cell(cells: Cells) -> Callable[..., Cell]:
    """Boots a cell on the lab's kernel of its `kernel_line`; equal requests are run once, but for `fresh` ones."""
    host.check_tools()
    kernels: dict[KernelLine, Path] = {}

    def kernel(line: KernelLine) -> Path:
        if line not in kernels:
            kernels[line] = host.kernel(None, line)
            host.check_line(kernels[line], line)
        return kernels[line]

    def boot(
        mode: str,
        seed: int = 1,
        *,
        trace: bool = False,
        edca_trace: bool = False,
        medium_trace: Window | None = None,
        switch_samples: bool = False,
        debian_programs: bool = False,
        fresh: bool = False,
        **changes: Any,
    ) -> Cell:
        parameters = Parameters(modes=(mode,), seeds=(seed,), **changes)
        programs = host.programs((mode,), trace=trace, quic=parameters.scenario.has_quic())
        built = kernel(parameters.kernel_line)
        setting = Setting(built, programs, 1, 900, None, trace, edca_trace, medium_trace, switch_samples)
        setting = replace(setting, debian_programs=debian_programs)
        prepared = run_module.prepare(parameters, run_module.Task(mode, seed), setting)
        asked = [parameters.to_json(), mode, seed, trace, medium_trace and asdict(medium_trace)]

        def run(logs: Path) -> Run:
            kept = replace(setting, logs=logs)
            return run_all(parameters, kept, lambda _task, _state: None, lambda _task, _run: None).runs[0]

        made, logs = cells.fresh(run) if fresh else cells.once(kept_cells.key(prepared, built, asked), run)
        return Cell(made, logs / f"{mode}-{seed}")

    return boot


def sample_lines(parameters: Parameters, mode: str, rate_mbps: float) -> list[str]:
    """The generator's lines of a run in which phone i gets rate_mbps * i and cwnd grows with time."""
    cell = topology.build(parameters)
    lines = []
    for second in range(1, parameters.seconds + 1):
        for phone in cell.phones:
            bytes_ = round(rate_mbps * 1e6 / 8 * phone.index * second)
            lines.append({"kind": "recv", "name": "s", "t_ms": second * 1000, "source": phone.address, "bytes": bytes_})
        for phone in cell.phones:
            bounds = {"bound_min_segs": 3, "bound_max_segs": 9} if mode not in ("cubic", "bbr") else {}
            base_us = 1000 * cell.server_of(phone).delay_ms + 300
            lines.append(
                {
                    "kind": "send",
                    "name": phone.name,
                    "t_ms": second * 1000,
                    "acked_bytes": 1,
                    "cwnd_segs": 9 + second,
                    "ssthresh_segs": 7,
                    "srtt_us": base_us * 2,
                    "min_rtt_us": base_us,
                    "retransmits": second // 2,
                    "bound_min_segs": 0,
                    "bound_max_segs": 0,
                    **bounds,
                }
            )
    if mode not in ("cubic", "bbr"):
        lines += [{"kind": "rules", "name": "sta1", "t_ms": 0, "rules": "dst 10.0.4.1/32 3 9\n"}]
    return [json.dumps(line) for line in lines]


@pytest.fixture(scope="session")
def trace_lines() -> TraceLines:
    """Lines of `airbound-phone trace --csv`, each given as (seconds, event, what differs from TRACE_DEFAULTS)."""

    def make(*records: tuple[float, str, dict[str, Any]]) -> list[str]:
        header = ["time_us", "event", *TRACE_DEFAULTS]
        lines = [",".join(header)]
        for t_s, event, changes in records:
            assert set(changes) <= set(TRACE_DEFAULTS)
            values = {"time_us": TRACE_ZERO_US + round(t_s * 1e6), "event": event} | TRACE_DEFAULTS | changes
            lines.append(",".join(str(values[name]) for name in header))
        return lines

    return make


@pytest.fixture(scope="session")
def make_results() -> Callable[..., Results]:
    """Results of synthetic samples, computed by the real measuring code."""

    def make(**changes: Any) -> Results:
        parameters = Parameters(**({"terminals": 3, "seconds": 6, "warmup_seconds": 2} | changes))
        runs: list[Run] = []
        for number, mode in enumerate(parameters.modes, start=1):
            for seed in parameters.seeds:
                samples = measure.parse(sample_lines(parameters, mode, number + seed / 10))
                runs.append(measure.figures(topology.build(parameters), mode, seed, samples))
        return Results(parameters, tuple(runs), kernel="0" * 64)

    return make


EachPhone = Callable[[int, PhoneResult], PhoneResult]


@pytest.fixture(scope="session")
def each_phone() -> Callable[[Run, EachPhone], Run]:
    """A run in which each phone is replaced by what a function of its index, from 0, and of the phone returns."""

    def change(run: Run, phone_of: EachPhone) -> Run:
        return replace(run, phones=tuple(phone_of(index, phone) for index, phone in enumerate(run.phones)))

    return change


@pytest.fixture
def made(
    tmp_path: Path, traffic: Path, make_results: Callable[..., Results], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Without a guest: figures are computed from synthetic samples, and the list has the runs that were made."""
    build = tmp_path / "build"
    build.mkdir()
    for program in ("airbound-traffic", "airbound-ap", "airbound-phone"):
        shutil.copy(traffic, build / program)
    monkeypatch.setattr(host.programs, "__defaults__", (build,))
    made: list[str] = []

    def run_one(parameters: Parameters, task: run_module.Task, *_: object) -> Run:
        made.append(f"{task}: {parameters.terminals} phones")
        if task.mode == "bbr" and len(made) < 5:
            raise LabError(f"{task}: the guest ended early")
        same = {
            name: getattr(parameters, name) for name in ("terminals", "wired_delays_ms", "seconds", "warmup_seconds")
        }
        [run] = make_results(**same, modes=(task.mode,), seeds=(task.seed,)).runs
        return replace(run, wall_seconds=1.0)

    monkeypatch.setattr(run_module, "run_one", run_one)
    return made
