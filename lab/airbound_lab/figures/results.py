# SPDX-License-Identifier: Apache-2.0
"""The results file, schema 1: what lab/README.md documents, read and written with every field checked."""

from __future__ import annotations

import json
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import TypeAdapter, model_validator
from pydantic.dataclasses import dataclass

from airbound_lab.errors import UsageError
from airbound_lab.figures.application_results import ApplicationResult
from airbound_lab.figures.capacity import CapacityFigures
from airbound_lab.figures.checked import Checked
from airbound_lab.figures.grants import Grants
from airbound_lab.figures.senders import SenderFigures
from airbound_lab.records.trace import PhoneTrace
from airbound_lab.settings.parameters import ModeName, Parameters
from airbound_lab.settings.validation import STRICT, usage_errors

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 1
OPTIONAL = (
    *("uplink", "downlink", "recovery_s", "unconnected", "agentless_ratio", "senders", "capacity", "applications"),
    *("grants", "check"),
)
OPTIONAL_OF_PHONE = ("trace", "download", "gap_max_ms", "air_s")
"""Fields that are written only where there is something to report."""

Numbers = tuple[float, ...]
MaybeNumbers = tuple[float | None, ...]
Counts = tuple[int, ...]
MaybeCounts = tuple[int | None, ...]


@dataclass(frozen=True, slots=True, config=STRICT)
class Series:
    """One phone, second by second; None where there is nothing to report (no flow, no sample, no bound)."""

    t_s: Counts
    goodput_mbps: Numbers
    cwnd_segs: MaybeCounts
    bound_min_segs: MaybeCounts
    bound_max_segs: MaybeCounts
    srtt_ms: MaybeNumbers
    min_rtt_ms: MaybeNumbers
    rtt_ratio: MaybeNumbers

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        for name, values in asdict(self).items():
            if len(values) != len(self.t_s):
                raise ValueError(f"{name}: {len(values)} values for {len(self.t_s)} seconds")
        return self


@dataclass(frozen=True, slots=True, config=STRICT)
class RulesChange:
    """From this moment a phone's kernel had these rules (lines of /proc/net/tcp_cwnd_bounds)."""

    t_s: float
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, config=STRICT)
class Download:
    """What one phone downloaded over the measured window, and the series of it over the whole run."""

    goodput_mbps: float
    retransmits: int
    series: Series
    """cwnd and RTT as the server's kernel has them."""


@dataclass(frozen=True, slots=True, config=STRICT)
class PhoneResult:
    """One phone over the measured window, and its series over the whole run: what it uploaded."""

    wired_delay_ms: float
    goodput_mbps: float
    retransmits: int
    series: Series
    rules: tuple[RulesChange, ...] = ()
    trace: PhoneTrace | None = None
    """The history of its connections, if the run was traced."""
    download: Download | None = None
    """What it downloaded, if the scenario has a download of this phone."""
    gap_max_ms: float | None = None
    """The longest time without a datagram, if it sends them at a rate of its own from the window's start to its end."""
    air_s: float | None = None
    """Time on the air of what it sent and received, as the access point counts it since the phone associated: of its
    own frames those that arrived, to it every attempt. None if the access point does not count."""


@dataclass(frozen=True, slots=True, config=STRICT)
class DirectionTotal:
    """All flows of one direction over the measured window, as the same figures of a run."""

    total_goodput_mbps: float
    jain: float | None
    rtt_mean_ms: float | None
    rtt_p95_ms: float | None
    retransmits: int


@dataclass(frozen=True, slots=True, config=STRICT)
class Run:
    """One mode with one seed; it follows from parameters, mode and seed, but for `wall_seconds` and `peak_memory_kib`.

    The figures are of all flows together; `jain` is the smaller one of the directions'.
    """

    mode: ModeName
    seed: int
    total_goodput_mbps: float
    jain: float | None
    rtt_mean_ms: float | None
    rtt_p95_ms: float | None
    rtt_ratio: float | None
    retransmits: int
    phones: tuple[PhoneResult, ...]
    wall_seconds: float
    peak_memory_kib: dict[str, int] = field(default_factory=dict)
    uplink: DirectionTotal | None = None
    downlink: DirectionTotal | None = None
    """None, both, if the scenario has no downloads: the figures of the run are the uplink's then."""
    recovery_s: float | None = None
    """From the late start of the controller until the total is back, if the scenario starts it late."""
    unconnected: int | None = None
    """Flows that ended before their connection was established, if there are any."""
    air_jain: float | None = None
    """Jain's index of the flows' time on the air, as the access point counts it since the phones associated; None if it
    does not, or if a phone was not associated all the time. Senders at a rate of their own do not count."""
    agentless_ratio: float | None = None
    """Mean goodput of the uploading phones without an agent over that of those with one, if there are both."""
    senders: SenderFigures | None = None
    """How well the controller knew who sent, if it was asked."""
    capacity: CapacityFigures | None = None
    """What it took for the cell's, if it was asked."""
    check: Checked | None = None
    """What `airbound check` found, if it was carried out and there was something to find."""
    applications: tuple[ApplicationResult, ...] | None = None
    """The real applications in the order of their starts, if the scenario starts any. What they send is no part of the
    figures above."""
    grants: Grants | None = None
    """Of the live flows, if the scenario has any and there is a controller."""

    def comparable(self) -> dict[str, Any]:
        """Everything that must be equal, to the digit, in a run of equal parameters, mode and seed, traced or not."""
        data = {k: v for k, v in asdict(self).items() if k not in ("wall_seconds", "peak_memory_kib")}
        for phone in data["phones"]:
            del phone["trace"]
        return data

    def directions(self) -> dict[str, DirectionTotal]:
        """The totals by direction, if the scenario has downloads."""
        return {name: result for name, result in (("up", self.uplink), ("down", self.downlink)) if result is not None}


@dataclass(frozen=True, slots=True, config=STRICT)
class Results:
    """A set of runs with the parameters that they share."""

    parameters: Parameters
    runs: tuple[Run, ...]
    kernel: str = ""
    """SHA-256 of the kernel's program."""

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        terminals, seconds = self.parameters.terminals, self.parameters.seconds
        for i, run in enumerate(self.runs):
            if len(run.phones) != terminals:
                raise ValueError(f"runs[{i}].phones: {len(run.phones)}, but parameters.terminals is {terminals}")
            for j, phone in enumerate(run.phones):
                if (samples := len(phone.series.t_s)) != seconds:
                    raise ValueError(f"runs[{i}].phones[{j}].series: {samples} samples for {seconds} seconds")
        return self

    def of_mode(self, mode: str) -> list[Run]:
        """Return the runs of one mode, one per seed."""
        return [run for run in self.runs if run.mode == mode]

    def modes(self) -> list[str]:
        """Return the modes that there are runs of, in the order of the parameters."""
        return [mode for mode in self.parameters.modes if self.of_mode(mode)]


@dataclass(frozen=True, slots=True, config=STRICT)
class _File:
    schema: Literal[1]
    parameters: Parameters
    runs: tuple[Run, ...]
    kernel: str = ""


_FILE = TypeAdapter(_File)


def save(results: Results, path: Path) -> None:
    """Write a results file; UsageError if it cannot be written, ValueError if a number is not finite."""
    data = {
        "schema": SCHEMA,
        "parameters": results.parameters.to_json(),
        "kernel": results.kernel,
        "runs": [_plain(run) for run in results.runs],
    }
    # One number a line is easy to read, but a trace has hundreds of thousands.
    indent = None if any(phone.trace for run in results.runs for phone in run.phones) else 1
    text = json.dumps(data, indent=indent, allow_nan=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _plain(run: Run) -> dict[str, Any]:
    data = asdict(run)
    for record, names in ((data, OPTIONAL), *((phone, OPTIONAL_OF_PHONE) for phone in data["phones"])):
        for name in names:
            if record[name] is None:
                del record[name]
    return data


def load(path: Path) -> Results:
    """Read a results file; UsageError names the file, the key that is wrong, and its value."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    with usage_errors(str(path)):
        file = _FILE.validate_json(text)
        return Results(file.parameters, file.runs, file.kernel)
