# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from airbound.openflow.packets import IPV4, IPV6, TCP, UDP, Packet, Protocol, packet
from airbound_testing.fake_switch import frame

A, B = bytes([2, 0, 0, 0, 1, 0]), bytes([2, 0, 0, 0, 2, 0])
A4, B4 = bytes([10, 0, 0, 1]), bytes([192, 0, 2, 9])
A6, B6 = bytes([0xFD, *range(15)]), bytes([0xFD, *range(1, 16)])


def test_the_heads_of_both_families() -> None:
    assert packet(frame(A, B, A4, B4, TCP, (4711, 80))) == Packet(A, B, IPV4, A4, B4, TCP, 4711, 80)
    assert packet(frame(A, B, A6, B6, UDP, (4711, 443))) == Packet(A, B, IPV6, A6, B6, UDP, 4711, 443)


def test_tags_are_skipped() -> None:
    plain = frame(A, B, A4, B4, TCP, (1, 2))
    tagged = plain[:12] + bytes([0x88, 0xA8, 0, 5, 0x81, 0, 0, 6]) + plain[12:]
    assert packet(tagged) == packet(plain)


def test_a_later_fragment_has_no_ports() -> None:
    octets = bytearray(frame(A, B, A4, B4, UDP, (4711, 443)))
    octets[14 + 6 : 14 + 8] = b"\x00\x10"
    found = packet(bytes(octets))
    assert found == Packet(A, B, IPV4, A4, B4, UDP)
    assert found.protocol(uplink=True) is Protocol.UDP


def test_quic_is_by_the_port_of_the_other_end() -> None:
    up, down = packet(frame(A, B, A4, B4, UDP, (443, 9))), packet(frame(A, B, A4, B4, UDP, (9, 443)))
    assert up is not None
    assert down is not None
    assert (up.protocol(uplink=True), up.protocol(uplink=False)) == (Protocol.UDP, Protocol.QUIC)
    assert (down.protocol(uplink=True), down.protocol(uplink=False)) == (Protocol.QUIC, Protocol.UDP)
    icmp = packet(frame(A, B, A4, B4, 1))
    assert icmp is not None
    assert icmp.protocol(uplink=True) is Protocol.OTHER


@given(st.binary(max_size=200))
def test_any_octets_are_read(octets: bytes) -> None:
    found = packet(octets)
    assert (found is None) == (len(octets) < 14)


@given(st.integers(0, 60))
def test_a_packet_that_was_cut_off_is_read_as_far_as_it_goes(length: int) -> None:
    whole = packet(frame(A, B, A6, B6, TCP, (1, 2)))
    cut = packet(frame(A, B, A6, B6, TCP, (1, 2))[:length])
    assert cut is None or cut.from_address in {b"", A6}
    assert length < 58 or cut == whole
