# SPDX-License-Identifier: Apache-2.0
"""What is run of the study of HTTP in a cell; pure.

Phone 1 fetches one byte again and again, as the benchmark of devices does (phone-agent/benchmark), while the other
phones upload all they can by TCP. In one run it does so in several ways, one after the other, each for the same time:

    new-1, new-8      1 client or 8, a connection for each transaction
    kept-1, kept-8    1 client or 8, each on a connection that stays

Cells: 802.11g at an access point with one queue, Linux 6.1 (`11g`), and the same on Linux 6.12, whose mac80211 has
queues for each station (`11g-6.12`); 802.11n and ac at one with OpenWrt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airbound_lab.compare.one_cell import OneCell
from airbound_lab.errors import UsageError
from airbound_lab.settings.application import Http
from airbound_lab.settings.lists import check_each_once, check_known
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario

CELLS: dict[str, dict[str, Any]] = {
    "11g": {"phy": "11g", "ap": "plain", "kernel_line": "6.1"},
    "11g-6.12": {"phy": "11g", "ap": "plain", "kernel_line": "6.12"},
    "11n-20": {"phy": "11n-20", "ap": "openwrt", "kernel_line": "6.12"},
    "11ac-80": {"phy": "11ac-80", "ap": "openwrt", "kernel_line": "6.12"},
}
TRANSACTIONS: dict[str, dict[str, Any]] = {
    "new-1": {"clients": 1, "connections": "each"},
    "kept-1": {"clients": 1, "connections": "one"},
    "new-8": {"clients": 8, "connections": "each"},
    "kept-8": {"clients": 8, "connections": "one"},
}
MODES = ("cubic", "cubic@fq_codel@phones-fq_codel", "airbound")
WARMUP_S = 10


@dataclass(frozen=True, slots=True)
class Case(OneCell):
    """One cell to be run, for one seed."""

    cell: str
    delay_ms: float
    uploads: int
    mode: str
    transactions: tuple[str, ...]
    """In the order of the applications of the run."""
    parameters: Parameters

    @property
    def row(self) -> str:
        """Where it is run, where runs are listed."""
        return f"{self.cell}, {self.delay_ms:g} ms, {self.uploads} uploads"


@dataclass(frozen=True, slots=True)
class Design:
    """What is asked for."""

    cells: tuple[str, ...] = ("11g",)
    delays_ms: tuple[float, ...] = (4.0, 256.0)
    uploads: tuple[int, ...] = (0, 1, 4, 9)
    transactions: tuple[str, ...] = tuple(TRANSACTIONS)
    each_s: int = 20
    """For how long the phone fetches in each way."""
    modes: tuple[str, ...] = MODES
    seeds: tuple[int, ...] = (1, 2, 3)

    def check(self) -> None:
        """Raise UsageError if something is unknown, there twice, or impossible."""
        check_known({"--cells": (self.cells, CELLS), "--transactions": (self.transactions, TRANSACTIONS)})
        check_each_once(
            {
                "--cells": self.cells,
                "--delays": self.delays_ms,
                "--uploads": self.uploads,
                "--transactions": self.transactions,
                "--modes": self.modes,
                "--seeds": self.seeds,
            }
        )
        lines = {CELLS[cell]["kernel_line"] for cell in self.cells}
        if len(lines) > 1:
            raise UsageError(f"--cells: of Linux {' and '.join(sorted(lines))}; a command boots one kernel")
        if self.each_s < 1:
            raise UsageError(f"--each-s: {self.each_s} is below 1")

    def cases(self) -> list[Case]:
        """All cells to be run, in the order of the tables.

        Raises:
            ValidationError: the numbers are out of limits.
        """
        return [
            self._case(cell, delay_ms, uploads, mode, seed)
            for cell in self.cells
            for delay_ms in self.delays_ms
            for uploads in self.uploads
            for mode in self.modes
            for seed in self.seeds
        ]

    def _case(self, cell: str, delay_ms: float, uploads: int, mode: str, seed: int) -> Case:
        fetches = [
            Action(
                WARMUP_S + number * self.each_s,
                "start-application",
                phone=1,
                application=Http(length_s=self.each_s, **TRANSACTIONS[name]),
            )
            for number, name in enumerate(self.transactions)
        ]
        others = [Action(0, "start-traffic", phone=phone) for phone in range(2, uploads + 2)]
        parameters = Parameters(
            modes=("cubic",),
            scenario=Scenario("HTTP", (*fetches, *others)),
            terminals=uploads + 1,
            wired_delays_ms=(delay_ms,),
            seconds=WARMUP_S + len(self.transactions) * self.each_s,
            warmup_seconds=WARMUP_S,
            seeds=(seed,),
            **CELLS[cell],
        ).of_mode(mode)
        return Case(cell, delay_ms, uploads, mode, self.transactions, parameters)
