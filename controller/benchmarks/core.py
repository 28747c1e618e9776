# SPDX-License-Identifier: Apache-2.0
"""What the controller's core costs: CPU time of a terminal's and of an access point's report, from the bytes of the
message to the effects, without gRPC. Usage: core.py [--terminals 100,1000,10000] [--stations-per-cell 20]
[--aggregate] [--json FILE]

Every terminal sends and reports once a round, in random order over all cells; each access point reports once a round.
Stations are of 802.11g, with --aggregate of 802.11ac, 80 MHz. In `steady` rounds nothing changes; in `changing` rounds
two stations of each cell start or stop to send, so that each access point's report leads to new bounds for its whole
cell. CPU time of this process: other work on the machine adds to it by shared caches; the 20th percentile over batches
is given beside the median.
"""

import argparse
import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airbound.core.effects import SetBounds, SetEdca, SetFlows, SetStationFlows
from airbound.core.engine import Engine
from airbound.core.events import AccessPointReported, TerminalReported
from airbound.core.parameters import Parameters
from airbound.core.principals import Principal, Stream
from airbound.grpc import convert
from airbound.v1 import access_point_pb2, terminal_pb2

STATIONS_PER_CELL = 20
BITRATE_KBPS = 54_000
AGGREGATING = {  # two streams of 80 MHz; an access of such a station is of some dozens of frames
    "rx_bitrate_kbps": 866_700,
    "tx_bitrate_kbps": 866_700,
    "rx_rate_format": access_point_pb2.RATE_FORMAT_VHT,
    "tx_rate_format": access_point_pb2.RATE_FORMAT_VHT,
    "aggregates": True,
}
BATCH = 20
ROUNDS_UNCOUNTED = 3
MESSAGES_PER_SIZE = 30_000  # a smaller size has more rounds
SECOND_US = 1_000_000
CLASSES = (
    terminal_pb2.APPLICATION_CLASS_LIVE,
    terminal_pb2.APPLICATION_CLASS_BURST,
    terminal_pb2.APPLICATION_CLASS_BULK,
    terminal_pb2.APPLICATION_CLASS_BACKGROUND,
)
LIVE_BYTES = 87_500  # a second: 0.7 Mb/s, which a live flow is taken to need
FIRST_UID = 10_001
BACK_END = terminal_pb2.BackEnd(
    name="procfs", can_set_max=True, can_set_min=True, can_select_destination=True, rules_max=256
)
QUEUES = [
    access_point_pb2.Edca(category=category, aifsn=aifsn, cw_min=cw_min, cw_max=cw_max, txop_limit=txop_limit)
    for category, aifsn, cw_min, cw_max, txop_limit in (
        (access_point_pb2.ACCESS_CATEGORY_BACKGROUND, 7, 15, 1023, 0),
        (access_point_pb2.ACCESS_CATEGORY_BEST_EFFORT, 3, 15, 63, 0),
        (access_point_pb2.ACCESS_CATEGORY_VIDEO, 1, 7, 15, 94),
        (access_point_pb2.ACCESS_CATEGORY_VOICE, 1, 3, 7, 47),
    )
]


@dataclass(slots=True)
class Station:
    """One phone as its access point and its own agent see it."""

    mac: bytes
    ip: bytes
    stream: Stream
    packets: int = 0
    sending: bool = True
    sequence: int = 0
    generation: int = 0
    flows_generation: int = 0


@dataclass(slots=True)
class Cell:
    """One access point and its stations."""

    bssid: bytes
    stream: Stream
    stations: list[Station]
    sequence: int = 0
    generation: int = 0
    flows_generation: int = 0


@dataclass(slots=True)
class Costs:
    """CPU microseconds per message, one figure a batch."""

    terminal_us: list[float] = field(default_factory=list)
    access_point_us: list[float] = field(default_factory=list)


class Population:
    """Cells that report to an engine in virtual time."""

    def __init__(
        self,
        terminals: int,
        stations_per_cell: int = STATIONS_PER_CELL,
        *,
        aggregate: bool = False,
        flows: int = 1,
        classes: bool = False,
    ) -> None:
        self.random = random.Random(1)  # noqa: S311  # a repeatable order
        self.engine = Engine(Parameters())
        self.now_us = 1_000 * SECOND_US
        self._flows, self._classes = flows, classes
        numbers = iter(range(1, 1 << 24))
        self._rates: dict[str, Any] = AGGREGATING if aggregate else {"rx_bitrate_kbps": BITRATE_KBPS}
        self.cells = [
            self._cell(number, stations_per_cell, numbers) for number in range(terminals // stations_per_cell)
        ]
        self._by_stream: dict[int, Station | Cell] = {cell.stream.number: cell for cell in self.cells}
        self._by_stream |= {station.stream.number: station for cell in self.cells for station in cell.stations}

    @staticmethod
    def _cell(number: int, stations_per_cell: int, numbers: Iterator[int]) -> Cell:
        def stream(role: Any, name: str, address: bytes = b"") -> Stream:
            return Stream(next(numbers), Principal(role, name), address)

        stations = []
        for index in range(stations_per_cell):
            tail = (number * stations_per_cell + index + 1).to_bytes(3, "big")
            ip = bytes([10]) + tail
            stations.append(Station(bytes([2, 0, 0]) + tail, ip, stream("terminal", ip.hex(), ip)))
        bssid = bytes([2, 1, 0, 0]) + number.to_bytes(2, "big")
        return Cell(bssid, stream("access-point", bssid.hex()), stations)

    def round(self, costs: Costs, *, changing: bool) -> None:
        """One second: every access point reports, then every terminal."""
        self.now_us += SECOND_US
        for cell in self.cells:
            if changing:
                for station in self.random.sample(cell.stations, 2):
                    station.sending = not station.sending
            message = self._access_point_message(cell)
            costs.access_point_us.append(self._timed(self._access_point_reported, [(cell.stream, message)]))
        stations = [station for cell in self.cells for station in cell.stations]
        self.random.shuffle(stations)
        for start in range(0, len(stations), BATCH):
            batch = [(station.stream, self._terminal_message(station)) for station in stations[start : start + BATCH]]
            costs.terminal_us.append(self._timed(self._terminal_reported, batch) / len(batch))

    def _timed(self, handle: Callable[[Stream, bytes], list[Any]], batch: list[tuple[Stream, bytes]]) -> float:
        effects = []
        start_ns = time.process_time_ns()
        for stream, message in batch:
            effects += handle(stream, message)
        spent_us = (time.process_time_ns() - start_ns) / 1000
        for effect in effects:
            if isinstance(effect, SetBounds | SetEdca):
                self._by_stream[effect.stream.number].generation = effect.generation
            elif isinstance(effect, SetFlows | SetStationFlows):
                generation = effect.generation if effect.flows else 0
                self._by_stream[effect.stream.number].flows_generation = generation
        return spent_us

    def _access_point_reported(self, stream: Stream, data: bytes) -> list[Any]:
        message = access_point_pb2.AccessPointServiceConnectRequest.FromString(data)
        report, _ = convert.access_point_report(message.report)
        if report is None:
            raise AssertionError("the report was refused")
        return self.engine.handle(AccessPointReported(stream, report), self.now_us)

    def _terminal_reported(self, stream: Stream, data: bytes) -> list[Any]:
        message = terminal_pb2.TerminalServiceConnectRequest.FromString(data)
        report, _ = convert.terminal_report(message.report)
        if report is None:
            raise AssertionError("the report was refused")
        return self.engine.handle(TerminalReported(stream, report), self.now_us)

    def _access_point_message(self, cell: Cell) -> bytes:
        cell.sequence += 1
        stations = []
        for station in cell.stations:
            station.packets += 100 * station.sending
            stations.append(
                access_point_pb2.Station(
                    mac=station.mac,
                    rx_bytes=station.packets * 1534,
                    rx_packets=station.packets,
                    tx_bytes=station.packets // 2 * 86,
                    tx_packets=station.packets // 2,
                    connected_time_ms=10_000 + cell.sequence * 1000,
                    ip_addresses=[station.ip],
                    **self._rates,
                )
            )
        survey = access_point_pb2.ChannelSurvey(active_us=self.now_us, busy_us=self.now_us * 9 // 10)
        report = access_point_pb2.AccessPointReport(
            bssid=cell.bssid,
            sequence=cell.sequence,
            monotonic_us=self.now_us,
            stations=stations,
            survey=survey,
            edca=access_point_pb2.EdcaState(
                can_set=True, generation=cell.generation, own=QUEUES, stations=QUEUES, wmm=True
            ),
        )
        if self._classes:
            report.station_flows.CopyFrom(
                access_point_pb2.StationFlowState(can_set=True, generation=cell.flows_generation, flows_max=64)
            )
        return access_point_pb2.AccessPointServiceConnectRequest(report=report).SerializeToString()

    def _terminal_message(self, station: Station) -> bytes:
        station.sequence += 1
        report = terminal_pb2.TerminalReport(
            mac=station.mac,
            sequence=station.sequence,
            monotonic_us=self.now_us,
            destinations=[self._destination(station, flow) for flow in range(self._flows)],
            bounds_generation=station.generation,
        )
        if station.sequence == 1:
            report.agent.CopyFrom(terminal_pb2.Agent(version="benchmark", back_end=BACK_END))
            if self._classes:
                report.agent.MergeFrom(
                    terminal_pb2.Agent(
                        can_mark=True,
                        can_admit=True,
                        can_pace=True,
                        flows_max=64,
                        back_end=terminal_pb2.BackEnd(can_select_uid_destination=True),
                    )
                )
        if self._classes:
            report.flows.generation = station.flows_generation
        return terminal_pb2.TerminalServiceConnectRequest(report=report).SerializeToString()

    def _destination(self, station: Station, flow: int) -> terminal_pb2.Destination:
        """What an application sends to an address of its own; live ones have what they need, and no queue."""
        number = CLASSES[flow % len(CLASSES)] if self._classes else terminal_pb2.APPLICATION_CLASS_UNSPECIFIED
        is_live = number == terminal_pb2.APPLICATION_CLASS_LIVE
        delivered_bytes = station.sequence * (LIVE_BYTES if is_live else 100_000)
        destination = terminal_pb2.Destination(
            address=bytes([10, 0, 4, flow + 1]),
            connections=1,
            connections_sending=1,
            srtt_us=20_000 + station.sequence % 7,
            min_rtt_us=4_300,
            cwnd_segs=4,
            mss_bytes=1448,
            delivered_bytes=delivered_bytes,
            queued_bytes=2_000 if is_live else 100_000,
            uids=[FIRST_UID + flow],
        )
        if number:
            destination.classes.add(
                application_class=number,
                connections=1,
                connections_sending=1,
                delivered_bytes=delivered_bytes,
                queued_bytes=destination.queued_bytes,
                uids=[FIRST_UID + flow],
            )
        return destination


def measure(terminals: int, stations_per_cell: int, *, aggregate: bool, changing: bool) -> dict[str, float]:
    """Figures for one size."""
    population = Population(terminals, stations_per_cell, aggregate=aggregate)
    rounds = max(4, MESSAGES_PER_SIZE // terminals)
    for _ in range(ROUNDS_UNCOUNTED):
        population.round(Costs(), changing=changing)
    gc.collect()
    gc.freeze()
    costs = Costs()
    for _ in range(rounds):
        population.round(costs, changing=changing)
    return {
        "terminal_us_p20": _percentile(costs.terminal_us, 20),
        "terminal_us_p50": _percentile(costs.terminal_us, 50),
        "access_point_us_p20": _percentile(costs.access_point_us, 20),
        "access_point_us_p50": _percentile(costs.access_point_us, 50),
    }


def _percentile(values: list[float], per_cent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[per_cent - 1]


def main() -> int:
    """Measure every size, steady and changing; print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terminals", default="100,1000,10000", metavar="N,N,...", help="default %(default)s")
    parser.add_argument(
        "--stations-per-cell", type=int, default=STATIONS_PER_CELL, metavar="N", help="default %(default)s"
    )
    parser.add_argument("--aggregate", action="store_true", help="stations of 802.11ac, 80 MHz")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments = parser.parse_args()
    sizes, per_cell = [int(size) for size in arguments.terminals.split(",")], arguments.stations_per_cell
    if per_cell < 2 or min(sizes) < per_cell:  # noqa: PLR2004  (two of each cell change at a time)
        parser.error(f"--stations-per-cell: {per_cell}: at least 2, and at most --terminals")
    figures: dict[str, dict[int, dict[str, float]]] = {}
    print(f"{'':10} {'terminals':>9}  {'terminal report, us':>22}  {'access point report, us':>25}")
    print(f"{'':10} {'':>9}  {'p20':>10} {'p50':>11}  {'p20':>12} {'p50':>12}")
    for name in ("steady", "changing"):
        figures[name] = {}
        for size in sizes:
            measured = measure(size, per_cell, aggregate=arguments.aggregate, changing=name == "changing")
            figures[name][size] = measured
            print(
                f"{name:10} {size:>9}  {measured['terminal_us_p20']:>10.1f} {measured['terminal_us_p50']:>11.1f}"
                f"  {measured['access_point_us_p20']:>12.0f} {measured['access_point_us_p50']:>12.0f}",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
