# SPDX-License-Identifier: Apache-2.0
"""A cell in virtual time around the real engine: no network, no clock, the same result every time.

The phones here do what they are told: they hold a set until its lease ends and report the generation in force.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airbound.core.effects import Bound, CloseStream, Effect, RenewLease, SetBounds
from airbound.core.engine import Engine
from airbound.core.events import AccessPointReported, Disconnected, Event, TerminalReported, Tick
from airbound.core.parameters import Parameters
from airbound.core.reports import AccessPointReport, BackEnd, Destination, Station, Survey, TerminalReport

PAPER = Parameters(policy="paper")
BSSID = "02:00:00:00:00:01"
OTHER_BSSID = "02:00:00:00:00:02"
SERVER = "10.0.4.1"
PACKET_BYTES = 1534  # 1500 of IP and the link's 34
SECOND_US = 1_000_000
MIN_TIMER_US = 250_000


def mac(number: int) -> str:
    """The address of the numbered phone."""
    return f"02:00:00:00:01:{number:02x}"


@dataclass(slots=True)
class Phone:
    """What one phone's agent holds."""

    mac: str
    stream: int
    bounds: tuple[Bound, ...] = ()
    generation: int = 0
    expires_at_us: int = 0
    sequence: int = 0
    sets: list[SetBounds] = field(default_factory=list)
    renewals: int = 0
    closed: bool = False
    deaf: bool = False  # takes no command, as an agent whose back end fails

    def range(self, address: str = SERVER) -> tuple[int, int] | None:
        """The range in force for an address; none if the kernel's defaults hold."""
        for bound in self.bounds:
            if bound.prefix.rpartition("/")[0] in {address, ""}:
                return bound.min_segs, bound.max_segs
        return None


@dataclass(slots=True)
class AccessPoint:
    """Counters of one access point's stations."""

    bssid: str
    stream: int
    sequence: int = 0
    monotonic_us: int = 5 * SECOND_US
    active_us: int = 0
    busy_us: int = 0
    packets: dict[str, int] = field(default_factory=dict)
    joined_us: dict[str, int] = field(default_factory=dict)


class Scenario:
    """The engine with access points and phones; every method moves virtual time only where it says so."""

    def __init__(self, parameters: Parameters | None = None, exempt: Iterable[str] = ()) -> None:
        self.engine = Engine(parameters or Parameters(), exempt)
        self.now_us = 1_000 * SECOND_US
        self.phones: dict[str, Phone] = {}
        self.access_points: dict[str, AccessPoint] = {}
        self.ticks = 0
        self._streams = 0

    def do(self, event: Event) -> list[Effect]:
        """Give the engine an event now and have the phones do what comes out."""
        effects = self.engine.handle(event, self.now_us)
        by_stream = {phone.stream: phone for phone in self.phones.values()}
        for effect in effects:
            if isinstance(effect, SetBounds | RenewLease | CloseStream) and effect.stream in by_stream:
                self._obey(by_stream[effect.stream], effect)
        return effects

    def _obey(self, phone: Phone, effect: SetBounds | RenewLease | CloseStream) -> None:
        if isinstance(effect, CloseStream):
            phone.closed = True
        elif isinstance(effect, SetBounds):
            phone.sets.append(effect)
            if phone.deaf:
                return
            phone.bounds, phone.generation = effect.bounds, effect.generation if effect.bounds else 0
            phone.expires_at_us = self.now_us + effect.lease_ms * 1000
        elif effect.generation == phone.generation:
            phone.renewals += 1
            phone.expires_at_us = self.now_us + effect.lease_ms * 1000

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

    def new_stream(self) -> int:
        """The number of a new connection."""
        self._streams += 1
        return self._streams

    def access_point(
        self,
        sending: Mapping[str, float],
        idle: Iterable[str] = (),
        *,
        seconds: float = 1.0,
        busy: float | None = 0.9,
        bssid: str = BSSID,
        bitrate_kbps: int = 54_000,
    ) -> list[Effect]:
        """Report now: `sending` phones moved so many Mb/s of IP upward in the last `seconds` of the access point's
        clock, `idle` ones nothing, and no other is associated.
        """
        point = self.access_points.setdefault(bssid, AccessPoint(bssid, 0))
        point.stream = point.stream or self.new_stream()
        point.sequence += 1
        point.monotonic_us += round(seconds * SECOND_US)
        point.active_us += round(seconds * SECOND_US)
        point.busy_us += round(seconds * SECOND_US * (busy or 0))
        rates = {**dict.fromkeys(idle, 0.0), **sending}
        for gone in point.packets.keys() - rates.keys():
            del point.packets[gone], point.joined_us[gone]
        stations = []
        for address, mbps in rates.items():
            point.joined_us.setdefault(address, self.now_us)
            packets = point.packets.get(address, 0) + round(mbps * 1e6 / 8 / 1500 * seconds)
            point.packets[address] = packets
            stations.append(
                Station(
                    mac=address,
                    rx_packets=packets,
                    rx_bytes=packets * PACKET_BYTES,
                    tx_packets=packets // 2,
                    tx_bytes=packets // 2 * 86,
                    rx_bitrate_kbps=bitrate_kbps,
                    connected_time_ms=(self.now_us - point.joined_us[address]) // 1000,
                )
            )
        survey = None if busy is None else Survey(active_us=point.active_us, busy_us=point.busy_us)
        report = AccessPointReport(
            bssid=bssid,
            sequence=point.sequence,
            monotonic_us=point.monotonic_us,
            stations=tuple(stations),
            survey=survey,
        )
        return self.do(AccessPointReported(point.stream, report))

    def terminal(
        self,
        address: str,
        *destinations: Destination,
        back_end: BackEnd | None = None,
        monotonic_us: int | None = None,
    ) -> list[Effect]:
        """A phone reports now; it connects if it was not connected."""
        phone = self.phones.get(address)
        if phone is None or not phone.stream:
            phone = self.phones[address] = Phone(address, self.new_stream())
        phone.sequence += 1
        report = TerminalReport(
            mac=address,
            sequence=phone.sequence,
            monotonic_us=self.now_us if monotonic_us is None else monotonic_us,
            destinations=destinations,
            bounds_generation=phone.generation,
            back_end=back_end or BackEnd(),
        )
        return self.do(TerminalReported(phone.stream, report))

    def keep_reporting(self, sending: Mapping[str, float], seconds: int) -> None:
        """So many seconds in which the access point and the phones that send report once each."""
        for _ in range(seconds):
            self.advance(1)
            self.access_point(sending)
            for address in sending:
                self.terminal(address, upload())

    def no_bounds_reason(self, address: str) -> str:
        """What operators are told of a phone that has no bounds; empty if it has some.

        Raises:
            LookupError: the controller knows no such phone.
        """
        view = self.engine.terminal(address, self.now_us)
        if view is None:
            raise LookupError(address)
        return view.no_bounds_reason

    def hang_up(self, address: str) -> None:
        """A phone's stream ends; what it holds, it holds until its lease ends."""
        phone = self.phones[address]
        stream, phone.stream = phone.stream, 0
        self.do(Disconnected(stream))


def upload(
    srtt_ms: float = 300, min_rtt_ms: float = 256.5, *, address: str = SERVER, connections: int = 1
) -> Destination:
    """A destination that is sent to."""
    return Destination(
        address=address,
        connections_sending=connections,
        srtt_us=round(srtt_ms * 1000),
        min_rtt_us=round(min_rtt_ms * 1000),
        mss_bytes=1448,
        queued_bytes=100_000 if connections else 0,
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
