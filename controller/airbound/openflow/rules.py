# SPDX-License-Identifier: Apache-2.0
"""From the controller's rules for stations to flows and meters. Opens nothing."""

from collections.abc import Iterator

from airbound.core.switch_reports import Mark, StationRule
from airbound.openflow import flows
from airbound.openflow.flows import DOWNLINK_COUNTS, DOWNLINK_RULES, UPLINK_RULES, Kind
from airbound.openflow.messages import AddFlow, Match
from airbound.openflow.packets import QUIC_PORT, TCP, UDP, Protocol

BURST_S = 0.1  # of the rate may pass at once; a policer that allows less keeps TCP below its rate
BURST_MIN_KBIT = 150  # a dozen full frames


def burst_kbit(kbps: int) -> int:
    """What a meter lets pass at once."""
    return max(BURST_MIN_KBIT, round(kbps * BURST_S))


def rule_flows(rule: StationRule, meters: tuple[int, int], connection: int, hard_s: int) -> Iterator[AddFlow]:
    """The flows of a station's rule; `meters` of its uplink and its downlink, 0 for none."""
    cookie = flows.cookie(connection, Kind.RULE)
    uplink, downlink = meters
    if uplink:
        yield AddFlow(
            UPLINK_RULES, flows.STATION_PRIORITY, Match(rule.mac, True), cookie,  # noqa: FBT003  # a named tuple
            hard_s=hard_s, meter=uplink, goto=DOWNLINK_RULES,
        )  # fmt: skip
    if downlink:
        yield AddFlow(
            DOWNLINK_RULES, flows.STATION_PRIORITY, Match(rule.mac, False), cookie,  # noqa: FBT003
            hard_s=hard_s, meter=downlink, goto=DOWNLINK_COUNTS - 1,
        )  # fmt: skip
    for mark in rule.marks:
        for match in _matches(rule.mac, mark):
            yield AddFlow(
                DOWNLINK_RULES, flows.MARK_PRIORITY + _specific(mark), match, cookie,
                hard_s=hard_s, meter=downlink, dscp=mark.dscp, goto=DOWNLINK_COUNTS - 1,
            )  # fmt: skip


def _matches(mac: bytes, mark: Mark) -> Iterator[Match]:
    protocol = Protocol(mark.protocol)
    for kind in flows.ethernet_types(mark.address):
        port = QUIC_PORT if protocol is Protocol.QUIC else mark.port
        if port and protocol is Protocol.ANY:
            for number in (TCP, UDP):
                yield Match(mac, False, kind, mark.address, number, port)  # noqa: FBT003
        else:
            yield Match(mac, False, kind, mark.address, flows.ip_protocol(protocol), port)  # noqa: FBT003


def _specific(mark: Mark) -> int:
    """Of two marks that concern a packet the one that says more of it counts: its address, its port, its protocol."""
    protocol = Protocol(mark.protocol)
    return 4 * bool(mark.address) + 2 * (bool(mark.port) or protocol is Protocol.QUIC) + (protocol is not Protocol.ANY)
