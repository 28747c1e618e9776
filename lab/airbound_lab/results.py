# SPDX-License-Identifier: Apache-2.0
"""The results file, schema 1: what lab/README.md documents, read with every field checked."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import UsageError
from airbound_lab.parameters import MODES, Parameters

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

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
        """Everything that must be equal, to the digit, in a run of equal parameters, mode and seed."""
        return {k: v for k, v in asdict(self).items() if k not in ("wall_seconds", "peak_memory_kib")}


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
        "runs": [asdict(run) for run in results.runs],
    }
    try:
        path.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


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
    _keys("results", data, {"schema", "parameters", "kernel", "runs"}, {"kernel"})
    parameters = Parameters.from_json(data["parameters"])
    runs = [_run(f"runs[{i}]", run) for i, run in enumerate(_list("runs", data["runs"]))]
    for i, run in enumerate(runs):
        if len(run.phones) != parameters.terminals:
            raise UsageError(f"runs[{i}].phones: {len(run.phones)}, but parameters.terminals is {parameters.terminals}")
        for j, phone in enumerate(run.phones):
            if len(phone.series.t_s) != parameters.seconds:
                seconds = len(phone.series.t_s)
                raise UsageError(f"runs[{i}].phones[{j}].series: {seconds} samples for {parameters.seconds} seconds")
    return Results(parameters, runs, str(data.get("kernel", "")))


def _run(where: str, data: Any) -> Run:
    _fields(where, data, Run, optional={"peak_memory_kib"})
    if data["mode"] not in MODES:
        raise UsageError(f"{where}.mode: {data['mode']!r} is none of {', '.join(MODES)}")
    values = dict(data)
    phones = _list(f"{where}.phones", data["phones"])
    values["phones"] = [_phone(f"{where}.phones[{i}]", phone) for i, phone in enumerate(phones)]
    for name in ("total_goodput_mbps", "wall_seconds", "seed", "retransmits"):
        _number(f"{where}.{name}", data[name])
    for name in ("jain", "rtt_mean_ms", "rtt_p95_ms", "rtt_ratio"):
        _number(f"{where}.{name}", data[name], none=True)
    return Run(**values)


def _phone(where: str, data: Any) -> PhoneResult:
    _fields(where, data, PhoneResult, optional={"rules"})
    for name in ("wired_delay_ms", "goodput_mbps", "retransmits"):
        _number(f"{where}.{name}", data[name])
    rules = []
    for i, change in enumerate(_list(f"{where}.rules", data.get("rules", []))):
        _fields(f"{where}.rules[{i}]", change, RulesChange)
        _number(f"{where}.rules[{i}].t_s", change["t_s"])
        lines = _list(f"{where}.rules[{i}].rules", change["rules"])
        rules.append(RulesChange(change["t_s"], [str(line) for line in lines]))
    series = _series(f"{where}.series", data["series"])
    return PhoneResult(data["wired_delay_ms"], data["goodput_mbps"], data["retransmits"], series, rules)


def _series(where: str, data: Any) -> Series:
    _fields(where, data, Series)
    for name, values in data.items():
        for value in _list(f"{where}.{name}", values):
            _number(f"{where}.{name}", value, none=name not in ("t_s", "goodput_mbps"))
        if len(values) != len(data["t_s"]):
            raise UsageError(f"{where}.{name}: {len(values)} values for {len(data['t_s'])} seconds")
    return Series(**data)


def _fields(where: str, data: Any, kind: Any, optional: Collection[str] = ()) -> None:
    _keys(where, data, {f.name for f in fields(kind)}, optional)


def _keys(where: str, data: Any, known: Collection[str], optional: Collection[str]) -> None:
    if not isinstance(data, dict):
        raise UsageError(f"{where}: not an object")
    for key in data:
        if key not in known:
            raise UsageError(f"{where}: unknown key {key!r}")
    for key in sorted(set(known) - set(optional)):
        if key not in data:
            raise UsageError(f"{where}: {key!r} is missing")


def _list(where: str, data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise UsageError(f"{where}: not a list")
    return data


def _number(where: str, value: Any, *, none: bool = False) -> None:
    if value is None and none:
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise UsageError(f"{where}: {value!r} is not a number")
