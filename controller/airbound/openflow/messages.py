# SPDX-License-Identifier: Apache-2.0
"""What is asked of a switch and what it answers, without OpenFlow's encoding. Opens nothing.

`os_ken_app.py` makes OpenFlow 1.3 of these; the fake switch of the tests interprets them or, over a socket, OpenFlow.
"""

from typing import NamedTuple

from airbound.core.addresses import Address, Mac


class Match(NamedTuple):
    """Packets of one station in one direction; what is empty or 0 may be anything."""

    station: Mac = b""
    uplink: bool = True  # whether the station sends or receives them
    ethernet_type: int = 0
    address: Address = b""  # of the other end
    ip_protocol: int = 0
    port: int = 0  # of the other end; of TCP or UDP
    in_port: int = 0  # of the switch


class AddFlow(NamedTuple):
    """Add a flow, or replace the one of that table, priority and match, whose counters go on."""

    table: int
    priority: int
    match: Match
    cookie: int
    idle_s: int = 0
    hard_s: int = 0
    meter: int = 0  # that limits it; 0: none
    dscp: int = -1  # that its packets get; -1: their own
    copy: bool = False  # a copy of each packet's head goes to the controller
    goto: int = 0  # table; 0: the switch forwards as it would without a controller


class DeleteFlow(NamedTuple):
    """Delete the flow of that table, priority and match."""

    table: int
    priority: int
    match: Match


class DeleteCookies(NamedTuple):
    """Delete every flow whose cookie has these bits."""

    cookie: int
    mask: int


class SetMeter(NamedTuple):
    """Add a meter that drops what is above a rate, or modify the one that there is."""

    meter: int
    kbps: int
    burst_kbit: int
    there: bool = False  # it is there: modify it


class DeleteMeter(NamedTuple):
    """Delete a meter, if it is there."""

    meter: int


class LimitCopies(NamedTuple):
    """Limit the copies of packets to the controller at the switch itself; not every switch can."""

    packets_per_s: int
    burst: int


class Barrier(NamedTuple):
    """What comes later is done later."""


class AskDescription(NamedTuple):
    """Ask what the switch is."""


class AskPorts(NamedTuple):
    """Ask which ports there are."""


class AskMeterFeatures(NamedTuple):
    """Ask how many meters there may be."""


class AskMeterConfigs(NamedTuple):
    """Ask which meters there are."""


class AskMeterStats(NamedTuple):
    """Ask what meters dropped."""


class AskFlowStats(NamedTuple):
    """Ask what flows counted whose cookie has these bits."""

    cookie: int
    mask: int


Message = (
    AddFlow
    | DeleteFlow
    | DeleteCookies
    | SetMeter
    | DeleteMeter
    | LimitCopies
    | Barrier
    | AskDescription
    | AskPorts
    | AskMeterFeatures
    | AskMeterConfigs
    | AskMeterStats
    | AskFlowStats
)


class PacketIn(NamedTuple):
    """A copy of a packet's head."""

    octets: bytes
    in_port: int = 0


class FlowStat(NamedTuple):
    """One flow."""

    cookie: int
    packets: int
    octets: int


class FlowStats(NamedTuple):
    """A part of the answer."""

    flows: tuple[FlowStat, ...]
    more: bool = False  # parts follow


class MeterStats(NamedTuple):
    """A part of the answer: dropped octets by meter."""

    dropped: tuple[tuple[int, int], ...]
    more: bool = False


class MeterConfigs(NamedTuple):
    """A part of the answer."""

    meters: tuple[int, ...]
    more: bool = False


class MeterFeatures(NamedTuple):
    """0 if the switch has none that drop by kb/s."""

    meters_max: int


class Description(NamedTuple):
    """Manufacturer, hardware, software."""

    text: str


class Ports(NamedTuple):
    """A part of the answer: names by number."""

    names: tuple[tuple[int, str], ...]
    more: bool = False


class Failed(NamedTuple):
    """The switch answered a message with an error (OpenFlow 1.3.5, 7.5.4). `cookie` and `meter` are of the message
    that failed, if it was about a flow or a meter, and known.
    """

    kind: int
    code: int
    cookie: int = 0
    meter: int = 0


Answer = PacketIn | FlowStats | MeterStats | MeterConfigs | MeterFeatures | Description | Ports | Failed

CONTROLLER_METER = 0xFFFFFFFD  # OFPM_CONTROLLER: of the copies of packets
METER_MOD_FAILED, METER_EXISTS, METER_UNKNOWN, OUT_OF_METERS = 12, 1, 3, 10
FLOW_MOD_FAILED, TABLE_FULL = 5, 1
BAD_REQUEST = 1
