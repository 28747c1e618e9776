# SPDX-License-Identifier: Apache-2.0
"""What values parameters may have; pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field
from pydantic.dataclasses import dataclass

from airbound_lab.settings.validation import STRICT

TERMINALS_MAX = 100
"""Radios, addresses and the watchdog are laid out for this many phones."""

RateControl = Literal["minstrel", "fixed", "aarf"]
RATE_CONTROLS: tuple[str, ...] = get_args(RateControl)

Phones = Literal["today", "2013"]
PHONES: tuple[str, ...] = get_args(Phones)
RATE_CONTROL_OF: dict[str, RateControl] = {"today": "minstrel", "2013": "aarf"}
"""What their radios have, and their access point's; that is all by which the lab's phones of then and now differ. They
run the same TCP, and the driver's queue is the standard's (`--phy`). What only some phones of either time had are
options by themselves: `--orphan`, `--cwnd-clamp 63`, `--driver-queue`."""

Switch = Literal["bridge", "ovs", "openflow", "meters"]
SWITCHES: tuple[str, ...] = get_args(Switch)

ACCESS_POINTS_MAX = 3
"""As many channels of 2.4 GHz do not overlap."""

Channels = Literal["same", "different"]
CHANNELS: tuple[str, ...] = get_args(Channels)

KernelLine = Literal["6.1", "6.12"]
KERNEL_LINES: tuple[str, ...] = get_args(KernelLine)
DEFAULT_KERNEL_LINE: KernelLine = "6.1"

AccessPointKind = Literal["plain", "openwrt"]
ACCESS_POINT_KINDS: tuple[str, ...] = get_args(AccessPointKind)
KERNEL_LINE_OF: dict[str, KernelLine] = {"plain": "6.1", "openwrt": "6.12"}
"""Which has what stands at such an access point between bridge and radio."""

REPORT_INTERVAL_MS = 1000
"""The agents' own."""
REPORT_INTERVAL_MIN_MS = 250
"""An agent of a phone samples its kernel that often, and no interval of its reports may be shorter."""
REPORT_INTERVAL_MAX_MS = 10_000
"""A phone that sends nothing reports that often."""

StationRates = Literal["data", "none", "one", "frame"]
STATION_RATES: tuple[str, ...] = get_args(StationRates)
"""The medium's dcf_station_rates, from 0 on."""


def each_once(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the items; ValueError if one is there twice."""
    if len(set(items)) != len(items):
        raise ValueError("each only once")
    return items


Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
DelayMs = Annotated[float, Field(ge=0, le=10_000)]
Packets = Annotated[int, Field(ge=1, le=100_000)]
Interference = tuple[Annotated[int, Field(ge=1, le=1_000_000)], Annotated[int, Field(ge=1, le=1_000_000)]]
PhoneNumber = Annotated[int, Field(ge=1, le=TERMINALS_MAX)]
Frames = Annotated[int, Field(ge=2, le=10_000)]


def _contention_window(slots: int) -> int:
    if slots & (slots + 1):
        raise ValueError("not 2^k - 1")
    return slots


ContentionWindow = Annotated[int, Field(ge=0, le=1023), AfterValidator(_contention_window)]
StationsContentionWindow = Annotated[int, Field(ge=1, le=1023), AfterValidator(_contention_window)]
TxopLimit = Annotated[int, Field(ge=0, le=65_535)]
"""How long one access may last, in units of 32 us; 0: one frame."""

CW_MIN_SLOTS = 15
CW_MAX_SLOTS = {False: 1023, True: 63}
"""What the access point's best-effort queue has by default: DCF's at OFDM rates, and hostapd's largest with WMM."""

STATIONS_CW_MAX_SLOTS = 1023
"""What hostapd announces by default."""

WINDOW_SCALE = 9

WINDOW_MAX_S = 60.0
"""The longest window: the kernel's buffer has a MiB for each second of it, and the guest has little more memory."""


@dataclass(frozen=True, slots=True, config=STRICT)
class Window:
    """The part of a run that is recorded, in seconds from its time zero."""

    from_s: Annotated[float, Field(ge=0)]
    length_s: Annotated[float, Field(gt=0, le=WINDOW_MAX_S)]
