# SPDX-License-Identifier: Apache-2.0
"""What the screens need of the application, and the application of what fetches."""

import datetime
from collections.abc import Callable
from typing import Protocol

from rich.text import Text

from airbound.operator.top.model import Model


class Source(Protocol):
    """What the application needs of a feed."""

    model: Model

    def start(self) -> None:
        """Begin to fetch."""

    def stop(self) -> None:
        """Fetch nothing more."""

    def open(self, bssid: str) -> None:
        """Fetch one cell as well; none if it is empty."""

    def show_events(self, *, shown: bool) -> None:
        """Fetch the events of all, or those of the cell that is open."""

    def set_mode(self, mode: str, bssid: str = "") -> None:
        """Set "observe" or "control", of the controller or of one cell."""

    def exempt(self, name: str, *, exempt: bool) -> None:
        """Exempt a terminal or a cell, or end that."""


class Host(Protocol):
    """The application, as its screens see it."""

    feed: Source
    zone: datetime.tzinfo | None
    clock_s: Callable[[], float]

    def status(self) -> Text:
        """The first line."""
