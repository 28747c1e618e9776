# SPDX-License-Identifier: Apache-2.0
"""Reports as the core knows them. Whatever holds one of these has been checked: reports come from machines that
nobody vouches for, and one absurd number averaged in spoils a cell.

Numbers are whole (the wire has no others) and inside limits that no real cell comes near. A counter of 2**63 or more
is a negative number in unsigned clothes.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import ClassVar

COUNTER_MAX = 2**63 - 1
RTT_MIN_US = 50  # less than one frame and its ACK take on any Wi-Fi
RTT_MAX_US = 300_000_000
SEGMENTS_MAX = 2**31  # the kernel says "not set" with 2**31 - 1, and a destination may have many connections
MSS_MIN_BYTES = 88  # TCP_MIN_MSS
STATIONS_MAX = 2048  # association identifiers end at 2007
DESTINATIONS_MAX = 4096

Limits = dict[str, tuple[int, int]]

SSID_MAX_BYTES = 32
TEXT_SHOWN = 80  # what an error quotes of a value: it may be a megabyte of somebody's making

_BACK_END_NAME = re.compile(r"[A-Za-z0-9._-]{0,32}")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_GROUP_BIT = 1


class ReportRefusedError(ValueError):
    """A report, or one entry of it, that is not taken in: names the field, the value and why."""

    def __init__(self, field: str, value: object, why: str) -> None:
        shown = repr(value)
        shown = shown if len(shown) <= TEXT_SHOWN else f"{shown[:TEXT_SHOWN]}..."
        super().__init__(f"{field} = {shown}: {why}")
        self.field = field
        self.value = value
        self.why = why


def checked_mac(field: str, value: object) -> str:
    """A station's address in the wire's one spelling; group addresses belong to nobody."""
    if not isinstance(value, str) or not _MAC.fullmatch(value):
        raise ReportRefusedError(field, value, "not six lower-case hexadecimal octets with colons")
    if int(value[:2], 16) & _GROUP_BIT or value == "00:00:00:00:00:00":
        raise ReportRefusedError(field, value, "not the address of one station")
    return value


def checked_address(field: str, value: object) -> str:
    """An IP address in its canonical text; an IPv4 address in IPv6 clothes becomes IPv4, as the kernel matches it."""
    try:
        if not isinstance(value, str) or "%" in value:
            raise ValueError  # noqa: TRY301  # one refusal for everything that is not an address
        address = ipaddress.ip_address(value)
    except ValueError:
        raise ReportRefusedError(field, value, "not an IP address") from None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    address = mapped or address
    if address.is_multicast or address.is_unspecified:
        raise ReportRefusedError(field, value, "no TCP connection goes there")
    return str(address)


def _check_limits(report: object, limits: Limits) -> None:
    for field, (low, high) in limits.items():
        value = getattr(report, field)
        if type(value) is not int:
            raise ReportRefusedError(field, value, "not a whole number")
        if not low <= value <= high:
            raise ReportRefusedError(field, value, f"outside {low} to {high}")


def check_count(field: str, count: int, most: int) -> None:
    """Refuses a list of more than `most` entries."""
    if count > most:
        raise ReportRefusedError(field, count, f"more than {most}")


def checked_ssid(field: str, value: bytes) -> bytes:
    """An SSID as 802.11 has it: any bytes, but not many."""
    if len(value) > SSID_MAX_BYTES:
        raise ReportRefusedError(field, value, f"longer than {SSID_MAX_BYTES} bytes")
    return value


def _check_distinct(field: str, values: list[str]) -> None:
    seen = set[str]()
    for value in values:
        if value in seen:
            raise ReportRefusedError(field, value, "listed twice")
        seen.add(value)


_COUNTER = (0, COUNTER_MAX)
_RATE_KBPS = (0, 50_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The radio's cumulative channel times, microseconds."""

    active_us: int
    busy_us: int

    LIMITS: ClassVar[Limits] = {"active_us": _COUNTER, "busy_us": _COUNTER}

    def __post_init__(self) -> None:
        _check_limits(self, self.LIMITS)
        if self.busy_us > self.active_us:
            raise ReportRefusedError("busy_us", self.busy_us, f"more than active_us = {self.active_us}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """One associated station; counters since it associated, rx is uplink."""

    mac: str
    signal_dbm: int | None = None
    rx_bytes: int = 0
    tx_bytes: int = 0
    rx_packets: int = 0
    tx_packets: int = 0
    tx_retries: int = 0
    rx_bitrate_kbps: int = 0
    connected_time_ms: int = 0

    LIMITS: ClassVar[Limits] = {
        "rx_bytes": _COUNTER,
        "tx_bytes": _COUNTER,
        "rx_packets": _COUNTER,
        "tx_packets": _COUNTER,
        "tx_retries": _COUNTER,
        "rx_bitrate_kbps": _RATE_KBPS,
        "connected_time_ms": _COUNTER,
    }

    def __post_init__(self) -> None:
        checked_mac("mac", self.mac)
        _check_limits(self, self.LIMITS)
        if self.signal_dbm is not None:
            _check_limits(self, {"signal_dbm": (-150, 50)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPointReport:
    """One look at one cell; the stations are those associated at `monotonic_us` of the access point's clock."""

    bssid: str
    sequence: int
    monotonic_us: int
    stations: tuple[Station, ...] = ()
    survey: Survey | None = None
    ssid: bytes = b""
    center_frequency_mhz: int = 0

    LIMITS: ClassVar[Limits] = {
        "sequence": (1, COUNTER_MAX),
        "monotonic_us": _COUNTER,
        "center_frequency_mhz": (0, 100_000),
    }

    def __post_init__(self) -> None:
        checked_mac("bssid", self.bssid)
        checked_ssid("ssid", self.ssid)
        _check_limits(self, self.LIMITS)
        macs = [station.mac for station in self.stations]
        check_count("stations", len(macs), STATIONS_MAX)
        _check_distinct("stations.mac", macs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A terminal's connections to one address. RTTs of 0 mean that there is no sample yet."""

    address: str
    connections_sending: int = 0
    srtt_us: int = 0
    min_rtt_us: int = 0
    mss_bytes: int = 1448
    queued_bytes: int = 0

    LIMITS: ClassVar[Limits] = {
        "connections_sending": (0, 1_000_000),
        "srtt_us": (0, RTT_MAX_US),
        "min_rtt_us": (0, RTT_MAX_US),
        "mss_bytes": (0, 65_535),
        "queued_bytes": _COUNTER,
    }

    def __post_init__(self) -> None:
        if checked_address("address", self.address) != self.address:
            raise ReportRefusedError("address", self.address, "not in canonical form")
        _check_limits(self, self.LIMITS)
        if 0 < self.mss_bytes < MSS_MIN_BYTES:
            raise ReportRefusedError("mss_bytes", self.mss_bytes, f"below {MSS_MIN_BYTES}, Linux's smallest")
        loopback = ipaddress.ip_address(self.address).is_loopback
        for field in ("srtt_us", "min_rtt_us"):
            if not loopback and 0 < getattr(self, field) < RTT_MIN_US:
                raise ReportRefusedError(field, getattr(self, field), f"below {RTT_MIN_US}: not over the air")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEnd:
    """What the terminal can do with bounds."""

    name: str = "procfs"
    can_set_max: bool = True
    can_set_min: bool = True
    can_select_destination: bool = True
    rules_max: int = 0

    def __post_init__(self) -> None:
        if not _BACK_END_NAME.fullmatch(self.name):
            raise ReportRefusedError("back_end.name", self.name, "not at most 32 letters, digits, dots, dashes")


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalReport:
    """One look at a terminal's senders. `bounds_generation` is 0 while the kernel's defaults hold."""

    mac: str
    sequence: int
    monotonic_us: int
    destinations: tuple[Destination, ...] = ()
    bounds_generation: int = 0
    back_end: BackEnd = BackEnd()

    LIMITS: ClassVar[Limits] = {
        "sequence": (1, COUNTER_MAX),
        "monotonic_us": _COUNTER,
        "bounds_generation": _COUNTER,
    }

    def __post_init__(self) -> None:
        checked_mac("mac", self.mac)
        _check_limits(self, self.LIMITS)
        check_count("destinations", len(self.destinations), DESTINATIONS_MAX)
        _check_distinct("destinations.address", [destination.address for destination in self.destinations])
