# SPDX-License-Identifier: Apache-2.0
"""Everything that a run depends on; pure. Two runs with equal parameters, mode and seed give equal figures.

A parameter is declared once: its type and limits, its option on the command line, its settings in the name of a mode.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.dataclasses import dataclass

from airbound_lab.settings import arguments, option, values
from airbound_lab.settings import scenario as scenarios
from airbound_lab.settings import variant as variants
from airbound_lab.settings.option import Option, Setting
from airbound_lab.settings.qdisc import QDISCS, Qdisc
from airbound_lab.settings.radio import DEFAULT_PHY, PROFILES, STREAMS_MAX, GuardInterval, Phy, PhyName
from airbound_lab.settings.scenario import DistanceM, Scenario, built_in
from airbound_lab.settings.validation import STRICT, explain
from airbound_lab.settings.values import TERMINALS_MAX

DEFAULT_MODES = ("cubic", "bbr", "paper-jb", "bdp")
STATIONS_QUEUE = ("sta_aifsn", "sta_cw_min", "sta_cw_max", "sta_txop_limit")
"""The parameters that the access point announces to its stations."""

AP_QDISC = "of the access point's queueing discipline, by its name"
AP = "of the access point"
STATIONS = "of the access point's stations, by its beacon"
OF_PHONES = "of the phones"
HOSTS = "of all hosts"
CHECK_BEGINS_WITHIN_S = 20
"""Python starts slowly in a guest, and each of a check's turns ends with a second's sample."""
AGENTS = "of controller and agents"
"""Of what settings are."""


def _known_mode(name: str) -> str:
    variant(name)
    return name


ModeName = Annotated[str, AfterValidator(_known_mode)]
DistancesM = Annotated[
    Annotated[tuple[DistanceM, ...], Field(min_length=1, max_length=TERMINALS_MAX)] | None,
    Option(
        "metres between access point and phones, in turn (default: near enough for any rate)",
        "M,M,...",
        name="distances",
        read=arguments.reals,
    ),
]


@dataclass(frozen=True, slots=True, config=STRICT)
class Parameters:
    """The parameters of a set of runs, one run per mode and seed; pydantic's ValidationError names what is wrong."""

    scenario: Annotated[
        Scenario,
        Option(
            f"{', '.join(scenarios.BUILT_IN)}, or a .json file (default: uplink)",
            read=str,
            becomes=scenarios.load,
            write=scenarios.name_or_path,
        ),
    ] = Field(default_factory=lambda: built_in("uplink"))
    terminals: Annotated[int, Field(ge=1, le=TERMINALS_MAX), Option("phones (default: {default})", "N")] = 10
    wired_delays_ms: Annotated[
        tuple[values.DelayMs, ...],
        Field(min_length=1, max_length=TERMINALS_MAX),
        Option(
            "a server for each; phones take them in turn",
            "MS,MS,...",
            name="wired-delays",
            read=arguments.reals,
            instead=Option(
                "round trip on the wire (default: {default})",
                "MS",
                name="delay-ms",
                read=float,
                becomes=lambda delay_ms: (delay_ms,),
            ),
        ),
    ] = (4.0,)
    """Round trip on the wire; phone i (from 0) sends to the server with delay i modulo the number of delays."""
    seconds: Annotated[int, Field(ge=1, le=3600), Option("virtual seconds (default: {default})", "S")] = 30
    warmup_seconds: Annotated[int, Field(ge=0), Option("not measured (default: {default})", "S")] = 5
    modes: Annotated[
        tuple[ModeName, ...],
        Field(min_length=1),
        AfterValidator(values.each_once),
        Option("see below (default: {default})", "M,M,...", read=arguments.names),
    ] = DEFAULT_MODES
    seeds: Annotated[
        tuple[values.Seed, ...],
        Field(min_length=1),
        AfterValidator(values.each_once),
        Option(
            "several seeds: 1..5 or 1,4,9; the table gives median and range",
            "A..B",
            read=arguments.numbers,
            instead=Option(
                "same seed, same result (default: {default})",
                "N",
                name="seed",
                read=int,
                becomes=lambda seed: (seed,),
            ),
        ),
    ] = (1,)
    rate_control: Annotated[
        values.RateControl,
        Option(
            "another one of the phones (today: minstrel, 2013: aarf)",
            instead=Option(
                "of which time: by their rate control (default: today)",
                name="phones",
                choices=values.PHONES,
                becomes=values.RATE_CONTROL_OF.__getitem__,
            ),
        ),
    ] = "minstrel"
    ap_rate_control: Annotated[values.RateControl | None, Option("the access point's (default: as the phones')")] = None
    """None: the phones', radios of one time."""
    qdisc: Annotated[
        Qdisc | None,
        Option(
            "the phones' (default: pfifo, with bbr fq)",
            settings=tuple(Setting(f"phones-{name}", OF_PHONES, name) for name in ("fq_codel", "cake-diffserv4")),
        ),
    ] = None
    """None: the mode's own."""
    queue_packets: Annotated[
        values.Packets, Option("packets in it, if it is not CAKE (default: {default})", "N", name="queue")
    ] = 1000
    ap_qdisc: Annotated[
        Qdisc,
        Option(
            "the access point's (default: {default})", settings=tuple(Setting(name, AP_QDISC, name) for name in QDISCS)
        ),
    ] = "pfifo"
    ap_queue_packets: Annotated[
        values.Packets,
        Option(
            "packets in it (default: {default})", "N", name="ap-queue", settings=(Setting("queue", AP, unit="PACKETS"),)
        ),
    ] = 1000
    driver_queue_frames: Annotated[
        values.Frames | None,
        Option("frames in a phone's radio (default: 64, of 11n and 11ac 256)", "N", name="driver-queue"),
    ] = None
    """None: by the radio's standard. As the next one."""
    ap_driver_queue_frames: Annotated[
        values.Frames | None,
        Option(
            "in the access point's (default: as phones')",
            "N",
            name="ap-driver-queue",
            settings=(Setting("driver-queue", AP, unit="FRAMES"),),
        ),
    ] = None
    orphan: Annotated[bool, Option("the phones' driver detaches packets from their sockets at once")] = False
    """As some phones' drivers do."""
    retry_limit: Annotated[int, Field(ge=0, le=255), Option("attempts of a frame (default: the rate chain's)", "N")] = 0
    """0: the rate control's own chain decides."""
    cwnd_clamp_segs: Annotated[
        Annotated[int, Field(ge=2, le=65_535)] | None,
        Option(
            "largest cwnd of the phones' own TCP, segments; Android 2.3: 63",
            "N",
            name="cwnd-clamp",
            settings=(Setting("cwnd-clamp", OF_PHONES, unit="SEGS"),),
        ),
    ] = None
    """With or without bounds; None: no limit."""
    live_marks: Annotated[
        bool,
        Option(
            "live video marks its packets as video (DSCP AF41), and its server the answers",
            settings=(Setting("live-marks", OF_PHONES, value=True),),
        ),
    ] = False
    """By the applications themselves, as without any controller."""
    pacing_percent: Annotated[
        Annotated[int, Field(ge=1, le=1000)] | None,
        Option(
            "pacing rate of the phones' TCP over cwnd / srtt, which is also how much it lets wait in the radio's queue"
            " (default: Linux's, 200, and 120 after a loss)",
            "PERCENT",
            name="pacing",
            settings=(Setting("pacing", OF_PHONES, unit="PERCENT"),),
        ),
    ] = None
    window_scale: Annotated[
        int,
        Field(ge=0, le=14),
        Option(
            "that TCP receivers name: windows are counted in units of 2^N bytes (default: {default})",
            "N",
            settings=(Setting("window-scale", HOSTS, unit="N"),),
        ),
    ] = values.WINDOW_SCALE
    """Named in SYNs (RFC 7323), by how large buffers may become. Linux has 7 by default, since 6.16 10."""
    loss_percent: Annotated[
        float,
        Field(ge=0, le=99),
        Option("frames lost on every radio link (default: {default})", "PERCENT", name="loss"),
    ] = 0.0
    """In addition to collisions."""
    interference_us: Annotated[
        values.Interference | None,
        Option(
            "a source that is not 802.11 sends bursts and pauses of these mean lengths (default: none)",
            "BURST_US,PAUSE_US",
            name="interference",
            read=arguments.whole_numbers,
        ),
    ] = None
    gro: Annotated[bool, Option("servers merge TCP segments that arrive together (GRO), and acknowledge fewer")] = False
    hidden: Annotated[
        Annotated[tuple[tuple[values.PhoneNumber, values.PhoneNumber], ...], Field(min_length=1)] | None,
        Option(
            "phones that do not hear each other, such as 1-2,1-3 (default: all hear all)", "PAIRS", read=arguments.pairs
        ),
    ] = None
    distances_m: DistancesM = None
    """Of phone i (from 0) distance i modulo the number of distances; None: no noise."""
    power_save: Annotated[
        bool,
        Option(
            "phones sleep when idle, until a beacon says that something came",
            settings=(Setting("power-save", OF_PHONES, value=True),),
        ),
    ] = False
    """Legacy power save."""
    phy: Annotated[
        PhyName,
        Option(
            "the radios: 802.11g or n at 2.4 GHz, n or ac at 5 GHz, with the channel's width in MHz"
            " (default: {default})"
        ),
    ] = DEFAULT_PHY
    streams: Annotated[
        Annotated[int, Field(ge=1, le=STREAMS_MAX)] | None,
        Option("spatial streams of a radio: 1 or 2 (default: 2, of 11n-20 1)", "N"),
    ] = None
    guard_interval: Annotated[
        GuardInterval, Option("the shortest that radios of 11n and 11ac use (default: {default})")
    ] = "short"
    rts_bytes: Annotated[
        Annotated[int, Field(ge=0, le=1_048_575)] | None,
        Option("longer transmissions begin with RTS and CTS (default: none)", "BYTES", name="rts"),
    ] = None
    """A PSDU's length; None: only where the rate control says so."""
    ap: Annotated[
        values.AccessPointKind,
        Option(
            "openwrt: with mac80211's queues (fq_codel for each station, air time fairness, AQL) and WMM"
            " (default: {default}, one queue)"
        ),
    ] = "plain"
    """plain: a queueing discipline above the radio."""
    wmm: Annotated[
        bool,
        Option("an 802.11g access point announces WMM, as all others do", settings=(Setting("wmm", AP, value=True),)),
    ] = False
    ap_aifsn: Annotated[
        Annotated[int, Field(ge=1, le=15)] | None,
        Option(
            "slots that the access point waits after a SIFS, best effort: 1 to 15",
            "N",
            settings=(Setting("aifsn", AP, unit="SLOTS"),),
        ),
    ] = None
    """Before its back-off counts; None: the default, as with the next three."""
    ap_cw_min: Annotated[
        values.ContentionWindow | None,
        Option(
            "its smallest contention window, slots: 2^k - 1 (default: 15)",
            "N",
            name="ap-cwmin",
            settings=(Setting("cwmin", AP, unit="SLOTS"),),
        ),
    ] = None
    ap_cw_max: Annotated[
        values.ContentionWindow | None,
        Option(
            "its largest (default: 1023, with WMM 63)",
            "N",
            name="ap-cwmax",
            settings=(Setting("cwmax", AP, unit="SLOTS"),),
        ),
    ] = None
    ap_txop_limit: Annotated[
        values.TxopLimit | None,
        Option(
            "how long one access of its may last, units of 32 us; 0: one frame"
            " (default: 0, of an OpenWrt access point of 802.11ac 62)",
            "N",
            name="ap-txop",
            settings=(Setting("txop", AP, unit="N"),),
        ),
    ] = None
    sta_aifsn: Annotated[
        Annotated[int, Field(ge=2, le=15)] | None,
        Option(
            "with --wmm, what it announces to its stations: slots, 2 to 15",
            "N",
            settings=(Setting("sta-aifsn", STATIONS, unit="SLOTS"),),
        ),
    ] = None
    """Of best effort; None: the default, as with the next three."""
    sta_cw_min: Annotated[
        values.StationsContentionWindow | None,
        Option(
            "the same: 2^k - 1 slots (default: 15)",
            "N",
            name="sta-cwmin",
            settings=(Setting("sta-cwmin", STATIONS, unit="SLOTS"),),
        ),
    ] = None
    sta_cw_max: Annotated[
        values.StationsContentionWindow | None,
        Option(
            "the same (default: 1023)",
            "N",
            name="sta-cwmax",
            settings=(Setting("sta-cwmax", STATIONS, unit="SLOTS"),),
        ),
    ] = None
    sta_txop_limit: Annotated[
        values.TxopLimit | None,
        Option(
            "the same: units of 32 us (default: 0)",
            "N",
            name="sta-txop",
            settings=(Setting("sta-txop", STATIONS, unit="N", note="with wmm"),),
        ),
    ] = None
    bounds_interval_ms: Annotated[
        int, Field(ge=10, le=60_000), Option("between readings of phones' rules (default: {default})", "MS")
    ] = 1000
    """How often they are read from each phone's kernel, to record when they change."""
    watch_senders_ms: Annotated[
        Annotated[int, Field(ge=10, le=10_000)] | None,
        Option(
            "ask the controller so often who sends and what the cell carries, and compare it with who did",
            "MS",
            name="watch-senders",
        ),
    ] = None
    check_minutes: Annotated[
        Annotated[int, Field(ge=5, le=60)] | None,
        Option("carry out `airbound check` from the beginning, for so many minutes (with --json)", "N"),
    ] = None
    """Its result is `check` of a run's figures."""
    """In modes with agents; None: never."""
    controller_config: Annotated[
        str | None,
        Option(
            "configuration file for the controller",
            "FILE",
            read=Path,
            becomes=arguments.configuration,
            write=lambda _: "controller.config",
            settings=(
                Setting(
                    "config",
                    AGENTS,
                    unit="FILE",
                    read=lambda name: arguments.configuration(Path(name)),
                    lacks="controller to configure",
                ),
            ),
        ),
    ] = None
    """The file's text."""
    tls: Annotated[
        bool,
        Option(
            "mutual TLS, with agents that enrol at their start (default: plain text)",
            settings=(Setting("tls", AGENTS, value=True, lacks="connections to secure"),),
        ),
    ] = False
    agents: Annotated[
        Annotated[int, Field(ge=0, le=TERMINALS_MAX)] | None,
        Option(
            "phones 1 to N have an agent, in modes with agents (default: all)",
            "N",
            settings=(Setting("agents", AGENTS, unit="N", lacks="phones with one"),),
        ),
    ] = None
    """None: as many as the scenario says, or all."""
    switch: Annotated[
        values.Switch,
        Option(
            "the access point's: ovs is an Open vSwitch, openflow one with `airbound openflow` in modes with agents,"
            " meters the same with its meters in use (default: a bridge)",
            settings=(
                Setting("ovs", AP, "ovs"),
                *(Setting(name, AGENTS, name, lacks="controller of switches") for name in ("openflow", "meters")),
            ),
        ),
    ] = "bridge"
    ap_agent: Annotated[
        bool,
        Option(
            "the access point has no agent",
            name="no-ap-agent",
            settings=(Setting("no-ap-agent", AGENTS, value=False, lacks="access point's"),),
        ),
    ] = True
    """In modes with agents."""
    ap_edca: Annotated[
        bool,
        Option(
            "its agent cannot set the access point's EDCA parameters",
            name="no-ap-edca",
            settings=(Setting("no-ap-edca", AGENTS, value=False, lacks="access point's"),),
        ),
    ] = True
    window_clamp: Annotated[
        bool,
        Option(
            "its agent limits the windows of phones without an agent",
            settings=(Setting("window-clamp", AGENTS, value=True, lacks="access point's"),),
        ),
    ] = False
    classes: Annotated[
        bool,
        Option(
            "the phones' tables give no application a class",
            name="no-classes",
            settings=(Setting("no-classes", AGENTS, value=False, lacks="phones'"),),
        ),
    ] = True
    """In modes with agents."""
    report_interval_ms: Annotated[
        int,
        Field(ge=values.REPORT_INTERVAL_MIN_MS, le=values.REPORT_INTERVAL_MAX_MS),
        Option("between reports of the access point, and of a phone that sends (default: {default})", "MS"),
    ] = values.REPORT_INTERVAL_MS
    """In modes with agents, as the next three."""
    controller_delay_ms: Annotated[
        values.DelayMs,
        Option("a report reaches the controller, and a command its agent, so much later (default: {default})", "MS"),
    ] = 0.0
    controller_loss_percent: Annotated[
        float,
        Field(ge=0, le=99),
        Option(
            "packets lost between controller and agents, each way (default: {default})",
            "PERCENT",
            name="controller-loss",
        ),
    ] = 0.0
    station_rates: Annotated[
        values.StationRates,
        Option(
            "PHY rates of its stations that the access point's driver reports: data: of each one's last data frame;"
            " none; one: of the last data frame of all, for each; frame: of each one's last frame, block acks included"
            " (default: {default})"
        ),
    ] = "data"
    access_points: Annotated[
        int,
        Field(ge=1, le=values.ACCESS_POINTS_MAX),
        Option("phones begin at them in turn (default: {default})", "N"),
    ] = 1
    """Each with a radio of its own."""
    ap_agents: Annotated[
        Annotated[int, Field(ge=1, le=values.ACCESS_POINTS_MAX)] | None,
        Option(
            "access points 1 to N have an agent, and phones that begin there, in modes with agents (default: all)",
            "N",
            settings=(Setting("ap-agents", AGENTS, unit="N", lacks="access points with one"),),
        ),
    ] = None
    ap_channels: Annotated[values.Channels, Option("of several (default: {default})")] = "same"
    deaf_ms: Annotated[
        int,
        Field(ge=0, le=60_000),
        Option("for how long a phone that roams is at none, unless the scenario says it (default: {default})", "MS"),
    ] = 0
    kernel_line: Annotated[
        values.KernelLine,
        Option(
            "the Linux of all hosts; 6.12 has mac80211's own transmit queues"
            " (default: {default}, with --ap openwrt 6.12)"
        ),
    ] = values.DEFAULT_KERNEL_LINE
    aql: Annotated[
        bool,
        Option(
            "these queues share air time and limit what is pending in a driver, on 6.12 (default: on)",
            choices=("on", "off"),
            becomes=lambda word: word == "on",
            write=lambda on: "on" if on else "off",
            settings=(Setting("no-aql", HOSTS, value=False, note="on 6.12"),),
        ),
    ] = True
    """Air time queue limits; without, the queues are fq_codel for each station and nothing more."""

    @field_validator("warmup_seconds")
    @classmethod
    def _warm_up_ends_before_the_run(cls, warmup_seconds: int, info: ValidationInfo) -> int:
        if warmup_seconds >= info.data.get("seconds", warmup_seconds + 1):
            raise ValueError(f"not below seconds, which is {info.data['seconds']}")
        return warmup_seconds

    @model_validator(mode="after")
    def _check_contention_windows(self) -> Self:
        smallest = values.CW_MIN_SLOTS if self.ap_cw_min is None else self.ap_cw_min
        largest = values.CW_MAX_SLOTS[self.has_wmm] if self.ap_cw_max is None else self.ap_cw_max
        if largest < smallest:
            raise ValueError(f"--ap-cwmax: {largest} is below --ap-cwmin, which is {smallest}")
        return self

    @model_validator(mode="after")
    def _check_stations_queues(self) -> Self:
        announced = {name: getattr(self, name) for name in STATIONS_QUEUE}
        for name, value in announced.items():
            if value is not None and not self.has_wmm:
                raise ValueError(f"{option_of(name)}: only an access point with WMM announces it (--wmm)")
        smallest = values.CW_MIN_SLOTS if self.sta_cw_min is None else self.sta_cw_min
        largest = values.STATIONS_CW_MAX_SLOTS if self.sta_cw_max is None else self.sta_cw_max
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
        if self.kernel_line != values.KERNEL_LINE_OF["openwrt"] and self.ap == "openwrt":
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
        if self.ap_agents is not None and self.ap_agents > self.access_points:
            raise ValueError(f"ap-agents: {self.ap_agents}, but there are {self.access_points} access points")
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
        if self.tls and self.check_minutes is not None:
            raise ValueError("check-minutes: who checks has no certificate; leave --tls out")
        return self

    @model_validator(mode="after")
    def _check_length_of_check(self) -> Self:
        if self.check_minutes is not None and self.seconds < self.check_minutes * 60 + CHECK_BEGINS_WITHIN_S:
            least_s = self.check_minutes * 60 + CHECK_BEGINS_WITHIN_S
            raise ValueError(f"check-minutes: {self.check_minutes}: the run is to have {least_s} s at least")
        return self

    @model_validator(mode="after")
    def _check_access_points_agent(self) -> Self:
        if self.window_clamp and not self.ap_agent:
            raise ValueError("window-clamp: the access point has no agent")
        if not self.ap_edca and not self.ap_agent:
            raise ValueError("no-ap-edca: the access point has no agent")
        return self

    @model_validator(mode="after")
    def _check_certificates(self) -> Self:
        if self.tls or not self.scenario.needs_certificates():
            return self
        for mode in map(variant, self.modes):
            if mode.has_agents and "tls" not in dict(mode.settings):
                raise ValueError(f"scenario {self.scenario.name}: without --tls {mode} has no certificate to revoke")
        return self

    @model_validator(mode="after")
    def _check_modes_settings(self) -> Self:
        for name in self.modes:
            if variant(name).settings:
                try:
                    # What is in a file is read when its mode runs: results name it, and may be read elsewhere.
                    chosen = variant(name)
                    replace(self, modes=(chosen.mode,), **dict(chosen.settings))
                except ValidationError as error:
                    raise ValueError(f"--modes: {name!r}: {explain(error, option_of)}") from None
        return self

    def of_mode(self, name: str) -> Self:
        """The parameters of one mode by itself: its settings take the place of the others', `modes` is the plain mode.

        Raises:
            ValidationError: a setting is out of its limits, or does not fit the other parameters.
            UsageError: a file of a setting cannot be read.
        """
        chosen = variant(name)
        return replace(self, modes=(chosen.mode,), **variants.read(chosen, SETTINGS))

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
        return (agents is None or phone <= agents) and self.access_point_of(phone) <= self.ap_agents_last

    @property
    def ap_agents_last(self) -> int:
        """The last access point where anybody has an agent in modes with agents; access points count from 1."""
        return self.access_points if self.ap_agents is None else self.ap_agents

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


def option_of(parameter: str) -> str:
    """Return the command line's option that sets a parameter."""
    return option.declared(Parameters)[parameter].flag


SETTINGS = option.settings(Parameters)


def variant(name: str) -> variants.Variant:
    """Return the variant of a name; ValueError says what is wrong."""
    return variants.parse(name, SETTINGS)


MODES_HELP = variants.help_text(SETTINGS)
"""For the commands' help."""
