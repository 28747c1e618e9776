# SPDX-License-Identifier: Apache-2.0
"""Whose traffic a packet is part of, by its first octets. Opens nothing; any octets are read without an error."""

from enum import IntEnum
from typing import NamedTuple

from airbound.core.addresses import Address, Mac

ETHERNET_BYTES, VLAN_BYTES = 14, 4
VLAN_TYPES = frozenset({0x8100, 0x88A8})
IPV4, IPV6 = 0x0800, 0x86DD
IPV4_BYTES, IPV6_BYTES = 20, 40
TCP, UDP = 6, 17
QUIC_PORT = 443
_IPV4_PROTOCOL_AT, _IPV6_NEXT_HEADER_AT = 9, 6
_MORE_OR_OFFSET = 0x1FFF  # of an IPv4 fragment's offset: a later fragment has no ports


class Protocol(IntEnum):
    """As airbound.v1.TrafficProtocol has them."""

    ANY = 0
    TCP = 1
    UDP = 2
    QUIC = 3
    OTHER = 4


class Packet(NamedTuple):
    """A frame's heads. Without IP, `ip_protocol` is 0 and the addresses are empty; without ports those are 0."""

    source: Mac
    destination: Mac
    ethernet_type: int
    from_address: Address = b""
    to_address: Address = b""
    ip_protocol: int = 0
    from_port: int = 0
    to_port: int = 0

    def protocol(self, *, uplink: bool) -> Protocol:
        """What its traffic counts as: by the port of the other end."""
        if self.ip_protocol == TCP:
            return Protocol.TCP
        if self.ip_protocol == UDP:
            return Protocol.QUIC if (self.to_port if uplink else self.from_port) == QUIC_PORT else Protocol.UDP
        return Protocol.OTHER


def packet(octets: bytes) -> Packet | None:
    """Read a frame, which may have been cut off; none if not even its Ethernet header is there."""
    if len(octets) < ETHERNET_BYTES:
        return None
    destination, source, at = octets[:6], octets[6:12], 12
    kind = int.from_bytes(octets[at : at + 2], "big")
    while kind in VLAN_TYPES and len(octets) >= at + VLAN_BYTES + 2:
        at += VLAN_BYTES
        kind = int.from_bytes(octets[at : at + 2], "big")
    heads, body = Packet(source, destination, kind), octets[at + 2 :]
    if kind == IPV4 and len(body) >= IPV4_BYTES:
        size = (body[0] & 0xF) * 4
        fragment = int.from_bytes(body[6:8], "big") & _MORE_OR_OFFSET
        heads = heads._replace(from_address=body[12:16], to_address=body[16:20], ip_protocol=body[_IPV4_PROTOCOL_AT])
        return heads if fragment else _with_ports(heads, body[size:])
    if kind == IPV6 and len(body) >= IPV6_BYTES:
        heads = heads._replace(from_address=body[8:24], to_address=body[24:40], ip_protocol=body[_IPV6_NEXT_HEADER_AT])
        return _with_ports(heads, body[IPV6_BYTES:])
    return heads


def _with_ports(heads: Packet, body: bytes) -> Packet:
    if heads.ip_protocol not in {TCP, UDP} or len(body) < 4:  # noqa: PLR2004  # two ports
        return heads
    return heads._replace(from_port=int.from_bytes(body[:2], "big"), to_port=int.from_bytes(body[2:4], "big"))
