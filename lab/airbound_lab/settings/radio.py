# SPDX-License-Identifier: Apache-2.0
"""The radios of a cell: standard, band, width and streams, and what of it hostapd and the driver are told; pure.

Profiles are what is sold, not all that the standards have: 802.11g of 2003, 802.11n with 20 MHz at 2.4 GHz (one stream,
a phone's) and with 40 MHz at 5 GHz, 802.11ac with 80 MHz.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from airbound_lab.medium_theory import path_loss

PhyName = Literal["11g", "11n-20", "11n-40", "11ac-80"]
PHYS: tuple[str, ...] = get_args(PhyName)
DEFAULT_PHY: PhyName = "11g"

GuardInterval = Literal["short", "long"]
GUARD_INTERVALS: tuple[str, ...] = get_args(GuardInterval)

STREAMS_MAX = 2
PRIMARY_MHZ = 20


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel by its primary part of 20 MHz."""

    number: int
    frequency_mhz: int
    """The middle of its primary part."""
    middle_of_80_mhz: int = 0
    """As a channel's number."""


AT_2_4_GHZ = (Channel(6, 2437), Channel(11, 2462), Channel(1, 2412))
AT_5_GHZ = (Channel(36, 5180, 42), Channel(149, 5745, 155), Channel(100, 5500, 106))


@dataclass(frozen=True, slots=True)
class Phy:
    """A profile."""

    channels: tuple[Channel, ...]
    """Of access points on different ones, in this order; they do not overlap."""
    width_mhz: int = 20
    aggregates: bool = True
    """Whether it is of 802.11n or later: QoS, block acks, A-MPDUs."""
    vht: bool = False
    streams: int = 1
    """Of a radio, unless a run says otherwise."""
    driver_queue_frames: int = 256
    """Of a radio, unless a run says otherwise. With aggregation several whole A-MPDUs."""

    @property
    def at_5_ghz(self) -> bool:
        """Whether a regulatory domain is needed that permits access points."""
        return self.channels is AT_5_GHZ

    @property
    def is_wide(self) -> bool:
        """Whether its channel is wider than its primary part."""
        return self.width_mhz > PRIMARY_MHZ


PROFILES: dict[str, Phy] = {
    "11g": Phy(AT_2_4_GHZ, aggregates=False, driver_queue_frames=64),
    "11n-20": Phy(AT_2_4_GHZ),
    "11n-40": Phy(AT_5_GHZ, width_mhz=40, streams=2),
    "11ac-80": Phy(AT_5_GHZ, width_mhz=80, vht=True, streams=2),
}


def hostapd(phy: Phy, channel: Channel, guard_interval: GuardInterval) -> str:
    """Lines of hostapd's configuration: OFDM rates only, and what the profile has. hostapd refuses to start with a
    capability that its radio lacks.
    """
    short = guard_interval == "short"
    ht = [*(["HT40+"] if phy.is_wide else []), *(["SHORT-GI-20"] if short else [])]
    ht += ["SHORT-GI-40"] if short and phy.is_wide else []
    vht = [*(["SHORT-GI-80"] if short else []), "MAX-A-MPDU-LEN-EXP7"]
    lines = [
        f"hw_mode={'a' if phy.at_5_ghz else 'g'}",
        f"channel={channel.number}",
        "supported_rates=60 90 120 180 240 360 480 540",
        "basic_rates=60 120 240",
        *(() if phy.at_5_ghz else ("preamble=1",)),
        f"ieee80211n={int(phy.aggregates)}",
    ]
    if phy.aggregates and ht:
        lines.append(f"ht_capab={_bracketed(ht)}")
    if phy.vht:
        lines += ["ieee80211ac=1", f"vht_capab={_bracketed(vht)}", "vht_oper_chwidth=1"]
        lines += [f"vht_oper_centr_freq_seg0_idx={channel.middle_of_80_mhz}"]
    return "".join(f"{line}\n" for line in lines)


def _bracketed(words: list[str]) -> str:
    return "".join(f"[{word}]" for word in words)


SNR_WIDTH_MHZ = 20.0
"""The medium is given the SNR of one stream in this width, and takes off what a wider channel and more streams cost."""
SNR_QUARTERS_DB_MAX = 1000


def link_snr_quarter_db(phy: Phy, distance_m: float) -> int:
    """SNR of a link in quarters of a dB, by path_loss.py, for the medium."""
    snr_db = path_loss.snr_db(distance_m, SNR_WIDTH_MHZ, 5.0 if phy.at_5_ghz else 2.4)
    return max(-SNR_QUARTERS_DB_MAX, min(round(snr_db * 4), SNR_QUARTERS_DB_MAX))


def boot_parameters(
    phy: Phy, streams: int, guard_interval: GuardInterval, *, aql: bool = True, access_points: int = 1
) -> dict[str, int]:
    """What mac80211_hwsim must know when its radios are made: what differs from one access point of 802.11g."""
    of_any_phy = ({} if aql else {"dcf_aql": 0}) | ({} if access_points == 1 else {"dcf_access_points": access_points})
    if not phy.aggregates:
        return of_any_phy
    return of_any_phy | {
        "dcf_streams": streams,
        "dcf_short_gi": int(guard_interval == "short"),
        **({"dcf_5_ghz": 1} if phy.at_5_ghz else {}),
    }
