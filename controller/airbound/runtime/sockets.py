# SPDX-License-Identifier: Apache-2.0
"""The kernel's list of TCP connections (proc(5), /proc/PID/net/tcp and tcp6), and the end of one of ours.

gRPC's Python shows a connection only once a call was made on it.
"""

import contextlib
import os
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from airbound.core.addresses import IPV4_OCTETS, IPV6_OCTETS, Address, address_from_text, unmapped

_LISTS = ("tcp", "tcp6")
_WORD_OCTETS = 4
_OPEN = b"01|08"  # ESTABLISHED, CLOSE_WAIT: TCP_ESTABLISHED and so on in the kernel's include/net/tcp_states.h


class Connection(NamedTuple):
    """One that a peer opened to a port of ours. `inode` is 0 while it waits to be accepted."""

    address: Address
    port: int
    inode: int


def connections(port: int, directory: Path = Path("/proc/self/net")) -> list[Connection]:
    """Connections to a port that neither side has ended: 20,000 of them take some 50 ms, so not in the event loop.

    Raises:
        OSError: the kernel has no such list.
    """
    lists = [file.read_bytes() for name in _LISTS if (file := directory / name).exists()]
    if not lists:
        raise FileNotFoundError(f"{directory}/tcp")
    return [connection for text in lists for connection in parse(text, port)]


def parse(text: bytes, port: int) -> Iterator[Connection]:
    """Those to a port; what is no line of the list is skipped."""
    line = rb"^ *\d+: [0-9A-F]+:%04X ((?:[0-9A-F]{8}){1,4}):([0-9A-F]{4}) (?:%b) \S+ \S+ \S+ +\d+ +\d+ (\d+)\b"
    for address, remote, inode in re.findall(line % (port, _OPEN), text, re.MULTILINE):
        octets = _octets(address)
        if len(octets) in {IPV4_OCTETS, IPV6_OCTETS}:
            yield Connection(unmapped(octets), int(remote, 16), int(inode))


def _octets(text: bytes) -> bytes:
    """Words in the machine's order of octets, in hexadecimal digits."""
    octets = bytes.fromhex(text.decode("ascii"))
    if sys.byteorder == "little":
        octets = b"".join(octets[at : at + _WORD_OCTETS][::-1] for at in range(0, len(octets), _WORD_OCTETS))
    return octets


def shut_down(port: int, address: Address, remote_port: int) -> bool:
    """End a connection of this process, as if its peer had; whether there was one. gRPC's Python has no call for that.

    The descriptor is another library's, which may close it at any time and open something else under its number. So it
    is duplicated first, and shut down only if the duplicate is the connection that is meant.
    """
    try:
        inodes = {
            connection.inode
            for connection in connections(port)
            if (connection.address, connection.port) == (address, remote_port)
        } - {0}
        names = [*Path("/proc/self/fd").iterdir()] if inodes else []
    except OSError:
        return False
    links = {f"socket:[{inode}]" for inode in inodes}
    for name in names:
        with contextlib.suppress(OSError):
            if str(name.readlink()) in links:
                with socket.socket(fileno=os.dup(int(name.name))) as duplicate:
                    if _peer(duplicate) == (address, remote_port):
                        duplicate.shutdown(socket.SHUT_RDWR)
                        return True
    return False


def _peer(connection: socket.socket) -> tuple[Address, int]:
    host, port = connection.getpeername()[:2]
    return unmapped(address_from_text(host.partition("%")[0])), port
