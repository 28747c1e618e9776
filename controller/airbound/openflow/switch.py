# SPDX-License-Identifier: Apache-2.0
"""One connection of one switch: what it answers goes in, what it is to be asked and to do comes out. Opens nothing,
asks no clock; times are microseconds of any clock that never runs backwards.

What it leaves behind when it ends, whatever way: flows with a hard timeout, flows that count with an idle timeout, four
base flows that forward as the switch would without a controller, and meters that no flow leads to.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.addresses import Mac, is_peer_address, is_station_mac
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.reports import STATIONS_MAX
from airbound.core.switch_reports import StationRule, SwitchReport
from airbound.openflow import flows, messages, rules
from airbound.openflow.counters import Counters, Pair
from airbound.openflow.flows import Kind
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
from airbound.openflow.packets import Packet, Protocol, packet
from airbound.runtime.rate_limit import RateLimit

STATS_EVERY_US = 1_000_000  # at the latest
STATS_SOONEST_US = 200_000
STATS_FLOWS_PER_S = 2_800  # what statistics bring: with more flows they are asked for less often
STATION_GONE_US = 300_000_000  # a station that has sent nothing for so long, as bridges forget addresses
STATS_LATE_US = 5_000_000  # an answer that has not come by then never will
COPYING_S = 60  # hard timeout of the flows that copy packets; made again each third of it
IDLE_S = 30  # of flows that count
MISSING_US = 3_000_000  # a flow that statistics lack for longer has ended
SILENT_US = 120_000_000  # so long a pair without a flow is reported
LEARN_AGAIN_US = 1_000_000  # a copy of what was just learnt is still on its way
MUTED_US = 30_000_000  # so long nothing is learnt after the table was full
METERS_MAX = 4_096  # two for each station that an access point can have
ANY_COOKIE = (flows.MAGIC, flows.MAGIC_MASK)


class Limits(NamedTuple):
    """What one switch may take."""

    flows: int = 8_192  # that count
    flows_of_station: int = 512
    copies_per_s: int = 200
    station_ports: frozenset[str] = frozenset()  # by name: a MAC that sends from there is a station


class Rules(NamedTuple):
    """What the controller sent."""

    generation: int
    of_stations: tuple[StationRule, ...]
    lease_ms: int


@dataclass(slots=True)
class Totals:
    """Since the switch connected."""

    copies: int = 0
    copies_dropped: int = 0
    malformed: int = 0
    errors: int = 0
    refused: int = 0
    meter_dropped_bytes: int = 0


@dataclass(slots=True)
class _Leftovers:
    """Of former connections: what there was at the beginning."""

    connections: set[int] = field(default_factory=set)
    meters: set[int] = field(default_factory=set)
    flows_known: bool = False
    meters_known: bool = False
    done: bool = False


class Switch:
    """`connection` is in the cookies of its flows: another one than the connections before had, if possible."""

    def __init__(
        self, datapath_id: int, connection: int, limits: Limits, now_us: int, totals: Totals | None = None
    ) -> None:
        self.datapath_id = datapath_id
        self.totals = totals or Totals()
        self.description = ""
        self.meters_max = 0
        self.flows = 0  # of ours, by the last statistics
        self._connection = connection % flows.CONNECTIONS
        self._limits = limits
        self._counters = Counters()
        self._copies = RateLimit(limits.copies_per_s)
        self._rules = Rules(0, (), 0)
        self._rules_end_us = 0
        self._rules_failed = False
        self._rule_flows: dict[tuple[int, int, Match], AddFlow] = {}
        self._meters: dict[tuple[Mac, bool], int] = {}
        self._meter_kbps: dict[int, int] = {}
        self._meter_dropped: dict[int, int] = {}
        self._stations: dict[Mac, int] = {}  # when their flows that copy were made last
        self._muted: dict[Mac, int] = {}  # until when
        self._full_until_us = 0
        self._ports: dict[int, int] = {}  # those of stations; when the flows that find these were made last
        self._found: dict[Mac, int] = {}  # stations that were seen there, and when
        self._ports_asked_us = now_us
        self._rule_stations = set[Mac]()
        self._leftovers = _Leftovers()
        self._parts: list[FlowStat] = []
        self._asked_at_us: int | None = None
        self._stats_at_us = now_us - STATS_EVERY_US
        self._sequence = 0
        self._reported_stats_us = 0
        self._counted_at_us = 0

    # From the beginning

    def connected(self) -> list[Message]:
        """What is sent first. The base flows replace those of before, so that nothing is without them; what else is
        left is deleted when they are seen.
        """
        *deeper, first = flows.base(self._connection)
        return [
            *deeper,
            Barrier(),
            first,
            Barrier(),
            LimitCopies(self._limits.copies_per_s, 2 * self._limits.copies_per_s),
            AskDescription(),
            AskMeterFeatures(),
            AskMeterConfigs(),
            *([AskPorts()] if self._limits.station_ports else []),
        ]

    def answered(self, answer: Answer, now_us: int) -> list[Message]:
        """The switch sent something."""
        match answer:
            case PacketIn():
                return [*self._find(answer, now_us), *self._learn(answer.octets, now_us)]
            case Ports():
                return self._take_ports(answer, now_us)
            case FlowStats():
                self._parts.extend(answer.flows)
                return [] if answer.more else self._counted(now_us)
            case MeterStats():
                for meter, dropped in answer.dropped:
                    before = self._meter_dropped.get(meter, 0)
                    self._meter_dropped[meter] = dropped
                    self.totals.meter_dropped_bytes += dropped - before if dropped >= before else dropped
            case MeterFeatures():
                self.meters_max = answer.meters_max
            case MeterConfigs():
                self._leftovers.meters |= {meter for meter in answer.meters if meter in self._own_meters()}
                self._leftovers.meters_known = not answer.more
            case Description():
                self.description = answer.text
            case Failed():
                return self._failed(answer, now_us)
        return []

    def due(self, now_us: int) -> list[Message]:
        """Called a few times a second: statistics, timeouts."""
        out = list[Message]()
        if self._rules.generation and now_us >= self._rules_end_us:
            out += self._apply((), now_us)
            self._rules = Rules(0, (), 0)
        for mac, until_us in list(self._muted.items()):
            if now_us >= until_us:
                del self._muted[mac]
                out += self._copy(mac, now_us)
        for mac, made_at_us in list(self._stations.items()):
            if now_us - made_at_us >= COPYING_S * 1_000_000 // 3:
                out += self._copy(mac, now_us)
        out += self._find_again(now_us)
        every_us = self.stats_every_us()
        late = self._asked_at_us is not None and now_us - self._asked_at_us > STATS_LATE_US
        if late or (self._asked_at_us is None and now_us - self._stats_at_us >= every_us):
            self._stats_at_us = max(self._stats_at_us + every_us, now_us - every_us // 2)
            self._asked_at_us, self._parts = now_us, []
            out.append(AskFlowStats(*self._wanted_cookies()))
            if self._meters:
                out.append(AskMeterStats())
        return out

    def _wanted_cookies(self) -> tuple[int, int]:
        if not self._leftovers.done:
            return ANY_COOKIE
        return flows.cookie(self._connection, Kind.BASE), flows.CONNECTION_MASK

    def stats_every_us(self) -> int:
        """How often statistics are asked for, so that it is soon known who sends: less often with many flows."""
        return min(max(STATS_SOONEST_US, self.flows * 1_000_000 // STATS_FLOWS_PER_S), STATS_EVERY_US)

    # Stations, where the ports are known that they are behind

    def _take_ports(self, answer: Ports, now_us: int) -> list[Message]:
        """Make the flows that find stations."""
        ports = [number for number, name in answer.names if name in self._limits.station_ports]
        self._ports |= dict.fromkeys(ports, now_us)
        return [flows.discovering(port, self._connection, COPYING_S) for port in ports]

    def _find_again(self, now_us: int) -> list[Message]:
        """Ask for ports from time to time: one may have gone and be back with another number. Its flow ends by itself
        when it is not made again.
        """
        if not self._limits.station_ports or now_us - self._ports_asked_us < COPYING_S * 1_000_000 // 3:
            return []
        self._ports_asked_us = now_us
        for port, made_at_us in list(self._ports.items()):
            if now_us - made_at_us > COPYING_S * 1_000_000:
                del self._ports[port]
        return [AskPorts()]

    def _find(self, packet_in: PacketIn, now_us: int) -> list[Message]:
        """A packet's source is a station if it came from a port of stations, and is none any more if it did not."""
        if not self._ports or not packet_in.in_port:
            return []
        heads = packet(packet_in.octets)
        if heads is None or not is_station_mac(heads.source):
            return []
        mac = heads.source
        if packet_in.in_port not in self._ports:
            return self._lose(mac)
        known = mac in self._found
        if not known and len(self._found) >= STATIONS_MAX:
            return []
        self._found[mac] = now_us
        return [] if known or mac in self._stations else self._copy(mac, now_us)

    def _lose(self, mac: Mac) -> list[Message]:
        """A station is gone, or elsewhere."""
        if self._found.pop(mac, None) is None or mac in self._rule_stations or mac not in self._stations:
            return []
        return self._forget_station(mac)

    def _lose_silent(self, now_us: int) -> list[Message]:
        sent = self._counters.sent_at_us
        gone = [mac for mac, at in self._found.items() if now_us - max(at, sent.get(mac, 0)) > STATION_GONE_US]
        return [message for mac in gone for message in self._lose(mac)]

    # Leftovers

    def _own_meters(self) -> range:
        """From the end, where nobody else's are."""
        most = min(METERS_MAX, self.meters_max // 2)
        return range(self.meters_max - most + 1, self.meters_max + 1)

    def _reconciled(self, found: Iterable[FlowStat]) -> list[Message]:
        """Delete what former connections left, once our base flows are seen."""
        left = self._leftovers
        if left.done:
            return []
        connections = {flows.connection_of(stat.cookie) for stat in found}
        ours = [
            stat
            for stat in found
            if flows.connection_of(stat.cookie) == self._connection and flows.kind_of(stat.cookie) == Kind.BASE
        ]
        if len(ours) < flows.TABLES:
            return []
        left.done = True
        gone = [
            DeleteCookies(flows.cookie(other, Kind.BASE), flows.CONNECTION_MASK)
            for other in sorted(connections - {self._connection})
        ]
        meters = [DeleteMeter(meter) for meter in sorted(left.meters - set(self._meters.values()))]
        return [*gone, Barrier(), *meters]

    # Counting

    def _counted(self, now_us: int) -> list[Message]:
        found, self._parts, self._asked_at_us = self._parts, [], None
        ours = [stat for stat in found if flows.connection_of(stat.cookie) == self._connection]
        self.flows = len(ours)
        counting = (
            (flows.number_of(stat.cookie), stat)
            for stat in ours
            if flows.kind_of(stat.cookie) in {Kind.COPY, Kind.COUNT}
        )
        self._counters.take(counting, now_us)
        self._counters.forget(now_us, MISSING_US, SILENT_US)
        self._counted_at_us = now_us
        return [*self._lose_silent(now_us), *self._reconciled(found)]

    def _learn(self, octets: bytes, now_us: int) -> list[Message]:
        """Have what a packet is part of counted."""
        self.totals.copies += 1
        if not self._copies.take(now_us):
            self.totals.copies_dropped += 1
            return []
        heads = packet(octets)
        if heads is None:
            self.totals.malformed += 1
            return []
        out = list[Message]()
        for mac, uplink in ((heads.source, True), (heads.destination, False)):
            if mac in self._stations and mac not in self._muted:
                out += self._count(mac, heads, uplink=uplink, now_us=now_us)
        return out

    def _count(self, mac: Mac, heads: Packet, *, uplink: bool, now_us: int) -> list[Message]:
        wanted = flows.counting(mac, heads, uplink=uplink)
        if wanted is None:
            return []
        match, priority = wanted
        pair = Pair(mac, match.address, heads.protocol(uplink=uplink))
        variant = match.ethernet_type << 8 | match.ip_protocol
        made_at_us = self._counters.made_at_us(pair, uplink=uplink, variant=variant)
        if made_at_us is not None and now_us - made_at_us < LEARN_AGAIN_US:
            return []
        full = now_us < self._full_until_us or self._counters.flows + 2 > self._limits.flows
        if full or self._counters.flows_of(mac) + 2 > self._limits.flows_of_station:
            self._muted[mac] = now_us + MUTED_US
            return self._copy(mac, now_us)
        # The answers are of the same pair: one copy is enough for both directions.
        both = (uplink, not uplink) if match.address and is_peer_address(match.address) else (uplink,)
        out = list[Message]()
        for of_uplink in both:
            number = self._counters.number(pair, uplink=of_uplink, variant=variant, now_us=now_us)
            table = flows.UPLINK_COUNTS if of_uplink else flows.DOWNLINK_COUNTS
            cookie = flows.cookie(self._connection, Kind.COUNT, number)
            goto = (table + 1) % flows.TABLES
            out.append(AddFlow(table, priority, match._replace(uplink=of_uplink), cookie, idle_s=IDLE_S, goto=goto))
        return out

    def _copy(self, mac: Mac, now_us: int) -> list[Message]:
        """Make, or make again, the flows of a station from which others are learnt."""
        self._stations[mac] = now_us
        out = list[Message]()
        for uplink in (True, False):
            everything, *quic = (
                self._counters.number(Pair(mac, b"", protocol), uplink=uplink, variant=variant, now_us=now_us)
                for protocol, variant in ((Protocol.OTHER, -1), (Protocol.QUIC, -2), (Protocol.QUIC, -3))
            )
            out += flows.copying(
                mac,
                uplink=uplink,
                connection=self._connection,
                numbers=(everything, quic[0], quic[1]),
                copy=mac not in self._muted,
                hard_s=COPYING_S,
            )
        return out

    def _forget_station(self, mac: Mac) -> list[Message]:
        self._stations.pop(mac)
        self._muted.pop(mac, None)
        self._counters.remove(mac)
        return [
            DeleteFlow(flow.table, flow.priority, flow.match)
            for uplink in (True, False)
            for flow in flows.copying(
                mac, uplink=uplink, connection=self._connection, numbers=(0, 0, 0), copy=False, hard_s=0
            )
        ]

    # Errors

    def _failed(self, error: Failed, now_us: int) -> list[Message]:
        if error.kind == messages.METER_MOD_FAILED and error.code == messages.METER_EXISTS:
            kbps = self._meter_kbps.get(error.meter)
            return [] if kbps is None else [SetMeter(error.meter, kbps, rules.burst_kbit(kbps), there=True)]
        if error.meter == messages.CONTROLLER_METER:
            return []  # it cannot limit copies
        self.totals.errors += 1
        ours = error.cookie & flows.CONNECTION_MASK == flows.cookie(self._connection, Kind.BASE)
        kind = flows.kind_of(error.cookie) if ours else None
        if kind == Kind.RULE or error.kind == messages.METER_MOD_FAILED:
            self._rules_failed = True
        if kind == Kind.COUNT:
            self._counters.failed(flows.number_of(error.cookie))
        if error.kind == messages.FLOW_MOD_FAILED and error.code == messages.TABLE_FULL and kind is not None:
            out = list[Message]()
            fresh = now_us >= self._full_until_us
            self._full_until_us = now_us + MUTED_US
            for mac in self._stations if fresh else ():
                self._muted[mac] = self._full_until_us
                out += self._copy(mac, now_us)
            return out
        return []

    # Rules

    def set_rules(self, new: Rules, now_us: int) -> list[Message]:
        """The controller sent rules, or the same ones again.

        Raises:
            RefusedError: they are not applied.
        """
        try:
            self._check(new)
        except RefusedError:
            self.totals.refused += 1
            raise
        if new.generation != self._rules.generation:
            self._rules_failed = False
        self._rules, self._rules_end_us = new, now_us + new.lease_ms * 1000
        return self._apply(new.of_stations, now_us)

    def _check(self, new: Rules) -> None:
        if new.generation < self._rules.generation:
            before, after = self._rules.generation, new.generation
            raise RefusedError(Reason(Code.OUT_OF_ORDER, "generation", before=before, after=after))
        if new.generation == self._rules.generation and new.of_stations != self._rules.of_stations:
            raise RefusedError(Reason(Code.DUPLICATE_ENTRY, "generation"))
        macs = [rule.mac for rule in new.of_stations]
        if len(set(macs)) != len(macs):
            raise RefusedError(Reason(Code.DUPLICATE_ENTRY, "rules"))
        if not all(map(is_station_mac, macs)):
            raise RefusedError(Reason(Code.MALFORMED, "rules.mac"))
        limited = sum(bool(rule.uplink_kbps) + bool(rule.downlink_kbps) for rule in new.of_stations)
        if limited > len(self._own_meters()):
            raise RefusedError(Reason(Code.TOO_MANY_ENTRIES, "rules", after=limited, limit=len(self._own_meters())))

    def _apply(self, wanted: Sequence[StationRule], now_us: int) -> list[Message]:
        """First what lets more pass, then what limits: a flow never leads to a meter that is not there."""
        hard_s = math.ceil(self._rules.lease_ms / 1000)
        meters, unused = list[Message](), dict(self._meters)
        made = dict[tuple[int, int, Match], AddFlow]()
        for rule in wanted:
            numbers = []
            for uplink, kbps in ((True, rule.uplink_kbps), (False, rule.downlink_kbps)):
                if kbps:
                    unused.pop((rule.mac, uplink), None)
                numbers.append(self._meter(rule.mac, uplink=uplink, kbps=kbps, out=meters) if kbps else 0)
            for flow in rules.rule_flows(rule, (numbers[0], numbers[1]), self._connection, hard_s):
                made[flow.table, flow.priority, flow.match] = flow
        deleted = [DeleteFlow(*flow) for flow in self._rule_flows if flow not in made]
        self._rule_flows = made
        for limit, meter in unused.items():
            del self._meters[limit], self._meter_kbps[meter]
            self._meter_dropped.pop(meter, None)
        self._rule_stations = {rule.mac for rule in wanted}
        stations = self._rule_stations | self._found.keys()
        counting = list[Message]()
        for mac in self._stations.keys() - stations:
            counting += self._forget_station(mac)
        for mac in stations - self._stations.keys():
            counting += self._copy(mac, now_us)
        ended = [DeleteMeter(meter) for meter in unused.values()]
        return [*deleted, *meters, *([Barrier()] if meters else []), *made.values(), *counting, *ended]

    def _meter(self, mac: Mac, *, uplink: bool, kbps: int, out: list[Message]) -> int:
        """The meter of a station's direction, set as it is to be."""
        meter = self._meters.get((mac, uplink))
        if meter is None:
            taken = set(self._meters.values())
            meter = next(number for number in reversed(self._own_meters()) if number not in taken)
            self._meters[mac, uplink] = meter
            out.append(SetMeter(meter, kbps, rules.burst_kbit(kbps)))
        elif self._meter_kbps[meter] != kbps:
            out.append(SetMeter(meter, kbps, rules.burst_kbit(kbps), there=True))
        self._meter_kbps[meter] = kbps
        return meter

    def stopped(self) -> list[Message]:
        """The process is stopping: end what would end by itself a little later."""
        rules = [DeleteFlow(*flow) for flow in self._rule_flows]
        copying = [message for mac in list(self._stations) for message in self._forget_station(mac)]
        return [*rules, *copying, Barrier(), *map(DeleteMeter, self._meters.values())]

    # Reports

    def report(self, *, bssid: Mac, peer: str, agent_version: str) -> SwitchReport | None:
        """A report if there are newer statistics than in the one before."""
        if self._counted_at_us == self._reported_stats_us:
            return None
        self._reported_stats_us = self._counted_at_us
        self._sequence += 1
        totals, in_force = self.totals, bool(self._rules.of_stations) and not self._rules_failed
        return SwitchReport(
            datapath_id=self.datapath_id,
            bssid=bssid,
            sequence=self._sequence,
            monotonic_us=self._counted_at_us,
            description=self.description,
            peer=peer,
            agent_version=agent_version,
            traffic=self._counters.traffic(),
            generation=self._rules.generation if in_force else 0,
            meters_max=len(self._own_meters()),
            flows=self.flows,
            meters=len(self._meters),
            packet_ins_total=totals.copies,
            packet_ins_dropped_total=totals.copies_dropped,
            malformed_total=totals.malformed,
            errors_total=totals.errors,
            refused_total=totals.refused,
            meter_dropped_bytes=totals.meter_dropped_bytes,
            lists_stations=bool(self._limits.station_ports),
            stations=tuple(self._found),
        )
