# SPDX-License-Identifier: Apache-2.0
"""What one saturated sender carries beside a source that is not 802.11, by arithmetic; pure.

The source sends bursts and pauses, whatever else is on air. In the pauses the sender's cycles follow each other: AIFS,
back-off, exchange. A burst begins at any moment of a cycle:

- in the exchange: this is lost, with the AIFS and the back-off before it; EIFS and a back-off from a window of twice
  the size come before the next;
- in the back-off: AIFS and part of a slot are lost, since the counter stops and goes on after a new AIFS;
- in AIFS: the part of it that has passed.

Bursts are longer than an exchange, whose answer they meet then, wherever they begin; pauses are much longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound_lab.medium_theory.exchange import SLOT_NS, aifs_ns, eifs_less_difs_ns

if TYPE_CHECKING:
    from airbound_lab.medium_theory.exchange import Exchange
    from airbound_lab.medium_theory.ppdu import Band


def single_sender_mbps(
    exchange: Exchange, band: Band, *, burst_ns: float, pause_ns: float, aifsn: int = 3, cw_min: int = 15
) -> float:
    """Payload of one sender that always has datagrams; means of the bursts' and the pauses' lengths."""
    aifs, backoff_ns = aifs_ns(band, aifsn), cw_min / 2 * SLOT_NS
    cycle_ns = aifs + backoff_ns + exchange.success_ns
    longer_ns = (cw_min + 1) / 2 * SLOT_NS
    in_exchange_ns = aifs + backoff_ns + exchange.success_ns / 2 + eifs_less_difs_ns(band) + longer_ns
    lost_ns = (exchange.success_ns * in_exchange_ns + backoff_ns * (aifs + SLOT_NS / 2) + aifs * aifs / 2) / cycle_ns
    return (pause_ns - lost_ns) / cycle_ns * exchange.payload_bits * 1000 / (burst_ns + pause_ns)
