# SPDX-License-Identifier: Apache-2.0
"""Reports as the core knows them, and the limits of what is in them.

A report was checked before it was made (`airbound.grpc.convert` checks reports of the wire): these types check nothing,
so that a report is checked once. The limits are such as no real cell comes near; one absurd number averaged in spoils a
cell. A counter of 2**63 or more is almost certainly a negative number cast to unsigned.

Stations and destinations are named tuples: there are thousands of them in a second, and a frozen dataclass takes four
times as long to make.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.addresses import Address, Mac
from airbound.core.edca import Edca

COUNTER_MAX = 2**63 - 1
RTT_MIN_US = 50  # less than one frame and its ACK take on any Wi-Fi
RTT_MAX_US = 300_000_000
MSS_MIN_BYTES = 88  # TCP_MIN_MSS
MSS_MAX_BYTES = 65_535
CONNECTIONS_MAX = 1_000_000
BITRATE_MAX_KBPS = 50_000_000
FREQUENCY_MAX_MHZ = 100_000
SIGNAL_DBM = (-150, 50)
SSID_MAX_BYTES = 32
STATIONS_MAX = 2048  # association identifiers end at 2007
STATION_ADDRESSES_MAX = 16
DESTINATIONS_MAX = 256  # what an agent sends at most
STATION_DESTINATIONS_MAX = 64  # of a station, as its access point sees them
REPORT_DESTINATIONS_MAX = 4096  # of all stations of a report
LINKS_MAX = 15  # of a multi-link device
RECENT_MAX_US = 60_000_000  # as the longest interval of an agent
SURVEY_REFUSAL_MAX_CHARACTERS = 200
APP_PARTS_MAX = 64  # of a terminal: what is decided for them is bounded
APP_UIDS_MAX = 16  # of one of them


@dataclass(frozen=True, slots=True)
class Survey:
    """The radio's cumulative channel times, microseconds; busy is never more than active."""

    active_us: int
    busy_us: int


class Station(NamedTuple):
    """One associated station. Counters run since it associated; rx is uplink."""

    mac: Mac
    rx_bytes: int = 0
    rx_packets: int = 0
    tx_bytes: int = 0
    tx_packets: int = 0
    tx_retries: int = 0
    rx_bitrate_kbps: int = 0
    connected_time_ms: int = 0
    aggregates: bool = False  # whether its frames may be aggregated (802.11n and later)
    ip_addresses: tuple[Address, ...] = ()
    recent_rx_bytes: int = 0  # of them those of the report's last moment
    recent_rx_packets: int = 0
    silent: bool = False  # whether it has sent no data for longer than it pauses; where there is a last moment
    tx_bitrate_kbps: int = 0
    rx_rate_format: int = 0  # airbound.v1.RateFormat; 0: not known
    tx_rate_format: int = 0
    airtime_us: int = 0  # both ways; 0 also if it is not measured
    rx_video_packets: int = 0  # of rx_packets, those of the categories for video and for voice; 0 if not counted
    rx_voice_packets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EdcaState:
    """What an access point's own queues do, and what it announces to its stations, both without what a controller set;
    `own` and `stations` have at most one entry of each category.
    """

    can_set: bool = False
    refusal: str = ""  # why not
    generation: int = 0  # of the set in force; 0 while its own parameters are
    own: tuple[Edca, ...] = ()
    stations: tuple[Edca, ...] = ()
    wmm: bool = False
    refused_total: int = 0  # commands
    can_set_stations: bool = False  # what it announces
    stations_refusal: str = ""  # why not
    takes_priorities: bool = False  # whether that may be of video and voice, with admission


class WindowState(NamedTuple):
    """What an access point does with the windows of its stations."""

    can_set: bool = False
    refusal: str = ""  # why not
    generation: int = 0  # of the set in force; 0 while there is none
    refused_total: int = 0  # commands
    connections: int = 0
    connections_max: int = 0
    connections_evicted_total: int = 0
    limited_segments_total: int = 0
    limits_max: int = 0  # of a set; 0: no number is given


class StationFlowState(NamedTuple):
    """What an access point does with the packets that it sends to its stations."""

    can_set: bool = False
    refusal: str = ""  # why not
    generation: int = 0  # of the set in force; 0 while there is none
    refused_total: int = 0  # commands
    flows_max: int = 0  # of a set
    marked_packets_total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Radio:
    """What a cell is on. Decisions need none of it."""

    band: int = 0  # airbound.v1.Band; 0: not known
    links: int = 0  # of a multi-link device
    survey_refusal: str = ""  # why there is no survey although the driver has one
    surveys_refused_total: int = 0


UNKNOWN_RADIO = Radio()


class Destination(NamedTuple):
    """A sender's connections to one address. An RTT of 0 means that there is no sample yet. `fills_window`: whether a
    terminal has more queued than its congestion windows let it send, or nearly so.
    """

    address: Address
    connections_sending: int = 0
    min_rtt_us: int = 0
    mss_bytes: int = 1448
    fills_window: bool = True
    srtt_us: int = 0  # the last, since it differs from report to report, the others hardly ever


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPointReport:
    """One sample of one cell; the stations are those associated at `monotonic_us` of the access point's clock."""

    bssid: Mac
    sequence: int
    monotonic_us: int
    stations: tuple[Station, ...] = ()
    survey: Survey | None = None
    ssid: bytes = b""
    center_frequency_mhz: int = 0
    malformed_inputs_total: int = 0
    agent_version: str = ""
    edca: EdcaState | None = None  # none from an agent that knows nothing of it
    radio: Radio = UNKNOWN_RADIO
    windows: WindowState | None = None  # none from an agent that does not look at its stations' connections
    destinations: Mapping[Mac, tuple[Destination, ...]] = field(default_factory=dict)  # of stations that have some
    datapath_id: int = 0  # of the OpenFlow switch that the BSS is a port of; 0: not known
    recent_us: int = 0  # how long the last moment is; 0 from an agent that does not look more often than it reports
    station_flows: StationFlowState | None = None  # none from an agent that changes none


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEnd:
    """What a terminal can do with bounds; `rules_max` of 0 is no limit."""

    name: str = "procfs"
    can_set_max: bool = True
    can_set_min: bool = True
    can_select_destination: bool = True
    rules_max: int = 0
    can_select_uid_destination: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowAbilities:
    """What a terminal can do with how its packets leave it; `refusal` is why not."""

    can_mark: bool = False
    can_admit: bool = False
    can_pace: bool = False
    refusal: str = ""
    flows_max: int = 0


NO_FLOWS = FlowAbilities()


@dataclass(frozen=True, slots=True)
class Agent:
    """What a terminal reports once for each stream. `takes_arrivals`: whether it may be sent that it has arrived."""

    version: str = ""
    back_end: BackEnd = BackEnd()
    takes_arrivals: bool = False
    flows: FlowAbilities = NO_FLOWS


NO_AGENT = Agent("", BackEnd(name="", can_set_max=False, can_set_min=False, can_select_destination=False))
"""A terminal that has not described its agent can do nothing."""


class Arrivals(NamedTuple):
    """How often a terminal has arrived somewhere since its agent started, and of the last time who reported it, one of
    arrivals.SOURCES, and how long ago it was.
    """

    total: int
    source: str
    age_ms: int


class AppPart(NamedTuple):
    """What of a terminal's connections to an address is of applications of one class, one of ApplicationClass. Counters
    run since its agent started.
    """

    address: Address
    application_class: int
    connections_sending: int
    delivered_bytes: int
    queued_bytes: int
    uids: tuple[int, ...]


class FlowState(NamedTuple):
    """What a terminal did with the flows that it was sent."""

    generation: int = 0  # of the set in force; 0 while there is none
    refused_total: int = 0  # sets
    failures_total: int = 0  # sets that could not be applied
    failure: str = ""  # the last cause; empty while the last set was applied
    marked_packets_total: int = 0
    paced_packets_total: int = 0
    dropped_packets_total: int = 0


@dataclass(slots=True)  # not frozen for the reason above; nobody changes one
class TerminalReport:
    """One sample of a terminal's senders. `bounds_generation` is 0 while the kernel's defaults are in force, `agent` is
    None if nothing about it has changed.
    """

    mac: Mac
    sequence: int
    monotonic_us: int
    destinations: tuple[Destination, ...] = ()
    bounds_generation: int = 0
    malformed_inputs_total: int = 0
    agent: Agent | None = None
    arrivals: Arrivals | None = None
    apps: tuple[AppPart, ...] = ()  # of the classes but the default
    flows: FlowState | None = None  # none from an agent that changes none
    delivered_bytes: int = 0  # by TCP to these destinations, payload, since the agent started
    # What is of the default class: made when it is asked for, since few decisions need it.
    unclassed: Callable[[], tuple[AppPart, ...]] = field(default=tuple, compare=False, repr=False)
