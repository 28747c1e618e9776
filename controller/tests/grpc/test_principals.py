# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.core.principals import Principal
from airbound.grpc.principals import plain_text


@pytest.mark.parametrize(
    ("peer", "name", "address"),
    [
        ("ipv4:192.0.2.7:4711", "192.0.2.7", "c0000207"),
        ("ipv6:%5B2001:db8::7%5D:4711", "2001:db8::7", "20010db8000000000000000000000007"),
        ("ipv6:[2001:db8::7]:4711", "2001:db8::7", "20010db8000000000000000000000007"),
        ("ipv6:%5B::ffff:192.0.2.7%5D:4711", "192.0.2.7", "c0000207"),
        ("ipv6:%5Bfe80::1%25wlan0%5D:4711", "fe80::1", "fe800000000000000000000000000001"),
        ("unix:/run/airbound.sock", "unix", ""),
        ("unix:", "unix", ""),
        ("ipv4:here:4711", "ipv4:here:4711", ""),
        ("ipv4:", "ipv4:", ""),
        ("", "unknown", ""),
    ],
)
def test_a_peer_is_named_by_its_address(peer: str, name: str, address: str) -> None:
    assert plain_text("terminal", peer) == (Principal("terminal", name), bytes.fromhex(address))


def test_the_role_is_that_of_the_service() -> None:
    access_point, _ = plain_text("access-point", "ipv4:192.0.2.7:1")
    terminal, _ = plain_text("terminal", "ipv4:192.0.2.7:1")
    assert access_point == Principal("access-point", "192.0.2.7")
    assert access_point != terminal


def test_the_port_is_no_part_of_the_name() -> None:
    assert plain_text("terminal", "ipv4:192.0.2.7:1") == plain_text("terminal", "ipv4:192.0.2.7:2")
