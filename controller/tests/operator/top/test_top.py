# SPDX-License-Identifier: Apache-2.0
"""The live view of a live controller, by its keys."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from airbound.operator.client import Client
from airbound.operator.top.app import Top
from airbound.operator.top.dialogs import Confirm
from airbound.operator.top.feed import Feed
from airbound.operator.top.screens import CellScreen, CellsScreen, EventsScreen
from airbound.v1 import terminal_pb2
from airbound_testing.agents import WAIT_S
from airbound_testing.live import BSSID, MACS, LiveController, upload

SMALL, LARGE = (80, 24), (200, 60)
ROOT = Path(__file__).parents[4]
NAME = "127.0.0.1"


class Screen:
    """A live view that a test types at and looks at."""

    def __init__(self, app: Top, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                await self.pilot.pause(0.02)

    async def shows(self, *texts: str) -> None:
        """Wait until all of these are on the screen."""
        try:
            await self.until(lambda: all(text in self.text for text in texts))
        except TimeoutError:
            raise AssertionError(f"{texts} not in\n{self.text}") from None


@asynccontextmanager
async def top(operators: str, size: tuple[int, int] = SMALL) -> AsyncIterator[Screen]:
    client = Client(operators, 30.0)
    app = Top(Feed(client, poll_s=0.05), operators, draw_s=0.05)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield Screen(app, pilot)
    await asyncio.to_thread(client.__exit__, None, None, None)


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController() as controller:
        yield controller


async def test_cells_are_listed(live: LiveController) -> None:
    async with top(live.operators) as screen:
        await screen.shows("No access point has reported.", "control, paper")
        live.sets_edca = True
        await live.uploading(2)
        await screen.shows("live", BSSID, "90%", " 1.2 ", "control 4")
        (line,) = [line for line in screen.lines if BSSID in line]
        assert re.match(r"live +02:00:00:00:00:01 +- +2 +2 +4\.\d +\S+ +90% +1\.2 control 4$", line), line
        await screen.shows(f"airbound 0.1.0 {live.operators}  control, paper  1 cell  2 terminals")
        assert "Quit" in screen.lines[-1]


async def test_keys_sort_and_filter(live: LiveController) -> None:
    await live.senders(1)
    async with top(live.operators) as screen:
        await screen.shows(BSSID, "SSID▲")
        cells = screen.app.screen
        assert isinstance(cells, CellsScreen)
        await screen.press("s")
        await screen.shows("▼n")
        await screen.press("S")
        await screen.shows("▲n")
        await screen.press("slash", "x", "y")
        await screen.until(lambda: BSSID not in screen.text)
        await screen.shows("only with 'xy'")
        await screen.press("enter", "enter")  # there is nothing to open
        assert screen.app.screen is cells
        await screen.press("slash", "escape")
        await screen.shows(BSSID)
        await screen.press("slash", "l", "i", "v", "enter", "enter")
        await screen.until(lambda: isinstance(screen.app.screen, CellScreen))


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_cell_is_opened_and_closed(live: LiveController, size: tuple[int, int]) -> None:
    await live.uploading(2)
    await live.report(*MACS[:2], idle=(MACS[2],))
    async with top(live.operators, size) as screen:
        await screen.shows(BSSID)
        await screen.press("enter")
        await screen.shows(
            "STATION", "TERMINAL", "WHAT AND WHY", "sends", "300..300", "10.0.4.1", "n=2 of 3 send  control"
        )
        await screen.shows("300.0", "256.5", "1.2", "uplink", "RTTx mean 1.2, worst 1.2", "busy 90%", MACS[2])
        await screen.until(lambda: re.search(r"busy 90% .*█", screen.text) is not None)
        await screen.shows("connected", "bounds")
        assert all(len(line) <= size[0] for line in screen.lines)
        assert len(screen.lines) == size[1]
        assert all(key in screen.lines[-1] for key in ("Cells", "Next table", "Events", "Mode", "Exempt", "Quit"))
        await screen.press("escape")
        await screen.until(lambda: isinstance(screen.app.screen, CellsScreen))
        assert screen.app.feed.model.open is None


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_live_flows_have_a_table_while_there_are_some(live: LiveController, size: tuple[int, int]) -> None:
    (phone,) = await live.uploading(1)
    async with top(live.operators, size) as screen:
        await screen.shows(BSSID)
        await screen.press("enter")
        await screen.shows("TERMINAL", "10.0.4.1")
        assert "NEEDS" not in screen.text
        sending = upload()
        sending.classes.add(
            application_class=terminal_pb2.APPLICATION_CLASS_LIVE, connections=1, connections_sending=1, uids=[10073]
        )
        await phone.report(sending, monotonic_us=2)
        # This phone cannot mark packets.
        await screen.shows("NEEDS", "10073", "live", "cannot mark", "STATION", "TERMINAL", "WHAT AND WHY")
        assert all(len(line) <= size[0] for line in screen.lines)
        assert len(screen.lines) == size[1]


async def test_a_mode_is_set_after_a_yes_only(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    settings = live.runner.engine.settings
    async with top(live.operators) as screen:
        await screen.shows(BSSID)
        for answer in ("n", "escape", "enter"):
            await screen.press("m")
            await screen.shows("Set mode observe for the whole controller?")
            await screen.press(answer)
            await screen.until(lambda: not isinstance(screen.app.screen, Confirm))
        assert settings.mode == "control"
        await screen.press("m", "y")
        await phone.until(lambda: phone.bounds == {})
        await screen.shows("observe, paper")
        await screen.press("m")
        await screen.shows("Set mode control")
        await screen.press("y")
        await screen.until(lambda: settings.mode == "control")


async def test_the_mode_of_the_open_cell_is_its_own(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    engine = live.runner.engine
    async with top(live.operators) as screen:
        await screen.shows(BSSID)
        await screen.press("enter")
        await screen.shows("STATION")
        await screen.press("m")
        await screen.shows("Set mode observe for the cell live?")
        await screen.press("y")
        await phone.until(lambda: phone.bounds == {})
        assert engine.settings.mode == "control"
        await screen.shows("send  observe")
        await screen.press("m")
        await screen.shows("Set mode control for the cell live?")
        await screen.press("y")
        await phone.until(lambda: phone.bounds != {})


async def test_keys_are_listed_and_an_empty_table_says_why(live: LiveController) -> None:
    await live.senders(1)
    async with top(live.operators) as screen:
        await screen.shows(BSSID)
        await screen.press("question_mark")
        await screen.shows("move the cursor", "Sort", "Exempt")
        await screen.press("escape", "slash", "x", "y")
        await screen.shows("No cell has 'xy' in its SSID or BSSID.")
        await screen.press("escape", "slash", "enter")  # an empty filter is none
        await screen.shows(BSSID)
        assert "only with" not in screen.text


async def test_a_cell_or_a_terminal_is_exempted_after_a_yes_only(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    settings = live.runner.engine.settings
    async with top(live.operators) as screen:
        await screen.shows(BSSID)
        await screen.press("x")
        await screen.shows(f"Exempt cell {BSSID} from control?")
        await screen.press("n", "x", "y")
        await screen.until(lambda: settings.exempt == {BSSID})
        await live.report(MACS[0])
        await screen.shows(" exempt ")
        await screen.press("x")
        await screen.shows(f"Put cell {BSSID} back under control?")
        await screen.press("y")
        await screen.until(lambda: settings.exempt == set())
        await screen.press("enter")
        await screen.shows("250..555")
        await screen.press("x")
        await screen.shows(f"Exempt terminal {NAME} from control?")
        await screen.press("y")
        await screen.until(lambda: settings.exempt == {NAME})
        await phone.until(lambda: phone.bounds == {})
        await screen.shows("(250..555)", "exempt")


async def test_events_are_shown_and_filtered(live: LiveController) -> None:
    async with top(live.operators) as screen:
        await screen.shows("No access point")
        await live.uploading(1)
        await screen.press("e")
        await screen.until(lambda: isinstance(screen.app.screen, EventsScreen))
        await screen.shows("bounds", "250..555 segs to 10.0.4.1: the te", "connected", "senders")
        await screen.press("slash", *"senders", "enter")
        await screen.until(lambda: "connected" not in screen.text)
        await screen.shows("active senders 0 -> 1")
        await screen.press("escape")
        await screen.until(lambda: isinstance(screen.app.screen, CellsScreen))
        await screen.shows(BSSID)
        await screen.press("enter", "e")
        await screen.until(lambda: isinstance(screen.app.screen, EventsScreen))
        await screen.press("e")
        await screen.until(lambda: isinstance(screen.app.screen, CellScreen))
        await screen.shows("active senders 0 -> 1")


async def test_a_controller_that_is_started_again_is_found_and_named() -> None:
    async with LiveController() as live:
        await live.uploading(1)
        operators = live.operators
        async with top(operators) as screen:
            await screen.shows(BSSID, "control, paper")
            await live.running.stop()
            await screen.shows("not connected for", f"no controller answers at {operators}")
            async with LiveController(operators=(operators,)) as again:
                await screen.shows("started again", "0 cells")
                await screen.until(lambda: BSSID not in screen.text)
                await again.senders(1)
                await screen.shows(BSSID)


async def test_a_cell_that_is_forgotten_says_so(live: LiveController) -> None:
    await live.senders(1)
    async with top(live.operators) as screen:
        await screen.shows(BSSID)
        await screen.press("enter")
        await screen.shows("STATION")
        live.now_us += 3_600_000_000
        live.runner._wake()
        await screen.shows(f"no access point has reported a cell {BSSID}")


async def test_nobody_there_is_said() -> None:
    async with top("127.0.0.1:1") as screen:
        await screen.shows("not connected for", "no controller answers at 127.0.0.1:1")


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_it_ends_by_a_key(live: LiveController, key: str) -> None:
    await live.senders(1)
    async with top(live.operators) as screen:
        await screen.shows(BSSID)
        await screen.press("enter")
        await screen.shows("STATION")
        await screen.press(key)
        await screen.until(lambda: not screen.app.is_running or screen.app._exit)
        assert screen.app.return_code in {0, None}


def test_the_picture_in_the_documents_is_current(tmp_path: Path) -> None:
    drawn = tmp_path / "top.svg"
    subprocess.run([sys.executable, str(ROOT / "controller/pictures/top.py"), str(drawn)], check=True)
    assert drawn.read_text(encoding="utf-8") == (ROOT / "docs/images/top.svg").read_text(encoding="utf-8"), (
        "make top-picture"
    )
