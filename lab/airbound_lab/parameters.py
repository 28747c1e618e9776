# SPDX-License-Identifier: Apache-2.0
"""Everything that a run depends on; pure. Two runs with equal parameters, mode and seed give equal figures."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import UsageError
from airbound_lab.scenario import Scenario, built_in

if TYPE_CHECKING:
    from collections.abc import Collection

TERMINALS_MAX = 100
"""Radios, addresses and the watchdog are laid out for this many phones."""

RATE_CONTROLS = ("minstrel", "fixed54", "aarf")
QDISCS = ("pfifo", "fq_codel", "fq")


@dataclass(frozen=True, slots=True)
class Mode:
    """What the phones run: the congestion control, and the controller's policy if there are agents at all."""

    congestion: str
    qdisc: str = "pfifo"
    controller_arguments: tuple[str, ...] | None = None

    @property
    def has_agents(self) -> bool:
        """Whether the controller and the agents run."""
        return self.controller_arguments is not None


MODES = {
    "cubic": Mode("cubic"),
    # BBR paces itself; fq is the queue it was made for.
    "bbr": Mode("bbr", qdisc="fq"),
    "paper-gb": Mode("cubic", controller_arguments=("--policy", "paper", "--generation", "gb")),
    "paper-jb": Mode("cubic", controller_arguments=("--policy", "paper", "--generation", "jb")),
    "bdp": Mode("cubic", controller_arguments=("--policy", "bdp")),
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a set of runs, one run per mode and seed."""

    scenario: Scenario = field(default_factory=lambda: built_in("uplink"))
    terminals: int = 10
    wired_delays_ms: tuple[float, ...] = (4.0,)
    """Round trip on the wire; phone i (from 0) talks to the server with delay i modulo the number of delays."""
    seconds: int = 30
    warmup_seconds: int = 5
    modes: tuple[str, ...] = ("cubic", "bbr", "paper-jb", "bdp")
    seeds: tuple[int, ...] = (1,)
    rate_control: str = "minstrel"
    ap_rate_control: str | None = None
    """None: as the phones', radios of one time."""
    qdisc: str | None = None
    """The phones' queueing discipline; None: the mode's own (fq for bbr, otherwise pfifo)."""
    queue_packets: int = 1000
    ap_qdisc: str = "pfifo"
    ap_queue_packets: int = 1000
    driver_queue_frames: int = 64
    ap_driver_queue_frames: int = 64
    orphan: bool = False
    """Whether the phones' driver detaches a packet from its socket at once, as some phones' drivers do."""
    retry_limit: int = 0
    """Attempts a frame at most; 0: the rate control's own chain decides."""
    loss_percent: float = 0.0
    """Frames lost on every radio link on top of collisions."""
    bounds_interval_ms: int = 1000
    """How often each phone's kernel is asked for its rules, to see when they change."""
    controller_config: str | None = None
    """Text of a configuration file for the controller."""

    def __post_init__(self) -> None:
        """Refuse what cannot be run, naming the parameter."""
        _whole("terminals", self.terminals, 1, TERMINALS_MAX)
        _whole("seconds", self.seconds, 1, 3600)
        _whole("warmup-seconds", self.warmup_seconds, 0, self.seconds - 1)
        _whole("queue", self.queue_packets, 1, 100_000)
        _whole("ap-queue", self.ap_queue_packets, 1, 100_000)
        _whole("driver-queue", self.driver_queue_frames, 2, 10_000)
        _whole("ap-driver-queue", self.ap_driver_queue_frames, 2, 10_000)
        _whole("retry-limit", self.retry_limit, 0, 255)
        _whole("bounds-interval-ms", self.bounds_interval_ms, 10, 60_000)
        _real("loss", self.loss_percent, 0, 99)
        self._check_lists()
        _choice("rate-control", self.rate_control, RATE_CONTROLS)
        if self.ap_rate_control is not None:
            _choice("ap-rate-control", self.ap_rate_control, RATE_CONTROLS)
        _choice("ap-qdisc", self.ap_qdisc, QDISCS)
        if self.qdisc is not None:
            _choice("qdisc", self.qdisc, QDISCS)
        if not isinstance(self.orphan, bool):
            raise UsageError(f"orphan: {self.orphan!r} is neither true nor false")
        if not isinstance(self.controller_config, str | None):
            raise UsageError(f"controller-config: {self.controller_config!r} is not text")
        self.scenario.check(self.terminals)
        if self.orphan and self.scenario.saturates():
            raise UsageError("orphan: a saturating UDP sender would never be told to wait, and time would never pass")

    def _check_lists(self) -> None:
        if not self.wired_delays_ms or len(self.wired_delays_ms) > TERMINALS_MAX:
            raise UsageError(f"wired-delays: 1 to {TERMINALS_MAX} delays are needed, got {len(self.wired_delays_ms)}")
        for delay_ms in self.wired_delays_ms:
            _real("wired-delays", delay_ms, 0, 10_000)
        for seed in self.seeds:
            _whole("seed", seed, 0, 2**31 - 1)
        if len(set(self.seeds)) != len(self.seeds) or not self.seeds:
            raise UsageError("seeds: at least one, each only once")
        if len(set(self.modes)) != len(self.modes) or not self.modes:
            raise UsageError("modes: at least one, each only once")
        for mode in self.modes:
            _choice("modes", mode, MODES)

    def wired_delay_ms(self, phone: int) -> float:
        """Round trip on the wire of a phone's server; phones count from 1."""
        return self.wired_delays_ms[(phone - 1) % len(self.wired_delays_ms)]

    def to_json(self) -> dict[str, Any]:
        """Give the form in which results keep the parameters."""
        return asdict(self) | {"scenario": self.scenario.to_json()}

    @classmethod
    def from_json(cls, data: object) -> Parameters:
        """Read what to_json gave; raises UsageError that names what is wrong."""
        if not isinstance(data, dict):
            raise UsageError("parameters: not an object")
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise UsageError(f"parameters: unknown key {unknown[0]!r}")
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
        }
        if "scenario" in values:
            values["scenario"] = Scenario.from_json(values["scenario"])
        try:
            return cls(**values)
        except TypeError as error:
            raise UsageError(f"parameters: {error}") from error


def _whole(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name}: {value!r} is not a whole number from {low} to {high}")


def _real(name: str, value: object, low: float, high: float) -> None:
    if not isinstance(value, int | float) or not math.isfinite(value) or not low <= value <= high:
        raise UsageError(f"{name}: {value!r} is not a number from {low} to {high}")


def _choice(name: str, value: object, choices: Collection[str]) -> None:
    if value not in choices:
        raise UsageError(f"{name}: {value!r} is none of {', '.join(choices)}")
