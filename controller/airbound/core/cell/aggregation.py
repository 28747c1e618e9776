# SPDX-License-Identifier: Apache-2.0
"""How much of a full channel's time packets need whose frames are aggregated (802.11n and later).

A station sends what waits for it in one access: one frame while the channel is mostly idle, dozens when it is full. So
the air time that packets took says little about how many would fit; in a full channel

    time = sum over directions of a station: accesses x (AIFS + preamble + SIFS + block ack) + bits / PHY rate
           + accesses of all x (idle slots x slot + collisions x length of one)
    accesses = packets / frames of an access

An access carries what its limits allow: 64 frames, which is what a block ack has bits for, the longest PSDU of its
format, and 5.484 ms (IEEE 802.11-2020, tables 19-25 and 21-28). TCP's ACKs wait at the access point until it has
the air, as many as data frames. Idle slots and collisions are those of contention.py. Senders whose ACKs have to come
first do not all contend at once: with an ACK for every fourth packet or more, `ANSWERED_CONTENDERS_MAX` at most. What
collides is as long as the longer frame.

A rate control takes collisions for a bad channel, and uses slower rates the more attempts collide: minstrel_ht's mean
rate is lower by `RATE_LOST_TO_COLLISIONS` of the share that does (least squares of 24 cells in the lab, each with
CUBIC; decision 0025).
"""

from collections.abc import Iterable, Sequence

from airbound.core.cell.contention import CW_MIN_SLOTS, SLOT_US, contention
from airbound.core.cell.full_rates import FullRate
from airbound.core.frames import LONGEST_ACCESS_US, OVERHEAD_BYTES
from airbound.core.parameters import CapacityParameters

ACCESS_US = 90.0  # preamble and header of HT or VHT, SIFS, block ack at 24 Mb/s
AIFS_US = 43.0  # best effort's, at 5 GHz
ANSWERED_CONTENDERS_MAX = 7
ANSWERED_FROM = 0.25  # packets down for one up: the lab's TCP has 0.32 to 0.5, and agents' reports among UDP 0.01
RATE_LOST_TO_COLLISIONS = 0.25
GOODPUT_PER_BITRATE = 0.44  # uplink TCP over the PHY rate, without aggregation: 24 of 54 Mb/s


BULK_PACKETS, BULK_BYTES, ACK_BYTES = 1000, 1500, 52  # of IP; TCP answers every second packet of an upload


Packets = tuple[int, int, float, int]
"""What went one way between the access point and a station that aggregates: packets, their bytes of IP, the PHY rate in
bits per second, the longest PSDU of its format in bytes. No class: making one takes time, of thousands in a second.
"""


def bulk_bps(senders: Iterable[tuple[FullRate, bool]], parameters: CapacityParameters) -> float:
    """What senders at these rates, that aggregate or do not, carry of IP together in a full channel, if all upload
    equally much by TCP in full packets; 0 if no rate is known.
    """
    known = [(rate, aggregates) for rate, aggregates in senders if rate.up_bps]
    aggregating = [rate for rate, aggregates in known if aggregates]
    bits, acks = BULK_PACKETS * BULK_BYTES * 8, BULK_PACKETS // 2
    up = [(BULK_PACKETS, BULK_PACKETS * BULK_BYTES, rate.up_bps, rate.up_psdu_max_bytes) for rate in aggregating]
    down = [(acks, acks * ACK_BYTES, rate.down_bps or rate.up_bps, rate.down_psdu_max_bytes) for rate in aggregating]
    needed_us = full_channel_us(up, down, len(aggregating), parameters)
    needed_us += sum(bits * 1e6 / (rate.up_bps * GOODPUT_PER_BITRATE) for rate, aggregates in known if not aggregates)
    return len(known) * bits * 1e6 / needed_us if needed_us else 0.0


def full_channel_us(
    up: Sequence[Packets], down: Sequence[Packets], senders: int, parameters: CapacityParameters
) -> float:
    """Time that the packets would need if the channel were full; packets without a rate are left out.

    `senders` are the stations that send data, and contend for it.
    """
    up_packets, down_packets = (sum(packets for packets, _, bps, _ in one_way if bps) for one_way in (up, down))
    if not (up_packets or down_packets):
        return 0.0
    cost = contention(_contenders(senders, up_packets, down_packets), CW_MIN_SLOTS)
    slowed = 1 - RATE_LOST_TO_COLLISIONS * cost.collides
    up_us, up_accesses, up_longest_us = _one_way(up, slowed, parameters)
    down_us, down_accesses, down_longest_us = _one_way(down, slowed, parameters)
    accesses = up_accesses + down_accesses
    only_down = (down_accesses / accesses) ** 2
    collision_us = AIFS_US + (1 - only_down) * up_longest_us + only_down * down_longest_us
    return up_us + down_us + accesses * (cost.idle_slots * SLOT_US + cost.collisions * collision_us)


def _contenders(senders: int, up_packets: int, down_packets: int) -> int:
    if not up_packets:
        return 1
    unanswered = max(1, senders)
    answered = min(unanswered + 1, ANSWERED_CONTENDERS_MAX)
    part = min(1.0, down_packets / up_packets / ANSWERED_FROM)
    return round(unanswered + part * (answered - unanswered))


def _one_way(every: Sequence[Packets], slowed: float, parameters: CapacityParameters) -> tuple[float, float, float]:
    """Time without contention, at so much of the PHY rates; accesses; and how long one of them takes on average."""
    total_us = total = 0.0
    most_frames = parameters.aggregate_frames
    for packets, octets, bitrate_bps, psdu_max_bytes in every:
        if not packets or not bitrate_bps:
            continue
        frame_bytes = octets / packets + OVERHEAD_BYTES
        frame_us = frame_bytes * 8e6 / (bitrate_bps * slowed)
        frames = min(most_frames, psdu_max_bytes / frame_bytes, LONGEST_ACCESS_US / frame_us)
        accesses = packets / frames if frames > 1 else packets
        total += accesses
        total_us += packets * frame_us + accesses * (AIFS_US + ACCESS_US)
    return total_us, total, (total_us / total - AIFS_US if total else 0.0)
