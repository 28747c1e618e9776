# SPDX-License-Identifier: Apache-2.0
"""Ports of the loopback interface for programs that must be given a number."""

import itertools
import os
import socket
from pathlib import Path

FIRST = 10_000  # services have lower ones
_reserved: list[socket.socket] = []
_candidates = itertools.count(os.getpid() * 100)  # processes begin apart from each other


def free_port() -> int:
    """A port that nobody listens on, and that no other caller gets, here or in another process, while this one runs.

    The kernel gives a port that was bound to number 0 and closed to the next who binds to 0 or connects. So this one is
    below the kernel's range, and a name in Linux's abstract namespace reserves it: like ports, such names belong to one
    network namespace, and they end with their process.

    Raises:
        RuntimeError: there is none.
    """
    until = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    for candidate in itertools.islice(_candidates, until - FIRST):
        port = FIRST + candidate % (until - FIRST)
        if _reserve(port) and not _is_bound(port):
            return port
    raise RuntimeError(f"no port from {FIRST} to {until - 1} is free")


def _reserve(port: int) -> bool:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0airbound-test-port-{port}")
    except OSError:
        name.close()
        return False
    _reserved.append(name)
    return True


def _is_bound(port: int) -> bool:
    """Whether somebody has it, for TCP or UDP."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return True
    return False
