# SPDX-License-Identifier: Apache-2.0
"""Takes snapshots in the event loop, a bounded piece of work in each of its turns.

A turn copies at least one cell with its stations, and goes on until it has copied OBJECTS_PER_TURN objects: so no turn
copies more than that and one cell's stations (2,048 at most), some milliseconds. What happens between two turns is in
the later ones; what leaves meanwhile may be in the snapshot or not.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future

from airbound.core.cell.terminal import Terminal
from airbound.metrics import samples
from airbound.metrics.hooks import Hooks
from airbound.metrics.samples import CellSample, Snapshot, TerminalSample
from airbound.runtime.counts import Counted
from airbound.runtime.runner import Runner

OBJECTS_PER_TURN = 300  # cells, stations, terminals


class Sampler:
    """Snapshots of a runner. Those who ask while one is being taken share it."""

    def __init__(self, runner: Runner, hooks: Hooks, loop: asyncio.AbstractEventLoop) -> None:
        self.objects_by_turn: list[int] = []  # of the last snapshot
        self._runner = runner
        self._hooks = hooks
        self._loop = loop
        self._waiting: list[Future[Snapshot]] = []

    def request(self) -> Future[Snapshot]:
        """Ask for a snapshot, from any thread.

        Raises:
            RuntimeError: the event loop has ended.
        """
        future = Future[Snapshot]()
        self._loop.call_soon_threadsafe(self._begin, future)
        return future

    def _begin(self, future: Future[Snapshot]) -> None:
        self._waiting.append(future)
        if len(self._waiting) == 1:
            self.objects_by_turn = []
            self._turn(self._pieces())

    def _turn(self, pieces: Iterator[int | Snapshot]) -> None:
        """Copy for one turn of the loop, and go on in the next."""
        objects = 0
        try:
            for piece in pieces:
                if isinstance(piece, Snapshot):
                    self._finish(piece, None)
                    break
                objects += piece
                if objects >= OBJECTS_PER_TURN:
                    self._loop.call_soon(self._turn, pieces)
                    break
        except Exception as error:  # noqa: BLE001  # who asked is answered; leases must not depend on metrics
            self._finish(None, error)
        self.objects_by_turn.append(objects)

    def _pieces(self) -> Iterator[int | Snapshot]:
        """Copies everything; yields how many objects it has just copied, and at last the snapshot."""
        runner, engine, counts = self._runner, self._runner.engine, self._runner.counts
        now_us = runner.now_us()
        controller = samples.controller(engine, counts, runner.measures, self._hooks)
        cells, terminals = list[CellSample](), list[TerminalSample]()
        reporters = engine.reporters()
        for state in list(engine.cells.values()):
            cells.append(samples.cell(state, counts.cells.get(state.bssid, Counted()), now_us))
            yield 1 + len(cells[-1].stations)
        for reporter in reporters:
            if isinstance(reporter, Terminal) and reporter.mac and not reporter.closed:
                cell, decided = engine.cell_joined(reporter), counts.terminals.get(reporter.stream.number, Counted())
                terminals.append(samples.terminal(reporter, cell, engine.settings, decided))
            yield 1
        yield Snapshot(now_us, controller, tuple(cells), tuple(terminals))

    def _finish(self, snapshot: Snapshot | None, error: Exception | None) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if snapshot is not None:
                future.set_result(snapshot)
            else:
                future.set_exception(error)
