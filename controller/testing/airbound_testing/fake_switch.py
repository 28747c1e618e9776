# SPDX-License-Identifier: Apache-2.0
"""An OpenFlow 1.3 switch that interprets what it is sent, in virtual time: tables with priorities, matches and
timeouts, meters that drop, statistics, copies to the controller. What OpenFlow leaves open it does as Open vSwitch.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from airbound.core.addresses import Mac
from airbound.openflow import messages
from airbound.openflow.flows import COPIED_BYTES, TABLES
from airbound.openflow.messages import (
    AddFlow,
    Answer,
    AskDescription,
    AskFlowStats,
    AskMeterConfigs,
    AskMeterFeatures,
    AskMeterStats,
    AskPorts,
    Barrier,
    DeleteCookies,
    DeleteFlow,
    DeleteMeter,
    Description,
    Failed,
    FlowStat,
    FlowStats,
    LimitCopies,
    Match,
    Message,
    MeterConfigs,
    MeterFeatures,
    MeterStats,
    PacketIn,
    Ports,
    SetMeter,
)
from airbound.openflow.packets import IPV4, IPV6, TCP, UDP, Packet, packet

SECOND_US = 1_000_000
PART = 100  # flows in a part of the statistics


@dataclass(slots=True)
class _Flow:
    request: AddFlow
    made_at_us: int
    used_at_us: int
    packets: int = 0
    octets: int = 0

    def is_over(self, now_us: int) -> bool:
        idle = self.request.idle_s and now_us - self.used_at_us >= self.request.idle_s * SECOND_US
        return bool(idle or (self.request.hard_s and now_us - self.made_at_us >= self.request.hard_s * SECOND_US))


@dataclass(slots=True)
class _Meter:
    kbps: int
    burst_kbit: int
    bits: float
    at_us: int
    dropped: int = 0

    def passes(self, octets: int, now_us: int) -> bool:
        self.bits = min(self.burst_kbit * 1e3, self.bits + (now_us - self.at_us) * self.kbps / 1e3)
        self.at_us = now_us
        if octets * 8 > self.bits:
            self.dropped += octets
            return False
        self.bits -= octets * 8
        return True


@dataclass(slots=True)
class Forwarded:
    """What became of a packet: NORMAL forwarded it, perhaps with another DSCP."""

    forwarded: bool
    dscp: int = -1  # as it was
    answers: list[Answer] = field(default_factory=list)


@dataclass(slots=True)
class FakeSwitch:
    """`flows_max` of each table; `refuse_meters` answers as a switch that has none."""

    now_us: int = 0
    meters_max: int = 65_536
    flows_max: int = 10_000
    tables: list[dict[tuple[int, Match], _Flow]] = field(default_factory=lambda: [{} for _ in range(TABLES)])
    meters: dict[int, _Meter] = field(default_factory=dict)
    copies_limited: bool = False
    ports: dict[int, str] = field(default_factory=dict)
    unmatched: int = 0  # packets that a table had no flow for: OpenFlow drops them

    # What it is sent

    def take(self, sent: Iterable[Message]) -> list[Answer]:
        """Apply messages in order; the answers."""
        return [answer for message in sent for answer in self._do(message)]

    def _do(self, message: Message) -> list[Answer]:  # noqa: C901, PLR0911, PLR0912  # one line for each
        self._expire()
        match message:
            case AddFlow():
                return self._add(message)
            case DeleteFlow():
                self.tables[message.table].pop((message.priority, message.match), None)
            case DeleteCookies():
                for table in self.tables:
                    for key in [
                        key for key, flow in table.items() if flow.request.cookie & message.mask == message.cookie
                    ]:
                        del table[key]
            case SetMeter():
                return self._set_meter(message)
            case DeleteMeter():
                self.meters.pop(message.meter, None)
                for table in self.tables:
                    for key in [key for key, flow in table.items() if flow.request.meter == message.meter]:
                        del table[key]
            case LimitCopies():
                if not self.meters_max:
                    return [Failed(messages.BAD_REQUEST, 1, meter=messages.CONTROLLER_METER)]
                self.copies_limited = True
            case AskDescription():
                return [Description("Fake, switch, 1")]
            case AskMeterFeatures():
                return [MeterFeatures(self.meters_max)]
            case AskMeterConfigs():
                return [MeterConfigs(tuple(self.meters))]
            case AskMeterStats():
                return [MeterStats(tuple((number, meter.dropped) for number, meter in self.meters.items()))]
            case AskFlowStats():
                return self._statistics(message)
            case AskPorts():
                return [Ports(tuple(self.ports.items()))]
            case Barrier():
                pass
        return []

    def _add(self, request: AddFlow) -> list[Answer]:
        table, key = self.tables[request.table], (request.priority, request.match)
        if request.meter and request.meter not in self.meters:
            return [Failed(messages.METER_MOD_FAILED, messages.METER_UNKNOWN, request.cookie)]
        old = table.get(key)
        if old is None and len(table) >= self.flows_max:
            return [Failed(messages.FLOW_MOD_FAILED, messages.TABLE_FULL, request.cookie)]
        # Without the flag that resets counters they go on (OpenFlow 1.3.5, 6.4).
        table[key] = _Flow(request, self.now_us, self.now_us, old.packets if old else 0, old.octets if old else 0)
        return []

    def _set_meter(self, request: SetMeter) -> list[Answer]:
        there = request.meter in self.meters
        if request.meter > self.meters_max:
            return [Failed(messages.METER_MOD_FAILED, messages.OUT_OF_METERS, meter=request.meter)]
        if there != request.there:
            code = messages.METER_EXISTS if there else messages.METER_UNKNOWN
            return [Failed(messages.METER_MOD_FAILED, code, meter=request.meter)]
        dropped = self.meters[request.meter].dropped if there else 0
        self.meters[request.meter] = _Meter(
            request.kbps, request.burst_kbit, request.burst_kbit * 1e3, self.now_us, dropped
        )
        return []

    def _statistics(self, request: AskFlowStats) -> list[Answer]:
        found = [
            FlowStat(flow.request.cookie, flow.packets, flow.octets)
            for table in self.tables
            for flow in table.values()
            if flow.request.cookie & request.mask == request.cookie
        ]
        parts = [tuple(found[at : at + PART]) for at in range(0, max(1, len(found)), PART)]
        return [FlowStats(part, more=number < len(parts) - 1) for number, part in enumerate(parts)]

    # Time and packets

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self.now_us += round(seconds * 1e6)
        self._expire()

    def _expire(self) -> None:
        for table in self.tables:
            for key in [key for key, flow in table.items() if flow.is_over(self.now_us)]:
                del table[key]

    def restart(self) -> None:
        """It booted: everything is gone."""
        self.tables, self.meters = [{} for _ in range(TABLES)], {}

    def packet(self, octets: bytes, size: int = 0, in_port: int = 0) -> Forwarded:
        """A packet arrives at a port; `size` is that of the whole frame."""
        heads = packet(octets)
        assert heads is not None  # noqa: S101  # a test makes whole ones
        result, table, size = Forwarded(forwarded=False), 0, size or len(octets)
        while True:
            flow = self._lookup(table, heads, in_port)
            if flow is None:
                self.unmatched += 1
                return result
            flow.packets, flow.octets, flow.used_at_us = flow.packets + 1, flow.octets + size, self.now_us
            if flow.request.meter and not self.meters[flow.request.meter].passes(size, self.now_us):
                return result
            if flow.request.dscp >= 0:
                result.dscp = flow.request.dscp
            if flow.request.copy:
                result.answers.append(PacketIn(octets[:COPIED_BYTES], in_port))
            if not flow.request.goto:
                result.forwarded = True
                return result
            table = flow.request.goto

    def _lookup(self, table: int, heads: Packet, in_port: int) -> _Flow | None:
        flows = [
            flow
            for (_, match), flow in self.tables[table].items()
            if match.in_port in {0, in_port} and matches(match, heads)
        ]
        return max(flows, key=lambda flow: flow.request.priority, default=None)

    def flows(self, kind: int | None = None) -> list[AddFlow]:
        """Every flow, or those of a kind."""
        everything = [flow.request for table in self.tables for flow in table.values()]
        return [request for request in everything if kind is None or (request.cookie & 0xFFFFFFFF) >> 28 == kind]


def matches(match: Match, heads: Packet) -> bool:
    """Whether a packet is one of those."""
    station = heads.source if match.uplink else heads.destination
    address = heads.to_address if match.uplink else heads.from_address
    port = heads.to_port if match.uplink else heads.from_port
    return (
        match.station in {b"", station}
        and match.ethernet_type in {0, heads.ethernet_type}
        and match.address in {b"", address}
        and match.ip_protocol in {0, heads.ip_protocol}
        and match.port in {0, port}
    )


def frame(  # noqa: PLR0917  # as they stand in a frame
    source: Mac,
    destination: Mac,
    from_address: bytes,
    to_address: bytes,
    protocol: int = UDP,
    ports: tuple[int, int] = (1, 2),
) -> bytes:
    """An Ethernet frame with IPv4 or IPv6 by its addresses, up to the ports."""
    body = ports[0].to_bytes(2, "big") + ports[1].to_bytes(2, "big") + bytes(16 if protocol == TCP else 4)
    if len(from_address) == 4:  # noqa: PLR2004  # IPv4
        head = bytes([0x45, 0, 0, 20 + len(body), 0, 0, 0, 0, 64, protocol, 0, 0]) + from_address + to_address
        return destination + source + IPV4.to_bytes(2, "big") + head + body
    head = bytes([0x60, 0, 0, 0, 0, len(body), protocol, 64]) + from_address + to_address
    return destination + source + IPV6.to_bytes(2, "big") + head + body
