# SPDX-License-Identifier: Apache-2.0
"""Cells full of phones that all send, around the real engine in virtual time: their reports go through the same
conversion as over the network. No network, no clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from airbound.core.effects import SetBounds
from airbound.core.engine import Engine
from airbound.core.events import AccessPointReported, Disconnected, Event, TerminalReported
from airbound.core.overrides import CellOverride
from airbound.core.parameters import Parameters
from airbound.core.principals import Principal, Role, Stream
from airbound.grpc import convert
from airbound.runtime.runner import Runner
from airbound.v1 import access_point_pb2, terminal_pb2

SECOND_US = 1_000_000
PACKETS_PER_S = 100
SERVER = bytes([10, 0, 4, 1])
_BACK_END: dict[str, Any] = {"can_set_max": True, "can_set_min": True, "can_select_destination": True, "rules_max": 256}


@dataclass(slots=True)
class Phone:
    """A phone as its access point and its own agent see it. What is in `report` goes into each report."""

    mac: bytes
    stream: Stream
    ip: bytes = b""
    packets: int = 0
    connected_ms: int = 10_000
    sequence: int = 0
    generation: int = 0
    back_end: str = "procfs"
    agent_version: str = "1.0"
    station: dict[str, Any] = field(default_factory=dict)  # fields that its station has in reports
    destinations: list[terminal_pb2.Destination] | None = None  # instead of one to SERVER
    arrivals: terminal_pb2.Arrivals | None = None
    flows: terminal_pb2.FlowState | None = None
    can_mark: bool = False
    classes: list[terminal_pb2.ClassPart] = field(default_factory=list)  # of the destination SERVER


@dataclass(slots=True)
class Cell:
    """One access point and its stations."""

    bssid: bytes
    stream: Stream
    phones: list[Phone]
    ssid: bytes = b""
    agent_version: str = "1.0"
    sequence: int = 0
    windows: dict[str, Any] | None = None  # what its agent reports of them; none if it does not look


class Population:
    """Cells with an engine and a runner, which has no loop: nothing is sent."""

    def __init__(
        self,
        cells: int,
        phones_per_cell: int,
        parameters: Parameters | None = None,
        overrides: Sequence[CellOverride] = (),
    ) -> None:
        self.now_us = 1_000 * SECOND_US
        self.engine = Engine(parameters or Parameters(), overrides=overrides)
        self.runner = Runner(self.engine, clock_us=lambda: self.now_us)
        self._streams = 0
        self.cells = [
            Cell(
                bytes([2, 1, 0, 0]) + number.to_bytes(2, "big"),
                self.stream("access-point", f"ap{number}"),
                [self.phone(number * phones_per_cell + index) for index in range(phones_per_cell)],
            )
            for number in range(cells)
        ]

    def stream(self, role: Role, name: str, address: bytes = b"") -> Stream:
        """A new stream."""
        self._streams += 1
        return Stream(self._streams, Principal(role, name), address)

    def phone(self, number: int, name: str | None = None) -> Phone:
        """A phone that is in no cell yet."""
        tail = (number + 1).to_bytes(3, "big")
        ip = bytes([10]) + tail
        return Phone(
            bytes([2, 0, 0]) + tail, self.stream("terminal", f"phone{number}" if name is None else name, ip), ip
        )

    def seconds(self, count: int = 1) -> None:
        """So many seconds: in each, every access point and then every phone reports."""
        for _ in range(count):
            self.now_us += SECOND_US
            for cell in self.cells:
                self.access_point_reports(cell)
            for cell in self.cells:
                for phone in cell.phones:
                    self.phone_reports(phone)

    def disconnect(self, stream: Stream) -> None:
        """A stream ends."""
        self._handle(Disconnected(stream), {})

    def access_point_reports(self, cell: Cell) -> None:
        """A report in which each of the cell's phones has sent for a second."""
        cell.sequence += 1
        stations = []
        for phone in cell.phones:
            phone.packets += PACKETS_PER_S
            phone.connected_ms += 1000
            fields: dict[str, Any] = {
                "rx_bytes": phone.packets * 1534,
                "rx_packets": phone.packets,
                "tx_bytes": phone.packets // 2 * 86,
                "tx_packets": phone.packets // 2,
                "tx_retries": phone.packets // 10,
                "tx_failed": phone.packets // 100,
                "rx_bitrate_kbps": 54_000,
                "tx_bitrate_kbps": 48_000,
                "rx_airtime_us": phone.packets * 400,
                "tx_airtime_us": phone.packets * 50,
                "airtime_source": access_point_pb2.AIRTIME_SOURCE_MEASURED,
                "connected_time_ms": phone.connected_ms,
                "signal_dbm": -50,
                "ip_addresses": [phone.ip],
            }
            stations.append(access_point_pb2.Station(mac=phone.mac, **(fields | phone.station)))
        survey = access_point_pb2.ChannelSurvey(active_us=self.now_us, busy_us=self.now_us * 9 // 10)
        report = access_point_pb2.AccessPointReport(
            bssid=cell.bssid,
            ssid=cell.ssid,
            sequence=cell.sequence,
            monotonic_us=self.now_us,
            stations=stations,
            survey=survey,
            agent_version=cell.agent_version,
            windows=None if cell.windows is None else access_point_pb2.WindowState(**cell.windows),
        )
        data = access_point_pb2.AccessPointServiceConnectRequest(report=report).SerializeToString()
        message = access_point_pb2.AccessPointServiceConnectRequest.FromString(data)
        accepted, _ = convert.access_point_report(message.report)
        if accepted is None:
            raise ValueError("the report was refused")
        phones = {phone.stream.number: phone for phone in cell.phones}
        self._handle(AccessPointReported(cell.stream, accepted, data), phones)

    def phone_reports(self, phone: Phone) -> None:
        """A report of a phone that sends."""
        phone.sequence += 1
        destination = terminal_pb2.Destination(
            address=SERVER,
            connections=2,
            connections_sending=1,
            srtt_us=20_000,
            min_rtt_us=4_000,
            cwnd_segs=4,
            mss_bytes=1448,
            delivered_bytes=phone.sequence * 100_000,
            queued_bytes=50_000,
            events=terminal_pb2.EventCounts(sack=phone.sequence, timeout=1),
            classes=phone.classes,
        )
        report = terminal_pb2.TerminalReport(
            mac=phone.mac,
            sequence=phone.sequence,
            monotonic_us=self.now_us,
            destinations=[destination] if phone.destinations is None else phone.destinations,
            bounds_generation=phone.generation,
            arrivals=phone.arrivals,
            flows=phone.flows,
        )
        if phone.sequence == 1:
            back_end = terminal_pb2.BackEnd(name=phone.back_end, **_BACK_END)
            agent = terminal_pb2.Agent(version=phone.agent_version, back_end=back_end)
            if phone.can_mark:
                agent.can_mark, agent.flows_max = True, 64
            report.agent.CopyFrom(agent)
        data = terminal_pb2.TerminalServiceConnectRequest(report=report).SerializeToString()
        message = terminal_pb2.TerminalServiceConnectRequest.FromString(data)
        accepted, _ = convert.terminal_report(message.report)
        if accepted is None:
            raise ValueError("the report was refused")
        self._handle(TerminalReported(phone.stream, accepted, data), {phone.stream.number: phone})

    def _handle(self, event: Event, phones: dict[int, Phone]) -> None:
        """Give the engine an event; phones apply what they are sent."""
        for effect in self.engine.handle(event, self.now_us):
            self.runner.counts.count(effect)
            phone = phones.get(effect.stream.number) if isinstance(effect, SetBounds) else None
            if phone is not None and isinstance(effect, SetBounds):
                phone.generation = effect.generation if effect.bounds else 0
