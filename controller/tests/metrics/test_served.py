# SPDX-License-Identifier: Apache-2.0

import asyncio
import logging
import re
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import pytest

from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.grpc.endpoints import ListenError
from airbound.metrics import served
from airbound.metrics.hooks import Hooks
from airbound.metrics.options import Metrics
from airbound.metrics.served import ServedMetrics
from airbound.runtime.runner import Runner
from airbound_testing.agents import WAIT_S
from airbound_testing.scrapes import get, scrape

START_WITHIN_S = 300.0


def serve(options: Metrics) -> ServedMetrics:
    return ServedMetrics(Runner(Engine(Parameters())), options, Hooks())


@pytest.fixture
def taken() -> Iterator[str]:
    """An address that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


async def test_metrics_are_served_until_the_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    metrics = serve(Metrics(listen="127.0.0.1:0"))
    metrics.controller_listens()
    (record,) = caplog.records
    address = record.__dict__["subject"]
    assert record.__dict__["what"] == "metrics"
    port = int(address.rpartition(":")[2])
    assert (await scrape(port)).value("airbound_cells") == 0
    metrics.controller_stops()
    metrics.stop()
    with pytest.raises(ConnectionRefusedError):
        await scrape(port)


async def test_without_an_address_none_are_served(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    metrics = serve(Metrics(listen=""))
    metrics.controller_listens()
    metrics.controller_stops()
    metrics.stop()
    assert not caplog.records


async def test_an_address_that_was_asked_for_and_is_taken_is_an_error(taken: str) -> None:
    with pytest.raises(ListenError, match=f"cannot serve metrics on {taken}: .*in use"):
        serve(Metrics(listen=taken))


async def test_the_default_address_may_be_taken(
    taken: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = replace(Metrics(), listen=taken)
    monkeypatch.setattr(served, "Metrics", lambda: default)
    metrics = serve(default)
    metrics.controller_listens()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"cannot serve metrics on {taken}: ")
    metrics.controller_stops()
    metrics.stop()


async def test_files_for_tls_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pem")
    with pytest.raises(ListenError, match="No such file"):
        serve(Metrics(listen="127.0.0.1:0", certificate=missing, key=missing))


async def test_files_for_tls_that_are_none_are_an_error(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("garbage", encoding="utf-8")
    with pytest.raises(ListenError, match="cannot serve metrics"):
        serve(Metrics(listen="127.0.0.1:0", certificate=str(garbage), key=str(garbage)))


async def test_a_controller_serves_them_as_long_as_it_runs() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "airbound", "controller", "--plain-text", "--listen", "127.0.0.1:0", "--operators", "127.0.0.1:0"),
        *("--metrics", "127.0.0.1:0"),
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        lines = [(await asyncio.wait_for(process.stderr.readline(), START_WITHIN_S)).decode() for _ in range(3)]
        found = re.search(r" info metrics 127\.0\.0\.1:(\d+)$", lines[2])
        assert found, lines
        port = int(found[1])
        assert (await asyncio.to_thread(get, port, "/healthz")).status == HTTPStatus.OK
        samples = await scrape(port, openmetrics=True)
        assert len(samples.labels("airbound_config_info")) == 1
        assert samples.value("airbound_config_load_errors_total") == 0
        process.send_signal(signal.SIGTERM)
        _, log = await asyncio.wait_for(process.communicate(), WAIT_S)
        assert process.returncode == 0
        assert b"Traceback" not in log
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
