# SPDX-License-Identifier: Apache-2.0
"""How many octets each connection of a port has received, as the kernel counts them: sock_diag(7), a dump of the TCP
sockets with one local port and what TCP_INFO has of each. Nobody needs a privilege for it, and nothing of it is between
a peer and gRPC.
"""

import errno
import os
import socket
import struct
import sys
from typing import NamedTuple

from airbound.core.addresses import IPV4_OCTETS, Address, unmapped

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_REQUEST_OF_DUMP = 0x1 | 0x300  # NLM_F_REQUEST | NLM_F_DUMP
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_INET_DIAG_INFO = 2
_OPEN = 1 << 1 | 1 << 8  # TCP_ESTABLISHED, TCP_CLOSE_WAIT
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_REQUEST = struct.Struct("=BBBxI2s2s32xI8s")  # struct inet_diag_req_v2
_MESSAGE = struct.Struct("=B5x2s16x16s28xI")  # struct inet_diag_msg: family, the peer's port and address, inode
_ATTRIBUTE = struct.Struct("=HH")
_BYTES_RECEIVED_AT = 128  # struct tcp_info, since Linux 4.1
_OCTETS = struct.Struct("=Q")
_ANY_COOKIE = b"\xff" * 8
_READ_OCTETS = 1 << 18


class Received(NamedTuple):
    """One connection."""

    address: Address
    port: int
    inode: int
    octets: int


def received(port: int) -> list[Received]:
    """Of the connections to a port that neither side has ended; not for an event loop.

    Raises:
        OSError: the kernel has no such list.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as link:
        return [*_dump(link, socket.AF_INET, port), *_dump(link, socket.AF_INET6, port)]


def _dump(link: socket.socket, family: int, port: int) -> list[Received]:
    ask = _REQUEST.pack(
        family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), _OPEN, port.to_bytes(2, "big"), bytes(2), 0, _ANY_COOKIE
    )
    link.send(_HEADER.pack(_HEADER.size + len(ask), _SOCK_DIAG_BY_FAMILY, _REQUEST_OF_DUMP, 0, 0) + ask)
    found: list[Received] = []
    while parse(link.recv(_READ_OCTETS), found):
        pass
    return found


def parse(octets: bytes, found: list[Received]) -> bool:
    """Add what the kernel wrote at once; whether there is more to come.

    Raises:
        OSError: the kernel refused, or wrote what is no message.
    """
    at = 0
    while at + _HEADER.size <= len(octets):
        length, kind, *_ = _HEADER.unpack_from(octets, at)
        if length < _HEADER.size or at + length > len(octets):
            break
        if kind == _NLMSG_DONE:
            return False
        if kind == _NLMSG_ERROR:
            number = -int.from_bytes(octets[at + _HEADER.size : at + _HEADER.size + 4], sys.byteorder, signed=True)
            raise OSError(number, os.strerror(number))
        if kind == _SOCK_DIAG_BY_FAMILY and length >= _HEADER.size + _MESSAGE.size:
            _take(octets, at + _HEADER.size, at + length, found)
        at += length + 3 & ~3
    if at < len(octets) or not octets:
        raise OSError(errno.EPROTO, "the kernel's list of sockets cannot be read")
    return True


def _take(octets: bytes, at: int, end: int, found: list[Received]) -> None:
    family, port, remote, inode = _MESSAGE.unpack_from(octets, at)
    at += _MESSAGE.size
    while at + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(octets, at)
        if kind == _INET_DIAG_INFO and length >= _ATTRIBUTE.size + _BYTES_RECEIVED_AT + _OCTETS.size:
            (count,) = _OCTETS.unpack_from(octets, at + _ATTRIBUTE.size + _BYTES_RECEIVED_AT)
            address = remote[:IPV4_OCTETS] if family == socket.AF_INET else unmapped(remote)
            found.append(Received(address, int.from_bytes(port, "big"), inode, count))
            return
        at += max(_ATTRIBUTE.size, length + 3 & ~3)
