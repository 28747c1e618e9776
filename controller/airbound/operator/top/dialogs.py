# SPDX-License-Identifier: Apache-2.0
"""What is asked of the operator: a yes before something is changed, and text to look for."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class Confirm(ModalScreen[bool]):
    """A question; only `y` is a yes."""

    DEFAULT_CSS = """
    Confirm { align: center middle; }
    Confirm > Vertical { width: 60; max-width: 100%; height: auto; border: round ansi_default; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q,enter", "answer(False)", "No"),
    ]

    def __init__(self, question: str, effect: str) -> None:
        super().__init__()
        self._question, self._effect = question, effect

    def compose(self) -> ComposeResult:
        """The question, what a yes does, and the keys."""
        with Vertical():
            yield Static(self._question, markup=False, id="question")
            yield Static(self._effect, markup=False)
            yield Static("y  yes     n  no", markup=False)

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001  # Textual's call
        """Close with the answer."""
        self.dismiss(answer)


KEYS_OF_TABLES = (
    ("↑ ↓ j k", "move the cursor"),
    ("PgUp PgDn Home End", "by a screen, to an end"),
    ("mouse", "a click moves the cursor, another opens"),
)


class Keys(ModalScreen[None]):
    """The keys of a screen, and those of all tables; any of these closes it."""

    DEFAULT_CSS = """
    Keys { align: center middle; }
    Keys > Vertical { width: 60; max-width: 100%; height: auto; border: round ansi_default; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,question_mark", "dismiss", "Close")]

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        """A line for each."""
        with Vertical():
            for key, what in (*self._keys, *KEYS_OF_TABLES):
                yield Static(f"{key:<20} {what}", markup=False)


class FilterInput(Input):
    """A line above the footer; Enter keeps what it says, Escape empties it."""

    DEFAULT_CSS = """
    FilterInput, FilterInput:focus {
        dock: bottom; margin-bottom: 1; height: 1; border: none; padding: 0; display: none;
    }
    FilterInput.shown { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "drop", "Show all", show=False)]

    def action_drop(self) -> None:
        """Look for nothing."""
        self.value = ""
        self.remove_class("shown")
        self.screen.focus_next()

    def on_input_submitted(self) -> None:
        """Back to the table."""
        if not self.value:
            self.remove_class("shown")
        self.screen.focus_next()
