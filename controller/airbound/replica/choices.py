# SPDX-License-Identifier: Apache-2.0
"""What operators chose while the controllers run: observe or control, of all or of one cell, who is exempt, and classes
of terminals' applications. It is kept in the store, so that it counts for every replica and after a restart.

A choice stands against the configuration file's value at that time: once the file says something else than it said
then, the file counts. One for a single cell, or of a class, stands until an operator ends it.

A choice that the store does not take is applied where it was made all the same, and written again until the store takes
it, or has a later one of its name.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airbound.core.addresses import mac_from_text, mac_text
from airbound.core.class_choices import CLASS_WORDS
from airbound.runtime import log
from airbound.runtime.choices import Choice
from airbound.store.types import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from airbound.core.addresses import Mac
    from airbound.core.parameters import Mode
    from airbound.runtime.runner import Runner

KIND = "choices"
MODE = "mode"
MODE_OF = "mode:"  # and a BSSID
EXEMPT = "exempt:"  # and a name
CLASS_OF = "class:"  # and a uid or ALL, a colon, and the name of a terminal
ALL = "all"
MODES: tuple[Mode, ...] = ("observe", "control")
AGAIN_S = 2.0


@dataclass(frozen=True, slots=True)
class _Change:
    """What the store is to have: a record, or none."""

    record: bytes | None
    at_s: float
    text: str  # for people


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
        self._unkept: dict[str, _Change] = {}  # by the record's name
        self._again: asyncio.Task[None] | None = None

    @property
    def unkept(self) -> list[str]:
        """Choices that are applied here, and neither kept nor applied by other replicas."""
        return [change.text for _, change in sorted(self._unkept.items())]

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
            self._choose(MODE_OF + mac_text(bssid), mode, None)
        else:
            # `observe` is more than the same in the file: it is for cells with an override as well.
            self._choose(MODE, mode, None if mode == "observe" else self._mode, against=self._mode)
            for cell in sorted(cells - modes.of_cells.keys()):
                self._choose(MODE_OF + mac_text(cell), None, None)
        await self._keep_or_try_again()
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
        self._choose(EXEMPT + name, None if same else exempt, None, against=configured)
        await self._keep_or_try_again()
        return previous

    async def set_class(self, name: str, uid: int | None, application_class: int | None) -> int | None:
        """Choose, or by none end that; the class chosen before. It is applied here even if it cannot be kept.

        Raises:
            StoreError: the others do not know.
        """
        previous = self._runner.set_class(name, uid, application_class)
        word = None if application_class is None else CLASS_WORDS[application_class]
        self._choose(f"{CLASS_OF}{ALL if uid is None else uid}:{name}", word, None)
        await self._keep_or_try_again()
        return previous

    def _choose(self, name: str, value: Any, same: Any, against: Any = None) -> None:
        """A choice is to be kept, unless there is none, or it is the same as without it."""
        at_s = round(self._clock_s(), 3)
        text = f"{name} {'as configured' if value is None else json.dumps(value)}"
        record = {"chosen": value, "configured": against, "at": at_s}
        keeps = value is not None and value != same
        self._unkept[name] = _Change(json.dumps(record).encode() if keeps else None, at_s, text)

    async def _keep_or_try_again(self) -> None:
        """Write what is not kept yet.

        Raises:
            StoreError: it could not be. It is tried again.
        """
        try:
            await self._keep()
        except StoreError:
            if self._again is None:
                self._again = asyncio.get_running_loop().create_task(self._keep_again())
            raise

    async def _keep(self) -> None:
        for name, change in list(self._unkept.items()):
            if change.record is None:
                await self._store.remove(KIND, name)
            else:
                await self._store.put(KIND, name, change.record)
            if self._unkept.get(name) is change:
                del self._unkept[name]
        self._changed()

    async def _keep_again(self) -> None:
        """Until everything is kept. Somebody may have chosen otherwise meanwhile, at another replica."""
        log.event("warning", "store", "choices", f"not kept, tried again: {', '.join(self.unkept)}")
        while self._unkept:
            await asyncio.sleep(AGAIN_S)
            try:
                await self._drop_older()
                await self._keep()
            except StoreError:
                continue
        self._again = None
        log.event("info", "store", "choices", "all are kept")
        await self.read_or_log()

    async def _drop_older(self) -> None:
        """A later choice of the same name counts."""
        records = await self._store.records(KIND)
        self._unkept = {name: change for name, change in self._unkept.items() if not _has_later(records, name, change)}

    async def read(self) -> None:
        """Take over what is in the store.

        Raises:
            StoreError: it does not answer.
        """
        mode: Choice | None = None
        cells = dict[str, Choice]()
        exempt = dict[str, Choice]()
        classes = dict[tuple[str, int | None], Choice]()
        records = await self._store.records(KIND)
        for name, change in self._unkept.items():
            if _has_later(records, name, change):
                continue
            if change.record is None:
                records.pop(name, None)
            else:
                records[name] = change.record
        for name, octets in records.items():
            try:
                record = json.loads(octets)
                chosen, configured, at_s = record["chosen"], record["configured"], float(record["at"])
                of_cell = mac_text(mac_from_text(name.removeprefix(MODE_OF))) if name.startswith(MODE_OF) else ""
                application = _application(name) if name.startswith(CLASS_OF) else None
            except (ValueError, KeyError, TypeError):
                log.event("warning", "store", name, "this choice cannot be read; it does not count")
                continue
            if name == MODE and configured == self._mode and chosen in MODES:
                mode = Choice(chosen, at_s)
            elif of_cell and chosen in MODES:
                cells[of_cell] = Choice(chosen, at_s)
            elif name.startswith(EXEMPT) and configured == (name.removeprefix(EXEMPT) in self._exempt):
                exempt[name.removeprefix(EXEMPT)] = Choice(str(bool(chosen)).lower(), at_s)
            elif application is not None and chosen in CLASS_WORDS:
                classes[application] = Choice(chosen, at_s)
        self._apply_modes(mode, cells)
        self._apply_exempt(exempt)
        self._apply_classes(classes)
        self._runner.choices.restore(mode, cells, exempt, classes)

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

    def _apply_classes(self, chosen: dict[tuple[str, int | None], Choice]) -> None:
        wanted = {application: CLASS_WORDS.index(choice.value) for application, choice in chosen.items()}
        before = self._runner.engine.class_choices.all
        for application in before.keys() | wanted.keys():
            if before.get(application) != wanted.get(application):
                self._runner.set_class(*application, wanted.get(application))

    async def read_or_log(self) -> None:
        """As `read`; an error is logged."""
        try:
            await self.read()
        except StoreError as error:
            log.event("warning", "store", "choices", str(error))


def _has_later(records: Mapping[str, bytes], name: str, change: _Change) -> bool:
    """Whether another choice came after one: of the same, or of the mode of all, which ends those of single cells."""
    names = (name, MODE) if name.startswith(MODE_OF) else (name,)
    return any(_chosen_at_s(records.get(each)) > change.at_s for each in names)


def _chosen_at_s(octets: bytes | None) -> float:
    """When a record was written; long ago if there is none, or none that can be read."""
    try:
        return float(json.loads(octets or b"")["at"])
    except (ValueError, KeyError, TypeError):
        return 0.0


def _application(key: str) -> tuple[str, int | None]:
    """Terminal and uid of a choice's key.

    Raises:
        ValueError: it has none.
    """
    uid, colon, name = key.removeprefix(CLASS_OF).partition(":")
    if not colon or not name:
        raise ValueError(f"{key!r} names no terminal")
    return name, None if uid == ALL else int(uid)
