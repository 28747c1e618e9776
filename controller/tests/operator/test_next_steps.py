# SPDX-License-Identifier: Apache-2.0
"""What goes wrong for those who begin, each with real servers on loopback: the answer names the next step."""

import asyncio
import datetime
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio

from airbound.operator import cli
from airbound.operator.tls_files import TlsFiles
from airbound.pki.errors import PkiError
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID, LiveController
from airbound_testing.processes import haproxy_program

PLAIN = ("--plain-text",)
MAC = "02:00:00:00:01:00"
NAME = "127.0.0.1"


class Answer(NamedTuple):
    code: int
    text: str


async def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> Answer:
    code = await asyncio.to_thread(cli.main, [*arguments])
    out, err = capsys.readouterr()
    return Answer(code, out + err)


class Machine(NamedTuple):
    """A machine with an authority and a controller with TLS that is made by it."""

    path: Path
    operators: str
    enrollment: str


async def start(environment: dict[str, str], *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "airbound", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )


@pytest_asyncio.fixture(params=["grpc", "haproxy"])
async def machine(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Machine]:
    """Operators' connections end at gRPC, or at HAProxy: what commands say is the same."""
    monkeypatch.setenv("AIRBOUND_CA_DIR", str(tmp_path / "ca"))
    monkeypatch.setenv("AIRBOUND_TLS_DIR", str(tmp_path / "tls"))
    for words in (("ca", "init"), ("ca", "operator", "alice")):
        assert await asyncio.to_thread(cli.main, [*words]) == 0
    front = haproxy_program() if request.param == "haproxy" else ""
    environment = {**os.environ, "AIRBOUND_TLS__ENROLLMENT": "127.0.0.1:0", "AIRBOUND_TLS__FRONT": front}
    listen = ("--listen", "127.0.0.1:0", "--operators", "127.0.0.1:0", "--metrics=")
    process = await start(environment, "controller", *listen)
    assert process.stderr is not None
    log = ""
    while "info listening" not in log:
        line = (await asyncio.wait_for(process.stderr.readline(), 60 * WAIT_S)).decode()
        assert line, log
        log += line
    enrolling = re.search(r"info enrolling (\S+): ", log)
    listening = re.search(r"listening \S+: .*operators on (\S+)$", log, re.MULTILINE)
    assert enrolling
    assert listening
    yield Machine(tmp_path, listening[1], enrolling[1])
    process.terminate()
    await asyncio.wait_for(process.communicate(), 60 * WAIT_S)


async def test_a_controller_with_tls(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    to = ("--controller", machine.operators, "--timeout", "60")
    assert (await ask(capsys, "health", *to)).code == 0
    code, text = await ask(capsys, "cells", *to, *PLAIN)
    assert (code, "leave out --plain-text" in text) == (3, True), text
    code, text = await ask(capsys, "cells", "--controller", machine.enrollment, "--timeout", "60")
    assert (code, "not the one for operators (--controller ADDR:PORT)" in text) == (1, True), text
    code, text = await ask(capsys, "cells", *to, "--tls-dir", str(machine.path / "none"))
    assert (code, "airbound ca operator NAME --out" in text) == (2, True), text
    assert "airbound login --token TOKEN" in text
    # Another authority's operator.
    other = ("--directory", str(machine.path / "other"))
    assert (await ask(capsys, "ca", "init", *other)).code == 0
    of_other = str(machine.path / "mallory")
    assert (await ask(capsys, "ca", "operator", "mallory", *other, "--out", of_other)).code == 0
    code, text = await ask(capsys, "cells", *to, "--tls-dir", of_other)
    assert (code, "not of your authority: `airbound login --token TOKEN`" in text) == (3, True), text
    # An operator at a controller in plain text.
    async with LiveController() as live:
        code, text = await ask(capsys, "cells", "--controller", live.operators, "--timeout", "60")
    assert (code, "--plain-text if it is a controller in plain text" in text) == (3, True), text


async def test_a_certificate_that_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRBOUND_CA_DIR", str(tmp_path / "ca"))
    monkeypatch.setenv("AIRBOUND_TLS_DIR", str(tmp_path / "tls"))
    for words in (("ca", "init"), ("ca", "operator", "alice", "--days", "1")):
        assert (await ask(capsys, *words)).code == 0
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)
    with pytest.raises(PkiError, match=r"A new one, .* airbound ca operator NAME --out .* airbound login --token"):
        TlsFiles(tmp_path / "tls").load(later)


async def test_nobody_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        port = f"127.0.0.1:{taken.getsockname()[1]}"
        for where in (port, f"unix:{tmp_path}/gone.sock"):
            code, text = await ask(capsys, "cells", "--controller", where, "--timeout", "60", *PLAIN)
            assert (code, "is the controller running (`systemctl status airbound-controller`" in text) == (3, True), (
                text
            )


async def test_a_controller_in_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    async with LiveController() as live:
        to = ("--controller", live.operators, "--timeout", "60", *PLAIN)
        # The port for agents.
        agents = ("--controller", f"127.0.0.1:{live.running.port}", "--timeout", "60", *PLAIN)
        code, text = await ask(capsys, "cells", *agents)
        assert (code, "50052 unless the configuration says otherwise" in text) == (1, True), text
        # Nothing has reported yet.
        code, text = await ask(capsys, "cells", *to)
        assert (code, "airbound enroll access-point NAME" in text) == (0, True), text
        code, text = await ask(capsys, "terminals", *to)
        assert (code, "airbound enroll terminal NAME" in text) == (0, True), text

        (phone,) = await live.uploading(1)
        code, text = await ask(capsys, "explain", "127.0.0.2", *to)
        assert (code, "did you mean 127.0.0.1?" in text) == (1, True), text
        # Observe mode, forgotten.
        assert (await ask(capsys, "mode", "observe", *to)).code == 0
        await phone.until(lambda: phone.bounds == {})
        _, text = await ask(capsys, "explain", MAC, *to)
        assert text.splitlines()[-1] == "next: `airbound mode control` applies what is computed"
        assert (await ask(capsys, "mode", "control", *to)).code == 0
        assert (await ask(capsys, "mode", "observe", "--cell", BSSID, *to)).code == 0
        _, text = await ask(capsys, "explain", MAC, *to)
        assert text.splitlines()[-1].endswith(f"applies what is computed; here with --cell {BSSID}")
        assert (await ask(capsys, "mode", "configured", "--cell", BSSID, *to)).code == 0
        # An exemption, forgotten.
        assert (await ask(capsys, "exempt", NAME, *to)).code == 0
        _, text = await ask(capsys, "explain", MAC, *to)
        assert text.splitlines()[-1] == f"next: `airbound exempt {NAME} --off` ends the exemption"
        assert (await ask(capsys, "exempt", BSSID, *to)).code == 0
        _, text = await ask(capsys, "explain", MAC, *to)
        assert text.splitlines()[-1] == f"next: `airbound exempt {BSSID} --off` ends the exemption"
