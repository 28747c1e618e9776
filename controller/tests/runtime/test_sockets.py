# SPDX-License-Identifier: Apache-2.0
"""The kernel's list of connections, as text and of this process; and the end of one."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.addresses import address_from_text
from airbound.runtime import sockets

HEAD = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
LINES = HEAD + (
    b"   0: 0100007F:C383 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 564 1 0 100 0 0 10 0\n"
    b"   1: 0100007F:C383 020200C0:C46E 01 00000000:00000000 02:00000670 00000000   107        0 91 2 0 20 4 30 10 -1\n"
    b"   2: 0100007F:C383 030200C0:C46F 08 00000000:00000000 00:00000000 00000000   107        0 92 1 0\n"
    b"   3: 0100007F:C383 040200C0:C470 06 00000000:00000000 03:00000670 00000000     0        0 0 3 0\n"
    b"   4: 0100007F:C384 050200C0:C471 01 00000000:00000000 00:00000000 00000000   107        0 93 1 0\n"
)
MAPPED = HEAD + (
    b"   0: 0000000000000000FFFF00000100007F:C383 0000000000000000FFFF0000020200C0:C46E 01 "
    b"00000000:00000000 00:00000000 00000000     0        0 94 1 0\n"
    b"   1: B80D0120000000000000000001000000:C383 B80D0120000000000000000002000000:0050 01 "
    b"00000000:00000000 00:00000000 00000000     0        0 95 1 0\n"
)


def test_open_connections_of_a_port() -> None:
    assert list(sockets.parse(LINES, 0xC383)) == [
        (bytes([192, 0, 2, 2]), 0xC46E, 91),
        (bytes([192, 0, 2, 3]), 0xC46F, 92),
    ]
    assert list(sockets.parse(MAPPED, 0xC383)) == [
        (bytes([192, 0, 2, 2]), 0xC46E, 94),
        (address_from_text("2001:db8::2"), 80, 95),
    ]


@given(st.binary(max_size=300), st.integers(0, len(LINES)))
def test_whatever_the_list_is_the_lines_before_it_are_read(octets: bytes, cut: int) -> None:
    whole = list(sockets.parse(LINES[:cut], 0xC383))
    assert list(sockets.parse(LINES[:cut] + b"\n" + octets, 0xC383))[: len(whole)] == whole


def test_without_a_list_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sockets.connections(1, tmp_path)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_connections_of_this_process_and_their_end(family: socket.AddressFamily) -> None:
    host = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        with socket.create_connection((host, port)) as one, socket.create_connection((host, port)) as other:
            accepted = [server.accept()[0] for _ in range(2)]
            addresses = {(address_from_text(host), client.getsockname()[1]) for client in (one, other)}
            assert {(connection.address, connection.port) for connection in sockets.connections(port)} == addresses
            before = len([*Path("/proc/self/fd").iterdir()])
            assert sockets.shut_down(port, address_from_text(host), one.getsockname()[1])
            assert len([*Path("/proc/self/fd").iterdir()]) == before
            assert one.recv(1) == b""
            other.settimeout(0)
            with pytest.raises(BlockingIOError):
                other.recv(1)
            assert not sockets.shut_down(port, address_from_text(host), 1)
            for connection in accepted:
                connection.close()


def test_a_descriptor_that_became_something_else_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at the descriptor and its duplicate another connection got its number."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as one, socket.create_connection(("127.0.0.1", port)) as two:
            accepted = {
                accepted_socket.getpeername()[1]: accepted_socket
                for accepted_socket in (server.accept()[0] for _ in range(2))
            }
            wanted, another = one.getsockname()[1], accepted[two.getsockname()[1]]
            duplicate = os.dup
            monkeypatch.setattr(sockets.os, "dup", lambda _: duplicate(another.fileno()))  # type: ignore[attr-defined]
            assert not sockets.shut_down(port, bytes([127, 0, 0, 1]), wanted)
            for client in (one, two):
                client.settimeout(0)
                with pytest.raises(BlockingIOError):
                    client.recv(1)
            for client in accepted.values():
                client.close()
