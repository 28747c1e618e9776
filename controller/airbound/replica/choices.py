# SPDX-License-Identifier: Apache-2.0
"""What operators chose while the controllers run: observe or control, of all or of one cell, and who is exempt. It is
kept in the store, so that it counts for every replica and after a restart.

A choice stands against the configuration file's value at that time: once the file says something else than it said
then, the file counts. One for a single cell stands until an operator ends it.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from airbound.core.addresses import mac_from_text, mac_text
from airbound.runtime import log
from airbound.runtime.choices import Choice
from airbound.store.types import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airbound.core.addresses import Mac
    from airbound.core.parameters import Mode
    from airbound.runtime.runner import Runner

KIND = "choices"
MODE = "mode"
MODE_OF = "mode:"  # and a BSSID
EXEMPT = "exempt:"  # and a name
MODES: tuple[Mode, ...] = ("observe", "control")


class KeptChoices:
    """Operators' choices on one replica. `changed` has the other replicas read them again."""

    def __init__(
        self,
        runner: Runner,
        store: Store,
        mode: Mode,
        exempt: Iterable[str],
        changed: Callable[[], None],
        *,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._runner = runner
        self._store = store
        self._mode: Mode = mode  # of the file
        self._exempt = frozenset(exempt)
        self._changed = changed
        self._clock_s = clock_s

    def configured(self, mode: Mode, exempt: Iterable[str]) -> None:
        """The configuration file has other values now."""
        self._mode, self._exempt = mode, frozenset(exempt)

    async def set_mode(self, mode: Mode | None, bssid: Mac = b"") -> Mode:
        """Choose, for all or for one cell, or by none end that; the mode before. It is applied here even if it cannot
        be kept.

        Raises:
            StoreError: the others do not know.
        """
        modes = self._runner.engine.modes
        cells = set(modes.of_cells)
        previous = self._runner.set_mode(mode, bssid)
        if bssid:
            await self._keep(MODE_OF + mac_text(bssid), mode, None)
        else:
            # `observe` is more than the same in the file: it is for cells with an override as well.
            await self._keep(MODE, mode, None if mode == "observe" else self._mode, against=self._mode)
            for cell in sorted(cells - modes.of_cells.keys()):
                await self._keep(MODE_OF + mac_text(cell), None, None)
        self._changed()
        return previous

    async def set_exempt(self, name: str, *, exempt: bool) -> bool:
        """Choose; whether the name was exempt before. It is applied here even if it cannot be kept.

        Raises:
            StoreError: the others do not know.
        """
        previous = self._runner.set_exempt(name, exempt=exempt)
        configured = name in self._exempt
        # With overrides that exempt, `--off` may be about one of them.
        same = configured == exempt and (exempt or not self._runner.engine.overrides_exempt)
        await self._keep(EXEMPT + name, None if same else exempt, None, against=configured)
        self._changed()
        return previous

    async def _keep(self, name: str, value: Any, same: Any, against: Any = None) -> None:
        """Write a choice, unless there is none, or it is the same as without it."""
        if value is None or value == same:
            await self._store.remove(KIND, name)
            return
        record = {"chosen": value, "configured": against, "at": round(self._clock_s(), 3)}
        await self._store.put(KIND, name, json.dumps(record).encode())

    async def read(self) -> None:
        """Take over what is in the store.

        Raises:
            StoreError: it does not answer.
        """
        mode: Choice | None = None
        cells = dict[str, Choice]()
        exempt = dict[str, Choice]()
        for name, octets in (await self._store.records(KIND)).items():
            try:
                record = json.loads(octets)
                chosen, configured, at_s = record["chosen"], record["configured"], float(record["at"])
                of_cell = mac_text(mac_from_text(name.removeprefix(MODE_OF))) if name.startswith(MODE_OF) else ""
            except (ValueError, KeyError, TypeError):
                log.event("warning", "store", name, "this choice cannot be read; it does not count")
                continue
            if name == MODE and configured == self._mode and chosen in MODES:
                mode = Choice(chosen, at_s)
            elif of_cell and chosen in MODES:
                cells[of_cell] = Choice(chosen, at_s)
            elif name.startswith(EXEMPT) and configured == (name.removeprefix(EXEMPT) in self._exempt):
                exempt[name.removeprefix(EXEMPT)] = Choice(str(bool(chosen)).lower(), at_s)
        self._apply_modes(mode, cells)
        self._apply_exempt(exempt)
        self._runner.choices.restore(mode, cells, exempt)

    def _apply_modes(self, mode: Choice | None, cells: dict[str, Choice]) -> None:
        modes = self._runner.engine.modes
        chosen = next((known_mode for known_mode in MODES if mode is not None and known_mode == mode.value), None)
        if modes.chosen != chosen:
            self._runner.set_mode(chosen)
        wanted = {
            mac_from_text(name): known_mode
            for name, choice in cells.items()
            for known_mode in MODES
            if known_mode == choice.value
        }
        for bssid in sorted(modes.of_cells.keys() | wanted.keys()):
            if modes.of_cells.get(bssid) != wanted.get(bssid):
                self._runner.set_mode(wanted.get(bssid), bssid)

    def _apply_exempt(self, chosen: dict[str, Choice]) -> None:
        settings = self._runner.engine.settings
        exempt = {name for name, choice in chosen.items() if choice.value == "true"}
        not_exempt = chosen.keys() - exempt
        exempt |= self._exempt - not_exempt
        for name in sorted(settings.exempt ^ exempt | (not_exempt - settings.not_exempt)):
            self._runner.set_exempt(name, exempt=name in exempt)

    async def read_or_log(self) -> None:
        """As `read`; an error is logged."""
        try:
            await self.read()
        except StoreError as error:
            log.event("warning", "store", "choices", str(error))
