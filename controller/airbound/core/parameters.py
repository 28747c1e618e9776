# SPDX-License-Identifier: Apache-2.0
"""Every number of the core that somebody may want to change, with its unit, its limits and its reason.

The configuration file's tables are these classes, field by field; the limits are checked wherever one is made.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

Mode = Literal["observe", "control"]
PolicyName = Literal["paper", "bdp"]
Generation = Literal["gb", "jb"]


class ParameterError(ValueError):
    """A parameter that cannot hold; says which one, its value and what would be right."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"{name} = {value!r}: expected {expected}")
        self.name = name
        self.value = value
        self.expected = expected


def knob(default: Any, text: str, low: float | None = None, high: float | None = None) -> Any:
    """A dataclass field with its limits (inclusive) and one line for a person."""
    return dataclasses.field(default=default, metadata={"text": text, "low": low, "high": high})


class Checked:
    """Checks types and limits of every field when the dataclass is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            _check(field, hints[field.name], getattr(self, field.name))


def _check(field: dataclasses.Field[Any], hint: Any, value: object) -> None:
    choices = get_args(hint)
    if choices:
        if value not in choices:
            raise ParameterError(field.name, value, " or ".join(repr(choice) for choice in choices))
        return
    if hint is float:
        # TOML's 1 is as good a number as its 1.0; true is not.
        finite = not isinstance(value, float) or math.isfinite(value)  # isfinite() of a huge int is an OverflowError
        if isinstance(value, bool) or not isinstance(value, int | float) or not finite:
            raise ParameterError(field.name, value, "a finite number")
    elif type(value) is not hint:
        names = {int: "a whole number", bool: "true or false", str: "a text"}
        raise ParameterError(field.name, value, names[hint])
    low, high = field.metadata["low"], field.metadata["high"]
    if low is not None and isinstance(value, int | float) and not low <= value <= high:
        raise ParameterError(field.name, value, f"{low} to {high}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderParameters(Checked):
    """When a station counts as an active sender. Two levels, so that a sender near one of them does not flap."""

    start_bytes_per_s: float = knob(10_000.0, "uplink rate from which a station counts as sending", 1, 1e9)
    stop_bytes_per_s: float = knob(2_000.0, "uplink rate below which it no longer does", 0, 1e9)
    min_interval_ms: int = knob(250, "shortest time over which rates are taken", 10, 60_000)
    link_overhead_bytes: int = knob(34, "802.11 QoS header (26) and LLC/SNAP (8) in each packet's rx_bytes", 0, 200)

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if self.stop_bytes_per_s > self.start_bytes_per_s:
            expected = f"at most start_bytes_per_s = {self.start_bytes_per_s}"
            raise ParameterError("stop_bytes_per_s", self.stop_bytes_per_s, expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyParameters(Checked):
    """How long anything holds without news. All of it fails open: silence means the kernel's defaults."""

    lease_ms: int = knob(6_000, "bounds hold this long unless renewed; renewed every third of it", 1_000, 60_000)
    cell_stale_ms: int = knob(3_000, "an access point silent for longer releases its cell's bounds", 500, 600_000)
    terminal_stale_ms: int = knob(5_000, "a terminal silent for longer loses its bounds", 500, 600_000)
    sending_hold_ms: int = knob(3_000, "a destination stays bounded this long after its last queued byte", 0, 600_000)
    forget_ms: int = knob(600_000, "cells and terminals silent for longer are forgotten", 1_000, 86_400_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinRttParameters(Checked):
    """The smallest RTT to a destination, which a phone that starts in a full cell never sees itself."""

    share: bool = knob(True, "use the smallest of all terminals' minima, not only its own")  # noqa: FBT003  # its default
    max_age_s: int = knob(600, "a minimum not seen again for this long no longer counts", 1, 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityParameters(Checked):
    """The estimate of a cell's uplink capacity. Timing constants are those of 802.11g's OFDM rates."""

    default_bps: float = knob(20e6, "taken until the first sample", 1e5, 1e11)
    goodput_per_bitrate: float = knob(0.44, "uplink TCP goodput over the PHY rate: 24 of 54 Mb/s", 0.01, 1)
    min_bps: float = knob(5e5, "no estimate is below this", 1e4, 1e11)
    max_bps: float = knob(5e9, "no estimate is above this", 1e5, 1e12)
    min_utilisation: float = knob(0.1, "an interval less busy than this tells nothing", 0.01, 1)
    smoothing_s: float = knob(3.0, "time constant of the moving average", 0.1, 600)
    difs_us: float = knob(28.0, "idle time before each exchange", 0, 1000)
    slot_us: float = knob(9.0, "back-off slot", 0, 1000)
    cw_min_slots: int = knob(15, "smallest contention window", 0, 1023)
    max_filter_s: float = knob(10.0, "without a survey: the highest uplink rate of this long", 1, 600)
    max_interval_s: float = knob(10.0, "a longer gap between reports is no sample", 1, 600)

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if self.min_bps > self.max_bps:
            raise ParameterError("min_bps", self.min_bps, f"at most max_bps = {self.max_bps}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperParameters(Checked):
    """The tables of the source paper."""

    generation: Generation = knob("jb", "TCP generation of the tables: gb caps near 63 segments")  # noqa: RUF009  # a str


@dataclass(frozen=True, slots=True, kw_only=True)
class BdpParameters(Checked):
    """The formula: a share of the capacity times the minimum RTT, and a small queue."""

    gain: float = knob(1.25, "maximum over the pure share of the bandwidth-delay product", 0.1, 100)
    queue_segs: int = knob(3, "queue allowance of a terminal", 0, 1000)
    min_fraction: float = knob(0.5, "minimum over the pure share: recovery starts from here", 0, 1)
    floor_segs: int = knob(2, "no bound is below this; one segment stalls on delayed ACKs", 1, 100)
    change_ratio: float = knob(0.1, "a maximum that moved no more than this is not sent again", 0, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """All of them; what `airbound controller` holds without a configuration file."""

    mode: Mode = "control"
    policy: PolicyName = "bdp"
    senders: SenderParameters = dataclasses.field(default_factory=SenderParameters)
    safety: SafetyParameters = dataclasses.field(default_factory=SafetyParameters)
    min_rtt: MinRttParameters = dataclasses.field(default_factory=MinRttParameters)
    capacity: CapacityParameters = dataclasses.field(default_factory=CapacityParameters)
    paper: PaperParameters = dataclasses.field(default_factory=PaperParameters)
    bdp: BdpParameters = dataclasses.field(default_factory=BdpParameters)
