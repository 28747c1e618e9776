# SPDX-License-Identifier: Apache-2.0
"""What was set on the radios' transmit queues in a run, from mac80211's trace event drv_conf_tx; pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from airbound_lab.records import ring_buffer
from airbound_lab.records.ring_buffer import Event, Record

Category = Literal["VO", "VI", "BE", "BK"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""By mac80211's number."""

EVENT = Event("EDCA trace", {"vif_name": 4, "ac": 2, "txop": 2, "cw_min": 2, "cw_max": 2, "aifs": 1})
"""vif_name is where the name is: offset in the lower half, length above."""

NS_PER_US, US_PER_S = 1000, 1e6


@dataclass(frozen=True, slots=True)
class QueueSetting:
    """One queue's EDCA parameters, as they were given to the driver."""

    t_s: float
    interface: str
    category: Category
    aifsn: int
    cw_min: int
    cw_max: int
    txop_limit: int
    """In units of 32 us."""

    @property
    def parameters(self) -> tuple[int, int, int, int]:
        """AIFSN, CWmin, CWmax and TXOP limit."""
        return self.aifsn, self.cw_min, self.cw_max, self.txop_limit


def parse(pages: bytes, event_format: str, time_zero_us: int) -> list[QueueSetting]:
    """Read the stored pages; LabError if they are not such pages, or records are missing.

    `time_zero_us` is the run's time zero on the monotonic clock.
    """
    return ring_buffer.read(EVENT, pages, event_format, partial(_setting, time_zero_us))


def _setting(time_zero_us: int, record: Record) -> QueueSetting:
    if record["ac"] >= len(CATEGORIES):
        raise ValueError(f"a record of queue {record['ac']}")
    where, length = record["vif_name"] & 0xFFFF, record["vif_name"] >> 16
    return QueueSetting(
        t_s=(record.time_ns // NS_PER_US - time_zero_us) / US_PER_S,
        interface=record.data[where : where + length].split(b"\0")[0].decode("ascii"),
        category=CATEGORIES[record["ac"]],
        aifsn=record["aifs"],
        cw_min=record["cw_min"],
        cw_max=record["cw_max"],
        txop_limit=record["txop"],
    )
