# SPDX-License-Identifier: Apache-2.0
"""Which flows a switch gets from Airbound, in which tables, and what their cookies say. Opens nothing.

    table 0  limits of what stations send     (rules, for a lease)
    table 1  limits and DSCP of what goes to stations
    table 2  counts what stations send, by the other end's address and protocol
    table 3  counts what goes to stations; then NORMAL: the switch forwards as it would without a controller

A table for each direction, so that a packet from one station to another counts for both. In each there is a base flow
of priority 0 that goes on to the next. These four are all that stays when nobody is there any more; together they are
what a switch without a controller does.

Tables 2 and 3 have two or three flows for each station and direction that copy a packet's head to the controller and
go on. By the first copy of an address and protocol a flow is made that counts them: from then on nothing is copied.
A QUIC flow of its own comes before UDP's: otherwise the first DNS answer of an address would hide its QUIC.

A cookie has, from the top, 16 bits that are always the same, 16 of the connection, 4 of the kind, 28 of the flow's
number: leftovers of a former connection are told apart, and statistics are counted without reading matches.
"""

from collections.abc import Iterator
from enum import IntEnum

from airbound.core.addresses import IPV4_OCTETS, Mac
from airbound.openflow.messages import AddFlow, Match
from airbound.openflow.packets import IPV4, IPV6, QUIC_PORT, TCP, UDP, Packet, Protocol

UPLINK_RULES, DOWNLINK_RULES, UPLINK_COUNTS, DOWNLINK_COUNTS = range(4)
TABLES = 4
COPIED_BYTES = 96  # of a packet: Ethernet, two VLAN tags, the longest IPv4 header, ports

MAGIC = 0xA1B0 << 48
MAGIC_MASK = 0xFFFF << 48
CONNECTION_MASK = MAGIC_MASK | 0xFFFF << 32
_KIND_AT, _NUMBER_MASK = 28, (1 << 28) - 1
CONNECTIONS = 1 << 16  # that cookies tell apart
NUMBERS = 1 << 28


class Kind(IntEnum):
    """What a flow is for."""

    BASE = 0
    RULE = 1
    COPY = 2
    COUNT = 3


BASE_PRIORITY, PORT_PRIORITY, STATION_PRIORITY, MARK_PRIORITY = 0, 50, 100, 200
ETHERNET_PRIORITY, IP_PRIORITY, QUIC_COPY_PRIORITY, QUIC_PRIORITY = 110, 120, 130, 140


def cookie(connection: int, kind: Kind, number: int = 0) -> int:
    """Of a flow."""
    return MAGIC | connection << 32 | kind << _KIND_AT | number


def connection_of(cookie: int) -> int:
    """Of a cookie."""
    return cookie >> 32 & 0xFFFF


def kind_of(cookie: int) -> int:
    """Of a cookie; another version may know others."""
    return (cookie & 0xFFFFFFFF) >> _KIND_AT


def number_of(cookie: int) -> int:
    """Of a cookie."""
    return cookie & _NUMBER_MASK


def base(connection: int) -> list[AddFlow]:
    """From the last table to the first, so that none leads to an empty one."""
    base_cookie = cookie(connection, Kind.BASE)
    return [
        AddFlow(table, BASE_PRIORITY, Match(), base_cookie, goto=(table + 1) % TABLES)
        for table in reversed(range(TABLES))
    ]


def copying(
    mac: Mac, *, uplink: bool, connection: int, numbers: tuple[int, int, int], copy: bool, hard_s: int
) -> Iterator[AddFlow]:
    """The flows of a station from which others are learnt; they count what has none. `numbers`: of the one for
    everything, and of those for QUIC over IPv4 and IPv6. Without `copy` they only count.
    """
    table = UPLINK_COUNTS if uplink else DOWNLINK_COUNTS
    everything, *quic = (cookie(connection, Kind.COPY, number) for number in numbers)
    goto = (table + 1) % TABLES
    yield AddFlow(table, STATION_PRIORITY, Match(mac, uplink), everything, hard_s=hard_s, copy=copy, goto=goto)
    for kind, quic_cookie in zip((IPV4, IPV6), quic, strict=True):
        match = Match(mac, uplink, kind, b"", UDP, QUIC_PORT)
        yield AddFlow(table, QUIC_COPY_PRIORITY, match, quic_cookie, hard_s=hard_s, copy=copy, goto=goto)


def discovering(port: int, connection: int, hard_s: int) -> AddFlow:
    """The flow that copies what comes from a station that is not known yet: known ones have flows before it."""
    goto = (UPLINK_COUNTS + 1) % TABLES
    copy_cookie = cookie(connection, Kind.COPY)
    return AddFlow(UPLINK_COUNTS, PORT_PRIORITY, Match(in_port=port), copy_cookie, hard_s=hard_s, copy=True, goto=goto)


def counting(mac: Mac, packet: Packet, *, uplink: bool) -> tuple[Match, int] | None:
    """Which packets count together with this one, and at which priority; none for IP without an IP header."""
    address = packet.to_address if uplink else packet.from_address
    if not address:
        if packet.ethernet_type in {IPV4, IPV6}:
            return None
        return Match(mac, uplink, packet.ethernet_type), ETHERNET_PRIORITY
    if packet.protocol(uplink=uplink) is Protocol.QUIC:
        return Match(mac, uplink, packet.ethernet_type, address, UDP, QUIC_PORT), QUIC_PRIORITY
    return Match(mac, uplink, packet.ethernet_type, address, packet.ip_protocol), IP_PRIORITY


def ethernet_types(address: bytes) -> tuple[int, ...]:
    """Of the packets that may have such an address."""
    if not address:
        return IPV4, IPV6
    return (IPV4,) if len(address) == IPV4_OCTETS else (IPV6,)


def ip_protocol(protocol: Protocol) -> int:
    """Its number in IP; 0 for any."""
    return {Protocol.TCP: TCP, Protocol.UDP: UDP, Protocol.QUIC: UDP}.get(protocol, 0)
