# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/top.svg: `airbound top` of four cells after five minutes, in virtual time. The controller's engine
decides as it always does; what its agents report is made up here. The same picture each time.

    python controller/pictures/top.py docs/images/top.svg
"""

import asyncio
import datetime
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

from airbound.core.addresses import Address, Mac, mac_from_text, mac_text
from airbound.core.effects import Effect, Note
from airbound.core.events import AccessPointReported, Event
from airbound.core.parameters import Parameters
from airbound.core.reports import Destination
from airbound.grpc import events_convert, live_service
from airbound.grpc import operations_convert as convert
from airbound.operator.top.app import Top
from airbound.operator.top.model import EventList, Model, OpenCell
from airbound.runtime.history import History
from airbound.v1 import access_point_pb2, events_pb2, live_pb2, operations_pb2
from airbound_testing.scenario import NO_WMM, SECOND_US, Scenario, mac

SECONDS = 300
SIZE = 100, 34  # columns, lines
MIN_RTT_MS = 24.0
SERVERS = [bytes([198, 51, 100, number]) for number in (1, 1, 7)]  # that the phones send to, in turns
BEGIN = datetime.datetime(2026, 1, 31, 12, 0, tzinfo=datetime.UTC)
OPEN = "02:00:00:00:00:01"
# SSID, phones, Mb/s that they upload together, channel's frequency in MHz
CELLS = {
    OPEN: ("lecture-hall", 9, 24.0, 5180),
    "02:00:00:00:00:02": ("library", 5, 18.0, 2412),
    "02:00:00:00:00:03": ("guest", 3, 6.0, 5260),
    "02:00:00:00:00:04": ("workshop", 0, 0.0, 2462),
}


class School(Scenario):
    """Four cells whose events are kept."""

    def __init__(self) -> None:
        super().__init__(Parameters())
        self.edca = NO_WMM
        self.history = History(wall_us=lambda: self.wall_us, clock_us=lambda: self.now_us)
        self._begun_us = self.now_us

    @property
    def wall_us(self) -> int:
        """The wall clock's time."""
        return round(BEGIN.timestamp()) * SECOND_US + self.now_us - self._begun_us

    def do(self, event: Event) -> list[Effect]:
        """Keep what is noted. An access point's report says which network it is."""
        if isinstance(event, AccessPointReported):
            name, _, _, frequency = CELLS[mac_text(event.report.bssid)]
            report = replace(event.report, ssid=name.encode(), center_frequency_mhz=frequency)
            event = replace(event, report=report)
        effects = super().do(event)
        for effect in effects:
            if isinstance(effect, Note):
                self.history.append(effect)
        return effects


class Played:
    """A feed whose model is complete."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def start(self) -> None:
        """Nothing is fetched."""

    def stop(self) -> None:
        """Nothing was."""

    def open(self, bssid: str) -> None:
        """It is open."""

    def show_events(self, *, shown: bool) -> None:
        """Those of the cell are there."""

    def set_mode(self, mode: str) -> None:
        """Nothing is changed."""

    def exempt(self, name: str, *, exempt: bool) -> None:
        """Nothing is changed."""


def phones(bssid: str) -> list[Mac]:
    """A cell's phones."""
    first = 16 * int(bssid[-2:], 16)
    return [mac(first + number) for number in range(CELLS[bssid][1])]


def senders(bssid: str, second: int) -> list[Mac]:
    """Those that send now: they come one after the other, and some pause."""
    return [
        phone
        for number, phone in enumerate(phones(bssid))
        if second > 20 + 9 * number and (second // (35 + 6 * number) + number) % 4
    ]


def srtt_ms(number: int, second: int, others: int) -> float:
    """A smoothed RTT that moves slowly."""
    wave = math.sin(second / (11 + number)) + math.sin(second / 37 + number)
    return MIN_RTT_MS * (1.15 + 0.08 * others + 0.12 * wave)


def destination(number: int, second: int, others: int) -> Destination:
    """What a phone reports of the server that it sends to."""
    server: Address = SERVERS[number % len(SERVERS)]
    srtt_us = round(srtt_ms(number, second, others) * 1000)
    return Destination(
        address=server, connections_sending=1, srtt_us=srtt_us, min_rtt_us=round(MIN_RTT_MS * 1000), mss_bytes=1448
    )


def play() -> tuple[School, Model]:
    """Five minutes."""
    school, model = School(), Model()
    for second in range(SECONDS):
        school.advance(1)
        for bssid, (_, _, mbps, _) in CELLS.items():
            now = senders(bssid, second)
            total = mbps * min(1.0, 0.35 + 0.2 * len(now)) * (0.94 + 0.06 * math.sin(second / 5))
            idle = [phone for phone in phones(bssid) if phone not in now]
            sending = {phone: total / len(now) for phone in now}
            busy = 0.06 + 0.85 * total / mbps if now else 0.05
            school.access_point(sending, idle, bssid=mac_from_text(bssid), busy=min(busy, 0.97))
            for number, phone in enumerate(phones(bssid)):
                reported = [destination(number, second, len(now))] if phone in now else []
                if reported or second % 10 == number:
                    school.terminal(phone, *reported)
        for state in school.engine.cells.values():
            model.take_cell(convert.cell(state, school.now_us), second)
        found = map(live_service.cell_ratio, school.engine.cells.values())
        model.take_ratios({cell.bssid: cell for cell in found if cell is not None})
        model.second(second)
    return school, model


def open_cell(school: School, model: Model) -> None:
    """The stations and terminals of one cell, with what decisions do not need made up."""
    state = school.engine.cells[mac_from_text(OPEN)]
    opened, now = OpenCell(OPEN), senders(OPEN, SECONDS - 1)
    for second in range(3):
        report = access_point_pb2.AccessPointReport()
        for number, phone in enumerate(phones(OPEN)):
            report.stations.add(
                mac=phone,
                signal_dbm=-48 - 3 * number,
                rx_bitrate_kbps=54_000 if number % 4 else 48_000,
                tx_bitrate_kbps=54_000,
                rx_airtime_us=second * (90_000 + 9_000 * (number % 4) if phone in now else 300),
                airtime_source=access_point_pb2.AIRTIME_SOURCE_MEASURED,
                tx_retries=40 + 17 * number,
            )
        opened.stations = convert.stations(state, report, school.now_us)
        opened.airtime.take(opened.stations)
    settings, now_us = school.engine.settings, school.now_us
    opened.terminals = [convert.terminal(terminal, state, settings, now_us) for terminal in state.terminals.values()]
    for number, terminal in enumerate(opened.terminals):
        views = []
        for sent in terminal.bounds_sent:
            cwnd = min(sent.max_segs, sent.min_segs + 2 + number % 5 * max(1, (sent.max_segs - sent.min_segs) // 5))
            views.append(operations_pb2.DestinationView(address=sent.destination, cwnd_segs=cwnd))
        opened.destinations[terminal.mac] = live_pb2.TerminalDestinations(mac=terminal.mac, destinations=views)
    model.open, model.events = opened, EventList(OPEN)
    _, entries = school.history.after(0, school.history.last)
    shown = [events_convert.event(entry) for entry in entries if mac_text(entry.note.cell) == OPEN]
    model.events.take(
        events_pb2.ListEventsResponse(events=shown, position=events_pb2.EventPosition(history=1, sequence=1))
    )
    model.controller = operations_pb2.GetControllerResponse(
        version="0.1.0", mode=operations_pb2.MODE_CONTROL, policy="bdp", cells=len(CELLS),
        terminals=len(school.engine.terminals()),
    )  # fmt: skip
    model.answered(1)


async def draw() -> str:
    """The picture."""
    school, model = play()
    open_cell(school, model)
    wall = datetime.datetime.fromtimestamp(school.wall_us // SECOND_US, datetime.UTC)
    top = Top(Played(model), "127.0.0.1:50052", zone=datetime.UTC, clock_s=lambda: SECONDS, wall=lambda: wall)
    async with top.run_test(size=SIZE) as pilot:
        await pilot.press("s", "s", "home", "enter")
        await pilot.pause()
        return top.export_screenshot(title=f"airbound top: {CELLS[OPEN][0]}")


def main() -> None:
    """Write it."""
    picture = re.sub(r"@font-face \{.*?\}", "", asyncio.run(draw()), flags=re.DOTALL)  # nothing is to be fetched
    lines = filter(str.strip, picture.replace("Fira Code, monospace", "monospace").splitlines())
    Path(sys.argv[1]).write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
