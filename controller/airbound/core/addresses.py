# SPDX-License-Identifier: Apache-2.0
"""MAC and IP addresses as the core knows them: octets, as on the wire. Text is for people.

Octets are compared, hashed and looked up without being parsed: an address is checked once, when a message is converted.
"""

import ipaddress
import re

Mac = bytes  # 6 octets
Address = bytes  # 4 or 16 octets in network byte order; IPv4 always 4

MAC_OCTETS = 6
IPV4_OCTETS, IPV6_OCTETS = 4, 16

_GROUP_BIT = 1
_NO_MAC = bytes(MAC_OCTETS)
_IPV4_LOOPBACK, _IPV4_MULTICAST, _IPV4_RESERVED = 127, 224, 240
_IPV6_LOOPBACK = bytes(15) + b"\x01"
_IPV6_MULTICAST = 0xFF
_IPV4_MAPPED = bytes(10) + b"\xff\xff"
_MAC_TEXT = re.compile(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}")


def is_station_mac(octets: bytes) -> bool:
    """Whether these are the octets of one station's address: six of them, no group, not all zero."""
    return len(octets) == MAC_OCTETS and not octets[0] & _GROUP_BIT and octets != _NO_MAC


def is_peer_address(octets: bytes) -> bool:
    """Whether a TCP connection can go to these octets: IPv4 or IPv6, unicast, specified, not IPv4 mapped into IPv6."""
    if len(octets) == IPV4_OCTETS:
        return octets[0] != 0 and (octets[0] < _IPV4_MULTICAST or octets[0] >= _IPV4_RESERVED) and octets != b"\xff" * 4
    return len(octets) == IPV6_OCTETS and octets[0] != _IPV6_MULTICAST and any(octets) and octets[:12] != _IPV4_MAPPED


def is_loopback(address: Address) -> bool:
    """Whether an address never leaves the machine."""
    return address[0] == _IPV4_LOOPBACK if len(address) == IPV4_OCTETS else address == _IPV6_LOOPBACK


def unmapped(address: bytes) -> Address:
    """The address, IPv4 where it is IPv4 mapped into IPv6 (as a dual-stack socket has it)."""
    return address[12:] if len(address) == IPV6_OCTETS and address[:12] == _IPV4_MAPPED else address


def mac_text(mac: Mac) -> str:
    """Lower-case hexadecimal octets with colons."""
    return mac.hex(":")


def address_text(address: Address) -> str:
    """The canonical text of an IP address (RFC 5952)."""
    return str(ipaddress.ip_address(address))


def mac_from_text(text: str) -> Mac:
    """Six hexadecimal octets with colons or dashes.

    Raises:
        ValueError: it is something else, or not the address of one station.
    """
    if not _MAC_TEXT.fullmatch(text):
        raise ValueError(f"{text!r} is not a MAC address: expected six hexadecimal octets with colons")
    mac = bytes.fromhex(text.replace(":", "").replace("-", ""))
    if not is_station_mac(mac):
        raise ValueError(f"{text!r} is not the address of one station")
    return mac


def exempt_name(text: str) -> str:
    """A name as exemptions and other choices have it: a MAC address as `mac_text` writes it, anything else as it is.

    A terminal may be called by a MAC address with hyphens, most often its own. Such a choice is for that terminal, and
    for the station or cell with that address as well.
    """
    try:
        return mac_text(mac_from_text(text))
    except ValueError:
        return text


def exempt_cell(name: str) -> Mac:
    """The BSSID if a name in the list of exempt ones is that of a cell; empty if it is a terminal's."""
    try:
        return mac_from_text(name)
    except ValueError:
        return b""


def address_from_text(text: str) -> Address:
    """An IP address; IPv4 mapped into IPv6 becomes IPv4.

    Raises:
        ValueError: it is something else.
    """
    return unmapped(ipaddress.ip_address(text).packed)
