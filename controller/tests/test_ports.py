# SPDX-License-Identifier: Apache-2.0
"""Ports that are given to programs: no two processes get the same one."""

import socket
import subprocess
import sys
from pathlib import Path

from airbound_testing import ports
from airbound_testing.ports import free_port

MANY = 50
ASKS = f"""
from airbound_testing.ports import free_port
print(*(free_port() for _ in range({MANY})), flush=True)
input()
"""


def test_processes_are_given_different_ports_below_the_kernels_own() -> None:
    """Each stays, for their ports are theirs until they end."""
    asking = [
        subprocess.Popen([sys.executable, "-c", ASKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    given = list[int]()
    for process in asking:
        assert process.stdout is not None
        given += map(int, process.stdout.readline().split())
    for process in asking:
        process.communicate("\n")
    assert len(given) == len(set(given)) == 2 * MANY
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    assert all(ports.FIRST <= port < lowest for port in given)


def test_a_port_on_which_somebody_listens_is_left_out() -> None:
    taken = free_port() + 1
    with socket.socket() as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        server.bind(("127.0.0.1", taken))
        datagrams.bind(("127.0.0.1", taken + 1))
        assert free_port() >= taken + 2
