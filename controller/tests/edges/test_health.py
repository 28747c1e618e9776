# SPDX-License-Identifier: Apache-2.0
"""The health probe against a real server: serving, about to go, without a health service, and nobody."""

import asyncio
import socket

import grpc.aio
import pytest

from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.edges import health, server
from airbound.edges.client import UnreachableError
from airbound.edges.hub import Hub
from airbound.edges.store import MemoryStore

WAIT_S = 30.0


async def running() -> tuple[server.ControllerServer, str]:
    store = MemoryStore(frozenset())
    started = await server.start(Hub(Engine(Parameters(), store.exempt()), store), "127.0.0.1:0")
    return started, f"127.0.0.1:{started.port}"


async def probe(endpoint: str, timeout_s: float = WAIT_S) -> int:
    return await asyncio.to_thread(health.main, [endpoint, "--timeout", str(timeout_s)])


async def test_a_controller_serves_until_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    controller, endpoint = await running()
    try:
        assert await probe(endpoint) == 0
        assert capsys.readouterr().out == f"airbound: {endpoint}: SERVING\n"
        await controller._health.enter_graceful_shutdown()
        assert await probe(endpoint) == 1
        assert capsys.readouterr().err == f"airbound: {endpoint}: NOT_SERVING\n"
    finally:
        await controller.stop()
    assert await probe(endpoint) == 3
    assert f"no controller answers at {endpoint}" in capsys.readouterr().err


async def test_a_server_without_a_health_service_does_not_serve(capsys: pytest.CaptureFixture[str]) -> None:
    other = grpc.aio.server()
    port = other.add_insecure_port("127.0.0.1:0")
    await other.start()
    try:
        assert await probe(f"127.0.0.1:{port}") == 1
    finally:
        await other.stop(None)
    assert "unimplemented" in capsys.readouterr().err


def test_a_socket_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UnreachableError, match="no controller answers at"):
            health.status(endpoint, 0.2)


async def test_a_proxy_is_not_asked_for_our_own_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    controller, endpoint = await running()
    try:
        assert await probe(endpoint) == 0
    finally:
        await controller.stop()


def test_wrong_addresses_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main(["nowhere"]) == 2
    assert "ADDR:PORT = 'nowhere'" in capsys.readouterr().err


@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "soon"])
def test_wrong_timeouts_are_usage_errors(timeout: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        health.main(["--timeout", timeout])
    assert ended.value.code == 2
    assert "--timeout" in capsys.readouterr().err
