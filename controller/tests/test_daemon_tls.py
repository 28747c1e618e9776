# SPDX-License-Identifier: Apache-2.0
"""`airbound controller` with TLS as a process of its own: made from nothing by the commands that it names itself."""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from airbound_testing.agents import WAIT_S

START_WITHIN_S = 300.0


class Machine:
    """A machine with directories of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "airbound.toml"
        self.file.write_text('[tls]\nenrollment = "127.0.0.1:0"\n', encoding="utf-8")
        self._environment = {
            **os.environ, "AIRBOUND_CA_DIR": str(path / "ca"), "AIRBOUND_TLS_DIR": str(path / "tls"),
        }  # fmt: skip
        self.process: asyncio.subprocess.Process
        self.operators = self.enrollment = ""

    async def run(self, *arguments: str, code: int = 0) -> str:
        process = await self._start(*arguments, stdout=asyncio.subprocess.PIPE)
        out, err = await asyncio.wait_for(process.communicate(), START_WITHIN_S)
        assert process.returncode == code, err.decode()
        return (out if code == 0 else err).decode()

    async def ask(self, *arguments: str, code: int = 0) -> str:
        return await self.run(*arguments, "--controller", self.operators, "--timeout", "30", code=code)

    async def controller(self) -> None:
        listen = ("--listen", "127.0.0.1:0", "--operators", "127.0.0.1:0")
        self.process = await self._start("controller", "--config", str(self.file), *listen)
        assert self.process.stderr is not None
        log = ""
        while "listening" not in log:
            line = (await asyncio.wait_for(self.process.stderr.readline(), START_WITHIN_S)).decode()
            assert line, log
            log += line
        assert re.search(r"info certificate controller/\S+: in use until ", log)
        enrolling = re.search(r"info enrolling (\S+): trust domain airbound\.internal", log)
        listening = re.search(r"listening \S+: .*operators on (\S+)$", log, re.MULTILINE)
        assert enrolling
        assert listening
        self.enrollment, self.operators = enrolling[1], listening[1]

    async def end(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        _, log = await asyncio.wait_for(self.process.communicate(), WAIT_S)
        assert self.process.returncode == 0
        return log.decode()

    async def _start(self, *arguments: str, stdout: int | None = None) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "airbound", *arguments),
            stdout=stdout,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_from_nothing_to_operators_and_over_a_restart(machine: Machine) -> None:
    said = await machine.run("controller", "--config", str(machine.file), code=2)
    commands = re.findall(r"^  airbound (.*)$", said, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        await machine.run(*command.split())
    await machine.controller()
    assert await machine.ask("health") == "SERVING\n"
    token = json.loads(await machine.ask("enroll", "operator", "bob", "--uses", "2", "--json"))["token"]
    for name in ("bob", "bob2"):
        to = ("--enroll", machine.enrollment, "--tls-dir", str(machine.path / name))
        assert "operator/bob until" in await machine.run("login", "--token", token, *to)
    assert (await machine.ask("enrolled", "--role", "operator")).count("operator/bob") == 2
    await machine.ask("revoke", "operator/bob")
    log = await machine.end()
    assert "info enrolled operator/bob: certificate" in log
    assert "warning revoked operator/bob: certificates" in log
    assert "by operator/" in log
    assert "Traceback" not in log

    await machine.controller()  # what it knew is in its directory
    assert (await machine.ask("enrolled")).count("revoked") == 2
    said = await machine.ask("cells", "--tls-dir", str(machine.path / "bob"), code=1)
    assert "is revoked (permission_denied)" in said
    assert "Traceback" not in await machine.end()


async def test_files_that_cannot_be_used_are_an_error_of_one_line(machine: Machine) -> None:
    await machine.run("ca", "init")
    key = machine.path / "ca" / "authority-key.pem"
    key.chmod(0o644)
    said = await machine.run("controller", "--config", str(machine.file), code=2)
    assert said == f"airbound: {key}: others may read it (mode 0644): chmod 600 {key}\n"
    key.rename(key.with_name("elsewhere"))
    said = await machine.run("controller", "--config", str(machine.file), code=2)
    assert "airbound ca controller NAME --out DIR" in said
    assert said.count("\n") == 1


async def test_a_replica_without_the_authoritys_key(machine: Machine) -> None:
    await machine.run("ca", "init")
    await machine.run("ca", "operator", "alice")
    replica = machine.path / "replica"
    await machine.run("ca", "controller", "replica-2", "--out", str(replica))
    names = {"certificate": "certificate.pem", "key": "key.pem", "authorities": "authorities.pem"}
    lines = [f'{key} = "{replica / file}"' for key, file in names.items()]
    elsewhere = f'directory = "{machine.path / "elsewhere"}"'
    machine.file.write_text("\n".join(["[tls]", elsewhere, *lines]), encoding="utf-8")
    process = await machine._start(
        *("controller", "--config", str(machine.file), "--listen", "127.0.0.1:0", "--operators", "127.0.0.1:0")
    )
    assert process.stderr is not None
    log = ""
    while "listening" not in log:
        log += (await asyncio.wait_for(process.stderr.readline(), START_WITHIN_S)).decode()
    assert "certificate controller/replica-2: in use until" in log
    assert "enrolling nowhere" in log
    machine.operators = re.findall(r"operators on (\S+)", log)[0]
    assert await machine.ask("health") == "SERVING\n"
    said = await machine.ask("enroll", "terminal", "x")
    assert "this controller enrols nobody itself" in said
    said = await machine.ask("login", "--renew", code=3)
    assert "this controller does not have the authority's key" in said
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode == 0
