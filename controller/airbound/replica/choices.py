# SPDX-License-Identifier: Apache-2.0
"""What operators chose while the controllers run: observe or control, and who is exempt. It is kept in the store, so
that it counts for every replica and after a restart.

A choice stands against the configuration file's value at that time: once the file says something else than it said
then, the file counts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from airbound.runtime import log
from airbound.store.types import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airbound.core.parameters import Mode
    from airbound.runtime.runner import Runner

KIND = "choices"
MODE = "mode"
EXEMPT = "exempt:"  # and a name
MODES: tuple[Mode, ...] = ("observe", "control")


class Choices:
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

    async def set_mode(self, mode: Mode) -> Mode:
        """Choose; the mode before. It is applied here even if it cannot be kept.

        Raises:
            StoreError: the others do not know.
        """
        previous = self._runner.set_mode(mode)
        await self._keep(MODE, mode, self._mode)
        return previous

    async def set_exempt(self, name: str, *, exempt: bool) -> bool:
        """Choose; whether the name was exempt before. It is applied here even if it cannot be kept.

        Raises:
            StoreError: the others do not know.
        """
        previous = self._runner.set_exempt(name, exempt=exempt)
        await self._keep(EXEMPT + name, exempt, name in self._exempt)
        return previous

    async def _keep(self, name: str, value: Any, configured: Any) -> None:
        if value == configured:
            await self._store.remove(KIND, name)
        else:
            await self._store.put(KIND, name, json.dumps({"chosen": value, "configured": configured}).encode())
        self._changed()

    async def read(self) -> None:
        """Take over what is in the store.

        Raises:
            StoreError: it does not answer.
        """
        mode, exempt = self._mode, set(self._exempt)
        for name, octets in (await self._store.records(KIND)).items():
            try:
                record = json.loads(octets)
                chosen, configured = record["chosen"], record["configured"]
            except (ValueError, KeyError, TypeError):
                log.event("warning", "store", name, "this choice cannot be read; it does not count")
                continue
            if name == MODE and configured == self._mode and chosen in MODES:
                mode = chosen
            elif name.startswith(EXEMPT) and configured == (name.removeprefix(EXEMPT) in self._exempt):
                (exempt.add if chosen else exempt.discard)(name.removeprefix(EXEMPT))
        settings = self._runner.engine.settings
        if settings.mode != mode:
            self._runner.set_mode(mode)
        for name in sorted(settings.exempt ^ exempt):
            self._runner.set_exempt(name, exempt=name in exempt)

    async def read_or_log(self) -> None:
        """As `read`; an error is logged."""
        try:
            await self.read()
        except StoreError as error:
            log.event("warning", "store", "choices", str(error))
