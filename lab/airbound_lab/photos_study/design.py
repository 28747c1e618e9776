# SPDX-License-Identifier: Apache-2.0
"""What is run of the study of photos and a file; pure.

One phone uploads ten photos of 1 MB, or a file of 67 MB, 256 ms from its server: alone, or among phones that send all
they can by TCP. The photos go on one connection or on one each, with a pause after each or without. It begins when the
others have filled the cell. The cells are those of the study of live video (`2013`, `11g`, `11n`), and `11ac` (80 MHz).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.applications_study.design import DELAY_MS, FILE_BYTES, SEND_BUFFER_BYTES
from airbound_lab.compare.one_cell import OneCell
from airbound_lab.live_video_study import design as live_video
from airbound_lab.live_video_study.design import PHONES_OF_2013, TODAY_N
from airbound_lab.settings.application import File, Photos
from airbound_lab.settings.lists import check_each_once, check_known
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from airbound_lab.settings.application import Application

TODAY_AC = "11ac"
CELLS = (*live_video.CELLS, TODAY_AC)
MODES = ("cubic", "airbound")
PHOTOS, FILE = "photos", "file"
PARTS = (PHOTOS, FILE)
CONNECTIONS = ("one", "each")
START_S = 10.0
"""When the photos begin."""
SECONDS = {PHOTOS: 60, FILE: 150}


@dataclass(frozen=True, slots=True)
class Case(OneCell):
    """One cell to be run, for one seed."""

    cell: str
    terminals: int
    what: str
    """What is uploaded."""
    mode: str
    parameters: Parameters

    @property
    def row(self) -> str:
        """Where it is run, where runs are listed."""
        phones = "alone" if self.terminals == 1 else f"{self.terminals} phones"
        return f"{self.cell}, {phones}, {self.what}"


@dataclass(frozen=True, slots=True)
class Design:
    """What is asked for."""

    cells: tuple[str, ...] = (TODAY_N,)
    terminals: tuple[int, ...] = (1, 8)
    parts: tuple[str, ...] = PARTS
    connections: tuple[str, ...] = CONNECTIONS
    pauses_s: tuple[float, ...] = (0.0, 1.0)
    asks: bool = False
    """Whether curl asks before each photo."""
    modes: tuple[str, ...] = MODES
    file_bytes: int = FILE_BYTES
    seconds: int | None = None
    """Of a run; None: long enough for the cells of today."""
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)

    def check(self) -> None:
        """Raise UsageError if something is unknown, there twice, or impossible."""
        check_known(
            {
                "--cells": (self.cells, CELLS),
                "--parts": (self.parts, PARTS),
                "--connections": (self.connections, CONNECTIONS),
            }
        )
        check_each_once(
            {
                "--cells": self.cells,
                "--terminals": self.terminals,
                "--parts": self.parts,
                "--connections": self.connections,
                "--pauses": self.pauses_s,
                "--modes": self.modes,
                "--seeds": self.seeds,
            }
        )

    def cases(self) -> list[Case]:
        """All cells to be run, in the order of the tables.

        Raises:
            ValidationError: the numbers are out of limits.
        """
        return [
            self._case(cell, terminals, upload, mode, seed)
            for cell in self.cells
            for upload in self._uploads(cell)
            for terminals in self.terminals
            for mode in self.modes
            for seed in self.seeds
        ]

    def _uploads(self, cell: str) -> list[Application]:
        buffer_bytes = SEND_BUFFER_BYTES if cell == PHONES_OF_2013 else None
        photos = [
            Photos(connections="each" if connections == "each" else "one", pause_s=pause_s, asks=self.asks,
                   send_buffer_bytes=buffer_bytes)
            for connections in self.connections
            for pause_s in self.pauses_s
        ]  # fmt: skip
        file = File(size_bytes=self.file_bytes, send_buffer_bytes=buffer_bytes)
        return [*(photos if PHOTOS in self.parts else []), *([file] if FILE in self.parts else [])]

    def _case(self, cell: str, terminals: int, upload: Application, mode: str, seed: int) -> Case:
        others = [Action(0, "start-traffic", phone=phone) for phone in range(2, terminals + 1)]
        own = Action(START_S, "start-application", phone=1, application=upload)
        parameters = parameters_of(
            cell,
            terminals=terminals,
            scenario=Scenario(upload.kind, (own, *others)),
            seconds=self.seconds or SECONDS[upload.kind],
            seed=seed,
        ).of_mode(mode)
        return Case(cell, terminals, text(upload), mode, parameters)


def parameters_of(cell: str, *, terminals: int, scenario: Scenario, seconds: int, seed: int) -> Parameters:
    """Return the parameters of a cell."""
    if cell != TODAY_AC:
        return live_video.parameters_of(
            cell, terminals=terminals, scenario=scenario, seconds=seconds, warmup_seconds=0, seeds=(seed,)
        )
    return Parameters(
        modes=("cubic",), kernel_line="6.12", wired_delays_ms=(DELAY_MS,), phy="11ac-80", ap="openwrt",
        terminals=terminals, scenario=scenario, seconds=seconds, warmup_seconds=0, seeds=(seed,),
    )  # fmt: skip


def text(upload: Application) -> str:
    """Name what is uploaded."""
    if isinstance(upload, Photos):
        connections = "one connection" if upload.connections == "one" else "a connection each"
        return f"{upload.count} photos, {connections}, {f'{upload.pause_s:g} s' if upload.pause_s else 'no'} pause"
    return FILE
