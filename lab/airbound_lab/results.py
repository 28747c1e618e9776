# SPDX-License-Identifier: Apache-2.0
"""The results file, schema 1: what lab/README.md documents, read with every field checked."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from airbound_lab import checked
from airbound_lab import trace as trace_module
from airbound_lab.errors import UsageError
from airbound_lab.parameters import MODES, Parameters

if TYPE_CHECKING:
    from pathlib import Path

    from airbound_lab.trace import PhoneTrace

SCHEMA = 1

Numbers = list[float]
MaybeNumbers = list[float | None]


@dataclass(slots=True)
class Series:
    """One phone, second by second; None where there is nothing to say (no flow, no sample, no bound)."""

    t_s: Numbers = field(default_factory=list)
    goodput_mbps: Numbers = field(default_factory=list)
    cwnd_segs: MaybeNumbers = field(default_factory=list)
    bound_min_segs: MaybeNumbers = field(default_factory=list)
    bound_max_segs: MaybeNumbers = field(default_factory=list)
    srtt_ms: MaybeNumbers = field(default_factory=list)
    min_rtt_ms: MaybeNumbers = field(default_factory=list)
    rtt_ratio: MaybeNumbers = field(default_factory=list)


@dataclass(slots=True)
class RulesChange:
    """From this moment a phone's kernel had these rules (lines of /proc/net/tcp_cwnd_bounds)."""

    t_s: float
    rules: list[str]


@dataclass(slots=True)
class PhoneResult:
    """One phone over the measured window, and its series over the whole run."""

    wired_delay_ms: float
    goodput_mbps: float
    retransmits: int
    series: Series
    rules: list[RulesChange] = field(default_factory=list)
    trace: PhoneTrace | None = None
    """The history of its connections, if the run was asked for one."""


@dataclass(slots=True)
class Run:
    """One mode with one seed; every field but the last two follows from the parameters, the mode and the seed."""

    mode: str
    seed: int
    total_goodput_mbps: float
    jain: float | None
    rtt_mean_ms: float | None
    rtt_p95_ms: float | None
    rtt_ratio: float | None
    retransmits: int
    phones: list[PhoneResult]
    wall_seconds: float
    peak_memory_kib: dict[str, int] = field(default_factory=dict)

    def comparable(self) -> dict[str, Any]:
        """Everything that must be equal, to the digit, in a run of equal parameters, mode and seed, traced or not."""
        data = {k: v for k, v in asdict(self).items() if k not in ("wall_seconds", "peak_memory_kib")}
        for phone in data["phones"]:
            del phone["trace"]
        return data


@dataclass(slots=True)
class Results:
    """A set of runs with the parameters that they share."""

    parameters: Parameters
    runs: list[Run]
    kernel: str = ""
    """SHA-256 of the kernel's program."""

    def of_mode(self, mode: str) -> list[Run]:
        """The runs of one mode, one per seed."""
        return [run for run in self.runs if run.mode == mode]

    def modes(self) -> list[str]:
        """The modes that there are runs of, in the order in which they were asked for."""
        return [mode for mode in self.parameters.modes if self.of_mode(mode)]


def save(results: Results, path: Path) -> None:
    """Write a results file."""
    data = {
        "schema": SCHEMA,
        "parameters": results.parameters.to_json(),
        "kernel": results.kernel,
        "runs": [_plain(run) for run in results.runs],
    }
    # One number a line is good to read in hundreds of lines, and a waste in the hundred thousands of a trace.
    indent = None if any(phone.trace for run in results.runs for phone in run.phones) else 1
    try:
        path.write_text(json.dumps(data, indent=indent, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _plain(run: Run) -> dict[str, Any]:
    data = asdict(run)
    for phone in data["phones"]:
        if phone["trace"] is None:
            del phone["trace"]
    return data


def load(path: Path) -> Results:
    """Read a results file; UsageError names the file and the field that is wrong."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    try:
        return from_json(data)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def from_json(data: object) -> Results:
    """Check and convert the content of a results file."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else None
        raise UsageError(f"schema is {found!r}, this program reads {SCHEMA}")
    checked.keys("results", data, {"schema", "parameters", "kernel", "runs"}, {"kernel"})
    parameters = Parameters.from_json(data["parameters"])
    runs = [_run(f"runs[{i}]", run) for i, run in enumerate(checked.items("runs", data["runs"]))]
    for i, run in enumerate(runs):
        if len(run.phones) != parameters.terminals:
            raise UsageError(f"runs[{i}].phones: {len(run.phones)}, but parameters.terminals is {parameters.terminals}")
        for j, phone in enumerate(run.phones):
            if len(phone.series.t_s) != parameters.seconds:
                seconds = len(phone.series.t_s)
                raise UsageError(f"runs[{i}].phones[{j}].series: {seconds} samples for {parameters.seconds} seconds")
    return Results(parameters, runs, str(data.get("kernel", "")))


def _run(where: str, data: Any) -> Run:
    checked.fields_of(where, data, Run, optional={"peak_memory_kib"})
    if data["mode"] not in MODES:
        raise UsageError(f"{where}.mode: {data['mode']!r} is none of {', '.join(MODES)}")
    values = dict(data)
    phones = checked.items(f"{where}.phones", data["phones"])
    values["phones"] = [_phone(f"{where}.phones[{i}]", phone) for i, phone in enumerate(phones)]
    for name in ("total_goodput_mbps", "wall_seconds", "seed", "retransmits"):
        checked.number(f"{where}.{name}", data[name])
    for name in ("jain", "rtt_mean_ms", "rtt_p95_ms", "rtt_ratio"):
        checked.number(f"{where}.{name}", data[name], none=True)
    return Run(**values)


def _phone(where: str, data: Any) -> PhoneResult:
    checked.fields_of(where, data, PhoneResult, optional={"rules", "trace"})
    for name in ("wired_delay_ms", "goodput_mbps", "retransmits"):
        checked.number(f"{where}.{name}", data[name])
    rules = []
    for i, change in enumerate(checked.items(f"{where}.rules", data.get("rules", []))):
        checked.fields_of(f"{where}.rules[{i}]", change, RulesChange)
        checked.number(f"{where}.rules[{i}].t_s", change["t_s"])
        lines = checked.items(f"{where}.rules[{i}].rules", change["rules"])
        rules.append(RulesChange(change["t_s"], [str(line) for line in lines]))
    series = _series(f"{where}.series", data["series"])
    trace = trace_module.from_json(f"{where}.trace", data["trace"]) if "trace" in data else None
    return PhoneResult(data["wired_delay_ms"], data["goodput_mbps"], data["retransmits"], series, rules, trace)


def _series(where: str, data: Any) -> Series:
    checked.fields_of(where, data, Series)
    for name, values in data.items():
        for value in checked.items(f"{where}.{name}", values):
            checked.number(f"{where}.{name}", value, none=name not in ("t_s", "goodput_mbps"))
        if len(values) != len(data["t_s"]):
            raise UsageError(f"{where}.{name}: {len(values)} values for {len(data['t_s'])} seconds")
    return Series(**data)
