# SPDX-License-Identifier: Apache-2.0
"""What operators chose while the controllers run: observe or control, of all or of one cell, who is exempt, and classes
of terminals' applications. It is kept in the store, so that it counts for every replica and after a restart.

A choice stands against the configuration file's value at that time: once the file says something else than it said
then, the file counts. One for a single cell, or of a class, stands until an operator ends it.

A mode may be chosen for a time. The record has when it ends and what counts then, each replica ends it by its own
clock, and a controller that starts later reads it as ended: no command has to run until then.

A choice that the store does not take is applied where it was made all the same, and written again until the store takes
it, or has a later one of its name.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

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
KEPT_AFTER_END_S = 60.0  # more than clocks differ by
UNTIL_MOST_S = 86_400.0 + KEPT_AFTER_END_S  # from now, as the service has it


@dataclass(frozen=True, slots=True)
class _Change:
    """What the store is to have: a record, or none."""

    record: bytes | None
    at_s: float
    text: str  # for people
    ends_s: float = 0.0  # when the store may forget the record; 0: never


@dataclass(frozen=True, slots=True)
class _Timed:
    """When a mode ends, and which choice stands below it."""

    until_s: float
    then: Mode | None


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
        self._timed: dict[str, _Timed] = {}  # by the record's name
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def unkept(self) -> list[str]:
        """Choices that are applied here, and neither kept nor applied by other replicas."""
        return [change.text for _, change in sorted(self._unkept.items())]

    def configured(self, mode: Mode, exempt: Iterable[str]) -> None:
        """The configuration file has other values now."""
        self._mode, self._exempt = mode, frozenset(exempt)

    async def set_mode(self, mode: Mode | None, bssid: Mac = b"", *, for_s: float = 0.0) -> Mode:
        """Choose, for all or for one cell, or by none end that; the mode before. It is applied here even if it cannot
        be kept. `for_s`: it ends after this time, and what stood before it counts again; 0: it does not end by itself.

        Raises:
            StoreError: the others do not know.
        """
        modes = self._runner.engine.modes
        cells = set(modes.of_cells)
        name = MODE_OF + mac_text(bssid) if bssid else MODE
        below = self._timed.pop(name, None)
        standing = below.then if below is not None else modes.of_cells.get(bssid) if bssid else modes.chosen
        previous = self._runner.set_mode(mode, bssid)
        timed = _Timed(self._clock_s() + for_s, standing) if for_s and mode is not None else None
        if timed is not None:
            self._timed[name] = timed
            self._runner.choices.mode_ends(timed.until_s, bssid)
        if bssid:
            self._choose(name, mode, None, timed=timed)
        else:
            # `observe` is more than the same in the file: it is for cells with an override as well.
            same = None if mode == "observe" or timed is not None else self._mode
            self._choose(name, mode, same, against=self._mode, timed=timed)
            for cell in sorted(cells - modes.of_cells.keys()):
                self._timed.pop(MODE_OF + mac_text(cell), None)
                self._choose(MODE_OF + mac_text(cell), None, None)
        self._set_timer()
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

    def _choose(self, name: str, value: Any, same: Any, against: Any = None, *, timed: _Timed | None = None) -> None:
        """A choice is to be kept, unless there is none, or it is the same as without it."""
        at_s = round(self._clock_s(), 3)
        text = f"{name} {'as configured' if value is None else json.dumps(value)}"
        record = {"chosen": value, "configured": against, "at": at_s}
        ends_s = 0.0
        if timed is not None:
            record |= {"until": round(timed.until_s, 3), "then": timed.then}
            ends_s = 0.0 if timed.then is not None else timed.until_s + KEPT_AFTER_END_S
        keeps = value is not None and value != same
        self._unkept[name] = _Change(json.dumps(record).encode() if keeps else None, at_s, text, ends_s)

    def _set_timer(self) -> None:
        """To when the next mode for a time ends."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._timed:
            left_s = min(timed.until_s for timed in self._timed.values()) - self._clock_s()
            self._timer = asyncio.get_running_loop().call_later(max(left_s, 0.0), self._end)

    def _end(self) -> None:
        """End the modes whose time is over, whether the store answers or not."""
        now_s = self._clock_s()
        for name, timed in [(name, timed) for name, timed in self._timed.items() if timed.until_s <= now_s]:
            del self._timed[name]
            self._runner.set_mode(timed.then, b"" if name == MODE else mac_from_text(name.removeprefix(MODE_OF)))
        self._set_timer()
        self._reading = asyncio.get_running_loop().create_task(self.read_or_log())

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
                ttl_ms = max(1, round((change.ends_s - self._clock_s()) * 1000)) if change.ends_s else 0
                await self._store.put(KIND, name, change.record, ttl_ms=ttl_ms)
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
        timed, now_s = dict[str, _Timed](), self._clock_s()
        records = await self._store.records(KIND)
        for name, change in self._unkept.items():
            if _has_later(records, name, change):
                continue
            if change.record is None:
                records.pop(name, None)
            else:
                records[name] = change.record
        for name, record in _all_parsed(records, now_s).items():
            chosen, configured = record.chosen, record.configured
            if name == MODE and configured == self._mode and chosen in MODES:
                mode = Choice(chosen, record.at_s, record.until_s)
            elif record.of_cell and chosen in MODES:
                cells[record.of_cell] = Choice(chosen, record.at_s, record.until_s)
            elif name.startswith(EXEMPT) and configured == (name.removeprefix(EXEMPT) in self._exempt):
                exempt[name.removeprefix(EXEMPT)] = Choice(str(bool(chosen)).lower(), record.at_s)
            elif record.application is not None and chosen in CLASS_WORDS:
                classes[record.application] = Choice(chosen, record.at_s)
            counts = record.of_cell or (name == MODE and configured == self._mode)
            if record.until_s and counts and chosen in MODES:
                timed[name] = _Timed(record.until_s, next((known for known in MODES if known == record.then), None))
        self._timed = timed
        self._set_timer()
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


class _Record(NamedTuple):
    """A choice as it is kept, and what its name says."""

    chosen: Any
    configured: Any
    at_s: float
    until_s: float  # 0: it does not end by itself, or has ended, so that `chosen` is what stood below it
    then: Any
    of_cell: str
    application: tuple[str, int | None] | None


def _all_parsed(records: Mapping[str, bytes], now_s: float) -> dict[str, _Record]:
    """Those that can be read; the others are logged."""
    found = dict[str, _Record]()
    for name, octets in records.items():
        record = _parsed(name, octets, now_s)
        if record is not None:
            found[name] = record
        else:
            log.event("warning", "store", name, "this choice cannot be read; it does not count")
    return found


def _parsed(name: str, octets: bytes, now_s: float) -> _Record | None:
    """A record; none if it cannot be read."""
    try:
        record = json.loads(octets)
        chosen, configured, at_s = record["chosen"], record["configured"], float(record["at"])
        until_s, then = float(record.get("until", 0.0)), record.get("then")
        of_cell = mac_text(mac_from_text(name.removeprefix(MODE_OF))) if name.startswith(MODE_OF) else ""
        application = _application(name) if name.startswith(CLASS_OF) else None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    if not 0 <= until_s <= now_s + UNTIL_MOST_S:
        return None
    if until_s and (name == MODE or of_cell) and until_s <= now_s:
        chosen, until_s = then, 0.0
    return _Record(chosen, configured, at_s, until_s if name == MODE or of_cell else 0.0, then, of_cell, application)


def _has_later(records: Mapping[str, bytes], name: str, change: _Change) -> bool:
    """Whether another choice came after one: of the same, or of the mode of all, which ends those of single cells."""
    names = (name, MODE) if name.startswith(MODE_OF) else (name,)
    return any(_chosen_at_s(records.get(each)) > change.at_s for each in names)


def _chosen_at_s(octets: bytes | None) -> float:
    """When a record was written; long ago if there is none, or none that can be read."""
    try:
        return float(json.loads(octets or b"")["at"])
    except (ValueError, KeyError, TypeError, OverflowError):
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
