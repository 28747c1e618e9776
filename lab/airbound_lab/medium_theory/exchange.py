# SPDX-License-Identifier: Apache-2.0
"""What a channel access takes and carries: A-MPDU, block ack, RTS and CTS; what one saturated sender gets; pure.

IEEE 802.11-2016: A-MPDU 9.7; its greatest length 9.4.2.56 (HT) and 9.4.2.158 (VHT); 64 MPDUs in the window of a block
ack session 10.24; compressed block ack 9.3.1.9. The minimum spacing of MPDUs is not in it, nor are A-MSDUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from airbound_lab.medium_theory.ppdu import Band, Format, Rate, airtime_ns, legacy, response_rate

SLOT_NS = 9000
RTS_BYTES, CTS_BYTES, ACK_BYTES, BLOCK_ACK_BYTES = 20, 14, 14, 32
FCS_BYTES, MAC_HEADER_BYTES, QOS_HEADER_BYTES = 4, 24, 26
UDP_IP_LLC_BYTES = 8 + 20 + 8
DELIMITER_BYTES = 4
BLOCK_ACK_WINDOW = 64
AMPDU_BYTES_MAX = {Format.HT: 65_535, Format.VHT: 1_048_575}
PPDU_NS_MAX = 5_484_000
"""The longest that the legacy SIGNAL field can announce: 4095 bytes at 6 Mb/s. Silence after it is not a part."""


def mpdu_bytes(payload_bytes: int = 1470, *, qos: bool = True) -> int:
    """An MPDU with a UDP datagram, from its MAC header to its FCS, without encryption."""
    return (QOS_HEADER_BYTES if qos else MAC_HEADER_BYTES) + UDP_IP_LLC_BYTES + payload_bytes + FCS_BYTES


def psdu_bytes(rate: Rate, each_bytes: int, mpdus: int) -> int:
    """What the PPDU carries: one MPDU, or an A-MPDU of equal ones; of VHT always an A-MPDU.

    Each subframe is padded to four bytes, the last one in VHT only (9.7.1).
    """
    if mpdus == 1 and rate.format is not Format.VHT:
        return each_bytes
    subframe = DELIMITER_BYTES + each_bytes
    padded = -(-subframe // 4) * 4
    return (mpdus - 1) * padded + (padded if rate.format is Format.VHT else subframe)


def mpdus_max(rate: Rate, each_bytes: int, band: Band) -> int:
    """How many MPDUs of a length fit into a PPDU: at least one; of a legacy PPDU just one."""
    if rate.format is Format.LEGACY:
        return 1
    mpdus = 1
    while mpdus < BLOCK_ACK_WINDOW:
        more_bytes = psdu_bytes(rate, each_bytes, mpdus + 1)
        ppdu_ns = airtime_ns(rate, more_bytes, band) - band.extension_ns
        if more_bytes > AMPDU_BYTES_MAX[rate.format] or ppdu_ns > PPDU_NS_MAX:
            break
        mpdus += 1
    return mpdus


@dataclass(frozen=True, slots=True)
class Exchange:
    """A channel access, from the start of its first PPDU."""

    mpdus: int
    payload_bits: int
    """Of UDP, in all MPDUs."""
    success_ns: int
    """To the end of the ACK or block ack."""
    unanswered_ns: int
    """To the end of the PPDU with the data, if nothing of it was received."""
    collision_ns: int
    """To the end of what collides: the PPDU with the data, or the RTS."""


def exchange(
    rate: Rate,
    band: Band,
    *,
    payload_bytes: int = 1470,
    mpdus: int | None = None,
    rts: bool = False,
    qos: bool = True,
) -> Exchange:
    """A channel access that sends datagrams; as many as fit unless their number is given.

    RTS, CTS, ACK and block ack have the same legacy rate.

    Raises:
        ValueError: a number of MPDUs that is not positive or does not fit.
    """
    each_bytes = mpdu_bytes(payload_bytes, qos=qos)
    most = mpdus_max(rate, each_bytes, band)
    count = most if mpdus is None else mpdus
    if not 1 <= count <= most:
        raise ValueError(f"mpdus: {count} is not between 1 and {most}")
    control = response_rate(rate)
    data_ns = airtime_ns(rate, psdu_bytes(rate, each_bytes, count), band)
    answer_ns = airtime_ns(control, ACK_BYTES if count == 1 else BLOCK_ACK_BYTES, band)
    rts_ns = airtime_ns(control, RTS_BYTES, band)
    before_ns = rts_ns + airtime_ns(control, CTS_BYTES, band) + 2 * band.sifs_ns if rts else 0
    return Exchange(
        mpdus=count,
        payload_bits=count * payload_bytes * 8,
        success_ns=before_ns + data_ns + band.sifs_ns + answer_ns,
        unanswered_ns=before_ns + data_ns,
        collision_ns=rts_ns if rts else data_ns,
    )


def aifs_ns(band: Band, aifsn: int) -> int:
    """From the end of an exchange to the first slot in which a back-off of 0 sends."""
    return band.sifs_ns + aifsn * SLOT_NS


def eifs_less_difs_ns(band: Band) -> int:
    """By how much longer everybody waits after a failure: a SIFS and an ACK at 6 Mb/s (10.3.2.3.7)."""
    return band.sifs_ns + airtime_ns(legacy(6), ACK_BYTES, band)


def single_sender_mbps(exchange: Exchange, band: Band, *, aifsn: int = 3, cw_min: int = 15) -> float:
    """Payload of one sender that always has datagrams, and loses none: AIFS, half a window on average, the exchange."""
    cycle_ns = aifs_ns(band, aifsn) + cw_min / 2 * SLOT_NS + exchange.success_ns
    return exchange.payload_bits * 1000 / cycle_ns
