# SPDX-License-Identifier: Apache-2.0
"""What is run of the study of QUIC beside TCP; pure.

Phone 1 uploads by QUIC, or sends UDP as fast as it can, the others by TCP. All phones have an agent in the modes with
agents:

    cubic      without Airbound
    unpaced    Airbound, which gives UDP no rate ([pacing] enabled = false)
    airbound   Airbound as it is installed

With `file`, phone 1 uploads a file by TCP as well: then what it has is the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from airbound_lab.compare.one_cell import OneCell
from airbound_lab.errors import UsageError
from airbound_lab.settings.application import File
from airbound_lab.settings.lists import check_each_once, check_known
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario

Sends = Literal["quic", "udp"]

SENDS: tuple[Sends, ...] = ("quic", "udp")
CELLS = ("11ac-80", "11n-20", "11g")
"""The access point is OpenWrt's; of 802.11g, a plain one."""
MODES: dict[str, tuple[str, str | None]] = {
    "cubic": ("cubic", None),
    "unpaced": ("airbound", "[pacing]\nenabled = false\n"),
    "airbound": ("airbound", None),
}
"""The lab's mode and the controller's configuration of each."""
FILE_BYTES = 500_000_000
"""More than a phone carries in a run."""


@dataclass(frozen=True, slots=True)
class Case(OneCell):
    """One cell to be run, for one seed."""

    cell: str
    delay_ms: float
    sends: str
    mode: str
    parameters: Parameters

    @property
    def row(self) -> str:
        """Where it is run, where runs are listed."""
        return f"{self.cell}, {self.delay_ms:g} ms, {self.sends}"


@dataclass(frozen=True, slots=True)
class Design:
    """What is asked for."""

    cells: tuple[str, ...] = ("11ac-80",)
    delays_ms: tuple[float, ...] = (4.0, 16.0)
    terminals: int = 10
    sends: tuple[Sends, ...] = ("quic",)
    file: bool = False
    """Whether phone 1 uploads a file by TCP as well."""
    modes: tuple[str, ...] = tuple(MODES)
    seconds: int = 30
    warmup_seconds: int = 12
    seeds: tuple[int, ...] = (1, 2, 3)

    def check(self) -> None:
        """Raise UsageError if something is unknown, there twice, or impossible."""
        check_known(
            {"--cells": (self.cells, CELLS), "--sends": (self.sends, SENDS), "--modes": (self.modes, tuple(MODES))}
        )
        check_each_once(
            {
                "--cells": self.cells,
                "--delays": self.delays_ms,
                "--sends": self.sends,
                "--modes": self.modes,
                "--seeds": self.seeds,
            }
        )
        if self.terminals < 2:  # noqa: PLR2004  # one of each
            raise UsageError(f"--terminals: {self.terminals}, but one is beside others")

    def cases(self) -> list[Case]:
        """All cells to be run, in the order of the tables.

        Raises:
            ValidationError: the numbers are out of limits.
        """
        return [
            self._case(cell, delay_ms, sends, mode, seed)
            for cell in self.cells
            for delay_ms in self.delays_ms
            for sends in self.sends
            for mode in self.modes
            for seed in self.seeds
        ]

    def _case(self, cell: str, delay_ms: float, sends: Sends, mode: str, seed: int) -> Case:
        lab_mode, config = MODES[mode]
        parameters = Parameters(
            scenario=self._scenario(sends),
            terminals=self.terminals,
            wired_delays_ms=(delay_ms,),
            seconds=self.seconds,
            warmup_seconds=self.warmup_seconds,
            modes=(lab_mode,),
            seeds=(seed,),
            kernel_line="6.12",
            phy=cell,  # type: ignore[arg-type]  # checked above
            ap="plain" if cell == "11g" else "openwrt",
            controller_config=config,
        )
        return Case(cell, delay_ms, f"{sends} and a file" if self.file else sends, mode, parameters)

    def _scenario(self, sends: Sends) -> Scenario:
        actions = [Action(0, "start-traffic", phone=1, protocol=sends)]
        if self.file:
            file = File(size_bytes=FILE_BYTES)
            actions.append(Action(0, "start-application", phone=1, application=file, app_class="none"))
        actions += [Action(0, "start-traffic", phone=phone) for phone in range(2, self.terminals + 1)]
        return Scenario("QUIC beside TCP", tuple(actions))
