# SPDX-License-Identifier: Apache-2.0
"""The operators' client and the health command against a real server: serving, about to go, another one, nobody."""

import asyncio
import socket

import grpc.aio
import pytest

from airbound.core.reasons import Code
from airbound.operator import cli
from airbound.operator.client import Client, NotFoundError, RefusedError, UnreachableError
from airbound.v1 import operations_pb2
from airbound_testing.live import BSSID, MACS, LiveController

WAIT_S = 120.0


async def probe(endpoint: str, *options: str) -> int:
    arguments = ["health", "--controller", endpoint, "--plain-text", "--timeout", str(WAIT_S), *options]
    return await asyncio.to_thread(cli.main, arguments)


async def test_a_controller_serves_until_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    async with LiveController() as live:
        assert await probe(live.operators) == 0
        assert capsys.readouterr().out == "SERVING\n"
        for servicer in live.running.health:
            await servicer.enter_graceful_shutdown()
        assert await probe(live.operators) == 1
        assert capsys.readouterr().out == "NOT_SERVING\n"
    assert await probe(live.operators) == 3
    assert f"no controller answers at {live.operators}" in capsys.readouterr().err


async def test_a_server_without_a_health_service_does_not_serve(capsys: pytest.CaptureFixture[str]) -> None:
    other = grpc.aio.server()
    port = other.add_insecure_port("127.0.0.1:0")
    await other.start()
    try:
        assert await probe(f"127.0.0.1:{port}") == 1
    finally:
        await other.stop(None)
    assert "not the one for operators" in capsys.readouterr().err


async def test_a_call_that_the_controller_does_not_know_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LiveController() as live:

        def ask() -> None:
            with Client(live.operators, WAIT_S) as client:
                newer = client._channel.unary_unary("/airbound.v1.OperationsService/Newer")
                monkeypatch.setattr(client._stub, "GetController", lambda *_, **__: newer(b""))
                with pytest.raises(RefusedError, match="it stops, or is older than this command"):
                    client.controller()

        await asyncio.to_thread(ask)


def test_a_socket_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"127.0.0.1:{silent.getsockname()[1]}"
        with Client(endpoint, 0.2) as client, pytest.raises(UnreachableError, match="no controller answers at"):
            client.health()


async def test_a_proxy_is_not_asked_for_our_own_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with LiveController() as live:
        assert await probe(live.operators) == 0


@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "inf", "3601", "soon"])
def test_wrong_timeouts_are_usage_errors(timeout: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["health", "--timeout", timeout])
    assert ended.value.code == 2
    assert "--timeout" in capsys.readouterr().err


async def test_every_call_and_what_is_refused() -> None:
    async with LiveController() as live:
        await live.uploading(1)
        await live.report(MACS[0], idle=(MACS[1],))

        def ask() -> None:
            with Client(live.operators, WAIT_S) as client:
                assert [cell.bssid for cell in client.cells().cells] == [BSSID]
                assert [cell.bssid for cell in client.cells(BSSID).cells] == [BSSID]
                assert [station.mac for station in client.stations(BSSID).stations] == MACS[:2]
                assert [terminal.mac for terminal in client.terminals(BSSID).terminals] == [MACS[0]]
                explained = client.explain(MACS[0])
                assert isinstance(explained, operations_pb2.ExplainTerminalResponse)
                assert (explained.cell.bssid, explained.terminal.mac) == (BSSID, MACS[0])
                assert isinstance(client.explain("127.0.0.1"), operations_pb2.ExplainTerminalResponse)
                station = client.explain(MACS[1])
                assert isinstance(station, operations_pb2.ExplainStationResponse)
                assert (station.cell.bssid, station.station.mac) == (BSSID, MACS[1])
                cell = client.explain(BSSID.upper())
                assert isinstance(cell, operations_pb2.ExplainCellResponse)
                assert cell.cell.bssid == BSSID
                with pytest.raises(NotFoundError, match="no terminal '02:00:00:00:09:09' is connected"):
                    client.explain("02:00:00:00:09:09")
                assert client.controller().cells == 1
                assert client.set_mode("observe").previous_mode == client.controller().mode + 1
                assert client.set_mode("control", BSSID).mode == operations_pb2.MODE_CONTROL
                assert client.cells(BSSID).cells[0].mode_by_operator
                answer = client.set_mode("configured", BSSID)
                assert (answer.previous_mode, answer.mode) == (operations_pb2.MODE_CONTROL, operations_pb2.MODE_OBSERVE)
                assert client.set_mode("configured").mode == operations_pb2.MODE_CONTROL
                with pytest.raises(RefusedError, match=r"bssid: 'here' is not .* \(invalid_argument\)"):
                    client.set_mode("observe", "here")
                assert len(client.configuration().sha256) == 64
                assert not client.exempt("127.0.0.1", exempt=True).previously_exempt
                assert client.exempt("127.0.0.1", exempt=False).previously_exempt
                assert next(client.watch_cells()).bssid == BSSID
                with pytest.raises(RefusedError, match=r"bssid: 'here' is not .* \(invalid_argument\)"):
                    client.cells("here")

        await asyncio.to_thread(ask)


async def test_pages_are_put_together() -> None:
    async with LiveController(streams_max=200) as live:
        for number in range(120):
            phone = await live.phone(0)
            phone.mac = bytes([2, 0, 0, 9, 0, number])
            await phone.report(monotonic_us=1)

        async def all_there() -> bool:
            return len(live.runner.engine.terminals()) == 120

        await live.until(all_there)

        def macs() -> list[str]:
            with Client(live.operators, WAIT_S) as client:
                return [terminal.mac for terminal in client.terminals().terminals]

        found = await asyncio.to_thread(macs)
        assert found == [f"02:00:00:09:00:{number:02x}" for number in range(120)]
        assert all(terminal.no_bounds is not None for terminal in live.runner.engine.terminals())
        assert {terminal.no_bounds.code for terminal in live.runner.engine.terminals() if terminal.no_bounds} == {
            Code.NOT_SENDING
        }
