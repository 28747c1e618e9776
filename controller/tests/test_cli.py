# SPDX-License-Identifier: Apache-2.0
"""The commands against a real controller process, and that process through its life."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from airbound import cli
from airbound.testing.agents import WAIT_S, FakeAccessPoint, FakePhone
from airbound.v1 import access_point_pb2, terminal_pb2

BSSID = "02:00:00:00:00:01"
MAC = "02:00:00:00:01:00"
NOBODY = "127.0.0.1:1"


class Controller:
    """`airbound controller` as a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, endpoint: str) -> None:
        self.process = process
        self.endpoint = endpoint

    @classmethod
    async def start(cls, *options: str, listen: str = "127.0.0.1:0") -> "Controller":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "airbound", "controller", "--listen", listen, *options),
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        line = (await asyncio.wait_for(process.stderr.readline(), WAIT_S)).decode()
        found = re.search(r"listening (\S+:\d+):", line)
        assert found, line
        return cls(process, found[1])

    async def end(self, number: int) -> tuple[int, str]:
        """Signal it; its exit code and the rest of its log."""
        self.process.send_signal(number)
        _, log = await asyncio.wait_for(self.process.communicate(), WAIT_S)
        assert self.process.returncode is not None
        return self.process.returncode, log.decode()


@pytest.fixture
def patient(tmp_path: Path) -> str:
    """A configuration whose silences are long, so that a slow machine changes nothing."""
    file = tmp_path / "patient.toml"
    silences = "cell_stale_ms = 600_000\nterminal_stale_ms = 600_000\n"
    file.write_text(f"policy = 'paper'\n[safety]\n{silences}", encoding="utf-8")
    return str(file)


@pytest.fixture
async def controller(patient: str) -> AsyncIterator[Controller]:
    running = await Controller.start("--config", patient)
    yield running
    if running.process.returncode is None:
        await running.end(signal.SIGKILL)


async def fill(access_point: FakeAccessPoint, phone: FakePhone) -> None:
    """One phone that sends and is bound."""
    for second in (1, 2):
        station = access_point_pb2.Station(
            mac=MAC, rx_packets=1000 * second, rx_bytes=1534000 * second, connected_time_ms=9000
        )
        await access_point.report(
            access_point_pb2.AccessPointReport(
                bssid=BSSID, ssid="cell \x1b[2J \u00e9".encode(), monotonic_us=second * 10**6, stations=[station]
            )
        )
    upload = terminal_pb2.Destination(
        address="10.0.4.1", connections_sending=1, srtt_us=300_000, min_rtt_us=256_500, mss_bytes=1448
    )
    await phone.report(upload, monotonic_us=1)
    await phone.until(lambda: phone.bounds == {"10.0.4.1/32": (250, 555)})


async def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "airbound", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    out, err = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_the_commands_show_a_live_cell(controller: Controller) -> None:
    to = ("--controller", controller.endpoint)
    async with (
        FakeAccessPoint(controller.endpoint) as access_point,
        FakePhone(controller.endpoint, MAC) as phone,
    ):
        await fill(access_point, phone)
        code, out, _ = await run("cells", *to)
        assert code == 0
        assert out.splitlines()[0] == "mode control, policy paper"
        assert "\x1b" not in out
        assert out.splitlines()[2].split()[:2] == [BSSID, "cell"]

        # A terminal of another character set, and a machine that has a proxy for the web.
        code, out, err = await run("cells", *to, PYTHONIOENCODING="ascii", http_proxy=f"http://{NOBODY}", no_proxy="")
        assert (code, err) == (0, "")
        assert "cell ?[2J \\xe9" in out

        code, out, _ = await run("terminals", *to, "--cell", BSSID.upper())
        assert "10.0.4.1/32 250..555" in out
        code, out, _ = await run("terminals", *to, "--cell", "02:00:00:00:00:99")
        assert out.strip() == "No terminal is in cell 02:00:00:00:00:99."
        code, out, err = await run("terminals", *to, "--cell", "here")
        assert (code, out) == (1, "")
        assert err.startswith("airbound: bssid = 'here': not six")

        code, out, _ = await run("explain", MAC, *to)
        assert "why: jb class B" in out
        assert "adopted Table 2" in out

        code, out, _ = await run("explain", MAC, *to, "--json")
        decision = json.loads(out)["terminal"]["decisions"][0]
        assert decision["bound"] == {"destination_prefix": "10.0.4.1/32", "min_segs": 250, "max_segs": 555}

        code, out, _ = await run("exempt", MAC, *to)
        assert out.strip() == "was under control"
        await phone.until(lambda: phone.bounds == {})
        code, out, _ = await run("terminals", *to)
        assert "connected, sending, exempt  none (would be 10.0.4.1/32 250..555)" in out
        code, out, _ = await run("exempt", MAC, "--off", *to)
        assert out.strip() == "was exempt"
        await phone.until(lambda: phone.bounds != {})

        code, out, _ = await run("mode", "observe", *to)
        assert out.strip() == "was control"
        await phone.until(lambda: phone.bounds == {})
        code, out, _ = await run("mode", *to)
        assert (code, out.strip()) == (0, "mode observe, policy paper")
        code, out, _ = await run("explain", MAC, *to)
        assert "no bounds: observe mode: computed and shown, not applied" in out
        assert "10.0.4.1/32 250..555 segments, policy paper, n=1, computed, not sent" in out


async def test_a_terminal_that_is_not_there_is_a_failure(controller: Controller) -> None:
    code, out, err = await run("explain", MAC, "--controller", controller.endpoint)
    assert (code, out) == (1, "")
    assert err == f"airbound: no terminal {MAC} has connected (not_found)\n"


async def test_sighup_reads_the_file_again_and_an_error_ends_nothing(controller: Controller, patient: str) -> None:
    file = Path(patient)
    good = await asyncio.to_thread(file.read_text, "utf-8")
    async with (
        FakeAccessPoint(controller.endpoint) as access_point,
        FakePhone(controller.endpoint, MAC) as phone,
    ):
        await fill(access_point, phone)
        await asyncio.to_thread(file.write_text, "polcy = 'paper'", "utf-8")
        controller.process.send_signal(signal.SIGHUP)
        await asyncio.to_thread(file.write_text, f"mode = 'observe'\n{good}", "utf-8")
        while phone.bounds:  # two signals may be one, and the first may come before either text
            controller.process.send_signal(signal.SIGHUP)
            await asyncio.sleep(0.05)
        code, log = await controller.end(signal.SIGTERM)
    assert code == 0
    assert "info reload configuration: mode control -> observe" in log
    assert "Traceback" not in log


async def test_sigterm_frees_every_phone_and_ends_well(controller: Controller) -> None:
    async with (
        FakeAccessPoint(controller.endpoint) as access_point,
        FakePhone(controller.endpoint, MAC) as phone,
    ):
        await fill(access_point, phone)
        code, log = await controller.end(signal.SIGTERM)
        await asyncio.wait_for(phone.ended.wait(), WAIT_S)
        assert phone.bounds == {}
    assert code == 0
    assert f"info bounds {MAC}: released: the controller is stopping" in log
    assert "Traceback" not in log


async def test_a_killed_controller_leaves_the_lease_and_the_next_one_takes_over(
    controller: Controller, patient: str
) -> None:
    async with (
        FakeAccessPoint(controller.endpoint) as access_point,
        FakePhone(controller.endpoint, MAC) as phone,
    ):
        await fill(access_point, phone)
        await controller.end(signal.SIGKILL)
        await asyncio.wait_for(phone.ended.wait(), WAIT_S)
        assert phone.bounds != {}
        phone.expire()
    again = await Controller.start("--config", patient, listen=controller.endpoint)
    try:
        async with FakeAccessPoint(again.endpoint) as access_point, FakePhone(again.endpoint, MAC) as phone:
            await fill(access_point, phone)
    finally:
        await again.end(signal.SIGTERM)


async def test_a_taken_port_is_said_so(controller: Controller) -> None:
    code, _, err = await run("controller", "--listen", controller.endpoint)
    assert code == 1
    assert f"airbound: cannot listen on {controller.endpoint}" in err


def test_nobody_there_is_a_code_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cells", "--controller", NOBODY, "--timeout", "5"]) == 3
    assert f"no controller answers at {NOBODY}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["bounds"],
        ["explain"],
        ["controller", "--policy", "fair"],
        ["cells", "--timeout", "nan"],
        ["cells", "--timeout", "0"],
        ["cells", "--timeout", "soon"],
        ["mode", "off"],
    ],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    complaint = capsys.readouterr().err
    assert "usage: airbound" in complaint
    assert "_seconds" not in complaint


@pytest.mark.parametrize("command", ["cells", "controller"])
def test_a_wrong_endpoint(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    option = "--listen" if command == "controller" else "--controller"
    assert cli.main([command, option, "here"]) == 2
    assert f"{option} = 'here': expected ADDRESS:PORT" in capsys.readouterr().err


COMMANDS = ("controller", "check-config", "cells", "terminals", "explain", "mode", "exempt")


@pytest.mark.parametrize("command", [*COMMANDS, ""])
def test_help_has_examples_that_are_right_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([*command.split(), "--help"])
    assert caught.value.code == 0
    examples = re.findall(r"^  airbound ((?:\S+ ?)+)", capsys.readouterr().out.partition("examples:")[2], re.MULTILINE)
    assert examples
    for example in examples:
        assert cli.parser().parse_args(example.split())
        assert example.split()[0] in ([command] if command else COMMANDS)


@pytest.mark.parametrize("endpoint", ["127.0.0.1:" + "1" * 5000, "127.0.0.1:65536", "127.0.0.1:\u0661"])
def test_no_port_at_all(endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cells", "--controller", endpoint]) == 2
    assert "expected ADDRESS:PORT" in capsys.readouterr().err


@pytest.fixture
def good(tmp_path: Path) -> str:
    file = tmp_path / "good.toml"
    file.write_text("policy = 'paper'\n", encoding="utf-8")
    return str(file)


def test_output_that_nobody_takes(good: str) -> None:
    """A full disk is a failure; a reader that has had enough is none."""
    command = [sys.executable, "-m", "airbound", "check-config", good, "--json"]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "airbound: cannot print: [Errno 28] No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as broken:
        result = subprocess.run(command, stdout=broken, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_check_config", interrupted)
    assert cli.main(["check-config", good]) == 130


def test_check_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text("policy = 'paper'\n[paper]\ngeneration = 'gb'\n", encoding="utf-8")
    bad.write_text("polcy = 'paper'\n", encoding="utf-8")
    assert cli.main(["check-config", str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: valid; 127.0.0.1:50051, mode control, policy paper\n"
    assert cli.main(["check-config", str(good), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"]["paper"]["generation"] == "gb"
    assert cli.main(["check-config", str(bad)]) == 2
    assert capsys.readouterr().err == f"airbound: {bad}: unknown key polcy; did you mean policy?\n"
    assert cli.main(["controller", "--config", str(bad)]) == 2


def test_the_command_line_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text("policy = 'bdp'\nlisten = '127.0.0.1:1'\n[bdp]\ngain = 2.0\n", encoding="utf-8")
    options = ["--policy", "paper", "--generation", "gb", "--mode", "observe", "--listen", "127.0.0.1:2"]
    arguments = cli.parser().parse_args(["controller", "--config", str(file), *options, "--log", "json"])
    config = cli._configured(arguments)
    assert (config.listen, config.log) == ("127.0.0.1:2", "json")
    parameters = config.parameters
    assert (parameters.policy, parameters.mode, parameters.paper.generation) == ("paper", "observe", "gb")
    assert parameters.bdp.gain == 2.0


def test_help_and_version_load_no_grpc() -> None:
    code = "import sys; from airbound import cli; cli.parser(); sys.exit(bool({'grpc', 'asyncio'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ)).returncode == 0
