# SPDX-License-Identifier: Apache-2.0
"""What the phones of a live cell do, without end: uploads and downloads between pauses, and now and then one leaves;
pure.

Each phone has a sequence of its own, which follows from the seed and its number. How long an upload takes is decided by
the cell, so two runs with one seed do the same things at different times.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["away", "idle", "file", "photos", "video", "download"]

MEGABYTE = 10**6

FIRST_PAUSE_S = 2.0
"""Phone i begins after i times as much: one joins after the other, and soon all are there."""
PAUSE_S = (2.0, 10.0)
AWAY_S = (15.0, 45.0)
AWAY_CHANCE = 0.2
FILE_BYTES = (15 * MEGABYTE, 60 * MEGABYTE)
"""Of a file that is uploaded or fetched, on 802.11g."""
PHOTOS = (8, 25)
PHOTO_BYTES = (2 * MEGABYTE, 4 * MEGABYTE)
PHOTO_GAP_S = 0.2
VIDEO_S = (20.0, 60.0)
VIDEO_KBPS = (1500, 2500, 4000)
"""Live video at 540p, 720p and 1080p, about."""

UPLOADS: tuple[Kind, ...] = ("file", "photos", "video")
TRANSFERS: tuple[Kind, ...] = (*UPLOADS, "download")
TRANSFER_WEIGHTS = (4, 3, 3, 2)

CLASSES: dict[Kind, str] = {"video": "live", "photos": "burst", "file": "bulk"}
"""What each needs, by the phones' tables."""
UIDS: dict[Kind, int] = {kind: 10_001 + number for number, kind in enumerate(CLASSES)}
"""Each is an app of its own. Android's apps begin at 10000."""


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing that a phone does; the fields that its kind does not have are zero."""

    kind: Kind
    seconds: float = 0.0
    """How long: away, idle, video."""
    items_bytes: tuple[int, ...] = ()
    """What is uploaded, each over a connection of its own, or fetched: a file, or photos."""
    gap_s: float = 0.0
    """Between two of them."""
    rate_kbps: int = 0
    """Of a video."""

    def describe(self) -> str:
        """Return it in words."""
        megabytes = sum(self.items_bytes) / MEGABYTE
        match self.kind:
            case "away":
                return f"away for {self.seconds:.0f} s"
            case "idle":
                return f"idle for {self.seconds:.0f} s"
            case "file":
                return f"uploads a file of {megabytes:.0f} MB"
            case "download":
                return f"fetches a file of {megabytes:.0f} MB"
            case "photos":
                return f"uploads {len(self.items_bytes)} photos, {megabytes:.0f} MB"
            case "video":
                return f"sends live video, {self.rate_kbps / 1000:g} Mb/s for {self.seconds:.0f} s"


def table() -> str:
    """Return the phones' table of applications."""
    return "".join(f"{CLASSES[kind]} uid {uid}\n" for kind, uid in UIDS.items())


def activities(seed: int, phone: int, files: int = 1) -> Iterator[Activity]:
    """Yield what a phone does, without end; phones count from 1. Files are so many times as large as on 802.11g."""
    chance = random.Random(f"{seed}/{phone}")  # noqa: S311  (a simulation, not a secret)
    yield Activity("idle", seconds=FIRST_PAUSE_S * phone)
    while True:
        yield _transfer(chance, files)
        if chance.random() < AWAY_CHANCE:
            yield Activity("away", seconds=_seconds(chance, AWAY_S))
        yield Activity("idle", seconds=_seconds(chance, PAUSE_S))


def _transfer(chance: random.Random, files: int) -> Activity:
    [kind] = chance.choices(TRANSFERS, TRANSFER_WEIGHTS)
    match kind:
        case "file" | "download":
            return Activity(kind, items_bytes=(files * chance.randint(*FILE_BYTES),))
        case "photos":
            number = chance.randint(*PHOTOS)
            return Activity(
                kind, items_bytes=tuple(chance.randint(*PHOTO_BYTES) for _ in range(number)), gap_s=PHOTO_GAP_S
            )
        case _:
            return Activity(kind, seconds=_seconds(chance, VIDEO_S), rate_kbps=chance.choice(VIDEO_KBPS))


def _seconds(chance: random.Random, limits: tuple[float, float]) -> float:
    return round(chance.uniform(*limits), 1)
