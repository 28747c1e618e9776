# SPDX-License-Identifier: Apache-2.0
"""A cell in virtual time around the real engine: no network, no clock, the same result every time.

The phones and access points here do what they are commanded: a set is in force until its lease ends, and its generation
is reported.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airbound.core.addresses import Address, Mac, address_from_text, address_text, mac_from_text
from airbound.core.edca import Category, Edca
from airbound.core.effects import (
    Bound,
    CloseStream,
    Effect,
    Flow,
    RenewLease,
    SetBounds,
    SetEdca,
    SetFlows,
    SetStationFlows,
    SetWindows,
    StationFlow,
    WindowLimit,
)
from airbound.core.engine import Engine
from airbound.core.events import AccessPointReported, Disconnected, Event, TerminalReported, Tick
from airbound.core.overrides import CellOverride
from airbound.core.parameters import CapacityParameters, Mode, Parameters
from airbound.core.principals import Principal, Role, Stream
from airbound.core.reasons import Code
from airbound.core.reports import (
    NO_FLOWS,
    AccessPointReport,
    Agent,
    AppPart,
    Arrivals,
    BackEnd,
    Destination,
    EdcaState,
    FlowAbilities,
    FlowState,
    Station,
    StationFlowState,
    Survey,
    TerminalReport,
    WindowState,
)
from airbound.runtime.counts import Counts

PAPER = Parameters(policy="paper")
MEASURED_AT_ONCE = Parameters(policy="paper", capacity=CapacityParameters(default_bps=1e5))  # by the first sample
BSSID = mac_from_text("02:00:00:00:00:01")
OTHER_BSSID = mac_from_text("02:00:00:00:00:02")
SERVER = address_from_text("10.0.4.1")
OTHER_SERVER = address_from_text("10.0.4.2")
PACKET_BYTES = 1534  # 1500 of IP and the link's 34
ACK_PACKET_BYTES = 86  # 52 of IP and the link's 34
OWN_QUEUE = Edca(Category.BEST_EFFORT, 2, 15, 1023, 0)
NO_WMM = EdcaState(can_set=True, own=(OWN_QUEUE,), stations=(OWN_QUEUE,))
LOOK_US = 200_000
SECOND_US = 1_000_000
MIN_TIMER_US = 20_000
VHT = 3  # airbound.v1.RateFormat


def mac(number: int) -> Mac:
    """The MAC address of the numbered phone."""
    return bytes([2, 0, 0, 0, *(1 + number // 256, number % 256)])


def ip(mac_address: Mac) -> Address:
    """The IP address of a phone."""
    return bytes([192, 168, *mac_address[4:]])


def name(mac_address: Mac) -> str:
    """What the controller calls the phone: its address."""
    return address_text(ip(mac_address))


@dataclass(slots=True)
class Phone:
    """What is in force on one phone, and what its agent was sent."""

    mac: Mac
    stream: Stream | None
    bounds: tuple[Bound, ...] = ()
    generation: int = 0
    expires_at_us: int = 0
    sequence: int = 0
    sets: list[SetBounds] = field(default_factory=list)
    renewals: int = 0
    closed: Code | None = None
    unresponsive: bool = False  # takes no command, as an agent whose back end fails
    described: bool = False
    abilities: FlowAbilities = NO_FLOWS
    flows: tuple[Flow, ...] = ()  # in force
    flows_generation: int = 0
    flows_expire_at_us: int = 0
    flow_sets: list[SetFlows] = field(default_factory=list)  # without renewals
    flow_renewals: int = 0
    video_packets: int = 0  # sent in that category
    voice_packets: int = 0
    arrivals: int = 0  # by its own word
    arrived_at_us: int = 0  # the last of them

    def range(self, address: Address = SERVER) -> tuple[int, int] | None:
        """The range in force for an address; none if the kernel's defaults are."""
        for bound in self.bounds:
            if bound.address in {address, b""}:
                return bound.min_segs, bound.max_segs
        return None


@dataclass(slots=True)
class AccessPoint:
    """Counters of one access point's stations."""

    bssid: Mac
    stream: Stream
    ssid: bytes = b""
    sequence: int = 0
    monotonic_us: int = 5 * SECOND_US
    active_us: int = 0
    busy_us: int = 0
    packets: dict[Mac, int] = field(default_factory=dict)
    downloaded: dict[Mac, int] = field(default_factory=dict)  # packets
    edca: EdcaState | None = None
    queues: tuple[Edca, ...] = ()  # in force; its own if there are none
    expires_at_us: int = 0
    edca_sets: list[SetEdca] = field(default_factory=list)  # without renewals
    edca_renewals: int = 0
    windows: WindowState | None = None
    limits: tuple[WindowLimit, ...] = ()  # in force
    windows_expire_at_us: int = 0
    window_sets: list[SetWindows] = field(default_factory=list)  # without renewals
    window_renewals: int = 0
    station_flows: StationFlowState | None = None
    flows: tuple[StationFlow, ...] = ()  # in force
    flows_expire_at_us: int = 0
    flow_sets: list[SetStationFlows] = field(default_factory=list)  # without renewals
    unresponsive: bool = False  # takes no command, as an agent whose driver fails
    joined_us: dict[Mac, int] = field(default_factory=dict)

    def limit(self, mac: Mac, address: Address = SERVER) -> int | None:
        """Bytes that a connection of a station may have in flight; none if nothing limits it."""
        return next((limit.max_bytes for limit in self.limits if (limit.mac, limit.address) == (mac, address)), None)


LeasedSet = SetEdca | SetWindows | SetFlows | SetStationFlows


def _is_renewal(last: LeasedSet, effect: LeasedSet, *, same: bool) -> bool:
    """Whether a set prolongs the lease of the `last` one, by the rules of ap-firmware/edca/lease.go: generations grow
    within a stream, and the first set of a stream is accepted as a new one whatever its generation.

    Raises:
        AssertionError: the agent would refuse it.
    """
    if effect.stream != last.stream or effect.generation > last.generation:
        return False
    if effect.generation < last.generation:
        raise AssertionError(f"generation {effect.generation} after {last.generation}")
    if not same:
        raise AssertionError("another set under the same generation")
    return True


class Scenario:
    """The engine with access points and phones; every method moves virtual time only where it says so."""

    def __init__(
        self,
        parameters: Parameters | None = None,
        exempt: Iterable[str] = (),
        mode: Mode = "control",
        overrides: Sequence[CellOverride] = (),
    ) -> None:
        self._configured = (parameters or Parameters(), mode, tuple(exempt), tuple(overrides))
        self.engine = Engine(*self._configured)
        self.now_us = 1_000 * SECOND_US
        self.phones: dict[Mac, Phone] = {}
        self.access_points: dict[Mac, AccessPoint] = {}
        self.edca: EdcaState | None = None  # of access points that report for the first time
        self.windows: WindowState | None = None  # the same
        self.station_flows: StationFlowState | None = None  # the same
        self.counts = Counts()
        self.ticks = 0
        self._streams = 0

    def do(self, event: Event) -> list[Effect]:
        """Give the engine an event now and have the phones do what comes out."""
        effects = self.engine.handle(event, self.now_us)
        by_stream = {phone.stream: phone for phone in self.phones.values()}
        points = {point.stream: point for point in self.access_points.values()}
        for effect in effects:
            self.counts.count(effect)
            if isinstance(effect, SetEdca):
                self._set_edca(points[effect.stream], effect)
            if isinstance(effect, SetWindows):
                self._set_windows(points[effect.stream], effect)
            if isinstance(effect, SetStationFlows):
                self._set_station_flows(points[effect.stream], effect)
            if isinstance(effect, SetFlows) and effect.stream in by_stream:
                self._set_flows(by_stream[effect.stream], effect)
            if isinstance(effect, SetBounds | RenewLease | CloseStream) and effect.stream in by_stream:
                self._command(by_stream[effect.stream], effect)
        return effects

    def _command(self, phone: Phone, effect: SetBounds | RenewLease | CloseStream) -> None:
        if isinstance(effect, CloseStream):
            phone.closed = effect.reason.code
        elif isinstance(effect, SetBounds):
            phone.sets.append(effect)
            if phone.unresponsive:
                return
            phone.bounds, phone.generation = effect.bounds, effect.generation if effect.bounds else 0
            phone.expires_at_us = self.now_us + effect.lease_ms * 1000
        elif effect.generation == phone.generation:
            phone.renewals += 1
            phone.expires_at_us = self.now_us + effect.lease_ms * 1000

    def _set_edca(self, point: AccessPoint, effect: SetEdca) -> None:
        if point.edca is None:
            raise AssertionError("the access point cannot know this command")
        last = point.edca_sets[-1] if point.edca_sets else None
        renewed = last is not None and _is_renewal(last, effect, same=effect.queues == last.queues)
        if renewed:
            point.edca_renewals += 1
        else:
            point.edca_sets.append(effect)
        if point.unresponsive or (renewed and not point.edca.generation):
            return
        point.queues = effect.queues
        if not renewed:
            point.edca = replace(point.edca, generation=effect.generation if effect.queues else 0)
        point.expires_at_us = self.now_us + effect.lease_ms * 1000

    def _set_windows(self, point: AccessPoint, effect: SetWindows) -> None:
        if point.windows is None:
            raise AssertionError("the access point cannot know this command")
        last = point.window_sets[-1] if point.window_sets else None
        renewed = last is not None and _is_renewal(last, effect, same=effect.limits == last.limits)
        if renewed:
            point.window_renewals += 1
        else:
            point.window_sets.append(effect)
        if point.unresponsive or (renewed and not point.windows.generation):
            return
        point.limits = effect.limits
        if not renewed:
            point.windows = point.windows._replace(generation=effect.generation if effect.limits else 0)
        point.windows_expire_at_us = self.now_us + effect.lease_ms * 1000

    def _set_flows(self, phone: Phone, effect: SetFlows) -> None:
        last = phone.flow_sets[-1] if phone.flow_sets else None
        renewed = last is not None and _is_renewal(last, effect, same=effect.flows == last.flows)
        if renewed:
            phone.flow_renewals += 1
        else:
            phone.flow_sets.append(effect)
        if phone.unresponsive or (renewed and not phone.flows_generation):
            return
        phone.flows = effect.flows
        if not renewed:
            phone.flows_generation = effect.generation if effect.flows else 0
        phone.flows_expire_at_us = self.now_us + effect.lease_ms * 1000

    def _set_station_flows(self, point: AccessPoint, effect: SetStationFlows) -> None:
        if point.station_flows is None:
            raise AssertionError("the access point cannot know this command")
        last = point.flow_sets[-1] if point.flow_sets else None
        renewed = last is not None and _is_renewal(last, effect, same=effect.flows == last.flows)
        if not renewed:
            point.flow_sets.append(effect)
        if point.unresponsive or (renewed and not point.station_flows.generation):
            return
        point.flows = effect.flows
        if not renewed:
            generation = effect.generation if effect.flows else 0
            point.station_flows = point.station_flows._replace(generation=generation)
        point.flows_expire_at_us = self.now_us + effect.lease_ms * 1000

    def advance(self, seconds: float) -> None:
        """Let time pass: the engine is ticked at its deadlines, leases that end, end."""
        target_us = self.now_us + round(seconds * SECOND_US)
        while True:
            deadline_us = self.engine.next_deadline_us()
            next_us = target_us if deadline_us is None else max(deadline_us, self.now_us + MIN_TIMER_US)
            if next_us >= target_us:
                break
            self._move_to(next_us)
            self.ticks += 1
            self.do(Tick())
        self._move_to(target_us)

    def _move_to(self, at_us: int) -> None:
        self.now_us = at_us
        for phone in self.phones.values():
            if phone.generation and at_us >= phone.expires_at_us:
                phone.bounds, phone.generation = (), 0
            if phone.flows_generation and at_us >= phone.flows_expire_at_us:
                phone.flows, phone.flows_generation = (), 0
        for point in self.access_points.values():
            if point.edca is not None and point.edca.generation and at_us >= point.expires_at_us:
                point.queues, point.edca = (), replace(point.edca, generation=0)
            if point.windows is not None and point.windows.generation and at_us >= point.windows_expire_at_us:
                point.limits, point.windows = (), point.windows._replace(generation=0)
            flows = point.station_flows
            if flows is not None and flows.generation and at_us >= point.flows_expire_at_us:
                point.flows, point.station_flows = (), flows._replace(generation=0)

    def new_stream(self, role: Role, who: str, address: Address = b"") -> Stream:
        """A new connection."""
        self._streams += 1
        return Stream(self._streams, Principal(role, who), address)

    def restart(self) -> None:
        """The controller is replaced by a new process; agents connect again when they next report."""
        self.engine = Engine(*self._configured)
        for phone in self.phones.values():
            phone.stream = None
        for number, point in enumerate(self.access_points.values()):
            point.stream = self.new_stream("access-point", f"ap{number}")

    def access_point(
        self,
        sending: Mapping[Mac, float],
        idle: Iterable[Mac] = (),
        *,
        seconds: float = 1.0,
        busy: float | None = 0.9,
        bssid: Mac = BSSID,
        bitrate_kbps: int = 54_000,
        aggregating: Mapping[Mac, int] | None = None,
        addresses: Mapping[Mac, tuple[Address, ...]] | None = None,
        downloading: Mapping[Mac, float] | None = None,
        ssid: bytes | None = None,
        destinations: Mapping[Mac, tuple[Destination, ...]] | None = None,
        silent: Collection[Mac] = (),
    ) -> list[Effect]:
        """Report now: `sending` phones moved so many Mb/s of IP upward in the last `seconds` of the access point's
        clock, `idle` ones nothing, and no other is associated. Those of them that are `downloading` had so many Mb/s.
        An `ssid` stays until another is given. `destinations` are what it saw its stations send to. If it looks more
        often than it reports, it found those `silent`. Those `aggregating` are of 802.11ac, at so many kb/s.
        """
        point = self.access_points.get(bssid)
        if point is None:
            stream = self.new_stream("access-point", f"ap{len(self.access_points)}")
            point = self.access_points[bssid] = AccessPoint(
                bssid, stream, edca=self.edca, windows=self.windows, station_flows=self.station_flows
            )
        point.ssid = point.ssid if ssid is None else ssid
        point.sequence += 1
        point.monotonic_us += round(seconds * SECOND_US)
        point.active_us += round(seconds * SECOND_US)
        point.busy_us += round(seconds * SECOND_US * (busy or 0))
        rates = {**dict.fromkeys(idle, 0.0), **sending}
        for gone in point.packets.keys() - rates.keys():
            del point.packets[gone], point.joined_us[gone], point.downloaded[gone]
        stations = []
        for address, mbps in rates.items():
            point.joined_us.setdefault(address, self.now_us)
            packets = point.packets.get(address, 0) + round(mbps * 1e6 / 8 / 1500 * seconds)
            recent = 0 if address in silent else round(mbps * 1e6 / 8 / 1500 * LOOK_US / SECOND_US)
            point.packets[address] = packets
            downloaded = round((downloading or {}).get(address, 0.0) * 1e6 / 8 / 1500 * seconds)
            downloaded += point.downloaded.get(address, 0)
            point.downloaded[address] = downloaded
            stations.append(
                Station(
                    mac=address,
                    rx_packets=packets,
                    rx_bytes=packets * PACKET_BYTES,
                    tx_bytes=packets // 2 * ACK_PACKET_BYTES + downloaded * PACKET_BYTES,
                    tx_packets=packets // 2 + downloaded,
                    rx_bitrate_kbps=(aggregating or {}).get(address, bitrate_kbps),
                    tx_bitrate_kbps=(aggregating or {}).get(address, 0),
                    aggregates=address in (aggregating or {}),
                    rx_rate_format=VHT if address in (aggregating or {}) else 0,
                    tx_rate_format=VHT if address in (aggregating or {}) else 0,
                    connected_time_ms=(self.now_us - point.joined_us[address]) // 1000,
                    ip_addresses=(addresses or {}).get(address, (ip(address),)),
                    recent_rx_packets=recent,
                    recent_rx_bytes=recent * PACKET_BYTES,
                    silent=address in silent,
                    rx_video_packets=self.phones[address].video_packets if address in self.phones else 0,
                    rx_voice_packets=self.phones[address].voice_packets if address in self.phones else 0,
                )
            )
        survey = None if busy is None else Survey(active_us=point.active_us, busy_us=point.busy_us)
        report = AccessPointReport(
            bssid=bssid,
            ssid=point.ssid,
            sequence=point.sequence,
            monotonic_us=point.monotonic_us,
            stations=tuple(stations),
            survey=survey,
            edca=point.edca,
            windows=point.windows,
            destinations=destinations or {},
            recent_us=LOOK_US if silent else 0,
            station_flows=point.station_flows,
        )
        return self.do(AccessPointReported(point.stream, report))

    def terminal(
        self,
        address: Mac,
        *destinations: Destination,
        back_end: BackEnd | None = None,
        monotonic_us: int | None = None,
        comes_from: Address | None = None,
        apps: tuple[AppPart, ...] = (),
        unclassed: tuple[AppPart, ...] = (),
        abilities: FlowAbilities | None = None,
        delivered_bytes: int = 0,
    ) -> list[Effect]:
        """A phone reports now; it connects if it was not connected. Its `abilities` stay until others are given."""
        phone = self.phones.setdefault(address, Phone(address, None))
        if phone.stream is None:
            source = ip(address) if comes_from is None else comes_from
            phone.stream = self.new_stream("terminal", address_text(source), source)
            phone.described, phone.closed = False, None
        phone.sequence += 1
        agent = None
        if not phone.described or back_end is not None or abilities is not None:
            phone.abilities = abilities or phone.abilities
            agent = Agent("test", back_end or BackEnd(), flows=phone.abilities)
        phone.described = True
        report = TerminalReport(
            mac=address,
            sequence=phone.sequence,
            monotonic_us=self.now_us if monotonic_us is None else monotonic_us,
            destinations=destinations,
            bounds_generation=phone.generation,
            agent=agent,
            arrivals=Arrivals(phone.arrivals, "nl80211", (self.now_us - phone.arrived_at_us) // 1000)
            if phone.arrivals
            else None,
            apps=apps,
            unclassed=lambda: unclassed,
            flows=FlowState(phone.flows_generation) if phone.abilities.flows_max else None,
            delivered_bytes=delivered_bytes,
        )
        return self.do(TerminalReported(phone.stream, report))

    def arrive(self, address: Mac) -> None:
        """A phone's own system reports that it has associated somewhere; its next reports have that."""
        phone = self.phones.setdefault(address, Phone(address, None))
        phone.arrivals, phone.arrived_at_us = phone.arrivals + 1, self.now_us

    def keep_reporting(self, sending: Mapping[Mac, float], seconds: int) -> None:
        """So many seconds in which the access point and the phones that send report once each."""
        for _ in range(seconds):
            self.advance(1)
            self.access_point(sending)
            for address in sending:
                self.terminal(address, upload())

    def no_bounds(self, address: Mac) -> Code | None:
        """Why a phone has no bounds; none if it has some.

        Raises:
            LookupError: no such phone is connected.
        """
        for terminal in self.engine.terminals():
            if terminal.mac == address:
                return terminal.no_bounds.code if terminal.no_bounds else None
        raise LookupError(address)

    def disconnect(self, address: Mac) -> None:
        """A phone's stream ends; its bounds stay in force until their lease ends."""
        phone = self.phones[address]
        stream, phone.stream = phone.stream, None
        if stream is not None:
            self.do(Disconnected(stream))


def upload(
    srtt_ms: float = 300, min_rtt_ms: float = 256.5, *, address: Address = SERVER, connections: int = 1
) -> Destination:
    """A destination that is sent to."""
    return Destination(
        address=address,
        connections_sending=connections,
        srtt_us=round(srtt_ms * 1000),
        min_rtt_us=round(min_rtt_ms * 1000),
        mss_bytes=1448,
    )


def uploading(count: int, parameters: Parameters = PAPER, mbps: float = 2.0) -> Scenario:
    """A cell whose phones all send, known to the controller for two seconds."""
    scenario = Scenario(parameters)
    sending = dict.fromkeys(map(mac, range(count)), mbps)
    scenario.access_point(sending)
    scenario.advance(1)
    scenario.access_point(sending)
    for number in range(count):
        scenario.terminal(mac(number), upload())
    return scenario
