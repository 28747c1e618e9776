# SPDX-License-Identifier: Apache-2.0
"""The command line: usage, configuration, output; and the commands against a real controller process."""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airbound.config import known_keys, load
from airbound.configuration.values import config_hash
from airbound.core.policy_names import BUILT_IN
from airbound.operator import cli
from airbound.operator.completion import parsers
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID, MACS, LiveController

MAC = MACS[0]
NAME = "127.0.0.1"
NOBODY = "127.0.0.1:1"
PLAIN = ("--plain-text", "--timeout", "30")
COMMANDS = (
    "controller", "check-config", "openflow", "cells", "stations", "terminals", "explain", "counters", "config", "mode",
    "exempt", "class", "replicas", "switches", "health", "events", "watch", "top", "check", "completion", "enroll",
    "enrolled", "revoke", "move-cell", "login", "ca",
)  # fmt: skip


async def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "airbound", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    out, err = await asyncio.wait_for(process.communicate(), 3 * WAIT_S)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_the_commands_show_a_live_cell(capsys: pytest.CaptureFixture[str]) -> None:
    async with LiveController() as live:

        async def asked(*arguments: str) -> str:
            code = await asyncio.to_thread(cli.main, [*arguments, "--controller", live.operators, *PLAIN])
            out, err = capsys.readouterr()
            assert (code, err) == (0, "")
            return str(out)

        (phone,) = await live.uploading(1)
        out = await asked("cells")
        bssid, _, ssid, *_ = out.splitlines()[1].split()
        assert (bssid, ssid) == (BSSID, "live")
        out = await asked("stations", BSSID.upper())
        assert out.splitlines()[1].split()[:3] == [MAC, NAME, "sending"]
        out = await asked("terminals", "--cell", BSSID)
        assert "10.0.4.1 250..555" in out

        for text in (NAME, MAC):
            out = await asked("explain", text)
            assert "10.0.4.1 250..555 segments, policy paper, n=1" in out
        decision = json.loads(await asked("explain", MAC, "--json"))["terminal"]["decisions"][0]
        assert (decision["destination"], decision["min_segs"], decision["max_segs"]) == ("10.0.4.1", 250, 555)

        assert re.search(r"^sets_total +started_sending +1$", await asked("counters"), re.MULTILINE)
        counters = json.loads(await asked("counters", "--json"))["counters"]
        assert {"name": "reports_total", "code": "REASON_CODE_UNSPECIFIED", "value": "3"} in counters

        said = (
            f"{NAME} exempt (was under control); bounds of 1 phone released; `airbound exempt {NAME} --off` ends that"
        )
        assert await asked("exempt", NAME) == f"{said}\n"
        await phone.until(lambda: phone.bounds == {})
        row = " ".join((await asked("terminals")).splitlines()[1].split())
        assert "sending, exempt 2.4 300.0 ms 1.2 none (would be 10.0.4.1 250..555)" in row
        said = f"{NAME} under control (was exempt); bounds of 1 phone set"
        assert await asked("exempt", NAME, "--off") == f"{said}\n"
        await phone.until(lambda: phone.bounds != {})

        dashed = BSSID.replace(":", "-")
        assert (await asked("exempt", dashed)).startswith(f"{dashed} exempt (was under control); bounds of 1 phone rel")
        await phone.until(lambda: phone.bounds == {})
        assert f"exempt: {BSSID}\n" in await asked("counters")
        assert "EDCA parameters: its agent reports none" in await asked("explain", BSSID)
        assert json.loads(await asked("explain", BSSID, "--json"))["cell"]["exempt"] is True
        assert await asked("exempt", BSSID, "--off") == f"{BSSID} under control (was exempt); bounds of 1 phone set\n"
        await phone.until(lambda: phone.bounds != {})


async def test_modes_are_shown_and_set(capsys: pytest.CaptureFixture[str]) -> None:
    async with LiveController() as live:

        async def asked(*arguments: str) -> str:
            code = await asyncio.to_thread(cli.main, [*arguments, "--controller", live.operators, *PLAIN])
            out, err = capsys.readouterr()
            assert (code, err) == (0, "")
            return str(out)

        (phone,) = await live.uploading(1)
        said = "observe (was control); bounds of 1 phone released; `airbound mode control` ends that\n"
        assert await asked("mode", "observe") == said
        await phone.until(lambda: phone.bounds == {})
        assert await asked("mode") == "mode observe, policy paper\n"
        out = await asked("explain", MAC)
        assert "no bounds: observe mode: computed and shown, not applied" in out
        assert "10.0.4.1 250..555 segments, policy paper, n=1, computed, not sent" in out
        assert await asked("mode", "control", "--cell", BSSID) == "control (was observe); bounds of 1 phone set\n"
        await phone.until(lambda: phone.bounds != {})
        assert await asked("mode", "--cell", BSSID) == "mode control, policy paper (mode by an operator)\n"
        assert "mode control, policy paper (mode by an operator)\n" in await asked("explain", BSSID)
        assert re.search(r"SETTINGS\n.* control, paper \(mode by an operator\)$", await asked("cells"), re.MULTILINE)
        shown = await asked("config", "show")
        assert re.search(r'^mode +"observe" +operator at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$', shown, re.MULTILINE)
        assert re.search(rf"^operator at \S+Z: mode of {BSSID} control$", shown, re.MULTILINE)
        said = "observe (was control); bounds of 1 phone released\n"
        assert await asked("mode", "configured", "--cell", BSSID) == said
        assert await asked("mode", "configured") == "control (was observe); bounds of 1 phone set\n"
        assert "SETTINGS" not in await asked("cells")
        assert await asked("health") == "SERVING\n"


async def test_classes_of_applications() -> None:
    async with LiveController() as live:
        await live.uploading(1)

        async def asked(*arguments: str) -> str:
            code, out, err = await run(*arguments, "--controller", live.operators, *PLAIN)
            assert (code, err) == (0, "")
            return out

        assert await asked("class", NAME, "--uid", "10073", "live") == "was its own\n"
        assert await asked("class", MAC, "default") == "was its own\n"
        assert "classes that an operator chose: all applications default, uid 10073 live\n" in await asked(
            "explain", MAC
        )
        assert await asked("class", NAME, "--uid", "10073", "own") == "was live\n"
        assert await asked("class", MAC, "own") == "was default\n"
        assert "operator chose" not in await asked("explain", MAC)


async def test_what_the_controller_refuses_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    async with LiveController() as live:
        for arguments, complaint in (
            (["explain", MAC], f"no terminal, station or cell has the address {MAC}"),
            (["terminals", "--cell", "here"], "no cell is called here"),
            (["stations", BSSID], f"no access point has reported a cell {BSSID} (not_found)"),
            (["exempt", "x\ny"], "name = 'x\\ny': not a name (invalid_argument)"),
        ):
            command = [*arguments, "--controller", live.operators, *PLAIN]
            assert await asyncio.to_thread(cli.main, command) == 1
            out, err = capsys.readouterr()
            assert out == ""
            assert err.startswith(f"airbound: {complaint}")


async def test_a_terminal_of_another_character_set_and_a_proxy_for_the_web() -> None:
    async with LiveController() as live:
        await live.senders(1)
        live.runner.engine.cells[bytes.fromhex(BSSID.replace(":", ""))].ssid = "c\x1b[2J \u00e9".encode()
        to = ("--controller", live.operators, *PLAIN)
        code, out, err = await run("cells", *to, PYTHONIOENCODING="ascii", http_proxy=f"http://{NOBODY}", no_proxy="")
    assert (code, err) == (0, "")
    assert "c?[2J \\xe9" in out


def test_nobody_there_is_a_code_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cells", "--controller", NOBODY, "--plain-text", "--timeout", "5"]) == 3
    assert f"no controller answers at {NOBODY}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["bounds"],
        ["explain"],
        ["exempt"],
        ["class", "a"],
        ["class", "a", "lively"],
        ["class", "a", "live", "--uid", "-1"],
        ["class", "a", "live", "--uid", "4294967295"],
        ["controller", "--table", "gb"],
        ["controller", "--generation", "gb"],
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


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["cells", "--controller", "here"], "--controller = 'here': expected ADDRESS:PORT"),
        (["health", "--controller", "nowhere"], "--controller = 'nowhere': expected ADDRESS:PORT"),
        (["cells", "--controller", "127.0.0.1:65536"], "--controller = '127.0.0.1:65536': expected ADDRESS:PORT"),
        (["cells", "--controller", "unix:here"], "--controller = 'unix:here': expected unix:/PATH"),
        (["controller", "--listen", "here"], "--listen = 'here': expected ADDRESS:PORT"),
        (["controller", "--listen", "unix:/run/x"], "--listen = 'unix:/run/x': agents come over the network"),
        (["controller", "--listen", ""], "--listen = '': expected ADDRESS:PORT"),
        (["controller", "--operators", "here"], "--operators = 'here': expected ADDRESS:PORT"),
        (["controller", "--metrics", "here"], "--metrics = 'here': expected ADDRESS:PORT"),
        (["controller", "--policy", "fair"], f"--policy = 'fair': expected {', '.join(BUILT_IN)}, MODULE:NAME"),
    ],
)
def test_a_wrong_endpoint(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("parser", list(parsers(cli.parser())), ids=lambda parser: str(parser.prog))
def test_every_command_has_a_summary_and_examples_that_are_right_usage(parser: argparse.ArgumentParser) -> None:
    text = parser.format_help()
    summary = text.partition("\n\n")[2].partition("\n\n")[0]
    assert summary[:1].isupper()
    assert summary.endswith(".")
    examples = re.findall(r"^  airbound ((?:\S+ ?)+)", text.partition("examples:")[2], re.MULTILINE)
    assert examples
    for example in examples:
        assert f"airbound {example}".startswith(parser.prog)
        assert cli.parser().parse_args(example.split())


def test_every_command_is_listed_with_its_summary() -> None:
    for parser in parsers(cli.parser()):
        for action in parser._subparsers._actions if parser._subparsers else ():
            if isinstance(action, argparse._SubParsersAction):
                listed = {choice.dest: choice.help for choice in action._choices_actions}
                assert listed.keys() == action.choices.keys()
                assert all(listed.values())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_grpc(option: str) -> None:
    code = (
        "import sys\nfrom airbound.operator import cli\n"
        f"try:\n    cli.main([{option!r}])\nexcept SystemExit as ended:\n    assert ended.code == 0\n"
        "loaded = {'grpc', 'asyncio', 'google.protobuf'} & set(sys.modules)\nsys.exit(', '.join(loaded) or 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert "airbound" in result.stdout


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
    assert cli.main(["check-config", good]) == 128 + signal.SIGINT


def test_check_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text("policy = 'paper'\n[paper]\ntable = 'gingerbread'\n", encoding="utf-8")
    bad.write_text("polcy = 'paper'\n", encoding="utf-8")
    assert cli.main(["check-config", str(good)]) == 0
    what = "agents on 127.0.0.1:50051, mode control, policy paper"
    assert capsys.readouterr().out == f"{good}: valid; {what}; SHA-256 {config_hash(load(good))}\n"
    assert cli.main(["check-config", str(good), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["parameters"]["paper"]["table"] == "gingerbread"
    assert shown["limits"]["streams_max"] == 20_000
    for command in (["check-config", str(bad)], ["controller", "--config", str(bad)]):
        assert cli.main(command) == 2
        assert capsys.readouterr().err == f"airbound: {bad}: unknown key polcy; did you mean policy?\n"


WRONG = """
polcy = 'paper'
listen = 1
[limits]
streams_max = 0
reports_per_s = 2026-11-26
[safety]
lease_ms = 5
[[cell]]
ssid = 'a'
[[cell]]
ssid = 'a'
[cell.bdp]
gain = -1.0
[[cell]]
bssid = '02:00:00:00:00:01'
mode = 'contrl'
colour = 'red'
[cell.safety]
lease = 1
"""


def test_check_config_reports_all_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(WRONG, encoding="utf-8")
    monkeypatch.setenv("AIRBOUND_POLCY", "bdp")
    monkeypatch.setenv("AIRBOUND_EVENTS__KEPT", "-1")
    assert cli.main(["check-config", str(file)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.removeprefix("airbound: ").replace(f"{file}: ", "FILE ") for line in lines] == [
        "unknown variable AIRBOUND_POLCY; did you mean AIRBOUND_POLICY?",
        "FILE limits.reports_per_s = 2026-11-26: dates and times are not used here",
        "FILE listen = 1: should be a valid string",
        "FILE limits.streams_max = 0: should be greater than or equal to 1",
        "AIRBOUND_EVENTS__KEPT = -1: should be greater than or equal to 0",
        "FILE safety.lease_ms = 5: should be greater than or equal to 1000",
        "FILE cell.2.mode = 'contrl': should be 'observe' or 'control'",
        "FILE unknown key cell.2.colour; known keys: "
        + ", ".join(sorted(set(known_keys(("cell", "2"))) - {"parameters"})),
        "FILE unknown key polcy; did you mean policy?",
        "FILE cell.1.ssid = 'a': cell.0 has it already, and comes first",
        "FILE cell.1.bdp.gain = -1.0: should be greater than or equal to 0.1",
        "FILE unknown key cell.2.safety.lease; did you mean cell.2.safety.lease_ms?",
    ]


def test_the_command_line_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text("policy = 'bdp'\nlisten = '127.0.0.1:1'\n[bdp]\ngain = 2.0\n", encoding="utf-8")
    options = ["--policy", "paper", "--table", "gingerbread", "--mode", "observe", "--listen", "127.0.0.1:2"]
    more = ["--operators", "unix:/run/airbound.sock", "--log", "json", "--metrics", "127.0.0.1:3"]
    config = cli._loaded(cli.parser().parse_args(["controller", "--config", str(file), *options, *more])).config
    assert (config.listen, config.operators, config.log) == ("127.0.0.1:2", ("unix:/run/airbound.sock",), "json")
    parameters = config.parameters
    assert (parameters.policy, config.mode, parameters.paper.table) == ("paper", "observe", "gingerbread")
    assert parameters.bdp.gain == 2.0
    assert config.metrics.listen == "127.0.0.1:3"
    assert cli._loaded(cli.parser().parse_args(["controller", "--metrics="])).config.metrics.listen == ""
    loaded = cli._loaded(cli.parser().parse_args(["controller", "--config", str(file)]))
    assert loaded.config.listen == "127.0.0.1:1"


def test_the_help_has_every_command_in_one_group() -> None:
    grouped = [name for names in cli.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)
    text = cli.parser().format_help()
    places = [text.index(f"\n{title}:\n") for title in (*cli.GROUPS, "options")]
    assert places == sorted(places)
    for title, names in cli.GROUPS.items():
        section = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert re.findall(r"^  (\S+)", section, re.MULTILINE) == list(names)
    assert max(map(len, text.partition("examples:")[0].splitlines())) <= 80


@pytest.mark.parametrize(
    ("word", "hint"), [("cels", "did you mean cells?"), ("terminal", "did you mean terminals?"), ("x", "--help lists")]
)
def test_a_word_that_is_no_command(word: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([word])
    err = capsys.readouterr().err
    assert (ended.value.code, f"no command '{word}'; " in err, hint in err) == (2, True, True)
    assert "choose from" not in err


def test_commands_take_the_socket_of_this_machines_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRBOUND_CONTROLLER", raising=False)
    monkeypatch.setattr(cli, "SERVICE_SOCKET", tmp_path / "operators.sock")
    chosen = argparse.ArgumentParser(parents=[cli._connection()])
    assert chosen.parse_args([]).controller == "127.0.0.1:50052"
    (tmp_path / "operators.sock").touch()
    chosen = argparse.ArgumentParser(parents=[cli._connection()])
    assert chosen.parse_args([]).controller == f"unix:{tmp_path}/operators.sock"
    monkeypatch.setenv("AIRBOUND_CONTROLLER", NOBODY)
    chosen = argparse.ArgumentParser(parents=[cli._connection()])
    assert chosen.parse_args([]).controller == NOBODY


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which the package is installed; where its socket will be."""
    for name in ("AIRBOUND_CONTROLLER", "AIRBOUND_PLAIN_TEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AIRBOUND_TLS_DIR", str(tmp_path / "nobodys"))
    monkeypatch.setattr(cli, "SERVICE_SOCKET", tmp_path / "run" / "operators.sock")
    monkeypatch.setattr(cli, "SERVICE_CONFIG", tmp_path / "controller.toml")
    (tmp_path / "controller.toml").touch()
    return tmp_path / "run" / "operators.sock"


def test_a_service_that_is_starting_is_waited_for(
    service: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[float] = []

    def start(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            service.parent.mkdir()
            service.touch()

    monkeypatch.setattr(cli, "_sleep", start)
    assert cli.main(["cells"]) == 3  # what is there now is no socket
    assert (len(waited), f"no controller answers at unix:{service}" in capsys.readouterr().err) == (3, True)


def test_a_service_that_does_not_run_is_named(service: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cells", "--timeout", "0.01"]) == 3
    err = capsys.readouterr().err
    assert f"nobody listens at {service}" in err
    assert "systemctl status airbound-controller" in err
    assert "certificate" not in err


def test_who_is_not_in_the_services_group_is_told(
    service: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service.parent.mkdir()
    asked: list[Path] = []

    def access(path: Path, mode: int) -> bool:
        """As of who may not enter the folder, and so cannot see what is in it."""
        asked.append(path)
        return mode == os.F_OK and path in {service.parent, cli.SERVICE_CONFIG}

    with monkeypatch.context() as patch:
        patch.setattr(os, "access", access)
        patch.setattr(Path, "exists", lambda path: pytest.fail(f"PermissionError: {path}"))
        assert cli.main(["cells"]) == 2
    assert service in asked
    assert "root and the members of the group airbound: sudo airbound ..." in capsys.readouterr().err


def test_who_has_a_certificate_does_not_wait_for_a_service(
    service: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nobodys").mkdir()
    (tmp_path / "nobodys" / "certificate.pem").write_text("none", encoding="ascii")
    monkeypatch.setattr(cli, "_sleep", lambda _: pytest.fail("waited"))
    assert cli.main(["cells"]) == 2
    assert str(service) not in capsys.readouterr().err


async def test_the_environment_names_the_controller() -> None:
    code, _, err = await run("cells", "--plain-text", "--timeout", "1", AIRBOUND_CONTROLLER=NOBODY)
    assert (code, NOBODY in err) == (3, True)
    code, _, err = await run("cells", *PLAIN, "--controller", "127.0.0.1:2", AIRBOUND_CONTROLLER=NOBODY)
    assert (code, "127.0.0.1:2" in err) == (3, True)
