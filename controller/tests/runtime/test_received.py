# SPDX-License-Identifier: Apache-2.0
"""The kernel's count of octets, of connections of this process; and of octets that are no such list."""

import contextlib
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.addresses import address_from_text
from airbound.runtime import received, sockets


@pytest.mark.parametrize(("listen", "connect"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")])
def test_what_arrived_is_counted_whether_it_was_read_or_not(listen: str, connect: str) -> None:
    family = socket.AF_INET6 if ":" in listen else socket.AF_INET
    with socket.create_server((listen, 0), family=family, dualstack_ipv6=listen == "::") as server:
        port = server.getsockname()[1]
        assert received.received(port) == []
        with socket.create_connection((connect, port)) as client, server.accept()[0] as accepted:
            client.sendall(bytes(12_345))
            assert len(accepted.recv(10_000, socket.MSG_WAITALL)) == 10_000
            (found,) = received.received(port)
            assert (found.address, found.port) == (address_from_text(connect), client.getsockname()[1])
            assert found.octets == 12_345
            (listed,) = sockets.connections(port)
            assert found.inode == listed.inode


@given(st.binary(max_size=400))
def test_what_is_no_list(octets: bytes) -> None:
    with contextlib.suppress(OSError):
        received.parse(octets, [])


def test_a_refusal_of_the_kernel() -> None:
    with pytest.raises(OSError, match="Operation not permitted"):
        received.parse(bytes.fromhex("24000000020000000000000000000000ffffffff").ljust(36, b"\0"), [])
