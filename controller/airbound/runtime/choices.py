# SPDX-License-Identifier: Apache-2.0
"""What operators chose beside the configuration, and when: for people who look at it later. The engine has the same
choices without their times.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from airbound.core.addresses import Mac, mac_text
from airbound.core.class_choices import CLASS_WORDS
from airbound.core.modes import Modes
from airbound.core.parameters import Mode


class Choice(NamedTuple):
    """One choice; times are seconds since 1970, UTC. `until_s` 0: until an operator ends it."""

    value: str
    at_s: float
    until_s: float = 0.0


class Choices:
    """The last choice of each kind that is still in force."""

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        self.mode: Choice | None = None
        self.modes_of_cells: dict[str, Choice] = {}  # by BSSID
        self.exempt: dict[str, Choice] = {}  # by name of a terminal or BSSID; the value is true or false
        self.classes: dict[tuple[str, int | None], Choice] = {}  # by terminal and uid; the value is a class's word
        self._clock_s = clock_s

    def mode_set(self, modes: Modes, mode: Mode | None, bssid: Mac = b"") -> None:
        """An operator chose a mode for the controller or a cell; `modes` are what is in force since."""
        choice = None if mode is None else Choice(mode, self._clock_s())
        if not bssid:
            self.mode = choice
        elif choice:
            self.modes_of_cells[mac_text(bssid)] = choice
        chosen = {mac_text(bssid): mode for bssid, mode in modes.of_cells.items()}
        self.modes_of_cells = {
            name: override for name, override in self.modes_of_cells.items() if chosen.get(name) == override.value
        }

    def mode_ends(self, until_s: float, bssid: Mac = b"") -> None:
        """The mode that was chosen last is for a time."""
        name = mac_text(bssid) if bssid else ""
        if not name and self.mode is not None:
            self.mode = self.mode._replace(until_s=until_s)
        elif name in self.modes_of_cells:
            self.modes_of_cells[name] = self.modes_of_cells[name]._replace(until_s=until_s)

    def exempted(self, name: str, *, exempt: bool) -> None:
        """An operator exempted somebody, or ended that."""
        self.exempt[name] = Choice(str(exempt).lower(), self._clock_s())

    def class_set(self, name: str, uid: int | None, application_class: int | None) -> None:
        """An operator chose a class, or ended that."""
        self.classes.pop((name, uid), None)
        if application_class is not None:
            self.classes[name, uid] = Choice(CLASS_WORDS[application_class], self._clock_s())

    def restore(
        self,
        mode: Choice | None,
        modes_of_cells: dict[str, Choice],
        exempt: dict[str, Choice],
        classes: dict[tuple[str, int | None], Choice],
    ) -> None:
        """Take over what was kept somewhere, with its times."""
        self.mode, self.modes_of_cells, self.exempt, self.classes = mode, modes_of_cells, exempt, classes

    def configured(self, *, mode: bool, exempt: set[str]) -> None:
        """The configuration changed in its mode, and about these names: that counts from now on."""
        if mode:
            self.mode = None
        for name in exempt:
            self.exempt.pop(name, None)
