# SPDX-License-Identifier: Apache-2.0
"""Everything that a run depends on; pure. Two runs with equal parameters, mode and seed give equal figures."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.dataclasses import dataclass

from airbound_lab import variant as variants
from airbound_lab.qdisc import Qdisc
from airbound_lab.radio import DEFAULT_PHY, PROFILES, STREAMS_MAX, GuardInterval, Phy, PhyName
from airbound_lab.scenario import DistanceM, Scenario, built_in
from airbound_lab.validation import STRICT, explain

TERMINALS_MAX = 100
"""Radios, addresses and the watchdog are laid out for this many phones."""

RateControl = Literal["minstrel", "fixed", "aarf"]
RATE_CONTROLS: tuple[str, ...] = get_args(RateControl)

Phones = Literal["today", "2013"]
PHONES: tuple[str, ...] = get_args(Phones)
RATE_CONTROL_OF: dict[str, RateControl] = {"today": "minstrel", "2013": "aarf"}
"""What their radios have, and their access point's; that is all by which the lab's phones of then and now differ. They
run the same TCP, and the driver's queue is the standard's (`--phy`). What only some phones of either time had are
options by themselves: `--orphan`, `--cwnd-clamp 63`, `--driver-queue`."""

Switch = Literal["bridge", "ovs", "openflow", "meters"]
SWITCHES: tuple[str, ...] = get_args(Switch)


ACCESS_POINTS_MAX = 3
"""As many channels of 2.4 GHz do not overlap."""

Channels = Literal["same", "different"]
CHANNELS: tuple[str, ...] = get_args(Channels)

KernelLine = Literal["6.1", "6.12"]
KERNEL_LINES: tuple[str, ...] = get_args(KernelLine)
DEFAULT_KERNEL_LINE: KernelLine = "6.1"

AccessPointKind = Literal["plain", "openwrt"]
ACCESS_POINT_KINDS: tuple[str, ...] = get_args(AccessPointKind)
KERNEL_LINE_OF: dict[str, KernelLine] = {"plain": "6.1", "openwrt": "6.12"}
"""Which has what stands at such an access point between bridge and radio."""


def _known_mode(name: str) -> str:
    variants.parse(name)
    return name


def _each_once(items: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(items)) != len(items):
        raise ValueError("each only once")
    return items


DEFAULT_MODES = ("cubic", "bbr", "paper-jb", "bdp")
ModeName = Annotated[str, AfterValidator(_known_mode)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
DelayMs = Annotated[float, Field(ge=0, le=10_000)]
Packets = Annotated[int, Field(ge=1, le=100_000)]
Interference = tuple[Annotated[int, Field(ge=1, le=1_000_000)], Annotated[int, Field(ge=1, le=1_000_000)]]
PhoneNumber = Annotated[int, Field(ge=1, le=TERMINALS_MAX)]
Frames = Annotated[int, Field(ge=2, le=10_000)]


def _contention_window(slots: int) -> int:
    if slots & (slots + 1):
        raise ValueError("not 2^k - 1")
    return slots


ContentionWindow = Annotated[int, Field(ge=0, le=1023), AfterValidator(_contention_window)]
StationsContentionWindow = Annotated[int, Field(ge=1, le=1023), AfterValidator(_contention_window)]
CW_MIN_SLOTS = 15
CW_MAX_SLOTS = {False: 1023, True: 63}
"""What the access point's best-effort queue has by default: DCF's at OFDM rates, and hostapd's largest with WMM."""

STATIONS_CW_MAX_SLOTS = 1023
"""What hostapd announces by default."""

STATIONS_QUEUE = ("sta_aifsn", "sta_cw_min", "sta_cw_max", "sta_txop_limit")
"""The parameters that the access point announces to its stations."""

WINDOW_SCALE = 9


@dataclass(frozen=True, slots=True, config=STRICT)
class Parameters:
    """The parameters of a set of runs, one run per mode and seed; pydantic's ValidationError names what is wrong."""

    scenario: Scenario = Field(default_factory=lambda: built_in("uplink"))
    terminals: Annotated[int, Field(ge=1, le=TERMINALS_MAX)] = 10
    wired_delays_ms: Annotated[tuple[DelayMs, ...], Field(min_length=1, max_length=TERMINALS_MAX)] = (4.0,)
    """Round trip on the wire; phone i (from 0) sends to the server with delay i modulo the number of delays."""
    seconds: Annotated[int, Field(ge=1, le=3600)] = 30
    warmup_seconds: Annotated[int, Field(ge=0)] = 5
    modes: Annotated[tuple[ModeName, ...], Field(min_length=1), AfterValidator(_each_once)] = DEFAULT_MODES
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(_each_once)] = (1,)
    rate_control: RateControl = "minstrel"
    ap_rate_control: RateControl | None = None
    """None: the phones', radios of one time."""
    qdisc: Qdisc | None = None
    """The phones' queueing discipline; None: the mode's own (fq for bbr, otherwise pfifo)."""
    queue_packets: Packets = 1000
    ap_qdisc: Qdisc = "pfifo"
    ap_queue_packets: Packets = 1000
    driver_queue_frames: Frames | None = None
    """Of a phone's radio; None: by its standard. As the next one, of the access point."""
    ap_driver_queue_frames: Frames | None = None
    orphan: bool = False
    """Whether the phones' driver detaches a packet from its socket at once, as some phones' drivers do."""
    retry_limit: Annotated[int, Field(ge=0, le=255)] = 0
    """Attempts a frame at most; 0: the rate control's own chain decides."""
    cwnd_clamp_segs: Annotated[int, Field(ge=2, le=65_535)] | None = None
    """Largest congestion window of the phones' own TCP, with or without bounds; None: no limit. Android 2.3: 63."""
    window_scale: Annotated[int, Field(ge=0, le=14)] = WINDOW_SCALE
    """What TCP receivers name in their SYNs (RFC 7323), by how large their buffers may become: windows are counted in
    units of 2^scale bytes. Linux has 7 by default, since 6.16 10."""
    loss_percent: Annotated[float, Field(ge=0, le=99)] = 0.0
    """Frames lost on every radio link, in addition to collisions."""
    interference_us: Interference | None = None
    """From outside of 802.11: mean length of its bursts and of the pauses between them; None: none."""
    hidden: Annotated[tuple[tuple[PhoneNumber, PhoneNumber], ...], Field(min_length=1)] | None = None
    """Pairs of phones that do not hear each other; None: all hear all."""
    distances_m: Annotated[tuple[DistanceM, ...], Field(min_length=1, max_length=TERMINALS_MAX)] | None = None
    """Between access point and phone i (from 0) is distance i modulo the number of distances; None: no noise."""
    power_save: bool = False
    """Whether phones sleep when they are idle, and fetch after a beacon what came meanwhile: legacy power save."""
    phy: PhyName = DEFAULT_PHY
    """Standard, band and width of all radios."""
    streams: Annotated[int, Field(ge=1, le=STREAMS_MAX)] | None = None
    """Of a radio of 802.11n or later; None: the profile's."""
    guard_interval: GuardInterval = "short"
    """The shortest that such radios can use."""
    rts_bytes: Annotated[int, Field(ge=0, le=1_048_575)] | None = None
    """A PSDU longer than this begins with RTS and CTS; None: only where the rate control says so."""
    ap: AccessPointKind = "plain"
    """openwrt: with mac80211's own queues (fq_codel for each station, air time fairness, AQL) and WMM.
    plain: a queueing discipline above the radio."""
    wmm: bool = False
    """Whether an access point announces WMM that would not have to."""
    ap_aifsn: Annotated[int, Field(ge=1, le=15)] | None = None
    """Slots that the access point's best-effort queue waits after a SIFS before its back-off counts; None: the default,
    as with the next three."""
    ap_cw_min: ContentionWindow | None = None
    ap_cw_max: ContentionWindow | None = None
    ap_txop_limit: Annotated[int, Field(ge=0, le=65_535)] | None = None
    """How long one access of that queue may last, in units of 32 us; 0: one frame."""
    sta_aifsn: Annotated[int, Field(ge=2, le=15)] | None = None
    """What the access point announces to its stations of best effort, with WMM: slots, as above; None: the default, as
    with the next three."""
    sta_cw_min: StationsContentionWindow | None = None
    sta_cw_max: StationsContentionWindow | None = None
    sta_txop_limit: Annotated[int, Field(ge=0, le=65_535)] | None = None
    bounds_interval_ms: Annotated[int, Field(ge=10, le=60_000)] = 1000
    """How often each phone's rules are read from its kernel, to record when they change."""
    watch_senders_ms: Annotated[int, Field(ge=10, le=10_000)] | None = None
    """How often the controller is asked who sends, in modes with agents; None: never."""
    controller_config: str | None = None
    """Text of a configuration file for the controller."""
    tls: bool = False
    """Whether controller and agents use mutual TLS; the agents enrol when they start for the first time."""
    agents: Annotated[int, Field(ge=0, le=TERMINALS_MAX)] | None = None
    """Phones 1 to this have an agent in modes with agents; None: as many as the scenario says, or all."""
    switch: Switch = "bridge"
    """The access point's: a bridge of its kernel, an Open vSwitch by itself, or, in modes with agents, one with
    `airbound openflow`, whose meters the controller may use as well."""
    ap_agent: bool = True
    """Whether the access point has an agent, in modes with agents."""
    window_clamp: bool = False
    """Whether the access point's agent limits the windows of phones without an agent."""
    access_points: Annotated[int, Field(ge=1, le=ACCESS_POINTS_MAX)] = 1
    """Each with a radio and an agent of its own; phone i begins at access point i, in turn."""
    ap_channels: Channels = "same"
    """Whether several access points share a channel."""
    deaf_ms: Annotated[int, Field(ge=0, le=60_000)] = 0
    """For how long a phone that roams is at no access point, where the scenario does not say it."""
    kernel_line: KernelLine = DEFAULT_KERNEL_LINE
    """The Linux that all hosts run. In 6.12 mac80211 has transmit queues of its own between qdisc and driver."""
    aql: bool = True
    """Whether mac80211, on 6.12, shares air time between stations and limits how much of it is pending in a driver (air
    time queue limits); without, its queues are fq_codel for each station and nothing more."""

    @field_validator("warmup_seconds")
    @classmethod
    def _warm_up_ends_before_the_run(cls, warmup_seconds: int, info: ValidationInfo) -> int:
        if warmup_seconds >= info.data.get("seconds", warmup_seconds + 1):
            raise ValueError(f"not below seconds, which is {info.data['seconds']}")
        return warmup_seconds

    @model_validator(mode="after")
    def _check_contention_windows(self) -> Self:
        smallest = CW_MIN_SLOTS if self.ap_cw_min is None else self.ap_cw_min
        largest = CW_MAX_SLOTS[self.has_wmm] if self.ap_cw_max is None else self.ap_cw_max
        if largest < smallest:
            raise ValueError(f"--ap-cwmax: {largest} is below --ap-cwmin, which is {smallest}")
        return self

    @model_validator(mode="after")
    def _check_stations_queues(self) -> Self:
        announced = {name: getattr(self, name) for name in STATIONS_QUEUE}
        for name, value in announced.items():
            if value is not None and not self.has_wmm:
                raise ValueError(f"{option(name)}: only an access point with WMM announces it (--wmm)")
        smallest = CW_MIN_SLOTS if self.sta_cw_min is None else self.sta_cw_min
        largest = STATIONS_CW_MAX_SLOTS if self.sta_cw_max is None else self.sta_cw_max
        if largest < smallest:
            raise ValueError(f"--sta-cwmax: {largest} is below --sta-cwmin, which is {smallest}")
        return self

    @model_validator(mode="after")
    def _check_scenario(self) -> Self:
        self.scenario.check(self.terminals, self.access_points)
        if self.orphan and self.scenario.saturates():
            raise ValueError("orphan: nothing would ever stop a saturating UDP sender, and time would not pass")
        return self

    @model_validator(mode="after")
    def _check_radios(self) -> Self:
        if self.kernel_line != KERNEL_LINE_OF["openwrt"] and self.ap == "openwrt":
            raise ValueError(f"ap: openwrt: Linux {self.kernel_line} has no queues in mac80211 above this driver")
        if not self.radio.aggregates and (self.streams is not None or self.guard_interval != "short"):
            raise ValueError(f"streams, guard-interval: not of {self.phy}")
        if self.radio.aggregates and "aarf" in (self.rate_control, self.ap_rate_control):
            raise ValueError(
                f"rate-control: aarf knows 802.11g's rates only, not those of {self.phy}: no --phones 2013"
            )
        return self

    @model_validator(mode="after")
    def _check_transmit_queues(self) -> Self:
        if not self.aql and self.kernel_line == "6.1":
            raise ValueError("aql: mac80211 has no transmit queues of its own on 6.1; --kernel-line 6.12 is needed")
        return self

    @model_validator(mode="after")
    def _check_agents(self) -> Self:
        if self.agents is not None and self.agents > self.terminals:
            raise ValueError(f"agents: {self.agents}, but there are {self.terminals} phones")
        return self

    @model_validator(mode="after")
    def _check_hidden(self) -> Self:
        for pair in self.hidden or ():
            if pair[0] == pair[1] or max(pair) > self.terminals:
                raise ValueError(f"hidden: {pair[0]}-{pair[1]}: not two of {self.terminals} phones")
        return self

    @model_validator(mode="after")
    def _check_access_points(self) -> Self:
        if self.access_points == 1:
            return self
        if self.ovs:
            raise ValueError(f"switch: {self.switch}: of one access point only")
        if self.watch_senders_ms is not None:
            raise ValueError("watch-senders: of one access point only")
        return self

    @model_validator(mode="after")
    def _check_plain_text(self) -> Self:
        if self.tls and self.openflow:
            raise ValueError(f"switch: {self.switch}: OpenFlow's process has no certificate here; leave --tls out")
        if self.tls and self.watch_senders_ms is not None:
            raise ValueError("watch-senders: who watches has no certificate; leave --tls out")
        return self

    @model_validator(mode="after")
    def _check_access_points_agent(self) -> Self:
        if self.window_clamp and not self.ap_agent:
            raise ValueError("window-clamp: the access point has no agent")
        return self

    @model_validator(mode="after")
    def _check_certificates(self) -> Self:
        if self.tls or not self.scenario.needs_certificates():
            return self
        for variant in map(variants.parse, self.modes):
            if variant.has_agents and variants.TLS not in dict(variant.settings):
                raise ValueError(f"scenario {self.scenario.name}: without --tls {variant} has no certificate to revoke")
        return self

    @model_validator(mode="after")
    def _check_modes_settings(self) -> Self:
        for name in self.modes:
            if variants.parse(name).settings:
                try:
                    self.of_mode(name)
                except ValidationError as error:
                    raise ValueError(f"--modes: {name!r}: {explain(error, option)}") from None
        return self

    def of_mode(self, name: str) -> Parameters:
        """The parameters of one mode by itself: its settings take the place of the others', `modes` is the plain mode.

        Raises:
            ValidationError: a setting is out of its limits, or does not fit the other parameters.
        """
        variant = variants.parse(name)
        return replace(self, modes=(variant.mode,), **dict(variant.settings))

    @property
    def radio(self) -> Phy:
        """The radios' profile."""
        return PROFILES[self.phy]

    @property
    def has_wmm(self) -> bool:
        """Whether the access point announces WMM, without which there is no aggregation."""
        return self.wmm or self.radio.aggregates or self.ap == "openwrt"

    @property
    def ovs(self) -> bool:
        """Whether the access point's bridge is an Open vSwitch."""
        return self.switch != "bridge"

    @property
    def openflow(self) -> bool:
        """Whether `airbound openflow` controls it, in modes with agents."""
        return self.switch in ("openflow", "meters")

    def has_agent(self, phone: int) -> bool:
        """Whether a phone has an agent in modes with agents; phones count from 1."""
        agents = self.scenario.agents if self.agents is None else self.agents
        return agents is None or phone <= agents

    def access_point_of(self, phone: int) -> int:
        """Where a phone begins; phones and access points count from 1."""
        return (phone - 1) % self.access_points + 1

    def wired_delay_ms(self, phone: int) -> float:
        """Round trip on the wire of a phone's server; phones count from 1."""
        return self.wired_delays_ms[(phone - 1) % len(self.wired_delays_ms)]

    def distance_m(self, phone: int) -> float | None:
        """Between the access point and a phone; phones count from 1. None: near enough for any rate."""
        return None if self.distances_m is None else self.distances_m[(phone - 1) % len(self.distances_m)]

    def to_json(self) -> dict[str, Any]:
        """Return the form in which results keep the parameters."""
        return asdict(self) | {"scenario": self.scenario.to_json()}


_OPTIONS = {
    "wired_delays_ms": "wired-delays",
    "queue_packets": "queue",
    "ap_queue_packets": "ap-queue",
    "driver_queue_frames": "driver-queue",
    "ap_driver_queue_frames": "ap-driver-queue",
    "rts_bytes": "rts",
    "distances_m": "distances",
    "interference_us": "interference",
    "cwnd_clamp_segs": "cwnd-clamp",
    "loss_percent": "loss",
    "ap_cw_min": "ap-cwmin",
    "ap_cw_max": "ap-cwmax",
    "ap_txop_limit": "ap-txop",
    "sta_cw_min": "sta-cwmin",
    "sta_cw_max": "sta-cwmax",
    "sta_txop_limit": "sta-txop",
    "ap_agent": "no-ap-agent",
    "watch_senders_ms": "watch-senders",
}


def option(parameter: str) -> str:
    """Return the command line's option that sets a parameter."""
    return "--" + _OPTIONS.get(parameter, parameter.replace("_", "-"))
