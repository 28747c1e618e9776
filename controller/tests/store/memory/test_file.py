# SPDX-License-Identifier: Apache-2.0
"""What of an embedded store survives a restart, and what happens if its file cannot be used."""

import asyncio
import os
import sqlite3
import stat
from pathlib import Path

import pytest

from airbound.store.memory.file import RecordFile
from airbound.store.memory.store import FILE_TTL_MIN_MS, Memory, MemoryStore
from airbound.store.types import Claim, StoreError

CELL = bytes.fromhex("020000000100")
HOUR_MS = 3_600_000


class Clock:
    """Time of day in us, and the clock of the process."""

    def __init__(self) -> None:
        self.time_us = 1_800_000_000_000_000

    def now_ms(self) -> int:
        return self.time_us // 1000 - 1_700_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.sqlite"


@pytest.fixture
def clock() -> Clock:
    return Clock()


def move(path: Path, to: Path) -> None:
    path.rename(to)


def link(path: Path, to: str) -> None:
    path.symlink_to(to)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def started(path: Path, clock: Clock) -> MemoryStore:
    store = MemoryStore(Memory(RecordFile(path), clock.now_ms, lambda: clock.time_us))
    await store.start("replica", lambda _: None, lambda: None)
    return store


async def test_records_survive_a_restart(path: Path, clock: Clock) -> None:
    store = await started(path, clock)
    await store.put("choice", "mode", b"observe")
    await store.put("choice", "gone", b"1")
    await store.remove("choice", "gone")
    await store.put("revoked", "serial ü", b"\x00", ttl_ms=HOUR_MS)
    await store.add("pin", "a", b"first")
    await store.replace("pin", "a", b"first", b"second")
    await store.put("replica", "one", b"alive", ttl_ms=FILE_TTL_MIN_MS - 1)
    await store.close()
    clock.time_us += 1_000
    store = await started(path, clock)
    assert await store.records("choice") == {"mode": b"observe"}
    assert await store.records("revoked") == {"serial ü": b"\x00"}
    assert await store.get("pin", "a") == b"second"
    assert await store.records("replica") == {}  # live replicas write their records again
    await store.close()


async def test_a_record_ends_while_nobody_runs(path: Path, clock: Clock) -> None:
    store = await started(path, clock)
    await store.put("token", "a", b"1", ttl_ms=HOUR_MS)
    await store.put("token", "b", b"2", ttl_ms=2 * HOUR_MS)
    await store.close()
    clock.time_us += HOUR_MS * 1000
    store = await started(path, clock)
    assert await store.records("token") == {"b": b"2"}
    clock.time_us += HOUR_MS * 1000
    assert await store.records("token") == {}
    await store.put("token", "c", b"3")
    await store.close()
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT name FROM records").fetchall() == [("c",)]
    database.close()


async def test_a_durable_record_may_become_a_short_one(path: Path, clock: Clock) -> None:
    store = await started(path, clock)
    await store.put("choice", "mode", b"observe")
    await store.put("choice", "mode", b"control", ttl_ms=1_000)
    await store.close()
    store = await started(path, clock)
    assert await store.get("choice", "mode") is None
    await store.close()


async def test_epochs_grow_over_a_restart_though_the_clock_is_set_back(path: Path, clock: Clock) -> None:
    store = await started(path, clock)
    (before,) = await store.claim([CELL], ttl_ms=1_000)
    await store.close()
    clock.time_us -= HOUR_MS * 1000
    store = await started(path, clock)
    (after,) = await store.claim([CELL], ttl_ms=1_000)
    await store.close()
    assert isinstance(before, Claim)
    assert isinstance(after, Claim)
    assert after.token.epoch > before.token.epoch


async def test_the_file_is_its_owners_alone(path: Path, clock: Clock) -> None:
    os.close(os.open(path, os.O_CREAT, 0o644))
    store = await started(path, clock)
    await store.put("choice", "mode", b"observe")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    await store.close()


@pytest.mark.parametrize("happens", ["removed", "replaced"])
async def test_a_file_that_is_gone_fails_every_write(path: Path, clock: Clock, happens: str) -> None:
    store = await started(path, clock)
    await store.put("revoked", "1", b"before")
    away = path.with_name("away.sqlite")
    move(path, away)
    if happens == "replaced":
        os.close(os.open(path, os.O_CREAT, 0o600))
    for write in (store.put("revoked", "2", b"lost"), store.remove("revoked", "1")):
        with pytest.raises(StoreError, match=rf"records\.sqlite: was {happens} while it is open: move it back"):
            await write
    assert await store.records("revoked") == {"1": b"before"}
    (claim,) = await store.claim([CELL], ttl_ms=1_000)
    assert isinstance(claim, Claim)  # cells are controlled all the same
    move(away, path)
    await store.put("revoked", "3", b"after")
    await store.close()
    store = await started(path, clock)
    assert await store.records("revoked") == {"1": b"before", "3": b"after"}
    await store.close()


async def test_a_link_is_no_file(path: Path, clock: Clock) -> None:
    link(path, "elsewhere.sqlite")
    with pytest.raises(StoreError, match=r"records\.sqlite: is a link"):
        await started(path, clock)
    assert names(path.parent) == [path.name]


@pytest.mark.parametrize(("mode", "is_good"), [(0o777, False), (0o703, False), (0o775, True), (0o1777, True)])
async def test_a_folder_that_others_may_write_is_refused(path: Path, clock: Clock, mode: int, *, is_good: bool) -> None:
    path.parent.chmod(mode)
    if is_good:
        await (await started(path, clock)).close()
    else:
        with pytest.raises(StoreError, match=rf"records\.sqlite: its folder is open to others \(mode {mode:04o}\)"):
            await started(path, clock)
        assert names(path.parent) == []


async def test_a_file_has_one_controller(path: Path, clock: Clock) -> None:
    store = await started(path, clock)
    with pytest.raises(StoreError, match=r"records\.sqlite: .*another controller uses it"):
        await started(path, clock)
    await store.put("choice", "mode", b"observe")
    await store.close()
    store = await started(path, clock)
    assert await store.get("choice", "mode") == b"observe"
    await store.close()


@pytest.mark.parametrize("where", [0, 100, 4096], ids=["header", "first page", "second page"])
async def test_a_damaged_file_is_refused(path: Path, clock: Clock, where: int) -> None:
    store = await started(path, clock)
    for number in range(100):
        await store.put("pin", f"{number}", bytes(1000))
    await store.close()
    with path.open("r+b") as file:
        file.seek(where)
        file.write(b"\xa5" * 512)
    with pytest.raises(StoreError, match=r"records\.sqlite: .*restore it, or move it away"):
        await started(path, clock)


async def test_a_file_of_a_later_version_is_refused(path: Path, clock: Clock) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(StoreError, match=r"records\.sqlite: has version 2, this program writes version 1"):
        await started(path, clock)


async def test_a_folder_that_is_not_there(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(StoreError, match=r"no-folder/records\.sqlite"):
        await started(tmp_path / "no-folder" / "records.sqlite", clock)


async def test_a_full_disk_fails_the_write_and_nothing_else(path: Path, clock: Clock) -> None:
    file = RecordFile(path)
    store = MemoryStore(Memory(file, clock.now_ms, lambda: clock.time_us))
    await store.start("replica", lambda _: None, lambda: None)
    await store.put("choice", "mode", b"observe")
    pages = await file._do(lambda: file._opened().execute("PRAGMA page_count").fetchone()[0])
    await file._do(lambda: file._opened().execute(f"PRAGMA max_page_count = {pages}").fetchone())
    with pytest.raises(StoreError, match=r"records\.sqlite: .*full"):
        await store.put("choice", "mode", bytes(100_000))
    with pytest.raises(StoreError, match=r"records\.sqlite: .*full"):
        await store.add("choice", "other", bytes(100_000))
    assert await store.records("choice") == {"mode": b"observe"}
    (claim,) = await store.claim([CELL], ttl_ms=1_000)
    assert claim is not None
    await file._do(lambda: file._opened().execute("PRAGMA max_page_count = 1000000").fetchone())
    await store.put("choice", "mode", bytes(100_000))
    await store.close()
    store = await started(path, clock)
    assert await store.records("choice") == {"mode": bytes(100_000)}
    await store.close()


async def test_a_caller_that_is_cancelled_leaves_file_and_memory_the_same(path: Path, clock: Clock) -> None:
    store = await started(path, clock)
    for number in range(20):
        task = asyncio.create_task(store.put("choice", f"{number}", b"1"))
        for _ in range(number % 5):
            await asyncio.sleep(0)
        task.cancel()
    await store.put("choice", "last", b"1")  # after all others
    before = await store.records("choice")
    await store.close()
    store = await started(path, clock)
    assert await store.records("choice") == before
    await store.close()


async def test_a_store_that_is_closed_writes_nothing(path: Path, clock: Clock) -> None:
    store = await started(path, clock)
    await store.close()
    with pytest.raises(StoreError, match=r"records\.sqlite: not open"):
        await store.put("choice", "mode", b"observe")
