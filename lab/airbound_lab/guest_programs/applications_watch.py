# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH116, PTH123
# pathlib would cost the guest start-up time.
"""Records what real applications do, from outside of them; needs Python's standard library alone.

    applications_watch.py SAMPLE_MS FILE [record=DIRECTORY...] [connections=NUMBER/NETNS/PORT...] [ready=FILE]

Whenever a file in a record's directory grows: the monotonic clock and the file's new size, by inotify. Every
SAMPLE_MS: the TCP connections from a network namespace to a port, as the kernel has them (sock_diag(7), struct
tcp_info). It writes all of that to FILE, as JSON, when it gets SIGTERM:

    {"records": {FILE NAME: [[NS, BYTES], ...]},
     "connections": {NUMBER: [[NS, [[SOURCE PORT, BYTES ACKED, CWND, SRTT US, RETRANSMITS], ...]], ...]}}

A sample without a connection is left out. It sleeps in between: virtual time passes only while every process sleeps.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLONE_NEWNET = 0x40000000
_IN_MODIFY = 0x2
_INOTIFY_EVENT = struct.Struct("iIII")
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_NLM_F_REQUEST_DUMP, _NLMSG_ERROR, _NLMSG_DONE = 0x301, 2, 3
_NETLINK_HEADER = struct.Struct("IHHII")
_DIAG_REQUEST = struct.Struct("BBBxI48x")
_DIAG_INFO = 2
_DIAG_MESSAGE_BYTES = 72
_LIVING_STATES = (1 << 1) | (1 << 2) | (1 << 4) | (1 << 5) | (1 << 8) | (1 << 9) | (1 << 11)
"""Established, sent a SYN, and the states in which a sender's last data may still be on their way."""
_SRTT, _CWND, _TOTAL_RETRANS, _BYTES_ACKED = 68, 80, 100, 120  # offsets in struct tcp_info


class StoppedError(Exception):
    """SIGTERM came."""


class Connections:
    """The connections from a namespace to a port."""

    def __init__(self, netns: str, port: int) -> None:
        """Open a socket of the kernel's diagnosis in the namespace."""
        self._port = port
        libc = ctypes.CDLL(None, use_errno=True)
        home, there = (os.open(path, os.O_RDONLY) for path in ("/proc/self/ns/net", f"/run/netns/{netns}"))
        if libc.setns(there, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {netns}")
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
        if libc.setns(home, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot leave the network namespace {netns}")
        os.close(home)
        os.close(there)

    def sample(self) -> list[list[int]]:
        """Return each connection's source port and figures, by source port."""
        request = _DIAG_REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 1 << (_DIAG_INFO - 1), _LIVING_STATES)
        size = _NETLINK_HEADER.size + len(request)
        self._socket.send(_NETLINK_HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 1, 0) + request)
        found, more = list[list[int]](), True
        while more:
            more = self._read(self._socket.recv(1 << 16), found)
        return sorted(found)

    def _read(self, data: bytes, found: list[list[int]]) -> bool:
        """Read an answer; whether there is more to come."""
        at = 0
        while at + _NETLINK_HEADER.size <= len(data):
            length, kind, *_ = _NETLINK_HEADER.unpack_from(data, at)
            if kind == _NLMSG_DONE:
                return False
            if kind == _NLMSG_ERROR:
                raise OSError(f"sock_diag refuses: {struct.unpack_from('i', data, at + _NETLINK_HEADER.size)[0]}")
            message = data[at + _NETLINK_HEADER.size : at + length]
            source, destination = struct.unpack_from(">HH", message, 4)
            if destination == self._port:
                found += [[source, *figures] for figures in _figures(message[_DIAG_MESSAGE_BYTES:])]
            at += (length + 3) & ~3
        return True


def _figures(attributes: bytes) -> Iterator[list[int]]:
    at = 0
    while at + 4 <= len(attributes):
        length, kind = struct.unpack_from("HH", attributes, at)
        info = attributes[at + 4 : at + length]
        if kind == _DIAG_INFO and len(info) >= _BYTES_ACKED + 8:
            [acked] = struct.unpack_from("Q", info, _BYTES_ACKED)
            yield [acked, *(struct.unpack_from("I", info, offset)[0] for offset in (_CWND, _SRTT, _TOTAL_RETRANS))]
        at += max((length + 3) & ~3, 4)


class Records:
    """The growth of the files in directories."""

    def __init__(self, directories: list[str]) -> None:
        """Begin to watch."""
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_CLOEXEC)
        self._directories = {
            libc.inotify_add_watch(self.descriptor, directory.encode(), _IN_MODIFY): directory
            for directory in directories
        }
        if self.descriptor < 0 or -1 in self._directories:
            raise OSError(ctypes.get_errno(), f"cannot watch {', '.join(directories)}")
        self.found: dict[str, list[list[int]]] = {}

    def read(self) -> None:
        """Read what happened by now; a file has the size that it has now."""
        data, at, now_ns = os.read(self.descriptor, 1 << 16), 0, time.monotonic_ns()
        while at < len(data):
            watch, _, _, length = _INOTIFY_EVENT.unpack_from(data, at)
            at += _INOTIFY_EVENT.size
            name = data[at : at + length].rstrip(b"\0").decode()
            at += length
            growth = self.found.setdefault(name, [])
            size = os.stat(f"{self._directories[watch]}/{name}").st_size
            if not growth or growth[-1][1] != size:
                growth.append([now_ns, size])


def _stop(*_: object) -> NoReturn:
    raise StoppedError


def main() -> None:
    """Record until SIGTERM."""
    sample_ms, path, *rest = sys.argv[1:]
    interval_ns = int(sample_ms) * 1_000_000
    words = [word.split("=", 1) for word in rest]
    records = Records([value for key, value in words if key == "record"])
    connections = {
        number: Connections(netns, int(port))
        for number, netns, port in (value.split("/") for key, value in words if key == "connections")
    }
    samples: dict[str, list[Any]] = {number: [] for number in connections}
    signal.signal(signal.SIGTERM, _stop)
    for key, value in words:
        if key == "ready":
            os.close(os.open(value, os.O_CREAT | os.O_WRONLY, 0o644))
    poll = select.poll()
    poll.register(records.descriptor, select.POLLIN)
    try:
        next_ns = (time.monotonic_ns() // interval_ns + 1) * interval_ns
        while True:
            left_ns = next_ns - time.monotonic_ns()
            # A timeout is in whole milliseconds, and so is the grid of samples.
            if left_ns > 0 and poll.poll((left_ns + 999_999) // 1_000_000):
                records.read()
            elif time.monotonic_ns() >= next_ns:
                for number, each in connections.items():
                    if found := each.sample():
                        samples[number].append([time.monotonic_ns(), found])
                next_ns += interval_ns
    except StoppedError:
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"records": records.found, "connections": samples}, out)


if __name__ == "__main__":
    main()
