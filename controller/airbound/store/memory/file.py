# SPDX-License-Identifier: Apache-2.0
"""Records in an SQLite file. One process has it open at a time; a thread of its own waits for the disk.

SQLite's rollback journal and `synchronous=FULL`: a write that returned survives a loss of power, one that failed
changed nothing. A file that was removed while it is open would take every write until the process ends, and nothing of
them be left: so each write first sees that the file is still there.
"""

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from airbound.store.types import StoreError

T = TypeVar("T")

VERSION = 1
_RESTORE = ": restore it, or move it away and start without its records"
_TABLES = """
CREATE TABLE records (
    kind TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, ends_at_ms INTEGER NOT NULL, PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE epoch (last INTEGER NOT NULL);
INSERT INTO epoch VALUES (0);
PRAGMA user_version = 1;
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it is in the file; `ends_at_ms` is the time of day in ms, 0 for never."""

    kind: str
    name: str
    value: bytes
    ends_at_ms: int


class RecordFile:
    """The file of an embedded store. Every call may raise StoreError, which names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: sqlite3.Connection | None = None
        self._inode = (0, 0)  # device and number; no other file gets it while this one is open
        self._thread: ThreadPoolExecutor | None = None

    async def open(self) -> bool:
        """Open the file, made if there is none; whether it was not open yet. Its owner alone may read it."""
        if self._thread is not None:
            return False
        self._thread = ThreadPoolExecutor(1, "store")
        try:
            await self._do(self._open)
        except StoreError:
            await self.close()
            raise
        return True

    async def close(self) -> None:
        """Close the file."""
        if self._thread is None:
            return
        try:
            await self._do(self._close)
        finally:
            self._thread.shutdown(wait=False)
            self._thread = None

    async def read(self, time_ms: int) -> list[Record]:
        """All records that have not ended by that time of day."""
        return await self._do(lambda: self._read(time_ms))

    async def write(self, kind: str, name: str, value: bytes | None, *, ends_at_ms: int, time_ms: int) -> None:
        """Write a record, or remove it if there is no value, and what has ended by that time of day."""
        await self._do(lambda: self._write(kind, name, value, ends_at_ms, time_ms))

    async def read_epoch(self) -> int:
        """The greatest epoch that was written."""
        return await self._do(lambda: int(self._opened().execute("SELECT last FROM epoch").fetchone()[0]))

    async def write_epoch(self, epoch: int) -> None:
        """Write the greatest epoch."""
        await self._do(lambda: self._write_epoch(epoch))

    async def _do(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            raise StoreError(f"{self.path}: not open")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.path}: {error}{_hint(error)}") from error

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            raise sqlite3.ProgrammingError("not open")
        return self._database

    def _open(self) -> None:
        self._check_folder()
        # SQLite would make the file with the umask's mode. Its journal gets the mode of the file.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            self._inode = _inode(os.fstat(descriptor))
        finally:
            os.close(descriptor)  # before SQLite locks the file: a close of any descriptor ends the process's locks
        database = self._database = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        self._check_there()
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = TRUNCATE")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN EXCLUSIVE")  # the lock stays until the file is closed
        database.execute("COMMIT")
        damage = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            raise sqlite3.DatabaseError(f"damaged: {damage.splitlines()[-1]}{_RESTORE}")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            database.executescript(f"BEGIN;{_TABLES}COMMIT;")
        elif version != VERSION:
            raise sqlite3.DatabaseError(f"has version {version}, this program writes version {VERSION}")

    def _check_folder(self) -> None:
        """Whoever may write there can put another file in the place of this one, unless the folder is sticky."""
        mode = stat.S_IMODE(self.path.parent.stat().st_mode)
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise OSError(f"its folder is open to others (mode {mode:04o}): chmod o-w {self.path.parent}")
        if self.path.is_symlink():
            raise OSError("is a link: name the file itself")

    def _check_there(self) -> None:
        try:
            there = _inode(self.path.stat(follow_symlinks=False))
        except FileNotFoundError:
            there = None
        if there != self._inode:
            what = "removed" if there is None else "replaced"
            raise OSError(f"was {what} while it is open: move it back, or restart the controller")

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _read(self, time_ms: int) -> list[Record]:
        database = self._opened()
        rows = database.execute(
            "SELECT kind, name, value, ends_at_ms FROM records WHERE ends_at_ms = 0 OR ends_at_ms > ?", (time_ms,)
        )
        return [Record(*row) for row in rows]

    def _write(self, kind: str, name: str, value: bytes | None, ends_at_ms: int, time_ms: int) -> None:
        database = self._opened()
        database.execute("BEGIN")
        try:
            database.execute("DELETE FROM records WHERE ends_at_ms BETWEEN 1 AND ?", (time_ms,))
            if value is None:
                database.execute("DELETE FROM records WHERE kind = ? AND name = ?", (kind, name))
            else:
                database.execute("REPLACE INTO records VALUES (?, ?, ?, ?)", (kind, name, value, ends_at_ms))
            self._check_there()
            database.execute("COMMIT")
        finally:
            if database.in_transaction:
                database.execute("ROLLBACK")

    def _write_epoch(self, epoch: int) -> None:
        self._check_there()
        self._opened().execute("UPDATE epoch SET last = max(last, ?)", (epoch,))


def _inode(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _hint(error: Exception) -> str:
    """What an operator can do."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_BUSY"):
        return ": another controller uses it"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return _RESTORE
    return ""
