# SPDX-License-Identifier: Apache-2.0
"""The application: which screen is shown, and the keys that change something. It draws with the terminal's own colours
and background, so that it suits light and dark ones; NO_COLOR leaves bold, underlined and reverse text.
"""

import datetime
import time
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App
from textual.binding import Binding, BindingType

from airbound.operator.client import RefusedError, UnreachableError
from airbound.operator.top import fields
from airbound.operator.top.dialogs import Confirm, Keys
from airbound.operator.top.host import Source
from airbound.operator.top.screens import CellsScreen, EventsScreen, View
from airbound.operator.values import number_of

DRAW_S = 1.0
_EFFECTS = {
    "observe": "All bounds and EDCA parameters are released; decisions go on being shown.",
    "control": "All cells and terminals that are not exempt get bounds and EDCA parameters.",
}
_EFFECTS_HERE = {
    "observe": "What was sent in this cell is released; decisions go on being shown.",
    "control": "Its terminals and its access point get bounds and EDCA parameters.",
}


class Top(App[None]):
    """The live view of one controller at `endpoint`. Times of events are in `zone`, the local one if it is none."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", show=False, priority=True)]
    CSS = """
    #status { text-style: bold; }
    Footer, FooterKey { background: ansi_default; color: ansi_default; }
    """

    def __init__(
        self,
        feed: Source,
        endpoint: str,
        *,
        zone: datetime.tzinfo | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
        draw_s: float = DRAW_S,
    ) -> None:
        super().__init__(ansi_color=True)  # from the start: what NO_COLOR does depends on it
        self.theme = "ansi-dark"
        self.title = "airbound top"
        self.feed, self.endpoint, self.zone, self.clock_s = feed, endpoint, zone, clock_s
        self._wall, self._draw_s = wall, draw_s
        self._restarts = 0

    @property
    def mode(self) -> str:
        """The controller's mode."""
        return fields.mode(self.feed.model.controller.mode)

    def on_mount(self) -> None:
        """All cells first."""
        self.feed.start()
        self.push_screen(CellsScreen())
        self.set_interval(self._draw_s, self.draw)

    def on_unmount(self) -> None:
        """Nothing is fetched for nobody."""
        self.feed.stop()

    def draw(self) -> None:
        """Draw the screen that is shown; say so if the controller was started again."""
        restarts = self.feed.model.restarts
        if restarts > self._restarts:
            self.notify("The controller was started again: its events begin anew.", markup=False)
        self._restarts = restarts
        screens = self.screen_stack  # empty while the program ends
        if screens and isinstance(screens[-1], View):
            screens[-1].draw()

    def status(self) -> Text:
        """The first line."""
        model = self.feed.model
        controller, now = model.controller, self._wall().astimezone(self.zone)
        text = Text()
        if model.lost:
            seconds = max(0.0, self.clock_s() - model.lost_at_s)
            text.append(f" not connected for {seconds:.0f} s, trying again: {model.lost}", "reverse")
        elif not model.history:
            text.append(f"airbound {self.endpoint}: connecting")
        else:
            text.append(f"airbound {controller.version} {self.endpoint}  {self.mode}, {controller.policy}")
            cells, terminals = number_of(controller.cells, "cell"), number_of(controller.terminals, "terminal")
            text.append(f"  {cells}  {terminals}  {now:%H:%M:%S}")
        return text

    def action_events(self) -> None:
        """The events of all."""
        self.feed.show_events(shown=True)
        self.push_screen(EventsScreen())

    @work
    async def action_mode(self) -> None:
        """Switch the mode of the cell that is open, or of all, after a yes."""
        cell = self.screen.open_cell() if isinstance(self.screen, View) else None
        bssid = cell.bssid if cell is not None else ""
        mode = "control" if (fields.mode(cell.mode) if cell is not None else self.mode) == "observe" else "observe"
        whose = f"cell {fields.ssid(cell) or bssid}" if cell is not None else "whole controller"
        effect = _EFFECTS_HERE[mode] if bssid else _EFFECTS[mode]
        if await self.push_screen_wait(Confirm(f"Set mode {mode} for the {whose}?", effect)):
            self._do(lambda: self.feed.set_mode(mode, bssid), f"mode {mode}{f' in {bssid}' if bssid else ''}")

    def action_keys(self) -> None:
        """List the keys."""
        bindings = [binding for binding in self.screen.BINDINGS if isinstance(binding, Binding) and binding.show]
        self.push_screen(Keys([(binding.key_display or binding.key, binding.description) for binding in bindings]))

    @work
    async def action_exempt(self) -> None:
        """Exempt what is under the cursor, or end that, after a yes."""
        found = self.screen.exempted() if isinstance(self.screen, View) else None
        if found is None:
            return
        what, name, exempt = found
        if exempt:
            question, effect = f"Put {what} {name} back under control?", "It gets bounds again where decisions say so."
        else:
            question, effect = f"Exempt {what} {name} from control?", "What it was sent is released."
        if await self.push_screen_wait(Confirm(question, effect)):
            self._do(lambda: self.feed.exempt(name, exempt=not exempt), f"{name}: {'control' if exempt else 'exempt'}")

    @work(thread=True)
    def _do(self, change: Callable[[], None], done: str) -> None:
        """Change something, and say whether that was done."""
        try:
            change()
        except (RefusedError, UnreachableError) as error:
            self.call_from_thread(self.notify, str(error), severity="error", markup=False)
        else:
            self.call_from_thread(self.notify, done, markup=False)
