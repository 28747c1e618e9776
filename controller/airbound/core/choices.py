# SPDX-License-Identifier: Apache-2.0
"""What operators choose and what the configuration says, applied to the cells and terminals that it concerns."""

from airbound.core.addresses import exempt_cell, exempt_name, mac_text
from airbound.core.cell_decisions import CellDecisions
from airbound.core.class_choices import CLASS_WORDS, OWN
from airbound.core.effects import Effect, Note
from airbound.core.events import ClassSet, Exempted, ModeSet, Reconfigured
from airbound.core.overrides import Overrides
from airbound.core.placement import Placement
from airbound.core.registry import Registry, settings_note


class Choices:
    """Applies operators' choices and changed configurations."""

    def __init__(self, registry: Registry, decisions: CellDecisions, placement: Placement) -> None:
        self._registry = registry
        self._decisions = decisions
        self._placement = placement

    def mode_set(self, event: ModeSet, now_us: int) -> list[Effect]:
        """An operator chose the mode of all cells, or of one."""
        if event.bssid:
            self._registry.modes.choose_for_cell(event.bssid, event.mode)
        else:
            self._registry.modes.choose(event.mode)
            self._registry.settings.mode = self._registry.modes.controller
        mode = event.mode or "configured"
        subject = f"{mac_text(event.bssid)} {mode}" if event.bssid else self._registry.settings.mode
        effects: list[Effect] = [Note("info", "mode", subject, cell=event.bssid)]
        cells = [cell for cell in self._registry.cells.values() if event.bssid in {b"", cell.bssid}]
        for cell in cells:
            cell.settings = self._registry.settings_of(cell.bssid, cell.ssid)
        for terminal in self._registry.terminals():
            if event.bssid in {b"", terminal.bssid}:
                effects += self._placement.decide(terminal, now_us)
        for cell in cells:
            effects += self._decisions.decide_access_point(cell, now_us)
        return effects

    def exempted(self, event: Exempted, now_us: int) -> list[Effect]:
        """A terminal, a cell or a station is exempt from now on, or no longer."""
        settings = self._registry.settings
        if event.exempt:
            settings.exempt.add(event.name)
            settings.not_exempt.discard(event.name)
        else:
            settings.exempt.discard(event.name)
            if event.by_operator:
                settings.not_exempt.add(event.name)
        mac, what = exempt_cell(event.name), "exempt" if event.exempt else "not exempt"
        found = None if mac in self._registry.cells else self._registry.associations.cell_of(mac)
        bssid, name = (mac, "") if mac else (b"", event.name)
        if found is not None:
            bssid = found.bssid  # it is a station's MAC
        effects: list[Effect] = [Note("info", what, event.name, terminal=name, cell=bssid)]
        for terminal in self._registry.terminals():
            names = {exempt_name(terminal.name), *map(mac_text, (terminal.mac, terminal.bssid))}
            if event.name in names:
                effects += self._placement.decide(terminal, now_us)
        for cell in self._registry.cells.values():
            if cell.name == event.name or cell.windows.senders:
                effects += self._decisions.decide_access_point(cell, now_us)
        return effects

    def class_set(self, event: ClassSet, _: int) -> list[Effect]:
        """An operator chose a class. It counts from the next report of each terminal that it concerns."""
        self._registry.class_choices.choose(event.name, event.uid, event.application_class)
        name, cell = event.name, b""
        for terminal in self._registry.terminals():
            if event.name in {exempt_name(terminal.name), mac_text(terminal.mac)}:
                terminal.classes_chosen = self._registry.class_choices.find(terminal.name, terminal.mac)
                name, cell = terminal.name, terminal.bssid
        application = "" if event.uid is None else f" uid {event.uid}"
        word = OWN if event.application_class is None else CLASS_WORDS[event.application_class]
        return [Note("info", "class", f"{event.name}{application} {word}", terminal=name, cell=cell)]

    def reconfigured(self, event: Reconfigured, now_us: int) -> list[Effect]:
        """Other parameters and overrides are in force."""
        self._registry.settings.reconfigure(event.parameters)
        self._registry.overrides = Overrides(event.overrides)
        if event.mode is not None:
            self._registry.modes.configure(event.mode)
            self._registry.settings.mode = self._registry.modes.controller
        effects = list[Effect]()
        for cell in self._registry.cells.values():
            before = cell.settings.match
            cell.reconfigure(self._registry.settings_of(cell.bssid, cell.ssid))
            effects += settings_note(cell, before)
        for terminal in self._registry.terminals():
            effects += self._placement.place(terminal, now_us)
        for cell in self._registry.cells.values():
            effects += self._decisions.decide_access_point(cell, now_us)
        return effects
