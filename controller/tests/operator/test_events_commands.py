# SPDX-License-Identifier: Apache-2.0
"""`airbound events` and `airbound watch` with a live controller."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from airbound.core.effects import Note
from airbound.core.reasons import Code, Reason
from airbound.operator import cli
from airbound.runtime.history import History
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID, MACS, LiveController

NAME = "127.0.0.1"
NOBODY = "127.0.0.1:1"
PLAIN = "--plain-text"


async def asked(live: LiveController, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    code = await asyncio.to_thread(cli.main, [*arguments, "--controller", live.operators, PLAIN, "--timeout", "30"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return str(out).splitlines()


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "airbound", *arguments, PLAIN),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 3 * WAIT_S)).decode().rstrip()


async def until(process: asyncio.subprocess.Process, *conditions: Callable[[str], bool]) -> list[str]:
    """The lines until each condition was met by one."""
    found = [await line(process)]
    while not all(any(map(condition, found)) for condition in conditions):
        found.append(await line(process))
    return found


@asynccontextmanager
async def repeated(change: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Have something happen again and again. `watch` reads events by a second call, which may begin after the first."""

    async def repeat() -> None:
        while True:
            await change()
            await asyncio.sleep(0.1)

    repeating = asyncio.create_task(repeat())
    try:
        yield
    finally:
        repeating.cancel()


async def test_events_are_listed_and_filtered(capsys: pytest.CaptureFixture[str]) -> None:
    async with LiveController() as live:
        assert await asked(live, capsys, "events") == ["No such event is kept."]
        assert await asked(live, capsys, "events", "--json") == []
        await live.uploading(1)
        live.runner.history.append(
            Note("warning", "refused", "terminal x", (Reason(Code.TOO_LARGE, after=9, limit=8),))
        )
        senders, connected, bounds, refused = await asked(live, capsys, "events")
        assert senders.endswith(f"  senders       {BSSID}  active senders 0 -> 1")
        assert connected.endswith(f"  connected     {NAME}")
        assert bounds.endswith(
            f"  bounds        {NAME}          250..555 segs to 10.0.4.1: the terminal began to send to 10.0.4.1"
        )
        assert " ! refused " in refused
        for arguments, expected in (
            (("--limit", "1"), [refused]),
            (("--level", "warning"), [refused]),
            (("--code", "too-large"), [refused]),
            (("--terminal", NAME), [connected, bounds]),
            (("--kind", "bounds", "--kind", "senders"), [senders, bounds]),
            (("--cell", BSSID.replace(":", "-"), "--since", "1h"), [senders, connected, bounds]),
            (("--cell", "02:00:00:00:00:09"), ["No such event is kept."]),
        ):
            assert await asked(live, capsys, "events", *arguments) == expected
        (text,) = await asked(live, capsys, "events", "--json", "--kind", "bounds")
        fields = json.loads(text)
        assert (fields["sequence"], fields["terminal"], fields["cell"]) == (3, NAME, BSSID)
        colored = await asked(live, capsys, "events", "--color", "always", "--limit", "1", "--utc")
        assert "\x1b[33mrefused" in colored[0]


async def test_following_goes_on_and_ends_with_the_controller() -> None:
    async with LiveController() as live:
        for number in range(20):
            live.runner.history.append(Note("info", "connected", str(number)))
        async with running("events", "--follow", "--json", "--controller", live.operators) as process:
            for number in range(10, 20):
                assert json.loads(await line(process))["subject"] == str(number)
            live.runner.note(Note("info", "mode", "observe"))
            assert json.loads(await line(process))["kind"] == "mode"
            await live.running.stop()
            _, err = await asyncio.wait_for(process.communicate(), WAIT_S)
            assert (process.returncode, err) == (cli.UNREACHABLE, b"airbound: the controller has stopped\n")


async def test_a_follower_is_shown_how_many_were_left_out() -> None:
    async with (
        LiveController(history=History(kept=5)) as live,
        running("events", "-f", "--controller", live.operators) as process,
    ):
        live.runner.history.append(Note("info", "connected", "first"))
        assert (await line(process)).endswith("first")
        for number in range(500):
            live.runner.history.append(Note("info", "connected", f"at once {number}"))
        assert await line(process) == "495 events left out"
        assert (await line(process)).endswith("at once 495")


async def test_watching_shows_cells_that_change_and_events() -> None:
    async with LiveController() as live:
        await live.senders(1)
        async with running("watch", "--json", "--controller", live.operators) as process:
            first = json.loads(await line(process))["cell"]
            assert (first["bssid"], first["stations"]) == (BSSID, 1)

            async def change() -> None:
                live.runner.note(Note("info", "mode", "observe"))

            async with repeated(change):
                assert json.loads(await line(process))["event"]["kind"] == "mode"
            await live.senders(2)
            found = await until(process, lambda text: '"kind": "senders"' in text, lambda text: '"stations": 2' in text)
            assert {key for text in found for key in json.loads(text)} == {"event", "cell"}
            await live.running.stop()
            _, err = await asyncio.wait_for(process.communicate(), WAIT_S)
            assert (process.returncode, err) == (cli.UNREACHABLE, b"airbound: the controller has stopped\n")


async def test_watching_one_cell_in_lines() -> None:
    async with LiveController() as live:
        await live.senders(1)
        async with running("watch", "--cell", BSSID, "--controller", live.operators) as process:
            shown = await line(process)
            assert f"  cell          {BSSID}  access point 127.0.0.1  ssid live  sending 1  " in shown

            async def change() -> None:
                await live.report(MACS[0])
                live.runner.note(Note("info", "mode", "observe"))  # concerns no cell
                await live.report(idle=(MACS[0],))

            async with repeated(change):
                found = await until(process, lambda text: "sending 0" in text, lambda text: "senders 1 -> 0" in text)
            assert not any(" mode " in text for text in found)
        async with running("watch", "--cell", "02:00:00:00:00:09", "--controller", live.operators) as process:
            await asyncio.sleep(0)
            assert process.returncode is None


@pytest.mark.parametrize("command", [("events",), ("events", "--follow"), ("watch",)])
def test_nobody_there(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    assert cli.main([*command, "--controller", NOBODY, PLAIN, "--timeout", "5"]) == cli.UNREACHABLE
    assert f"no controller answers at {NOBODY}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--code", "active_sendrs"), "did you mean active_senders?"),
        (("--code", "unspecified"), "is no code"),
        (("--kind", "bonds"), "did you mean bounds?"),
        (("--kind", "listenning"), "did you mean listening?"),
        (("--since", "soon"), "expected a duration, such as 30s"),
        (("--limit", "-1"), "expected a number of events"),
        (("--limit", "9999999"), "at most 1000000"),
        (("--color", "red"), "invalid choice"),
    ],
)
def test_wrong_usage_is_named(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["events", *arguments])
    assert caught.value.code == cli.USAGE
    assert complaint in capsys.readouterr().err


def test_the_live_view_needs_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["top", "--controller", NOBODY]) == cli.USAGE
    assert "top needs a terminal" in capsys.readouterr().err
