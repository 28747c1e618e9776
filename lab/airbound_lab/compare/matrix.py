# SPDX-License-Identifier: Apache-2.0
"""Which runs a comparison consists of: conditions, variants and seeds; presets; pure."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import UsageError
from airbound_lab.settings import parameters
from airbound_lab.settings.parameters import Parameters, option_of
from airbound_lab.settings.radio import DEFAULT_PHY, PROFILES
from airbound_lab.settings.scenario import Scenario, built_in
from airbound_lab.settings.validation import usage_errors
from airbound_lab.settings.values import DEFAULT_KERNEL_LINE, RATE_CONTROL_OF, REPORT_INTERVAL_MS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from airbound_lab.settings.radio import PhyName
    from airbound_lab.settings.values import AccessPointKind, KernelLine, RateControl, StationRates
    from airbound_lab.settings.variant import Variant

YEARS = {rate_control: phones for phones, rate_control in RATE_CONTROL_OF.items()}
"""When phones had such a rate control."""

STATION_RATES_NAMES: dict[str, str] = {
    "none": "a driver without stations' rates",
    "one": "a driver with one rate for all stations",
    "frame": "a driver with rates of single frames",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """Everything that is the same for all variants and seeds: a row of the tables."""

    scenario: Scenario
    wired_delays_ms: tuple[float, ...]
    terminals: int
    rate_control: RateControl
    loss_percent: float = 0.0
    seconds: int = 30
    warmup_seconds: int = 10
    controller_config: str | None = field(default=None, repr=False)
    tls: bool = False
    agents: int | None = None
    """Phones with an agent, in variants with agents; None: all."""
    kernel_line: KernelLine = DEFAULT_KERNEL_LINE
    phy: PhyName = DEFAULT_PHY
    ap: AccessPointKind = "plain"
    distances_m: tuple[float, ...] | None = None
    rts_bytes: int | None = None
    orphan: bool = False
    gro: bool = False
    report_interval_ms: int = REPORT_INTERVAL_MS
    controller_delay_ms: float = 0.0
    controller_loss_percent: float = 0.0
    station_rates: StationRates = "data"
    """As the parameters of a run."""

    def group(self) -> str:
        """Return the part of the name that several rows share."""
        rate_control = f"{self.rate_control} ({YEARS[self.rate_control]})" if self.rate_control in YEARS else None
        parts = [self.scenario.name, f"802.{self.phy}", rate_control or self.rate_control]
        if self.ap != "plain":
            parts.append(f"{self.ap} access point")
        if self.distances_m is not None:
            parts.append(f"distances {delays_name(self.distances_m)} m")
        if self.rts_bytes is not None:
            parts.append(f"RTS above {self.rts_bytes} bytes")
        if self.orphan:
            parts.append("drivers that orphan")
        if self.gro:
            parts.append("servers with GRO")
        if self.loss_percent:
            parts.append(f"{self.loss_percent:g} % loss")
        parts += self._reporting()
        if self.tls:
            parts.append("mutual TLS")
        if self.kernel_line != DEFAULT_KERNEL_LINE:
            parts.append(f"Linux {self.kernel_line}")
        return ", ".join(parts)

    def _reporting(self) -> list[str]:
        """What is not ideal about the controller's reports."""
        parts = []
        if self.report_interval_ms != REPORT_INTERVAL_MS:
            parts.append(f"a report every {self.report_interval_ms} ms")
        if self.controller_delay_ms:
            parts.append(f"reports and commands {self.controller_delay_ms:g} ms late")
        if self.controller_loss_percent:
            parts.append(f"{self.controller_loss_percent:g} % of reports' and commands' packets lost")
        if self.station_rates != "data":
            parts.append(STATION_RATES_NAMES[self.station_rates])
        return parts

    def row(self) -> str:
        """Return the rest of the name."""
        phones = "1 phone" if self.terminals == 1 else f"{self.terminals} phones"
        agents = "" if self.agents is None else f", {self.agents} with an agent"
        return f"{phones}{agents}, {delays_name(self.wired_delays_ms)} ms"

    def __str__(self) -> str:
        """Return the whole name."""
        return f"{self.group()}, {self.row()}"

    def parameters(self, variant: Variant, seed: int) -> Parameters:
        """The parameters of one run; UsageError if it cannot be run."""
        with usage_errors(f"{self}: {variant}", name=option_of):
            plain = Parameters(
                scenario=self.scenario,
                terminals=self.terminals,
                wired_delays_ms=self.wired_delays_ms,
                seconds=self.seconds,
                warmup_seconds=self.warmup_seconds,
                modes=(variant.mode,),
                seeds=(seed,),
                rate_control=self.rate_control,
                loss_percent=self.loss_percent,
                controller_config=self.controller_config,
                tls=self.tls,
                kernel_line=self.kernel_line,
                phy=self.phy,
                ap=self.ap,
                distances_m=self.distances_m,
                rts_bytes=self.rts_bytes,
                orphan=self.orphan,
                gro=self.gro,
                # Without agents these make no difference, and the runs are the same ones.
                **(self._of_agents() if variant.has_agents else {}),
            )
            return plain.of_mode(variant.name)

    def _of_agents(self) -> dict[str, Any]:
        """Those of the parameters that only modes with agents have a use for."""
        return {
            "agents": self.agents,
            "report_interval_ms": self.report_interval_ms,
            "controller_delay_ms": self.controller_delay_ms,
            "controller_loss_percent": self.controller_loss_percent,
            "station_rates": self.station_rates,
        }


@dataclass(frozen=True, slots=True)
class Axes:
    """A product of conditions."""

    scenarios: tuple[Scenario, ...] = (built_in("uplink"),)
    wired_delays_ms: tuple[tuple[float, ...], ...] = ((4.0,),)
    """Each a single delay or a mix, which the phones take in turn."""
    terminals: tuple[int, ...] = (10,)
    rate_controls: tuple[RateControl, ...] = ("minstrel", "aarf")
    loss_percents: tuple[float, ...] = (0.0,)
    seconds: int = 30
    warmup_seconds: int = 10
    agents: tuple[int | None, ...] = (None,)
    phys: tuple[PhyName, ...] = (DEFAULT_PHY,)

    def conditions(self) -> list[Condition]:
        """All combinations that there are, as the rows of the tables are ordered: AARF is of 802.11g alone."""
        axes = (
            *(self.phys, self.scenarios, self.rate_controls, self.loss_percents, self.terminals, self.wired_delays_ms),
            self.agents,
        )
        return [
            Condition(
                *(scenario, delays_ms, terminals, rate_control, loss, self.seconds, self.warmup_seconds),
                agents=agents,
                phy=phy,
            )
            for phy, scenario, rate_control, loss, terminals, delays_ms, agents in itertools.product(*axes)
            if not (PROFILES[phy].aggregates and rate_control == "aarf")
        ]


@dataclass(frozen=True, slots=True)
class Preset:
    """A named comparison."""

    axes: tuple[Axes, ...]
    help: str
    seeds: tuple[int, ...] = (1, 2, 3)
    variants: tuple[str, ...] = (
        *("cubic", "cubic@fq_codel", "cubic@cake-ack-filter", "bbr", "vegas", "cdg", "paper-jb", "bdp", "airbound"),
    )
    ap: AccessPointKind = "plain"


def _of(scenario: str, delays_ms: Iterable[float], terminals: Iterable[int]) -> Axes:
    return Axes((built_in(scenario),), tuple((float(delay_ms),) for delay_ms in delays_ms), tuple(terminals))


def _today(phy: PhyName, terminals: Iterable[int], delays_ms: Iterable[float]) -> Axes:
    return replace(_of("uplink", delays_ms, terminals), rate_controls=("minstrel",), phys=(phy,))


RIVALS = ("cubic", "cubic@pacing=400", "cubic@cwnd-clamp=64", "bbr", "vegas", "cdg", "illinois")
"""What phones can do without us where frames are aggregated: as they are, with less pacing, with a locked window, with
another congestion control."""
RIVALS_OF_AC = (*RIVALS, *(f"{name}@txop=0" for name in RIVALS))
"""An OpenWrt access point has a TXOP limit of 2 ms where it speaks 802.11ac, and each rival its better choice."""
ALL_TERMINALS, ALL_DELAYS_MS = (1, 2, 3, 5, 10, 20), (4, 16, 64, 256)

PRESETS = {
    "quick": Preset(
        (replace(_of("uplink", (4, 256), (5,)), seconds=20),),
        "uploads of 5 phones at 4, 256 ms; 20 s, fewer modes: some minutes on two cores",
        variants=("cubic", "cubic@cake-ack-filter", "bbr", "vegas", "bdp", "airbound"),
    ),
    "grid": Preset(
        (_of("uplink", (4, 16, 64, 256), (1, 2, 3, 5, 7, 10, 20)),),
        "uploads of 1, 2, 3, 5, 7, 10, 20 phones at 4, 16, 64, 256 ms",
    ),
    "mixed": Preset(
        (replace(_of("uplink", (), (9,)), wired_delays_ms=((4.0, 64.0, 256.0),)),),
        "uploads of 9 phones to servers at 4, 64, 256 ms",
    ),
    "loss": Preset(
        (replace(_of("uplink", (4, 64, 256), (3, 10)), loss_percents=(1.0,)),),
        "uploads of 3, 10 phones at 4, 64, 256 ms with 1 % of the frames lost",
    ),
    "downlink": Preset((_of("downlink", (4, 64), (3, 10)),), "downloads only: 3, 10 phones at 4, 64 ms"),
    "both-ways": Preset(
        (_of("both-ways", (4, 64), (3, 10)),), "uploads of 3, 10 phones at 4, 64 ms, three of them download as well"
    ),
    "joins-leaves": Preset((_of("joins-leaves", (64,), (8,)),), "8 phones that come, leave and return, at 64 ms"),
    "udp-neighbours": Preset(
        (_of("udp-neighbours", (256,), (8,)),), "one TCP upload and 7 of UDP at 2 Mb/s, at 256 ms"
    ),
    "agents": Preset(
        (replace(_of("uplink", (4, 64), (10,)), agents=(0, 3, 5, 10)),),
        "uploads of 10 phones at 4, 64 ms, of which 0, 3, 5, 10 have an agent; others' windows clamped, or metered",
        variants=(
            *("cubic", "airbound", "airbound@window-clamp", "airbound@window-clamp@window-scale=7", "airbound@meters"),
        ),
    ),
    "recovery": Preset(
        (replace(_of("recovery", (4, 256), (10,)), rate_controls=("aarf",)),),
        "10 phones of 2013 at 4, 256 ms; Airbound starts after 10 s",
    ),
    "gate-11n": Preset(
        (
            _today("11n-20", (1,), (16,)),
            _today("11n-20", (2,), (64,)),
            _today("11n-20", (5,), (4,)),
            _today("11n-20", (10,), (16, 256)),
            _today("11n-40", (3,), (64,)),
            _today("11n-40", (10,), (4,)),
            _today("11n-40", (20,), (16,)),
        ),
        "eight cells of matrix-11n",
        variants=(*RIVALS, "airbound"),
        ap="openwrt",
    ),
    "gate-11ac": Preset(
        (
            _today("11ac-80", (1, 2, 5, 20), (4,)),
            _today("11ac-80", (3,), (256,)),
            _today("11ac-80", (5,), (16,)),
            _today("11ac-80", (10,), (4, 64)),
        ),
        "eight cells of matrix-11ac",
        variants=(*RIVALS_OF_AC, "airbound"),
        ap="openwrt",
    ),
    "matrix-11n": Preset(
        (_today("11n-20", ALL_TERMINALS, ALL_DELAYS_MS), _today("11n-40", ALL_TERMINALS, ALL_DELAYS_MS)),
        "uploads of 1 to 20 phones at 4 to 256 ms, 802.11n of 20 and 40 MHz, an OpenWrt access point",
        variants=(*RIVALS, "airbound"),
        ap="openwrt",
    ),
    "matrix-11ac": Preset(
        (_today("11ac-80", ALL_TERMINALS, ALL_DELAYS_MS),),
        "the same with 802.11ac of 80 MHz, each rival with the access point's TXOP limit and without: a day",
        variants=(*RIVALS_OF_AC, "airbound"),
        ap="openwrt",
    ),
}


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a comparison."""

    condition: Condition
    variant: Variant
    seed: int

    def __str__(self) -> str:
        """Return its name in messages."""
        return f"{self.condition}: {self.variant}, seed {self.seed}"

    @property
    def parameters(self) -> Parameters:
        """Of this run alone."""
        return self.condition.parameters(self.variant, self.seed)

    @property
    def row(self) -> str:
        """Its condition, where runs are listed."""
        return str(self.condition)

    @property
    def column(self) -> str:
        """Its variant, where runs are listed."""
        return self.variant.name


@dataclass(frozen=True, slots=True)
class Matrix:
    """A comparison: each condition with each variant and each seed."""

    conditions: tuple[Condition, ...]
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]

    def tasks(self) -> list[Task]:
        """All runs, seed by seed, so that an unfinished comparison soon has something of every row."""
        return [
            Task(condition, variant, seed)
            for seed, condition, variant in itertools.product(self.seeds, self.conditions, self.variants)
        ]


def build(conditions: Sequence[Condition], names: Sequence[str], seeds: Sequence[int]) -> Matrix:
    """Return a comparison in which every run can be made.

    Raises:
        UsageError: a variant, a seed or a condition is wrong; the message names it.
    """
    chosen = tuple(_variant(name) for name in names)
    for what, items in (("--modes", names), ("--seeds", seeds)):
        if len(set(items)) != len(items):
            raise UsageError(f"{what}: each only once")
    # Presets may have conditions in common.
    matrix = Matrix(tuple(dict.fromkeys(conditions)), chosen, tuple(seeds))
    for task in matrix.tasks():
        task.condition.parameters(task.variant, task.seed)
    return matrix


def without_missing(matrix: Matrix, found: Container[Task]) -> Matrix:
    """Return the conditions, variants and seeds of which there is at least one run."""
    there = [task for task in matrix.tasks() if task in found]
    return Matrix(
        tuple(one for one in matrix.conditions if any(task.condition == one for task in there)),
        tuple(one for one in matrix.variants if any(task.variant == one for task in there)),
        tuple(one for one in matrix.seeds if any(task.seed == one for task in there)),
    )


def _variant(name: str) -> Variant:
    try:
        return parameters.variant(name)
    except ValueError as error:
        raise UsageError(f"--modes: {name!r}: {error}") from None


def delays(text: str) -> tuple[float, ...]:
    """Read `256`, or a mix such as `4+64+256`; ValueError if it is neither."""
    try:
        return tuple(float(part) for part in text.split("+"))
    except ValueError:
        raise ValueError(f"{text!r} is neither a delay in ms nor a mix such as 4+64+256") from None


def delays_name(delays_ms: Sequence[float]) -> str:
    """Write delays as they are read; distances as well."""
    return "+".join(f"{delay_ms:g}" for delay_ms in delays_ms)
