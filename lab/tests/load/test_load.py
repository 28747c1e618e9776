# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from airbound.v1 import operations_pb2, operations_pb2_grpc, terminal_pb2, terminal_pb2_grpc
from airbound_lab import cli
from airbound_lab.load import cli as load
from airbound_lab.load import rawserver
from airbound_lab.run import host
from airbound_testing.agents import channel
from airbound_testing.identities import Identities


def test_the_program_is_given_the_virtualenvs_commands(tmp_path: Path) -> None:
    program = tmp_path / "airbound-load"
    program.touch(mode=0o755)
    words = load.command_line(["--cells", "3"], program, Path("/venv/bin/python"))
    assert words[0] == str(program)
    assert words[-2:] == ["--cells", "3"]
    assert "/venv/bin/airbound controller {plain-text} --config {config}" in words
    assert any(word.startswith("/venv/bin/python -m airbound_lab.load.rawserver ") for word in words)


def test_the_program_is_where_it_is_built() -> None:
    # scripts/build.sh builds into build/ of the checkout.
    assert load.PROGRAM.relative_to(host.REPOSITORY) == Path("build", "airbound-load")


def test_without_the_program_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load, "PROGRAM", tmp_path / "airbound-load")
    assert cli.main(["load", "--cells", "3"]) == 2
    assert "make build" in capsys.readouterr().err


def test_every_option_of_load_goes_to_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "airbound-load"
    program.touch(mode=0o755)
    monkeypatch.setattr(load, "PROGRAM", program)
    executed = list[list[str]]()
    monkeypatch.setattr(load.os, "execv", lambda _path, words: executed.append(words))
    assert cli.main(["load", "--help", "--seed", "7"]) == 0
    assert executed[0][-3:] == ["--help", "--seed", "7"]


def _free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_certificates_are_made_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["certificates", str(tmp_path / "ids"), "--cells", "2", "--terminals", "3"]
    assert cli.main(words) == 0
    assert ": 9 certificates made in " in capsys.readouterr().out  # the operator's is one
    assert cli.main(words) == 0
    assert ": 0 certificates made in " in capsys.readouterr().out
    assert cli.main([*words[:2], "--cells", "0"]) == 2
    (tmp_path / "ids").chmod(0o755)
    assert cli.main(words) == 2
    assert "open to others" in capsys.readouterr().err


@pytest.mark.parametrize("tls", [False, True])
async def test_the_yardstick_counts_reports_and_answers_a_share_of_them(tmp_path: Path, tls: bool) -> None:  # noqa: FBT001
    listen, operators = _free_address(), _free_address()
    identities = Identities(tmp_path / "ids") if tls else None
    if identities is not None:
        identities.make(0, 1)
    serving = asyncio.create_task(rawserver.serve(listen, operators, 0.25, identities and identities.path))
    async with (
        channel(listen, identities and identities.client("terminal", 0)) as agents,
        channel(operators, identities and identities.client("operator", 0)) as people,
    ):
        stream = terminal_pb2_grpc.TerminalServiceStub(agents).Connect(wait_for_ready=True)
        for number in range(400):
            report = terminal_pb2.TerminalReport(sequence=number + 1)
            await stream.write(terminal_pb2.TerminalServiceConnectRequest(report=report))
        for _ in range(100):
            answer = await stream.read()
            assert answer.command.renew_lease.lease_ms == 6_000
        counters = await operations_pb2_grpc.OperationsServiceStub(people).GetController(
            operations_pb2.GetControllerRequest()
        )
        stream.cancel()
    assert [(counter.name, counter.value) for counter in counters.counters] == [("reports_total", 400)]
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
