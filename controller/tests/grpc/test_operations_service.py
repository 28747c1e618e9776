# SPDX-License-Identifier: Apache-2.0
"""The operators' service over real gRPC."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from airbound.core.addresses import mac_from_text
from airbound.core.events import AccessPointReported, Reconfigured, TerminalReported
from airbound.core.overrides import CellOverride
from airbound.core.parameters import Parameters
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code
from airbound.core.reports import AccessPointReport, TerminalReport
from airbound.grpc.operations_service import PAGE
from airbound.v1 import operations_pb2 as wire
from airbound.v1 import terminal_pb2
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID, MACS, LiveController, upload


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController() as controller:
        yield controller


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    answer = call.read() if hasattr(call, "read") else call
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await answer
    return caught.value.code(), caught.value.details() or ""


def counters(answer: wire.GetControllerResponse) -> dict[tuple[str, int], int]:
    return {(counter.name, counter.code): counter.value for counter in answer.counters}


async def test_the_controller_and_its_counters(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    await phone.report(terminal_pb2.Destination(address=b"\x01"), monotonic_us=2)
    ask = live.ask()

    async def counted() -> bool:
        answer = await ask.GetController(wire.GetControllerRequest())
        return ("refused_total", Code.MALFORMED) in counters(answer)

    await live.until(counted)
    await ask.ExemptTerminal(wire.ExemptTerminalRequest(name="b", exempt=True))
    await ask.ExemptTerminal(wire.ExemptTerminalRequest(name="a", exempt=True))
    answer = await ask.GetController(wire.GetControllerRequest())
    assert (answer.mode, answer.policy, answer.cells, answer.terminals) == (wire.MODE_CONTROL, "paper", 1, 1)
    assert answer.version
    assert list(answer.exempt) == ["a", "b"]
    names = [(counter.name, counter.code) for counter in answer.counters]
    assert names == sorted(names)
    found = counters(answer)
    assert found["reports_total", 0] == 4
    assert found["commands_total", 0] == 2
    assert found["streams", 0] == 2
    assert found["log_lines_dropped_total", 0] == 0
    assert found["refused_total", Code.MALFORMED] == 1
    assert found["sets_total", Code.STARTED_SENDING] == 1


async def test_cells_stations_and_terminals(live: LiveController) -> None:
    live.addresses = {MACS[0]: [bytes([127, 0, 0, 1])]}
    await live.uploading(1)
    await live.report(MACS[0], idle=(MACS[1],))
    ask = live.ask()

    async def both() -> bool:
        return [cell.stations for cell in await live.cells()] == [2]

    await live.until(both)
    (cell,) = await live.cells()
    assert (cell.bssid, cell.ssid, cell.active_senders, cell.terminals) == (BSSID, b"live", 1, 1)
    one = [page async for page in ask.ListCells(wire.ListCellsRequest(bssid=BSSID.upper().replace(":", "-")))]
    assert [list(page.cells) for page in one] == [[cell]]
    stations = (await ask.ListStations(wire.ListStationsRequest(bssid=BSSID))).stations
    assert [(station.mac, station.terminal, station.active_sender) for station in stations] == [
        (MACS[0], "127.0.0.1", True),
        (MACS[1], "", False),
    ]
    assert list(stations[0].ip_addresses) == ["127.0.0.1"]
    assert stations[0].connected_time_ms == 3000
    of_cell = [page async for page in ask.ListTerminals(wire.ListTerminalsRequest(bssid=BSSID))]
    assert [terminal.mac for page in of_cell for terminal in page.terminals] == [MACS[0]]


async def test_an_empty_list_is_one_empty_page(live: LiveController) -> None:
    ask = live.ask()
    assert [list(page.cells) async for page in ask.ListCells(wire.ListCellsRequest())] == [[]]
    assert [list(page.terminals) async for page in ask.ListTerminals(wire.ListTerminalsRequest())] == [[]]


@pytest.mark.parametrize(("count", "pages"), [(PAGE, [PAGE]), (PAGE + 1, [PAGE, 1]), (2 * PAGE + 7, [PAGE, PAGE, 7])])
async def test_long_lists_come_in_pages(live: LiveController, count: int, pages: list[int]) -> None:
    for number in range(count):
        mac = bytes([2, 0, 0, 9, *divmod(number, 256)])
        phone = Stream(1000 + number, Principal("terminal", f"phone {number}"))
        live.runner.submit(TerminalReported(phone, TerminalReport(mac, 1, 1)))
        access_point = Stream(5000 + number, Principal("access-point", f"ap {number}"))
        live.runner.submit(AccessPointReported(access_point, AccessPointReport(bssid=mac, sequence=1, monotonic_us=1)))
    ask = live.ask()
    terminals = [list(page.terminals) async for page in ask.ListTerminals(wire.ListTerminalsRequest())]
    assert [len(page) for page in terminals] == pages
    macs = [terminal.mac for page in terminals for terminal in page]
    assert macs == sorted(macs)
    assert len(set(macs)) == count
    cells = [list(page.cells) async for page in ask.ListCells(wire.ListCellsRequest())]
    assert [len(page) for page in cells] == pages


async def test_a_terminal_is_explained_by_name_or_mac(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    destination = upload()
    destination.cwnd_segs, destination.delivered_bytes = 12, 34
    request = terminal_pb2.TerminalReport(
        mac=phone.mac,
        sequence=7,
        monotonic_us=7,
        destinations=[destination],
        bounds_generation=phone.generation,
        trigger=terminal_pb2.TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED,
    )
    await phone.write(terminal_pb2.TerminalServiceConnectRequest(report=request))
    ask = live.ask()

    async def reported() -> bool:
        explained = await ask.ExplainTerminal(wire.ExplainTerminalRequest(terminal="127.0.0.1"))
        return bool(explained.last_trigger == terminal_pb2.TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED)

    await live.until(reported)
    for text in ("127.0.0.1", MACS[0], MACS[0].upper(), MACS[0].replace(":", "-")):
        answer = await ask.ExplainTerminal(wire.ExplainTerminalRequest(terminal=text))
        assert (answer.terminal.mac, answer.cell.bssid) == (MACS[0], BSSID)
        assert [view.cwnd_segs for view in answer.destinations] == [12]
        assert answer.terminal.bounds_generation_in_force == phone.generation
        assert not answer.terminal.HasField("no_bounds")


async def test_of_more_than_one_terminal_none_is_explained(live: LiveController) -> None:
    await live.uploading(2)
    code, text = await refused(live.ask().ExplainTerminal(wire.ExplainTerminalRequest(terminal="127.0.0.1")))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert text == f"'127.0.0.1' is more than one terminal: {MACS[0]} (127.0.0.1), {MACS[1]} (127.0.0.1)"


async def test_a_stream_that_another_took_the_place_of_is_not_explained(live: LiveController) -> None:
    await live.uploading(1)
    again = await live.phone(0)
    await again.report(upload(), monotonic_us=5)
    await again.until(lambda: again.bounds != {})
    answer = await live.ask().ExplainTerminal(wire.ExplainTerminalRequest(terminal=MACS[0]))
    assert not answer.terminal.HasField("no_bounds")
    assert answer.terminal.bounds_generation_sent == again.generation


async def test_a_phone_that_comes_back_on_a_new_stream_is_listed_once(live: LiveController) -> None:
    """Its old stream still looks open: the phone was out of range when it gave that up."""
    await live.uploading(1)
    again = await live.phone(0)
    await again.report(upload(), monotonic_us=5)
    await again.until(lambda: again.bounds != {})
    [listed] = await live.terminals()
    assert listed.bounds_generation_sent == again.generation
    assert not listed.HasField("no_bounds")


@pytest.mark.parametrize("text", ["", "192.0.2.99", "02:00:00:00:01:99", "03:00:00:00:00:00", "x" * 10_000, "\u0000"])
async def test_a_terminal_that_is_not_there(live: LiveController, text: str) -> None:
    code, _ = await refused(live.ask().ExplainTerminal(wire.ExplainTerminalRequest(terminal=text)))
    assert code is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("bssid", ["here", "02:00", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "x" * 10_000])
async def test_what_is_no_bssid(live: LiveController, bssid: str) -> None:
    ask = live.ask()
    for call in (
        ask.ListCells(wire.ListCellsRequest(bssid=bssid)),
        ask.ListTerminals(wire.ListTerminalsRequest(bssid=bssid)),
        ask.ListStations(wire.ListStationsRequest(bssid=bssid)),
    ):
        code, text = await refused(call)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert text.startswith(f"bssid: '{bssid[:256]}' is not ")


async def test_a_cell_that_is_not_there(live: LiveController) -> None:
    ask = live.ask()
    for call in (
        ask.ListCells(wire.ListCellsRequest(bssid=BSSID)),
        ask.ListTerminals(wire.ListTerminalsRequest(bssid=BSSID)),
        ask.ListStations(wire.ListStationsRequest(bssid=BSSID)),
    ):
        assert await refused(call) == (grpc.StatusCode.NOT_FOUND, f"no access point has reported a cell {BSSID}")


async def test_stations_of_a_cell_whose_access_point_is_gone(live: LiveController) -> None:
    await live.senders(1)
    await live.access_point.done_writing()

    async def gone() -> bool:
        return live.runner.engine.cells[mac_from_text(BSSID)].access_point is None

    await live.until(gone)
    (station,) = (await live.ask().ListStations(wire.ListStationsRequest(bssid=BSSID))).stations
    assert (station.mac, station.connected_time_ms) == (MACS[0], 0)


@pytest.mark.parametrize("mode", [0, 3, 1000])
async def test_an_unknown_mode(live: LiveController, mode: Any) -> None:
    code, text = await refused(live.ask().SetMode(wire.SetModeRequest(mode=mode)))
    assert (code, text) == (grpc.StatusCode.INVALID_ARGUMENT, f"mode = {mode}: expected observe or control")
    code, text = await refused(live.ask().SetMode(wire.SetModeRequest(mode=wire.MODE_OBSERVE, configured=True)))
    assert (code, text) == (grpc.StatusCode.INVALID_ARGUMENT, "mode = 1: expected none")
    assert live.runner.engine.settings.mode == "control"


async def test_a_mode_is_for_a_day_at_most(live: LiveController) -> None:
    for request, text in (
        (
            wire.SetModeRequest(mode=wire.MODE_OBSERVE, for_ms=86_400_001),
            "for_ms = 86400001: expected at most 86400000",
        ),
        (wire.SetModeRequest(configured=True, for_ms=1), "for_ms = 1: expected none without a mode"),
    ):
        assert await refused(live.ask().SetMode(request)) == (grpc.StatusCode.INVALID_ARGUMENT, text)
    # Without a store nobody would end it.
    code, _ = await refused(live.ask().SetMode(wire.SetModeRequest(mode=wire.MODE_OBSERVE, for_ms=1000)))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert live.runner.engine.settings.mode == "control"


async def test_a_mode_of_one_cell_and_an_override(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    ask = live.ask()
    answer = await ask.SetMode(wire.SetModeRequest(mode=wire.MODE_OBSERVE, bssid=BSSID.upper()))
    assert (answer.previous_mode, answer.mode) == (wire.MODE_CONTROL, wire.MODE_OBSERVE)
    await phone.until(lambda: phone.bounds == {})
    (cell,) = await live.cells()
    assert (cell.mode, cell.policy, cell.mode_by_operator) == (wire.MODE_OBSERVE, "paper", True)
    assert not cell.HasField("override")
    (terminal,) = await live.terminals()
    assert terminal.no_bounds.code == Code.OBSERVE_MODE
    override = CellOverride(name="cell.0", ssids=("li*",), exempt=True, parameters=Parameters(policy="bdp"))
    live.runner.submit(Reconfigured(Parameters(policy="paper"), (override,)))
    answer = await ask.SetMode(wire.SetModeRequest(configured=True, bssid=BSSID))
    assert (answer.previous_mode, answer.mode) == (wire.MODE_OBSERVE, wire.MODE_CONTROL)
    (cell,) = await live.cells()
    assert (cell.policy, cell.exempt, cell.mode_by_operator) == ("bdp", True, False)
    assert (cell.override.name, cell.override.matched) == ("cell.0", "ssid li*")
    (terminal,) = await live.terminals()
    assert (terminal.exempt, terminal.decisions[0].policy) == (True, "bdp")
    answer = await ask.ExemptTerminal(wire.ExemptTerminalRequest(name=BSSID, exempt=False))
    assert answer.previously_exempt
    await phone.until(lambda: phone.bounds != {})


@pytest.mark.parametrize("name", ["", "x" * 257, "x" * 10_000, "a\nb", "\x1b[2J"])
async def test_what_is_no_name(live: LiveController, name: str) -> None:
    code, text = await refused(live.ask().ExemptTerminal(wire.ExemptTerminalRequest(name=name, exempt=True)))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert text.endswith(": not a name")
    assert text.isprintable()
    assert live.runner.engine.settings.exempt == set()
    code, text = await refused(live.ask().SetClass(wire.SetClassRequest(terminal=name, own=True)))
    assert (code, text.endswith(": not a name"), text.isprintable()) == (grpc.StatusCode.INVALID_ARGUMENT, True, True)


async def test_a_class_of_an_application(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    ask, number = live.ask(), terminal_pb2.APPLICATION_CLASS_LIVE
    answer = await ask.SetClass(wire.SetClassRequest(terminal="127.0.0.1", uid=10073, application_class=number))
    assert not answer.HasField("previous")
    request = wire.SetClassRequest(terminal="127.0.0.1", application_class=terminal_pb2.APPLICATION_CLASS_BACKGROUND)
    assert not (await ask.SetClass(request)).HasField("previous")
    (terminal,) = await live.terminals()
    assert [
        (choice.uid if choice.HasField("uid") else None, choice.application_class) for choice in terminal.classes_chosen
    ] == [(None, terminal_pb2.APPLICATION_CLASS_BACKGROUND), (10073, number)]
    request.application_class = terminal_pb2.APPLICATION_CLASS_UNSPECIFIED  # a choice as well: none of the table's
    assert (await ask.SetClass(request)).previous == terminal_pb2.APPLICATION_CLASS_BACKGROUND
    request.own = True
    answer = await ask.SetClass(request)
    assert answer.HasField("previous")
    assert answer.previous == 0
    (terminal,) = await live.terminals()
    assert [choice.uid for choice in terminal.classes_chosen] == [10073]
    assert phone.bounds


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (wire.SetClassRequest(terminal="a", application_class=5), "application_class = 5: not expected"),  # type: ignore[arg-type]
        (wire.SetClassRequest(terminal="a", application_class=1, own=True), "application_class = 1: not expected"),  # type: ignore[arg-type]
        (wire.SetClassRequest(terminal="a", uid=2**32 - 1), "uid = 4294967295: expected at most 4294967294"),
    ],
)
async def test_what_is_no_class(live: LiveController, request_: wire.SetClassRequest, complaint: str) -> None:
    assert await refused(live.ask().SetClass(request_)) == (grpc.StatusCode.INVALID_ARGUMENT, complaint)
    assert live.runner.engine.class_choices.all == {}


async def test_a_watcher_is_sent_every_cell_and_then_each_change_and_leaves_nothing(live: LiveController) -> None:
    await live.uploading(1)
    watch = live.ask().WatchCells(wire.WatchCellsRequest())
    assert (await watch.read()).cell.active_senders == 1
    await live.report(MACS[0], idle=(MACS[1],))
    assert (await watch.read()).cell.stations == 2
    assert len(live.runner._watchers) == 1
    watch.cancel()

    async def gone() -> bool:
        return not live.runner._watchers

    await live.until(gone)


async def test_a_watcher_is_not_kept_when_the_controller_stops(live: LiveController) -> None:
    watch = live.ask().WatchCells(wire.WatchCellsRequest())
    await live.senders(1)
    await watch.read()
    await live.running.stop()
    async with asyncio.timeout(WAIT_S):
        with contextlib.suppress(grpc.aio.AioRpcError):
            while await watch.read() is not grpc.aio.EOF:
                pass
        assert await watch.code() in {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    assert not live.runner._watchers
