# SPDX-License-Identifier: Apache-2.0
"""What was decided, refused and closed, by the reason: counted from the engine's effects."""

from collections import Counter, defaultdict

from airbound.core.addresses import Mac
from airbound.core.effects import CellForgotten, CloseStream, Effect, Note, SetBounds
from airbound.core.reasons import Code

Counted = Counter[tuple[str, Code]]
"""By a counter's name and the first reason."""


class Counts:
    """Since the controller started; those of a cell since it is known, those of a terminal since its stream began."""

    def __init__(self) -> None:
        self.totals = Counted()
        self.cells = defaultdict[Mac, Counted](Counted)
        self.terminals = defaultdict[int, Counted](Counted)  # by the number of the stream

    def count(self, effect: Effect) -> None:
        """Take an effect into account."""
        match effect:
            case SetBounds():
                name = "sets_total" if effect.bounds else "releases_total"
                self.terminals[effect.stream.number][name, effect.reasons[0].code] += 1
            case CellForgotten():
                self.cells.pop(effect.bssid, None)
            case CloseStream():
                self.totals["closed_total", effect.reason.code] += 1
            case Note():
                self._count_note(effect)

    def _count_note(self, note: Note) -> None:
        match note.what:
            case "bounds":
                self._count_decision("sets_total" if note.bounds else "releases_total", note)
            case "edca":
                self._count_decision("edca_sets_total" if note.queues else "edca_releases_total", note)
            case "windows":
                self._count_decision("window_sets_total" if note.windows else "window_releases_total", note)
            case "rules":
                self.totals["rules_sets_total", note.reasons[0].code] += 1
            case "refused":
                self.totals["refused_total", note.reasons[0].code] += 1
            case "failed":
                self.totals["failures_total", Code.UNSPECIFIED] += 1
            case "disowned":
                self.cells.pop(note.cell, None)

    def _count_decision(self, name: str, note: Note) -> None:
        code = note.reasons[0].code
        self.totals[name, code] += 1
        if note.cell and code is not Code.LEFT_CELL:  # the terminal was the cell's no more
            self.cells[note.cell][name, code] += 1
