# SPDX-License-Identifier: Apache-2.0
"""One stored run: a JSON file whose name is a hash of all that its figures depend on.

A comparison keeps a run's figures, a study with time series the whole run: a `Form` says which.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from airbound_lab.errors import UsageError
from airbound_lab.settings.validation import STRICT, usage_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from airbound_lab.figures.results import Run
    from airbound_lab.run.progress import Finished
    from airbound_lab.settings.parameters import Parameters

SCHEMA = 1
HASH_DIGITS = 24

KeptT = TypeVar("KeptT", bound="Finished")
"""What is kept of a run."""


@dataclass(frozen=True, slots=True, config=STRICT)
class Figures:
    """The figures of one run, without its series; those of one direction are None if the scenario has only uploads."""

    total_goodput_mbps: float
    jain: float | None
    rtt_mean_ms: float | None
    rtt_p95_ms: float | None
    rtt_ratio: float | None
    retransmits: int
    up_mbps: float | None
    up_jain: float | None
    down_mbps: float | None
    down_jain: float | None
    recovery_s: float | None
    phones_mbps: tuple[float, ...]
    wall_seconds: float
    agentless_ratio: float | None = None
    air_jain: float | None = None


@dataclass(frozen=True, slots=True, config=STRICT)
class File(Generic[KeptT]):
    """A record as it is written."""

    schema: Literal[1]
    inputs: dict[str, Any]
    figures: KeptT


@dataclasses.dataclass(frozen=True, slots=True)
class Form(Generic[KeptT]):
    """What is kept of runs, and how it is read."""

    keep: Callable[[Run], KeptT]
    file: TypeAdapter[File[KeptT]]


def figures(run: Run) -> Figures:
    """Return what is kept of a run."""
    up, down = run.uplink, run.downlink
    return Figures(
        total_goodput_mbps=run.total_goodput_mbps,
        jain=run.jain,
        rtt_mean_ms=run.rtt_mean_ms,
        rtt_p95_ms=run.rtt_p95_ms,
        rtt_ratio=run.rtt_ratio,
        retransmits=run.retransmits,
        up_mbps=up.total_goodput_mbps if up else None,
        up_jain=up.jain if up else None,
        down_mbps=down.total_goodput_mbps if down else None,
        down_jain=down.jain if down else None,
        recovery_s=run.recovery_s,
        phones_mbps=tuple(phone.goodput_mbps for phone in run.phones),
        wall_seconds=run.wall_seconds,
        agentless_ratio=run.agentless_ratio,
        air_jain=run.air_jain,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Store(Generic[KeptT]):
    """A directory with records of one form."""

    directory: Path
    form: Form[KeptT]


FIGURES: Form[Figures] = Form(figures, TypeAdapter(File[Figures]))


def inputs(parameters: Parameters, kernel: str, programs: Mapping[str, str]) -> dict[str, Any]:
    """All that the figures of a run depend on; its parameters have one mode and one seed, the rest are hashes."""
    return {"parameters": parameters.to_json(), "kernel": kernel, "programs": dict(programs)}


def name(inputs: Mapping[str, Any]) -> str:
    """The file's name."""
    return f"{_digest(inputs)}.json"


def _digest(inputs: Mapping[str, Any]) -> str:
    text = json.dumps(inputs, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def save(directory: Path, inputs: Mapping[str, Any], found: Any) -> None:
    """Write a record, as a whole or not at all; UsageError if it cannot be written."""
    path = directory / name(inputs)
    new = path.with_suffix(f".{os.getpid()}")
    text = json.dumps({"schema": SCHEMA, "inputs": inputs, "figures": dataclasses.asdict(found)}, allow_nan=False)
    try:
        new.write_text(f"{text}\n", encoding="utf-8")
        os.replace(new, path)  # noqa: PTH105  (the name of what happens)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def load(directory: Path, inputs: Mapping[str, Any], form: Form[KeptT]) -> KeptT | None:
    """Read the record of a run; None if there is none yet. UsageError if the file is no record of that form."""
    path = directory / name(inputs)
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    with usage_errors(str(path)):
        file = form.file.validate_json(text)
    if _digest(file.inputs) != _digest(inputs):
        raise UsageError(f"{path}: inputs: they are not those that the file is named by")
    return file.figures
