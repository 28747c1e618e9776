# SPDX-License-Identifier: Apache-2.0
"""From the counters of flows to what stations sent and received. Opens nothing.

A flow's counters begin at 0 again when it ends and is made again, or the switch starts again; what is reported goes on.
What passed between the last statistics and a flow's end is lost: with an idle timeout that is nothing.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.addresses import Address, Mac
from airbound.core.switch_reports import Traffic
from airbound.openflow.flows import NUMBERS
from airbound.openflow.messages import FlowStat
from airbound.openflow.packets import Protocol


class Pair(NamedTuple):
    """What traffic is counted by."""

    mac: Mac
    address: Address
    protocol: Protocol


@dataclass(slots=True)
class _Total:
    uplink_bytes: int = 0
    uplink_packets: int = 0
    downlink_bytes: int = 0
    downlink_packets: int = 0
    grew_at_us: int = 0


@dataclass(slots=True)
class _Flow:
    pair: Pair
    uplink: bool
    octets: int = 0  # at the last statistics
    packets: int = 0
    missing: bool = True  # from them
    made_at_us: int = 0


@dataclass(slots=True)
class Counters:
    """Of one connection of a switch."""

    totals: dict[Pair, _Total] = field(default_factory=dict)
    sent_at_us: dict[Mac, int] = field(default_factory=dict)  # when a station's uplink counters moved last
    _flows: dict[int, _Flow] = field(default_factory=dict)  # by number
    _numbers: dict[tuple[Pair, bool, int], int] = field(default_factory=dict)  # by what they count
    _of_stations: Counter[Mac] = field(default_factory=Counter)
    _next: int = 0

    def number(self, pair: Pair, *, uplink: bool, variant: int, now_us: int) -> int:
        """The number of a flow that is made now; `variant` differs between flows that count the same."""
        key = (pair, uplink, variant)
        number = self._numbers.get(key)
        if number is None:
            self._next = (self._next + 1) % NUMBERS
            number = self._numbers[key] = self._next
            self._flows[number] = _Flow(pair, uplink)
            self._of_stations[pair.mac] += 1
        self._flows[number].made_at_us = now_us
        self.totals.setdefault(pair, _Total(grew_at_us=now_us))
        return number

    def made_at_us(self, pair: Pair, *, uplink: bool, variant: int) -> int | None:
        """When a flow was made that is there or on its way; none if there is none."""
        number = self._numbers.get((pair, uplink, variant))
        return None if number is None else self._flows[number].made_at_us

    def take(self, stats: Iterable[tuple[int, FlowStat]], now_us: int) -> None:
        """All statistics, by the numbers of their flows."""
        seen = set[int]()
        for number, (_, packets, octets) in stats:
            flow = self._flows.get(number)
            if flow is None:
                continue
            seen.add(number)
            if octets == flow.octets and packets == flow.packets:
                continue
            fell = octets < flow.octets or packets < flow.packets
            more, more_packets = (octets, packets) if fell else (octets - flow.octets, packets - flow.packets)
            flow.octets, flow.packets = octets, packets
            total = self.totals[flow.pair]
            total.grew_at_us = now_us
            if flow.uplink:
                self.sent_at_us[flow.pair.mac] = now_us
                total.uplink_bytes += more
                total.uplink_packets += more_packets
            else:
                total.downlink_bytes += more
                total.downlink_packets += more_packets
        for number, flow in self._flows.items():
            flow.missing = number not in seen

    def forget(self, now_us: int, missing_us: int, silent_us: int) -> None:
        """Forget flows that the statistics lack, though made longer than `missing_us` ago, and pairs without any whose
        counters have not moved for longer than `silent_us`.
        """
        for key, number in list(self._numbers.items()):
            flow = self._flows[number]
            if flow.missing and now_us - flow.made_at_us > missing_us:
                self._delete(key)
        counted = {flow.pair for flow in self._flows.values()}
        for pair, total in list(self.totals.items()):
            if pair not in counted and now_us - total.grew_at_us > silent_us:
                del self.totals[pair]

    def remove(self, mac: Mac) -> None:
        """A station is gone, and its flows with it."""
        self.sent_at_us.pop(mac, None)
        for key in [key for key in self._numbers if key[0].mac == mac]:
            self._delete(key)
        for pair in [pair for pair in self.totals if pair.mac == mac]:
            del self.totals[pair]

    def failed(self, number: int) -> None:
        """A flow could not be made."""
        for key in [key for key, known in self._numbers.items() if known == number]:
            self._delete(key)

    def _delete(self, key: tuple[Pair, bool, int]) -> None:
        del self._flows[self._numbers.pop(key)]
        self._of_stations[key[0].mac] -= 1
        if not self._of_stations[key[0].mac]:
            del self._of_stations[key[0].mac]

    @property
    def flows(self) -> int:
        """Flows that are there or on their way."""
        return len(self._flows)

    def flows_of(self, mac: Mac) -> int:
        """Those of a station."""
        return self._of_stations[mac]

    def traffic(self) -> tuple[Traffic, ...]:
        """Everything that was counted."""
        return tuple(
            Traffic(
                pair.mac,
                pair.address,
                int(pair.protocol),
                total.uplink_bytes,
                total.uplink_packets,
                total.downlink_bytes,
                total.downlink_packets,
            )
            for pair, total in self.totals.items()
            if total.uplink_packets or total.downlink_packets
        )
