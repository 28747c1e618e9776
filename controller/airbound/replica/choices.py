# SPDX-License-Identifier: Apache-2.0
"""What operators chose while the controllers run: observe or control, and who is exempt. It is kept in the store, so
that it counts for every replica and after a restart.

A choice stands against the configuration file's value at that time: once the file says something else than it said
then, the file counts.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from airbound.core.addresses import Mac, mac_from_text, mac_text
from airbound.runtime import log
from airbound.store.types import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airbound.core.parameters import Mode
    from airbound.runtime.runner import Runner

KIND = "choices"
MODE = "mode"
OF_CELL = "mode:"  # and a BSSID
EXEMPT = "exempt:"  # and a name
MODES: tuple[Mode, ...] = ("observe", "control")


class KeptChoices:
    """Operators' choices on one replica. `changed` has the other replicas read them again."""

    def __init__(
        self, runner: Runner, store: Store, mode: Mode, exempt: Iterable[str], changed: Callable[[], None]
    ) -> None:
        self._runner = runner
        self._store = store
        self._mode: Mode = mode  # of the file
        self._exempt = frozenset(exempt)
        self._changed = changed

    def configured(self, mode: Mode, exempt: Iterable[str]) -> None:
        """The configuration file has other values now."""
        self._mode, self._exempt = mode, frozenset(exempt)

    async def set_mode(self, mode: Mode | None, bssid: Mac = b"") -> Mode:
        """Choose for the controller or a cell, with none what is configured; the mode before. It is applied here even
        if it cannot be kept.

        Raises:
            StoreError: the others do not know.
        """
        previous = self._runner.set_mode(mode, bssid)
        if bssid:
            await self._keep(OF_CELL + mac_text(bssid), mode, None)
        else:
            await self._keep(MODE, None if mode == self._mode else mode, self._mode)
            if mode == "observe":  # ends every choice of control for a cell
                for name, chosen in (await self._kept()).items():
                    if name.startswith(OF_CELL) and chosen == "control":
                        await self._store.remove(KIND, name)
        self._changed()
        return previous

    async def set_exempt(self, name: str, *, exempt: bool) -> bool:
        """Choose; whether the name was exempt before. It is applied here even if it cannot be kept.

        Raises:
            StoreError: the others do not know.
        """
        previous = self._runner.set_exempt(name, exempt=exempt)
        configured = name in self._exempt
        if exempt == configured and await self._store.get(KIND, EXEMPT + name) is not None:
            await self._store.remove(KIND, EXEMPT + name)  # chosen back
        else:
            await self._keep(EXEMPT + name, exempt, configured)
        self._changed()
        return previous

    async def _keep(self, name: str, chosen: Any, configured: Any) -> None:
        if chosen is None:
            await self._store.remove(KIND, name)
        else:
            await self._store.put(KIND, name, json.dumps({"chosen": chosen, "configured": configured}).encode())

    async def _kept(self) -> dict[str, Any]:
        """By name, what was chosen and still counts."""
        kept = dict[str, Any]()
        for name, octets in (await self._store.records(KIND)).items():
            try:
                record = json.loads(octets)
                chosen, configured = record["chosen"], record["configured"]
            except (ValueError, KeyError, TypeError):
                log.event("warning", "store", name, "this choice cannot be read; it does not count")
                continue
            now: Any = None
            if name == MODE:
                now = self._mode
            elif name.startswith(EXEMPT):
                now = name.removeprefix(EXEMPT) in self._exempt
            if now == configured and (name.startswith(EXEMPT) or chosen in MODES):
                kept[name] = chosen
        return kept

    async def read(self) -> None:
        """Take over what is in the store.

        Raises:
            StoreError: it does not answer.
        """
        kept, runner = await self._kept(), self._runner
        modes, settings = runner.engine.modes, runner.engine.settings
        mode: Mode | None = kept.get(MODE)
        if modes.chosen != mode:
            runner.set_mode(mode)
        of_cells: dict[Mac, Mode] = {}
        for name, chosen in kept.items():
            if name.startswith(OF_CELL):
                with contextlib.suppress(ValueError):
                    of_cells[mac_from_text(name.removeprefix(OF_CELL))] = chosen
        for bssid in of_cells.keys() | modes.of_cells.keys():
            if modes.of_cells.get(bssid) != of_cells.get(bssid):
                runner.set_mode(of_cells.get(bssid), bssid)
        exempt = {name.removeprefix(EXEMPT): bool(chosen) for name, chosen in kept.items() if name.startswith(EXEMPT)}
        wanted = {name for name in self._exempt | exempt.keys() if exempt.get(name, True)}
        for name in sorted(settings.exempt ^ wanted):
            runner.set_exempt(name, exempt=name in wanted)
        for name in sorted(exempt.keys() - wanted - settings.not_exempt):
            runner.set_exempt(name, exempt=False)

    async def read_or_log(self) -> None:
        """As `read`; an error is logged."""
        try:
            await self.read()
        except StoreError as error:
            log.event("warning", "store", "choices", str(error))
