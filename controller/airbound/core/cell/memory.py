# SPDX-License-Identifier: Apache-2.0
"""What a cell's next owner needs to go on: what takes a while to learn. Everything else is in the next reports."""

from dataclasses import dataclass
from typing import NamedTuple

from airbound.core.addresses import Address


class SeenMinRtt(NamedTuple):
    """A minimum RTT to an address, as one terminal reported it."""

    address: Address
    terminal: str
    min_rtt_us: int
    age_us: int  # since its last report


@dataclass(frozen=True, slots=True)
class CellMemory:
    """What was learnt of one cell. `capacity_bps` of 0: no measurement yet. `access_point` is the principal's name of
    who reported it last.
    """

    capacity_bps: float = 0.0
    min_rtts: tuple[SeenMinRtt, ...] = ()
    access_point: str = ""
