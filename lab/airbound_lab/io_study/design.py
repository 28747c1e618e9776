# SPDX-License-Identifier: Apache-2.0
"""What is run of the study of storage; pure.

The paper (Hattori and Yamaguchi 2010): 10,000 inserts into a table of an integer and a string of 100 bytes, each a
transaction, then every row read 10,000 times; which requests reach the storage device.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from airbound_lab.errors import UsageError
from airbound_lab.io_study.devices import DEVICES

FILESYSTEMS = ("ext4", "f2fs")
JOURNALS = ("delete", "truncate", "persist", "wal")
SYNCHRONOUS = ("extra", "full", "normal", "off")


@dataclass(frozen=True, slots=True)
class Case:
    """One guest: a device, a file system, a database's settings, and what it does."""

    device: str
    filesystem: str
    journal: str
    synchronous: str = "full"
    rows_per_transaction: int = 1
    rows: int = 1000
    selects: int = 100
    cuts: tuple[tuple[int, int], ...] = ()
    """After how many requests the power is cut, and the seed of what the cut leaves; none: it is measured."""
    seed: int = 1
    phone_io: str | None = None
    """The program `airbound-phone`, whose `io` records as well; None: it does not."""
    sqlite: str | None = None
    """Another build of SQLite, a shared library; None: Debian's."""

    def __str__(self) -> str:
        """Return its name in messages and of its directory."""
        parts = [self.device, self.filesystem, self.journal, self.synchronous, f"{self.rows_per_transaction}-rows"]
        parts += ["other-sqlite"] if self.sqlite is not None else []
        return "-".join([*parts, "cuts" if self.cuts else "measured", str(self.seed)])

    def plan(self) -> dict[str, Any]:
        """Return what the guest reads (guest/storage.py)."""
        return {
            "filesystem": self.filesystem,
            "uuid": str(uuid.UUID(int=self.seed)),
            "journal": self.journal,
            "synchronous": self.synchronous,
            "rows": self.rows,
            "rows_per_transaction": self.rows_per_transaction,
            "selects": self.selects,
            "cuts": [list(cut) for cut in self.cuts],
            "phone_io": self.phone_io,
        }


@dataclass(frozen=True, slots=True)
class Design:
    """All combinations."""

    devices: tuple[str, ...] = ("emmc-2010",)
    filesystems: tuple[str, ...] = FILESYSTEMS
    journals: tuple[str, ...] = JOURNALS
    synchronous: tuple[str, ...] = ("full",)
    rows_per_transaction: tuple[int, ...] = (1,)
    rows: int = 1000
    selects: int = 100
    cuts: int = 0
    """Cuts of the power in each case, the first after one request, each next after one more; 0: none."""
    seeds: tuple[int, ...] = (1,)
    phone_io: str | None = None
    sqlite: str | None = None
    """Both as a case has them."""

    def __post_init__(self) -> None:
        """Check names and ranges.

        Raises:
            UsageError: a name is not known, or a number is out of its range.
        """
        for kind, names, known in (
            ("device", self.devices, tuple(DEVICES)),
            ("file system", self.filesystems, FILESYSTEMS),
            ("journal", self.journals, JOURNALS),
            ("synchronous setting", self.synchronous, SYNCHRONOUS),
        ):
            for name in names:
                if name not in known:
                    raise UsageError(f"no {kind} {name}: {', '.join(known)}")
        for what, number in (("rows", self.rows), *(("rows of a transaction", n) for n in self.rows_per_transaction)):
            if number < 1:
                raise UsageError(f"{what}: {number} is below 1")
        if self.cuts < 0 or self.selects < 0:
            raise UsageError("cuts and selects are 0 or more")
        if self.cuts and self.phone_io is not None:
            raise UsageError("where the power is cut there is no record to compare with that of airbound-phone io")

    def cases(self) -> list[Case]:
        """Return the guests to boot."""
        return [
            Case(
                device, filesystem, journal, synchronous, rows, self.rows, self.selects, self._cuts_of(seed), seed,
                self.phone_io, self.sqlite,
            )
            for device in self.devices
            for filesystem in self.filesystems
            for journal in self.journals
            for synchronous in self.synchronous
            for rows in self.rows_per_transaction
            for seed in self.seeds
        ]  # fmt: skip

    def _cuts_of(self, seed: int) -> tuple[tuple[int, int], ...]:
        """At every request in turn: everything that was cached is lost, then some of it."""
        return tuple((after, chance) for after in range(1, self.cuts + 1) for chance in (0, 1_000_000 * seed + after))
