# SPDX-License-Identifier: Apache-2.0

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core import addresses


def octets(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


@pytest.mark.parametrize(
    ("hexadecimal", "one_station"),
    [
        ("020000000001", True),
        ("fe0000000000", True),
        ("", False),
        ("0200000000", False),
        ("02000000000100", False),
        ("ffffffffffff", False),
        ("01005e000001", False),
        ("000000000000", False),
    ],
)
def test_which_octets_are_a_stations_address(hexadecimal: str, one_station: bool) -> None:  # noqa: FBT001
    assert addresses.is_station_mac(bytes.fromhex(hexadecimal)) is one_station


@pytest.mark.parametrize(
    "text",
    ["10.0.0.1", "0.0.0.0", "0.1.2.3", "223.255.255.255", "224.0.0.1", "239.1.1.1", "240.0.0.1"],  # noqa: S104
)
def test_ipv4_peers_are_specified_and_unicast(text: str) -> None:
    first = ipaddress.IPv4Address(text).packed[0]
    assert addresses.is_peer_address(octets(text)) is (first != 0 and not 224 <= first < 240)


@pytest.mark.parametrize(
    ("text", "peer"),
    [
        ("2001:db8::1", True),
        ("fe80::1", True),
        ("::1", True),
        ("::", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("255.255.255.255", False),
        ("255.255.255.254", True),
    ],
)
def test_ipv6_peers_are_specified_unicast_and_not_mapped(text: str, peer: bool) -> None:  # noqa: FBT001
    assert addresses.is_peer_address(octets(text)) is peer


@given(st.binary(max_size=20).filter(lambda value: len(value) not in {4, 16}))
def test_other_lengths_are_no_address(value: bytes) -> None:
    assert not addresses.is_peer_address(value)


@pytest.mark.parametrize(
    ("text", "loopback"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("128.0.0.1", False), ("::2", False), ("7f00::1", False)],
)
def test_loopback(text: str, loopback: bool) -> None:  # noqa: FBT001
    assert addresses.is_loopback(octets(text)) is loopback


def test_an_ipv4_address_mapped_into_ipv6_is_the_ipv4_address() -> None:
    assert addresses.unmapped(octets("::ffff:10.0.0.1")) == octets("10.0.0.1")
    for text in ("10.0.0.1", "2001:db8::1", "::fffe:a00:1"):
        assert addresses.unmapped(octets(text)) == octets(text)
    for other in (b"", octets("::ffff:10.0.0.1")[:15], octets("::ffff:10.0.0.1") + b"x"):
        assert addresses.unmapped(other) == other


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("10.0.0.1", "10.0.0.1"), ("2001:DB8:0::1", "2001:db8::1"), ("::ffff:10.0.0.1", "10.0.0.1")],
)
def test_text_becomes_octets_and_canonical_text(text: str, canonical: str) -> None:
    assert addresses.address_text(addresses.address_from_text(text)) == canonical


@pytest.mark.parametrize("text", ["02:00:00:00:00:0a", "02-00-00-00-00-0A"])
def test_a_mac_address_from_text(text: str) -> None:
    assert addresses.mac_from_text(text) == b"\x02\0\0\0\0\x0a"
    assert addresses.mac_text(addresses.mac_from_text(text)) == "02:00:00:00:00:0a"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:0G",
        "020000000001",
        "02:00:00:00:00:01\n",
        "ff:ff:ff:ff:ff:ff",
        "01:00:5e:00:00:01",
        "00:00:00:00:00:00",
    ],
)
def test_text_that_is_no_stations_address(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        addresses.mac_from_text(text)


@pytest.mark.parametrize("text", ["", "10.0.0", "10.0.0.256", "10.0.0.1/32"])
def test_text_that_is_no_ip_address(text: str) -> None:
    with pytest.raises(ValueError, match="does not appear"):
        addresses.address_from_text(text)


@given(st.binary(min_size=6, max_size=6).filter(addresses.is_station_mac))
def test_a_mac_address_survives_as_text(mac: bytes) -> None:
    assert addresses.mac_from_text(addresses.mac_text(mac)) == mac


@given(st.ip_addresses())
def test_a_peer_address_survives_as_text(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if addresses.is_peer_address(address.packed):
        assert addresses.address_from_text(addresses.address_text(address.packed)) == address.packed
        assert not address.is_multicast
        assert not address.is_unspecified
