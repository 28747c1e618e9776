# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH103, PTH123
# pathlib would cost the guest start-up time.
"""SQLite on the lab's disk: carries out /run/result/plan.json (io_study/plan.py), writes the results, powers off.

The kernel's trace events of requests are stored as text, with marks where a phase begins; io_study/records.py reads
them.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from airbound_lab.guest import system
from airbound_lab.guest.first_process import progress
from airbound_lab.guest.system import TRACEFS, GuestError

if TYPE_CHECKING:
    from collections.abc import Iterator

DISK = "/dev/tdisk0"
DISK_SETTINGS = "/sys/block/tdisk0"
MOUNT_POINT = "/run/disk"
DATABASE = f"{MOUNT_POINT}/benchmark.db"
EVENTS = ("block/block_rq_issue", "block/block_rq_complete")
TRACE_KIB = 96 * 1024
IO_KIB = 64 * 1024
"""Of `airbound-phone io`, which reads it at the end."""
IO_NAME = "phone-io"
IO_START_S = 5.0

_LIBC = ctypes.CDLL(None, use_errno=True)


def unmount() -> None:
    """Unmount the disk, whose file system is gone then: nobody has a file open there."""
    if _LIBC.umount2(MOUNT_POINT.encode(), 0) != 0:
        raise GuestError(f"cannot unmount {MOUNT_POINT}: {os.strerror(ctypes.get_errno())}")


class Trace:
    """The kernel's record of requests, with marks."""

    def __init__(self) -> None:
        """Begin to record.

        Raises:
            GuestError: this kernel has no such events.
        """
        system.mount("tracefs", TRACEFS)
        system.write(f"{TRACEFS}/trace_clock", "mono")
        system.write(f"{TRACEFS}/buffer_size_kb", str(TRACE_KIB))
        for event in EVENTS:
            if not os.path.isdir(f"{TRACEFS}/events/{event}"):  # noqa: PTH112
                raise GuestError(f"this kernel has no {TRACEFS}/events/{event}")
            system.write(f"{TRACEFS}/events/{event}/enable", "1")

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Mark the beginning and the end of a phase."""
        system.write(f"{TRACEFS}/trace_marker", f"begin {name}")
        yield
        system.write(f"{TRACEFS}/trace_marker", f"end {name}")

    def store(self) -> None:
        """Write what was recorded beside the results.

        Raises:
            GuestError: the kernel's buffer was too small.
        """
        system.write(f"{TRACEFS}/tracing_on", "0")
        lost = system.read(f"{TRACEFS}/per_cpu/cpu0/stats")
        if "overrun: 0\n" not in lost:
            raise GuestError(f"the kernel's buffer of {TRACE_KIB} KiB was too small:\n{lost}")
        with open(f"{TRACEFS}/trace", encoding="utf-8") as source, open("/run/result/trace.txt", "w") as target:
            while block := source.read(1 << 20):
                target.write(block)


class PhoneIO:
    """`airbound-phone io`, which records the same."""

    def __init__(self, program: str) -> None:
        """Start it, and wait until it records.

        Raises:
            GuestError: it does not.
        """
        words = [program, "io", "--device", DISK, "--json", "--out", "/run/result/io.jsonl", "--read-at-end"]
        self._pid = system.spawn(IO_NAME, [*words, "--buffer-kib", str(IO_KIB)])
        deadline = time.monotonic() + IO_START_S
        while "recording" not in self._log():
            if system.exited(self._pid) or time.monotonic() > deadline:
                raise GuestError(f"airbound-phone io does not record: {self._log()[-500:]}")
            time.sleep(0.01)

    def _log(self) -> str:
        return system.read(f"{system.LOG_DIRECTORY}/{IO_NAME}.log")

    def stop(self) -> None:
        """End it, which writes what it recorded.

        Raises:
            GuestError: it failed.
        """
        os.kill(self._pid, signal.SIGTERM)
        if os.waitpid(self._pid, 0)[1] != 0:
            raise GuestError(f"airbound-phone io failed: {self._log()[-500:]}")


def make_disk(plan: dict[str, Any]) -> None:
    """Make the file system and mount it."""
    kind = plan["filesystem"]
    if not os.path.exists(DISK):  # noqa: PTH110
        raise GuestError(f"no {DISK}: this kernel has no timed_disk, or its parameters make no device")
    # Blocks of 4 KiB as on phones: mkfs.ext4 gives a small device smaller ones.
    ext4 = ["-q", "-F", "-b", "4096", "-U", plan["uuid"], "-E", f"hash_seed={plan['uuid']}"]
    arguments = {"ext4": ["/usr/sbin/mkfs.ext4", *ext4, DISK], "f2fs": ["/usr/sbin/mkfs.f2fs", "-q", "-f", DISK]}
    system.run("mkfs", arguments[kind])
    os.makedirs(MOUNT_POINT)
    system.mount(kind, MOUNT_POINT, source=DISK)


def connect(plan: dict[str, Any]) -> sqlite3.Connection:
    """Open the database with the plan's settings. Transactions are the caller's."""
    connection = sqlite3.connect(DATABASE, isolation_level=None)
    mode = connection.execute(f"PRAGMA journal_mode = {plan['journal']}").fetchone()[0]
    if mode != plan["journal"]:
        raise GuestError(f"SQLite keeps its journal as {mode}, not {plan['journal']}")
    connection.execute(f"PRAGMA synchronous = {plan['synchronous']}")
    return connection


def build(connection: sqlite3.Connection) -> dict[str, Any]:
    """Say which SQLite this is."""
    options = [option for (option,) in connection.execute("PRAGMA compile_options")]
    return {"version": sqlite3.sqlite_version, "batch_atomic": "ENABLE_BATCH_ATOMIC_WRITE" in options}


def create(connection: sqlite3.Connection) -> None:
    """Make the paper's table: an integer and a string."""
    connection.execute("CREATE TABLE benchmark (number INTEGER, text TEXT)")


def text_of(number: int) -> str:
    """Return the row's string of 100 characters."""
    return f"{number:0100d}"


def insert(connection: sqlite3.Connection, first: int, rows: int) -> None:
    """Insert rows in one transaction; a single row has the transaction that SQLite gives it, as in the paper."""
    if rows == 1:
        connection.execute("INSERT INTO benchmark VALUES (?, ?)", (first, text_of(first)))
        return
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO benchmark VALUES (?, ?)", ((number, text_of(number)) for number in range(first, first + rows))
    )
    connection.execute("COMMIT")


def select(connection: sqlite3.Connection, rows: int) -> None:
    """Read every row; a wrong answer ends the run."""
    found = connection.execute("SELECT * FROM benchmark").fetchall()
    if found != [(number, text_of(number)) for number in range(rows)]:
        raise GuestError(f"SELECT has returned {len(found)} rows, or other ones than the {rows} that were inserted")


def measure(plan: dict[str, Any], trace: Trace) -> dict[str, Any]:
    """Insert, select from the cache, select from the disk."""
    connection = connect(plan)
    create(connection)
    rows = plan["rows"]
    os.sync()
    began_ns = time.monotonic_ns()
    with trace.phase("insert"):
        for first in range(0, rows, plan["rows_per_transaction"]):
            insert(connection, first, min(plan["rows_per_transaction"], rows - first))
        inserted_ns = time.monotonic_ns()
        # What no mode made durable comes later, and counts to the phase but not to its time.
        os.sync()
    with trace.phase("select"):
        for _ in range(plan["selects"]):
            select(connection, rows)
    connection.close()
    os.sync()
    system.write("/proc/sys/vm/drop_caches", "3")
    with trace.phase("select-cold"):
        connection = connect(plan)
        select(connection, rows)
        sqlite = build(connection)
        connection.close()
    return {"insert_ns": inserted_ns - began_ns, "sqlite": sqlite}


def insert_until_the_cut(plan: dict[str, Any], report: int) -> None:
    """Insert until the power is gone; write a byte for each transaction that was committed."""
    with contextlib.suppress(sqlite3.Error, OSError):
        connection = connect(plan)
        create(connection)
        for first in range(0, plan["rows"], plan["rows_per_transaction"]):
            insert(connection, first, min(plan["rows_per_transaction"], plan["rows"] - first))
            os.write(report, b".")


def committed_until_the_cut(plan: dict[str, Any]) -> int:
    """Have a process insert until the power is gone, which leaves no open file; return how many rows it committed."""
    reports, report = os.pipe()
    child = os.fork()
    if child == 0:
        insert_until_the_cut(plan, report)
        os._exit(0)
    os.close(report)
    with open(reports, "rb") as transactions:
        committed: int = len(transactions.read()) * plan["rows_per_transaction"]
    os.waitpid(child, 0)
    rows: int = plan["rows"]
    return min(committed, rows)


def survivors(plan: dict[str, Any]) -> dict[str, Any]:
    """Say what is in the database after the power came back."""
    try:
        connection = connect(plan)
        try:
            verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            rows = connection.execute("SELECT number, text FROM benchmark ORDER BY rowid").fetchall() if tables else []
        finally:
            connection.close()
    except (sqlite3.Error, GuestError) as error:
        return {"verdict": str(error), "rows": 0, "in_order": False}
    in_order = rows == [(number, text_of(number)) for number in range(len(rows))]
    return {"verdict": verdict, "rows": len(rows), "in_order": in_order}


def cut(plan: dict[str, Any], after: int, seed: int) -> dict[str, Any]:
    """Insert into a new database, cut the power after so many requests or at the end, and look at what is left."""
    for name in os.listdir(MOUNT_POINT):  # noqa: PTH208
        if name.startswith("benchmark.db"):
            os.unlink(f"{MOUNT_POINT}/{name}")  # noqa: PTH108
    os.sync()
    served = int(system.read(f"{DISK_SETTINGS}/served"))
    system.write(f"{DISK_SETTINGS}/cut_seed", str(seed))
    system.write(f"{DISK_SETTINGS}/cut_after", str(served + after))
    committed = committed_until_the_cut(plan)
    # Where there were fewer requests the power goes when all rows are committed.
    system.write(f"{DISK_SETTINGS}/power", "0")
    unmount()
    system.write(f"{DISK_SETTINGS}/power", "1")
    try:
        system.mount(plan["filesystem"], MOUNT_POINT, source=DISK)
    except GuestError as error:
        raise GuestError(f"after {after} requests, seed {seed}: {error}") from error
    return {"after": after, "seed": seed, "committed": committed} | survivors(plan)


def carry_out(plan: dict[str, Any]) -> None:
    """Measure on a new file system, or cut the power there as often as the plan says."""
    progress("making a file system")
    make_disk(plan)
    result: dict[str, Any] = {}
    if plan["cuts"]:
        result["cuts"] = []
        for number, (after, seed) in enumerate(plan["cuts"], start=1):
            progress(f"cut {number}/{len(plan['cuts'])}")
            result["cuts"].append(cut(plan, after, seed))
    else:
        progress("measuring")
        trace = Trace()
        phone_io = PhoneIO(plan["phone_io"]) if plan["phone_io"] is not None else None
        result |= measure(plan, trace)
        if phone_io is not None:
            phone_io.stop()
        trace.store()
    system.write("/run/result/result.json", json.dumps(result))
