# SPDX-License-Identifier: Apache-2.0
"""Checks that access points ask for: what a cell carries with Airbound and without (core/check), carried out by the
controller that has the cell, one for a cell at a time.

An access point decides nothing by that but when: a request counts on the stream of the cell's own access point, never
while an operator has chosen a mode for a time or `observe`, and once in `APART_S`. Each turn's mode is for a time, by
the way of an operator's, so that a controller that is killed leaves a mode that ends by itself. A check ends at once
when its stream does, when the cell is another replica's, or when an operator chooses a mode.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from airbound import __version__
from airbound.core.addresses import mac_text
from airbound.core.bands import BAND_NAMES
from airbound.core.check.course import MINUTES, MODE_S, Look, Made, SetMode, Wait, course, turns_in
from airbound.core.check.figures import result
from airbound.core.check.sentences import Checked, line, verdict
from airbound.core.effects import Note
from airbound.core.reasons import Code, Reason
from airbound.grpc import operations_convert
from airbound.grpc.check_samples import sample
from airbound.grpc.command_convert import reason_message
from airbound.store.types import StoreError
from airbound.v1 import access_point_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound.core.addresses import Mac
    from airbound.core.cell.state import CellState
    from airbound.core.check.figures import Sample, Turn
    from airbound.core.parameters import Mode
    from airbound.core.principals import Stream
    from airbound.runtime.runner import Runner

APART_S = 3600.0  # beginnings of two checks of a cell
SHOWN_S = 60.0  # after its end
ID_MAX_CHARACTERS = 64
LOOKS_EACH_S = 1.0  # whether the check may go on
END_S = 0.001
UNTIL_DIFFERS_S = 1.0  # a mode that ends at another time is not the check's


class Modes(Protocol):
    """Where operators' choices are kept."""

    async def set_mode(self, mode: Mode | None, bssid: Mac = b"", *, for_s: float = 0.0) -> Mode:
        """Choose a cell's mode for a time. Raises StoreError if it is not kept yet, and applied all the same."""


class _EndedError(Exception):
    """The check does not go on."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.code.name)
        self.reason = reason


@dataclass(slots=True)
class _Check:
    """One check. Times are the event loop's but `until_s`, which is an operator's choice's."""

    id: str
    stream: Stream
    began_s: float
    turns: int
    of_controller: tuple[str, float] | None  # the mode that an operator chose for the controller when it began
    turn: int = 0
    mode: Mode | None = None  # that it has set
    until_s: float = 0.0  # when that ends
    ended_s: float | None = None
    refusal: Reason | None = None
    line: str = ""
    verdict: str = ""
    tasks: list[asyncio.Task[None]] = field(default_factory=list)  # one, while it runs

    def message(self) -> access_point_pb2.CellCheck:
        """What its access point is sent."""
        return access_point_pb2.CellCheck(
            id=self.id,
            turn=self.turn,
            turns=self.turns,
            refusal=None if self.refusal is None else reason_message(self.refusal),
            line=self.line,
            verdict=self.verdict,
        )


class Checks:
    """All checks of one controller."""

    def __init__(self, runner: Runner, modes: Modes, clock_s: Callable[[], float] = time.time) -> None:
        """`clock_s` is that of `modes`."""
        self._runner = runner
        self._modes = modes
        self._clock_s = clock_s
        self._checks: dict[Mac, _Check] = {}  # the last of each cell, for `APART_S`

    def reported(self, stream: Stream, bssid: Mac, check_id: str) -> bytes:
        """A report of the cell arrived on a stream, with a request if `check_id` is not empty. Returns what responses
        say of the cell's check: a part of an AccessPointServiceConnectResponse.
        """
        now_s = asyncio.get_running_loop().time()
        self._forget(now_s)
        cell, known = self._cell_of(stream, bssid), self._checks.get(bssid)
        mine = known if cell is not None and known is not None and known.stream == stream else None
        if is_id(check_id) and (mine is None or mine.id != check_id):
            refusal = self._refusal(cell, bssid, now_s)
            if cell is None or refusal is not None:
                refused = access_point_pb2.CellCheck(id=check_id, refusal=reason_message(refusal or _FOREIGN))
                return _response(refused)
            mine = self._begin(cell, stream, check_id, now_s)
        if mine is None or (mine.ended_s is not None and now_s >= mine.ended_s + SHOWN_S and not check_id):
            return b""
        return _response(mine.message())

    async def stop(self) -> None:
        """End those that run; each mode before is in force again."""
        tasks = [task for check in self._checks.values() for task in check.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _cell_of(self, stream: Stream, bssid: Mac) -> CellState | None:
        """The cell, if the stream is its access point's."""
        cell = self._runner.engine.cells.get(bssid)
        if cell is None or cell.access_point is None or cell.access_point.stream != stream:
            return None
        return cell

    def _forget(self, now_s: float) -> None:
        old = [bssid for bssid, check in self._checks.items() if now_s >= check.began_s + APART_S and not check.tasks]
        for bssid in old:
            del self._checks[bssid]

    def _refusal(self, cell: CellState | None, bssid: Mac, now_s: float) -> Reason | None:
        """Why there is no check now."""
        known, chosen = self._checks.get(bssid), self._chosen(bssid)
        if cell is None:
            return _FOREIGN
        if known is not None and known.tasks:
            return Reason(Code.CHECK_RUNS)
        if chosen is not None:
            return chosen
        if cell.settings.is_cell_exempt(bssid):
            return Reason(Code.EXEMPT)
        if known is not None:
            return Reason(Code.CHECK_TOO_SOON, after=int(now_s - known.began_s), limit=APART_S)
        return None if cell.stations.active_senders else Reason(Code.CHECK_NO_SENDERS)

    def _chosen(self, bssid: Mac) -> Reason | None:
        """What an operator has chosen that a check does not replace."""
        choices = self._runner.choices
        for choice in (choices.modes_of_cells.get(mac_text(bssid)), choices.mode):
            if choice is not None and (choice.until_s or choice.value == "observe"):
                return Reason(Code.CHECK_MODE_CHOSEN, choice.value, limit=choice.until_s or None)
        return None

    def _begin(self, cell: CellState, stream: Stream, check_id: str, now_s: float) -> _Check:
        check = _Check(check_id, stream, now_s, turns_in(MINUTES), self._of_controller())
        self._checks[cell.bssid] = check
        self._note(cell.bssid, f"{cell.name} begins, asked for by {stream.principal.name}")
        check.tasks.append(asyncio.get_running_loop().create_task(self._carry_out(check, cell.bssid)))
        return check

    def _of_controller(self) -> tuple[str, float] | None:
        choice = self._runner.choices.mode
        return None if choice is None else (choice.value, choice.until_s)

    async def _carry_out(self, check: _Check, bssid: Mac) -> None:
        refusal: Reason | None = Reason(Code.CHECK_STOPPED)  # unless something else is known
        try:
            refusal = self._conclude(check, bssid, await self._turns(check, bssid))
        except _EndedError as ended:
            refusal = ended.reason
        finally:
            check.refusal, check.ended_s = refusal, asyncio.get_running_loop().time()
            check.tasks.clear()
            subject = f"{mac_text(bssid)} ended" + (f": {check.line}" if check.line else "")
            self._note(bssid, subject, () if refusal is None else (refusal,))
            if self._is_in_force(check, bssid):
                with contextlib.suppress(StoreError):
                    await self._modes.set_mode("observe", bssid, for_s=END_S)  # whatever stands below it

    async def _turns(self, check: _Check, bssid: Mac) -> list[Turn | None]:
        steps, seen = course(check.turns, asyncio.get_running_loop().time), None
        while True:
            try:
                step = steps.send(seen)
            except StopIteration as ended:
                made: list[Turn | None] = ended.value
                return made
            seen = None
            match step:
                case SetMode():
                    check.turn, check.mode, check.until_s = step.number, step.mode, self._clock_s() + MODE_S
                    with contextlib.suppress(StoreError):
                        await self._modes.set_mode(step.mode, bssid, for_s=MODE_S)
                case Wait():
                    await self._wait(check, bssid, step.seconds)
                case Look():
                    seen = self._look(bssid)
                case Made():
                    pass  # the next turn's number says so

    async def _wait(self, check: _Check, bssid: Mac, seconds: float) -> None:
        """Raises _EndedError if the check may not go on."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + seconds
        while (left_s := ends_s - loop.time()) > 0:
            await asyncio.sleep(min(LOOKS_EACH_S, left_s))
            if self._cell_of(check.stream, bssid) is None:
                raise _EndedError(Reason(Code.CHECK_STOPPED))
            if not self._is_in_force(check, bssid) or self._of_controller() != check.of_controller:
                raise _EndedError(Reason(Code.CHECK_MODE_CHANGED))

    def _is_in_force(self, check: _Check, bssid: Mac) -> bool:
        """Whether the mode that was chosen last is the check's."""
        choice = self._runner.choices.modes_of_cells.get(mac_text(bssid))
        return (
            choice is not None and choice.value == check.mode and abs(choice.until_s - check.until_s) < UNTIL_DIFFERS_S
        )

    def _look(self, bssid: Mac) -> Sample | None:
        """How the cell is now, as operators see it; none if nobody sends."""
        engine, now_us = self._runner.engine, self._runner.now_us()
        cell = engine.cells.get(bssid)
        if cell is None or cell.access_point is None or not cell.stations.active_senders:
            return None
        last = access_point_pb2.AccessPointServiceConnectRequest.FromString(cell.access_point.last_report)
        terminals = [
            operations_convert.terminal(terminal, cell, engine.settings, now_us) for terminal in cell.terminals.values()
        ]
        stations = operations_convert.stations(cell, last.report, now_us)
        return sample(operations_convert.cell(cell, now_us), terminals, stations)

    def _conclude(self, check: _Check, bssid: Mac, turns: list[Turn | None]) -> Reason | None:
        """Take over what the turns say, or return why they say nothing."""
        found, cell = result(turns), self._runner.engine.cells.get(bssid)
        if found is None or cell is None:
            return Reason(Code.CHECK_NO_SENDERS)
        shown = operations_convert.cell(cell, self._runner.now_us())
        checked = Checked(BAND_NAMES.get(shown.band, ""), shown.policy, shown.stations, __version__)
        check.line, check.verdict = line(found, checked), verdict(found)
        return None

    def _note(self, bssid: Mac, subject: str, reasons: tuple[Reason, ...] = ()) -> None:
        self._runner.note(Note("info", "check", subject, reasons, cell=bssid))


_FOREIGN = Reason(Code.CHECK_FOREIGN)


def is_id(text: str) -> bool:
    """Whether a request has an identifier that one may have."""
    return 0 < len(text) <= ID_MAX_CHARACTERS and text.isascii() and text.isprintable()


def _response(check: access_point_pb2.CellCheck) -> bytes:
    return access_point_pb2.AccessPointServiceConnectResponse(check=check).SerializeToString()
