# SPDX-License-Identifier: Apache-2.0
"""What an OpenFlow switch reports and is sent, as the core knows it; `airbound.openflow` and `airbound.grpc` use the
same types. They check nothing, as those of reports.py.
"""

from dataclasses import dataclass
from typing import NamedTuple

from airbound.core.addresses import Address, Mac

TRAFFIC_MAX = 16_384  # entries of a report
STATION_RULES_MAX = 2_048
MARKS_MAX = 32  # of one station
DSCP_MAX, PORT_MAX = 63, 65_535
KBPS_MAX = 50_000_000
LEASE_MIN_MS, LEASE_MAX_MS = 1_000, 60_000
DESCRIPTION_MAX_CHARACTERS = 256

# airbound.v1.TrafficProtocol
ANY_PROTOCOL, TCP, UDP, QUIC, OTHER = range(5)
PROTOCOL_NAMES = {TCP: "TCP", UDP: "UDP", QUIC: "QUIC", OTHER: "other"}


class Traffic(NamedTuple):
    """What a station exchanged with one address by one protocol, in whole frames; without an address: with all that
    are not counted by theirs.
    """

    mac: Mac
    address: Address
    protocol: int
    uplink_bytes: int
    uplink_packets: int
    downlink_bytes: int
    downlink_packets: int


class Mark(NamedTuple):
    """The DSCP of a kind of traffic to a station: by protocol, the other end's address and port, each of which may be
    any (0, empty).
    """

    protocol: int
    address: Address
    port: int
    dscp: int


class StationRule(NamedTuple):
    """What the switch does with a station's frames: it counts them; it limits them, unless a rate is 0."""

    mac: Mac
    uplink_kbps: int = 0
    downlink_kbps: int = 0
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchReport:
    """One sample of one switch; counters run since it connected."""

    datapath_id: int
    bssid: Mac  # empty if it is not said
    sequence: int
    monotonic_us: int
    description: str = ""
    peer: str = ""
    agent_version: str = ""
    traffic: tuple[Traffic, ...] = ()
    generation: int = 0  # of the rules in force; 0 while there are none
    meters_max: int = 0
    flows: int = 0
    meters: int = 0
    packet_ins_total: int = 0
    packet_ins_dropped_total: int = 0
    malformed_total: int = 0
    errors_total: int = 0
    refused_total: int = 0
    meter_dropped_bytes: int = 0
    lists_stations: bool = False
    stations: tuple[Mac, ...] = ()  # behind the ports that the operator named, where it lists them


def datapath_text(datapath_id: int) -> str:
    """16 hexadecimal digits, as `ovs-vsctl get bridge br0 datapath_id` prints them."""
    return f"{datapath_id:016x}"


def datapath_of_text(text: str) -> int:
    """A datapath identifier.

    Raises:
        ValueError: it is none.
    """
    digits = text.removeprefix("0x").replace(":", "")
    if len(digits) != 16 or not set(digits.lower()) <= set("0123456789abcdef") or not int(digits, 16):  # noqa: PLR2004
        raise ValueError(f"{text!r} is no datapath identifier: expected 16 hexadecimal digits")
    return int(digits, 16)


def own_datapath(name: str) -> int:
    """The one datapath that a certificate of role switch and this name is for; 0 if it is for a process that serves
    any.
    """
    try:
        return datapath_of_text(name)
    except ValueError:
        return 0
