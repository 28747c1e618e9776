# SPDX-License-Identifier: Apache-2.0
"""A check that an access point asks for, around the real engine in virtual time: its result, what ends it, and who may
ask for one. The cell's access point reports once a second, and what its stations send follows from the cell's mode.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from airbound.core.check import course, figures
from airbound.core.check.sentences import Checked, line, verdict
from airbound.core.engine import Engine
from airbound.core.events import AccessPointReported, Disowned
from airbound.core.parameters import Mode, Parameters
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.grpc import convert
from airbound.grpc.checks import APART_S, SHOWN_S, Checks
from airbound.grpc.operations_service import OperationsService
from airbound.operator.check import run
from airbound.replica.choices import KeptChoices
from airbound.runtime.runner import Runner
from airbound.store.memory.store import Memory, MemoryStore
from airbound.v1 import access_point_pb2, operations_pb2
from airbound_testing import virtual_time
from airbound_testing.messages import station_destination

CELL = bytes([2, 0, 0, 0, 0, 1])
BSSID = "02:00:00:00:00:01"
PHONES = [bytes([2, 0, 0, 0, 1, number]) for number in range(3)]
PACKET_BYTES = 1534
STREAM = Stream(1, Principal("access-point", "attic"))
FOREIGN = Stream(2, Principal("access-point", "cellar"))
ID = "b1946ac92492d234"
TURN_S, CHECK_S = 50, 600


class Site:
    """A controller with a cell. `reply` is what the last answer to the access point said of a check."""

    def __init__(self, loop: virtual_time.VirtualLoop, mode: Mode, *, gain: float = 0.5, exempt: str = "") -> None:
        self.loop, self.gain = loop, gain
        self.runner = Runner(Engine(Parameters(), mode, [exempt] if exempt else []), clock_us=loop.now_us)
        self.store = MemoryStore(Memory())
        self.choices = KeptChoices(self.runner, self.store, mode, (), lambda: None, clock_s=loop.time)
        self.checks = Checks(self.runner, self.choices, loop.time)
        self.sending, self.asks, self.stream = True, "", STREAM
        self.reply = access_point_pb2.CellCheck()
        self.modes: list[tuple[float, Mode]] = []  # since when the cell had them
        self._packets = self._sequence = 0
        self._reporting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.store.start("a", lambda _: None, lambda: None)
        self._reporting = self.loop.create_task(self._report_each_second())
        await asyncio.sleep(3)

    async def _report_each_second(self) -> None:
        while True:
            self.report(self.stream)
            await asyncio.sleep(1)

    def report(self, stream: Stream) -> access_point_pb2.CellCheck:
        """A report on a stream; what the answer to it says of a check."""
        self._sequence += 1
        mode, now_s = self.runner.mode(CELL), self.loop.time()
        if not self.modes or self.modes[-1][1] != mode:
            self.modes.append((now_s, mode))
        noise = 1 + 0.02 * (self._sequence % 7)
        self._packets += round(1000 * noise * (1 + self.gain * (mode == "control"))) if self.sending else 0
        seen = station_destination(
            connections_sending=2, srtt_us=20_000 if mode == "control" else 300_000, min_rtt_us=9_000
        )
        message = access_point_pb2.AccessPointReport(
            bssid=CELL,
            ssid=b"attic",
            sequence=self._sequence,
            monotonic_us=round(now_s * 1e6),
            channel=access_point_pb2.Channel(center_frequency_mhz=5180, width_mhz=20, band=access_point_pb2.BAND_5_GHZ),
            stations=[
                access_point_pb2.Station(
                    mac=mac,
                    rx_packets=self._packets,
                    rx_bytes=self._packets * PACKET_BYTES,
                    connected_time_ms=self._sequence * 1000,
                    destinations=[seen],
                )
                for mac in PHONES
            ],
            windows=access_point_pb2.WindowState(connections_max=4096, limits_max=1024),
            check=access_point_pb2.CheckRequest(id=self.asks) if self.asks else None,
        )
        report, refusals = convert.access_point_report(message)
        assert report is not None
        assert refusals == []
        octets = access_point_pb2.AccessPointServiceConnectRequest(report=message).SerializeToString()
        self.runner.submit(AccessPointReported(stream, report, octets), self.loop.now_us())
        said = self.checks.reported(stream, report.bssid, message.check.id)
        self.reply = access_point_pb2.AccessPointServiceConnectResponse.FromString(said).check
        return self.reply

    async def asked(self, seconds: float) -> access_point_pb2.CellCheck:
        """The access point asks until a response names the identifier, and so much time passes."""
        self.asks = ID
        await asyncio.sleep(1.5)
        assert self.reply.id == ID
        self.asks = ""
        await asyncio.sleep(seconds - 1.5)
        return self.reply

    def mode(self) -> Mode:
        return self.runner.mode(CELL)


def at_a_site(work: Callable[[Site], Coroutine[Any, Any, None]], mode: Mode = "control", **others: Any) -> None:
    async def there(loop: virtual_time.VirtualLoop) -> None:
        site = Site(loop, mode, **others)
        await site.start()
        await work(site)

    virtual_time.run(there)


@pytest.mark.parametrize("mode", ["observe", "control"])
def test_it_says_how_far_it_is_and_what_came_out_and_leaves_the_mode_as_it_was(mode: Mode) -> None:
    async def checked(site: Site) -> None:
        began_s = site.loop.time()
        reply = await site.asked(170)
        assert (reply.turn, reply.turns, reply.line, reply.HasField("refusal")) == (4, 12, "", False)
        await asyncio.sleep(CHECK_S - 170 + 5)
        assert site.reply.verdict == "It is worth it here: more is carried, and round trips are shorter."
        assert "check: carried +50%" in site.reply.line
        assert "5 GHz, policy " in site.reply.line
        assert "3.0 senders of 3 stations, 6 pairs of turns of 50 s" in site.reply.line
        assert not site.reply.HasField("refusal")
        assert site.mode() == mode
        assert site.runner.choices.modes_of_cells == {}
        switched = [
            (round((at_s - began_s) / TURN_S), each)
            for at_s, each in site.modes
            if began_s + 10 < at_s < began_s + CHECK_S - 10
        ]
        assert switched == [(turn, "control" if turn % 4 == 1 else "observe") for turn in (1, 3, 5, 7, 9, 11)]
        await asyncio.sleep(SHOWN_S + 1)
        assert site.reply.id == ""

    at_a_site(checked, mode)


def test_the_command_finds_the_same() -> None:
    """Its driver asks the operators' service, in another run of the same cell."""
    lines = []

    async def by_the_access_point(site: Site) -> None:
        lines.append((await site.asked(CHECK_S + 5)).line)

    at_a_site(by_the_access_point, gain=0.3)

    loop = virtual_time.VirtualLoop()
    asyncio.set_event_loop(loop)
    try:
        site = Site(loop, "control", gain=0.3)
        loop.run_until_complete(site.start())
        loop.run_until_complete(asyncio.sleep(1))  # until the access point of the other run was answered
        source = Client(site)
        clock = run.Clock(loop.time, lambda seconds: loop.run_until_complete(asyncio.sleep(seconds)))
        found = figures.result(run.turns(source, BSSID, course.MINUTES, clock, lambda _: None))
        assert found is not None
        assert figures.Change(0.2, 0.2, 0.4) < found.carried < figures.Change(0.4, 0.2, 0.4)
        assert verdict(found).startswith("It is worth it here: more is carried")
        shown = source.cells(BSSID).cells[0]
        checked = Checked("5", shown.policy, shown.stations, lines[0].split()[1])
        assert line(found, checked) == lines[0]
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        with suppress(RuntimeError):
            loop.run_until_complete(asyncio.sleep(0))
        asyncio.set_event_loop(None)
        loop.close()


class Client:
    """The operators' service, asked as the command's client does."""

    def __init__(self, site: Site) -> None:
        self._site, self._service = site, OperationsService(site.runner, choices=site.choices)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._site.loop.run_until_complete(work)

    async def _first(self, pages: Any) -> Any:
        return await anext(pages)

    def set_mode(self, mode: str, bssid: str = "", *, for_ms: int = 0) -> None:
        request = operations_pb2.SetModeRequest(
            mode=operations_pb2.MODE_CONTROL if mode == "control" else operations_pb2.MODE_OBSERVE,
            bssid=bssid,
            for_ms=for_ms,
        )
        self._do(self._service.SetMode(request, None))

    def cells(self, bssid: str = "") -> Any:
        return self._do(self._first(self._service.ListCells(operations_pb2.ListCellsRequest(bssid=bssid), None)))

    def stations(self, bssid: str) -> Any:
        return self._do(self._service.ListStations(operations_pb2.ListStationsRequest(bssid=bssid), None))

    def terminals(self, bssid: str = "") -> Any:
        request = operations_pb2.ListTerminalsRequest(bssid=bssid)
        return self._do(self._first(self._service.ListTerminals(request, None)))


def refused(reply: access_point_pb2.CellCheck, code: Code) -> bool:
    return bool(reply.id and reply.refusal.code == code.value and not reply.line)


@pytest.mark.parametrize("seconds", [25, 75])  # in a turn of the same mode, and of the other one
def test_an_operators_mode_ends_it_and_stays(seconds: int) -> None:
    async def overridden(site: Site) -> None:
        await site.asked(seconds)
        await site.choices.set_mode("observe", CELL)
        await asyncio.sleep(3)
        assert refused(site.reply, Code.CHECK_MODE_CHANGED)
        await asyncio.sleep(CHECK_S)
        assert site.mode() == "observe"
        assert site.runner.choices.modes_of_cells[BSSID].until_s == 0

    at_a_site(overridden)


@pytest.mark.parametrize("seconds", [25, 75])
def test_an_operators_observe_for_all_ends_it(seconds: int) -> None:
    async def overridden(site: Site) -> None:
        await site.asked(seconds)
        await site.choices.set_mode("observe")
        await asyncio.sleep(3)
        assert refused(site.reply, Code.CHECK_MODE_CHANGED)
        for _ in range(CHECK_S):
            assert site.mode() == "observe"
            await asyncio.sleep(1)

    at_a_site(overridden)


@pytest.mark.parametrize("before", ["observe", "control"])
@pytest.mark.parametrize("elsewhere", ["gone", "another stream", "another owner"])
def test_a_lost_stream_and_another_owner_of_the_cell_end_it_at_once(before: Mode, elsewhere: str) -> None:
    async def lost(site: Site) -> None:
        await site.asked(25 if before == "control" else 75)
        assert site.mode() != before
        if elsewhere == "gone":
            session = SessionOf(site.stream)
            site.runner.open(session)
            site.runner.close(session)
        if elsewhere == "another owner":
            site.runner.submit(Disowned(CELL, Reason(Code.OTHER_REPLICA, BSSID)))
        site.stream = replace(site.stream, number=7)  # the agent comes again
        await asyncio.sleep(2.1)
        assert site.mode() == before
        await asyncio.sleep(20)
        assert site.reply.id == ""  # it is not of this stream
        assert [at_s for at_s, _ in site.modes if at_s > site.loop.time() - 20] == []

    at_a_site(lost, before)


class SessionOf:
    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def send(self, command: object) -> None:
        """Nobody reads it."""

    def close(self, reason: object) -> None:
        """It has ended."""


def test_a_controller_that_stops_leaves_the_mode_as_it_was() -> None:
    async def stopped(site: Site) -> None:
        await site.asked(25)
        assert site.mode() == "observe"
        await site.checks.stop()
        await asyncio.sleep(1.1)
        assert site.mode() == "control"
        assert refused(site.reply, Code.CHECK_STOPPED)

    at_a_site(stopped)


def test_one_that_is_killed_leaves_a_mode_that_ends_within_65_s() -> None:
    async def killed(site: Site) -> None:
        await site.asked(45)
        again = Runner(Engine(Parameters(), "control", ()), clock_us=site.loop.now_us)
        await KeptChoices(again, site.store, "control", (), lambda: None, clock_s=site.loop.time).read()
        assert again.mode(CELL) == "observe"
        await asyncio.sleep(TURN_S - 45 + course.LEFT_OVER_S + 1)
        assert again.mode(CELL) == "control"

    at_a_site(killed)


def test_a_foreign_access_point_gets_none_whatever_cell_it_reports() -> None:
    async def foreign(site: Site) -> None:
        site.asks = ID
        assert refused(site.report(FOREIGN), Code.CHECK_FOREIGN)
        site.asks = ""
        await asyncio.sleep(5)
        assert site.reply.id == ""
        assert site.runner.choices.modes_of_cells == {}
        assert [mode for _, mode in site.modes] == ["control"]

    at_a_site(foreign)


def test_nobody_else_sees_it() -> None:
    async def seen(site: Site) -> None:
        assert (await site.asked(10)).turn == 1
        assert site.report(FOREIGN).id == ""
        assert site.checks.reported(FOREIGN, CELL, "") == b""

    at_a_site(seen)


def test_a_second_one_is_refused_while_one_runs_and_for_an_hour_after_its_beginning() -> None:
    async def again(site: Site) -> None:
        await site.asked(10)
        site.asks = "2"
        await asyncio.sleep(1.5)
        assert refused(site.reply, Code.CHECK_RUNS)
        assert site.reply.id == "2"
        site.asks = ""
        await asyncio.sleep(CHECK_S + 5)
        assert (site.reply.id, site.reply.line != "") == (ID, True)
        site.asks = "3"
        await asyncio.sleep(1.5)
        assert refused(site.reply, Code.CHECK_TOO_SOON)
        assert site.reply.refusal.limit == APART_S
        site.asks = ""
        await asyncio.sleep(APART_S - CHECK_S)
        site.asks = "4"
        await asyncio.sleep(1.5)
        assert (site.reply.id, site.reply.turn) == ("4", 1)

    at_a_site(again)


def test_the_same_request_again_is_no_other_one() -> None:
    async def repeated(site: Site) -> None:
        site.asks = ID
        await asyncio.sleep(CHECK_S + 2 * SHOWN_S)
        assert site.reply.line  # as long as it asks
        assert len([each for each in site.modes if each[1] == "observe"]) == 4

    at_a_site(repeated)


@pytest.mark.parametrize(
    ("mode", "for_s", "of_cell"), [("observe", 0, False), ("observe", 0, True), ("control", 60, True)]
)
def test_none_while_an_operator_has_chosen_observe_or_a_mode_for_a_time(
    mode: Mode, for_s: float, *, of_cell: bool
) -> None:
    async def chosen(site: Site) -> None:
        await site.choices.set_mode(mode, CELL if of_cell else b"", for_s=for_s)
        reply = await site.asked(2)
        assert refused(reply, Code.CHECK_MODE_CHOSEN) or reply.id == ""
        site.asks = ID
        reply = site.report(STREAM)
        assert refused(reply, Code.CHECK_MODE_CHOSEN)
        assert (reply.refusal.subject, reply.refusal.HasField("limit")) == (mode, for_s > 0)
        assert site.mode() == mode

    at_a_site(chosen)


def test_none_where_nobody_sends_or_the_cell_is_exempt() -> None:
    async def silent(site: Site) -> None:
        site.sending = False
        await asyncio.sleep(30)
        site.asks = ID
        assert refused(site.report(STREAM), Code.CHECK_NO_SENDERS)
        site.sending = True
        await asyncio.sleep(5)
        assert site.reply.turn == 1  # it asks again, and that counts

    async def exempt(site: Site) -> None:
        site.asks = ID
        assert refused(site.report(STREAM), Code.EXEMPT)

    at_a_site(silent)
    at_a_site(exempt, exempt=BSSID)


def test_without_senders_for_long_enough_there_is_no_result() -> None:
    async def ended(site: Site) -> None:
        await site.asked(100)
        site.sending = False
        await asyncio.sleep(CHECK_S - 95)
        assert refused(site.reply, Code.CHECK_NO_SENDERS)
        assert site.mode() == "control"

    at_a_site(ended)


@pytest.mark.parametrize("identifier", ["", "x" * 65, "a\nb", "é"])
def test_what_is_no_identifier_asks_for_nothing(identifier: str) -> None:
    async def ignored(site: Site) -> None:
        site.asks = identifier
        await asyncio.sleep(3)
        assert site.reply.id == ""
        assert site.mode() == "control"

    at_a_site(ignored)


def test_its_events_name_who_asked() -> None:
    async def logged(site: Site) -> None:
        await site.asked(CHECK_S + 5)
        notes = [kept.note for kept in site.runner.history.after(0, 1000)[1] if kept.note.what == "check"]
        assert notes[0].subject == f"{BSSID} begins, asked for by attic"
        assert notes[1].subject == f"{BSSID} ended: {site.reply.line}"

    at_a_site(logged)
