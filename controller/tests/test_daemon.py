# SPDX-License-Identifier: Apache-2.0
"""`airbound controller` as a process of its own, from its start to its end."""

import asyncio
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from airbound.core.addresses import mac_from_text
from airbound.grpc.agent_services import ANSWERS
from airbound.operator import cli
from airbound.v1 import access_point_pb2
from airbound_testing.agents import WAIT_S, FakeAccessPoint, FakePhone
from airbound_testing.live import BSSID, MACS, SERVER, upload
from airbound_testing.ports import free_port

MAC = MACS[0]
BOUNDS = {SERVER: (250, 555)}
START_WITHIN_S = 300.0


class Controller:
    """The process; `endpoint` is for agents, `operators` for operators."""

    def __init__(self, process: asyncio.subprocess.Process, endpoint: str, operators: str) -> None:
        self.process = process
        self.endpoint = endpoint
        self.operators = operators

    @classmethod
    async def start(
        cls, *options: str, listen: str = "127.0.0.1:0", operators: str = "127.0.0.1:0", **environment: str
    ) -> "Controller":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "airbound", "controller", "--plain-text", "--listen", listen, "--operators", operators, *options),
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **environment},
        )
        assert process.stderr is not None
        line = (await asyncio.wait_for(process.stderr.readline(), START_WITHIN_S)).decode()
        found = re.search(r"listening (\S+:\d+): .*operators on (\S+)$", line)
        assert found, line
        return cls(process, found[1], found[2])

    async def end(self, number: int) -> tuple[int, str]:
        """Signal it; its exit code and the rest of its log."""
        self.process.send_signal(number)
        _, log = await asyncio.wait_for(self.process.communicate(), WAIT_S)
        assert self.process.returncode is not None
        return self.process.returncode, log.decode()


@pytest.fixture
def patient(tmp_path: Path) -> str:
    """A configuration whose time-outs are long, so that a slow machine changes nothing."""
    file = tmp_path / "patient.toml"
    timeouts = "cell_stale_ms = 600_000\nterminal_stale_ms = 600_000\nlease_ms = 60_000\n"
    file.write_text(f"policy = 'paper'\n[safety]\n{timeouts}", encoding="utf-8")
    return str(file)


@pytest.fixture
async def controller(patient: str) -> AsyncIterator[Controller]:
    running = await Controller.start("--config", patient, listen=f"127.0.0.1:{free_port()}")  # some start another there
    yield running
    if running.process.returncode is None:
        await running.end(signal.SIGKILL)


async def report(access_point: FakeAccessPoint, seconds: tuple[int, ...] = (1, 2), *, check: str = "") -> None:
    """One station that sends; the access point may ask for a check."""
    asks = access_point_pb2.CheckRequest(id=check) if check else None
    for second in seconds:
        station = access_point_pb2.Station(
            mac=mac_from_text(MAC), rx_packets=1000 * second, rx_bytes=1534000 * second, connected_time_ms=9000
        )
        await access_point.report(
            access_point_pb2.AccessPointReport(
                bssid=mac_from_text(BSSID), monotonic_us=second * 10**6, stations=[station], check=asks
            )
        )


async def fill(access_point: FakeAccessPoint, phone: FakePhone) -> None:
    """One phone that sends and has bounds."""
    await report(access_point)
    await phone.report(upload(), monotonic_us=1)
    await phone.until(lambda: phone.bounds == BOUNDS)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_well_and_leaves_bounds_to_their_lease(controller: Controller, number: int) -> None:
    async with FakeAccessPoint(controller.endpoint) as access_point, FakePhone(controller.endpoint, MAC) as phone:
        await fill(access_point, phone)
        code, log = await controller.end(number)
        await asyncio.wait_for(phone.ended.wait(), WAIT_S)
        assert (phone.bounds, phone.sets) == (BOUNDS, 1)
        assert phone.error is not None
        assert phone.error.code() is grpc.StatusCode.UNAVAILABLE
        assert phone.error.details() == "the controller is stopping"
    assert code == 0
    assert "info bounds 127.0.0.1: 250..555 segs to 10.0.4.1: the terminal began to send to 10.0.4.1" in log
    assert f"info stopping {controller.endpoint}: bounds stay in force until their leases end" in log
    assert "Traceback" not in log


class AnsweredAccessPoint(FakeAccessPoint):
    """One that has its reports answered."""

    metadata = (ANSWERS,)


async def test_a_check_that_an_access_point_asks_for_begins_and_leaves_the_mode_when_the_controller_ends(
    controller: Controller,
) -> None:
    async with AnsweredAccessPoint(controller.endpoint) as access_point, asyncio.timeout(WAIT_S):
        await report(access_point)
        for second in itertools.count(3):
            if access_point.check.turn:
                break
            await report(access_point, (second,), check="1")
            await asyncio.sleep(0.1)  # reports are answered once in 0.9 s
        assert (access_point.check.id, access_point.check.turn, access_point.check.turns) == ("1", 1, 12)
        code, log = await controller.end(signal.SIGTERM)
    assert code == 0
    events = re.findall(rf"info (?:check|mode) ({BSSID}.*)$", log, re.MULTILINE)
    assert events[:2] == [f"{BSSID} begins, asked for by 127.0.0.1", f"{BSSID} observe"]
    assert f"{BSSID} ended: the controller ended the check" in events
    assert events[-1] == f"{BSSID} configured"
    assert "Traceback" not in log


async def test_a_restart_changes_nothing_for_a_phone(controller: Controller, patient: str) -> None:
    async with FakeAccessPoint(controller.endpoint) as access_point, FakePhone(controller.endpoint, MAC) as phone:
        await fill(access_point, phone)
        generation = phone.generation
        await controller.end(signal.SIGKILL)
        await asyncio.wait_for(phone.ended.wait(), WAIT_S)
        assert phone.bounds == BOUNDS
        again = await Controller.start("--config", patient, listen=controller.endpoint)
        try:
            await phone.connect_again(again.endpoint)
            await access_point.connect_again(again.endpoint)
            await phone.report(upload(), monotonic_us=2)
            await report(access_point, (3, 4))
            await phone.until(lambda: phone.sets == 2)
            assert phone.bounds == BOUNDS
            assert phone.generation > generation
        finally:
            await again.end(signal.SIGTERM)


async def test_sighup_reads_the_file_again_and_an_error_ends_nothing(controller: Controller, patient: str) -> None:
    file = Path(patient)
    good = await asyncio.to_thread(file.read_text, "utf-8")
    async with FakeAccessPoint(controller.endpoint) as access_point, FakePhone(controller.endpoint, MAC) as phone:
        await fill(access_point, phone)
        await asyncio.to_thread(file.write_text, "polcy = 'paper'", "utf-8")
        assert controller.process.stderr is not None
        controller.process.send_signal(signal.SIGHUP)
        line = b""
        while b"reload" not in line:
            line = await asyncio.wait_for(controller.process.stderr.readline(), WAIT_S)
        assert line.decode().endswith(
            f"warning reload configuration: {file}: unknown key polcy; did you mean policy?;"
            " the configuration before stays in force\n"
        )
        assert phone.bounds == BOUNDS
        await asyncio.to_thread(file.write_text, f"mode = 'observe'\n{good}", "utf-8")
        controller.process.send_signal(signal.SIGHUP)
        await phone.until(lambda: phone.bounds == {})
        code, log = await controller.end(signal.SIGTERM)
    assert code == 0
    assert "info reload configuration: mode control -> observe" in log
    assert "Traceback" not in log


async def test_a_configuration_that_is_a_pipe_stops_no_event_loop(controller: Controller, patient: str) -> None:
    file = Path(patient)
    await asyncio.to_thread(file.unlink)
    os.mkfifo(file)
    async with FakeAccessPoint(controller.endpoint) as access_point, FakePhone(controller.endpoint, MAC) as phone:
        for _ in range(3):
            controller.process.send_signal(signal.SIGHUP)
        await fill(access_point, phone)
        assert phone.bounds == BOUNDS
    assert controller.process.stderr is not None
    line = b""
    while b"reload" not in line:
        line = await asyncio.wait_for(controller.process.stderr.readline(), WAIT_S)
    assert b"cannot be read: is no file; the configuration before stays in force" in line
    code, log = await controller.end(signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in log


async def test_environment_file_and_overrides_of_cells_over_a_reload(
    patient: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The phone's cell is only watched at first; a reload ends that, and an operator begins it again."""
    file = Path(patient)
    plain = await asyncio.to_thread(file.read_text, "utf-8")
    await asyncio.to_thread(file.write_text, f"{plain}[[cell]]\nbssid = '{BSSID}'\nmode = 'observe'\n", "utf-8")
    environment = {"AIRBOUND_CONFIG": patient, "AIRBOUND_LIMITS__STREAMS_MAX": "7"}
    running = await Controller.start(**environment)

    async def asked(*command: str) -> str:
        to = ("--controller", running.operators, "--plain-text", "--timeout", "30")
        assert await asyncio.to_thread(cli.main, [*command, *to]) == 0
        return str(capsys.readouterr().out)

    async def reload(word: str) -> None:
        assert running.process.stderr is not None
        running.process.send_signal(signal.SIGHUP)
        line = b""
        while b"reload" not in line:
            line = await asyncio.wait_for(running.process.stderr.readline(), WAIT_S)
        assert word in line.decode()

    try:
        async with FakeAccessPoint(running.endpoint) as access_point, FakePhone(running.endpoint, MAC) as phone:
            await report(access_point)
            await phone.report(upload(), monotonic_us=1)
            await phone.until(lambda: phone.reporting is not None)
            out = await asked("explain", BSSID)
            assert f"mode observe, policy paper (cell.0, bssid {BSSID})" in out
            assert f"observe, paper (cell.0, bssid {BSSID})" in await asked("cells")
            assert "no bounds: observe mode" in await asked("explain", MAC)
            out = await asked("config", "show")
            assert re.search(r"^limits.streams_max +7 +AIRBOUND_LIMITS__STREAMS_MAX$", out, re.MULTILINE)
            assert re.search(rf'^cell.0.mode +"observe" +{patient}:8$', out, re.MULTILINE)
            assert re.search(r"^listen +.* --listen$", out, re.MULTILINE)
            await asyncio.to_thread(file.write_text, f"{plain}[[cell]]\nbssid = 1", "utf-8")
            await reload("cell.0.bssid = 1: should be a valid array; the configuration before stays in force")
            assert phone.bounds == {}
            assert await asked("config", "show") == out.replace(
                "\nfile ",
                f"\nnot in force, for an error: {patient}: cell.0.bssid = 1: should be a valid array\nfile ",
                1,
            )
            await asyncio.to_thread(file.write_text, plain, "utf-8")
            await reload("cell.0.mode observe -> None")
            await phone.until(lambda: phone.bounds == BOUNDS)
            ends = f"; `airbound mode configured --cell {BSSID}` ends that\n"
            said = "observe (was control); bounds of 1 phone released"
            assert await asked("mode", "observe", "--cell", BSSID) == said + ends
            await phone.until(lambda: phone.bounds == {})
            hashes = json.loads(await asked("config", "show", "--json"))["sha256"]
    finally:
        code, log = await running.end(signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in log
    started = {"LISTEN": "127.0.0.1:0", "OPERATORS": "['127.0.0.1:0']", "TLS__PLAIN_TEXT": "true"}
    checked = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "airbound", "check-config"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **environment, **{f"AIRBOUND_{name}": value for name, value in started.items()}},
    )
    printed, _ = await asyncio.wait_for(checked.communicate(), START_WITHIN_S)
    assert printed.decode().endswith(f"SHA-256 {hashes}\n")


async def test_a_variable_that_is_wrong_ends_the_start() -> None:
    for name, complaint in (
        ("AIRBOUND_POLCY", "unknown variable AIRBOUND_POLCY; did you mean AIRBOUND_POLICY?"),
        ("AIRBOUND_MODE", "AIRBOUND_MODE = 'x': should be 'observe' or 'control'"),
    ):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "airbound", "controller"),
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, name: "x"},
        )
        _, err = await asyncio.wait_for(process.communicate(), START_WITHIN_S)
        assert (process.returncode, err.decode()) == (2, f"airbound: {complaint}\n")


async def test_operators_reach_it_where_it_says(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    assert controller.operators != controller.endpoint
    to = ("--controller", controller.operators, "--plain-text", "--timeout", "30")
    assert await asyncio.to_thread(cli.main, ["health", *to]) == 0
    assert capsys.readouterr().out == "SERVING\n"
    assert await asyncio.to_thread(cli.main, ["mode", *to]) == 0
    assert capsys.readouterr().out == "mode control, policy paper\n"


async def test_operators_on_a_unix_socket(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint = f"unix:{tmp_path}/airbound.sock"
    running = await Controller.start(operators=endpoint)
    try:
        assert running.operators == endpoint
        command = ["health", "--controller", endpoint, "--timeout", "30"]
        assert await asyncio.to_thread(cli.main, command) == 0
        assert capsys.readouterr().out == "SERVING\n"
    finally:
        code, _ = await running.end(signal.SIGTERM)
    assert code == 0


async def test_an_address_that_is_taken_is_an_error_of_one_line(controller: Controller) -> None:
    for options in (
        ("--listen", controller.endpoint, "--operators", "127.0.0.1:0"),
        ("--listen", "127.0.0.1:0", "--operators", controller.operators),
    ):
        process = await asyncio.create_subprocess_exec(
            sys.executable, *("-m", "airbound", "controller", "--plain-text", *options), stderr=asyncio.subprocess.PIPE
        )
        _, err = await asyncio.wait_for(process.communicate(), START_WITHIN_S)
        assert process.returncode == 1
        assert "airbound: cannot listen on 127.0.0.1:" in err.decode()
        assert "Traceback" not in err.decode()


async def test_it_ends_while_nobody_reads_its_log(patient: str) -> None:
    """Its error output is a pipe that is full before the controller writes to it."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(4096))
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "airbound", "controller", "--plain-text", "--config", patient),
        *("--listen", f"127.0.0.1:{port}", "--operators", "127.0.0.1:0"),
        stderr=writer,
    )
    os.close(writer)
    try:
        for _ in range(600):  # it serves although its first line is not written
            try:
                _, connection = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                connection.close()
                break
        endpoint = f"127.0.0.1:{port}"
        async with FakeAccessPoint(endpoint) as access_point, FakePhone(endpoint, MAC) as phone:
            await fill(access_point, phone)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), WAIT_S) == 0
    finally:
        os.close(reader)
        if process.returncode is None:
            process.kill()
            await process.wait()
