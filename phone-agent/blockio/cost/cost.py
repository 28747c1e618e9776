#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `airbound-phone io` costs SQLite, beside the kernel's part of blktrace.

Runs on this machine's kernel, as root, with a loop device on a file in memory: nothing waits for a disk, so that an
insert is as short, and a recording as large a part of it, as can be. One `io` runs all the time; its events are enabled
for some inserts, then those of blktrace, then none, in turns. Compared are the times of an insert, by the clock and of
processor time of the inserting process.

    cost.py PATH-OF-airbound-phone [--turns 300] [--inserts 50] [--journal delete] [--disk DIRECTORY]

With --disk the file of the loop device is in that directory, on a disk that is waited for.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
IMAGE_BYTES = 256 * MIB


@contextlib.contextmanager
def mounted(kind: str, source: str, place: Path) -> Iterator[Path]:
    """Make a folder, in which a file system is mounted for as long as it lasts."""
    place.mkdir()
    subprocess.run(["mount", "-t", kind, source, place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@contextlib.contextmanager
def loop_device(image: Path) -> Iterator[str]:
    """Make a file, of which there is a loop device meanwhile; its name."""
    image.touch()
    with image.open("r+b") as file:
        file.truncate(IMAGE_BYTES)
    found = subprocess.run(["losetup", "--find", "--show", image], check=True, capture_output=True, text=True)
    device = found.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@dataclass
class Times:
    """Of an insert, in microseconds, of each turn."""

    clock_us: list[float] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)


class Database:
    """A table of integers and 100 characters, on the file system under test."""

    def __init__(self, folder: Path, journal: str) -> None:
        self.database = sqlite3.connect(folder / "cost.db", isolation_level=None)
        self.database.execute(f"pragma journal_mode={journal}")
        self.database.execute("pragma synchronous=full")
        self.database.execute("create table t (number integer, text text)")

    def insert(self, rows: int, times: Times) -> None:
        """Insert rows, a transaction each."""
        clock_ns, processor_ns = time.monotonic_ns(), time.process_time_ns()
        for number in range(rows):
            self.database.execute("insert into t values (?, ?)", (number, "x" * 100))
        times.processor_us.append((time.process_time_ns() - processor_ns) / 1000 / rows)
        times.clock_us.append((time.monotonic_ns() - clock_ns) / 1000 / rows)


class Io:
    """A running `airbound-phone io` whose events are enabled and disabled from here."""

    def __init__(self, program: str, tracefs: Path, device: str) -> None:
        out = tracefs.parent / "out"
        command = [program, "io", "--tracefs", str(tracefs), "--device", device, "--csv", "--out", str(out)]
        self.stderr = (tracefs.parent / "err").open("w+")
        self.process = subprocess.Popen([*command, "--buffer-kib", "8192"], stderr=self.stderr)
        while "recording" not in Path(self.stderr.name).read_text():
            time.sleep(0.01)
        instance = tracefs / "instances" / f"airbound-{self.process.pid}" / "events"
        self.enabled = [path for path in instance.glob("*/*/enable") if path.read_text().strip() == "1"]

    def enable(self, on: str) -> None:
        """Enable its events ("1"), or disable them."""
        for path in self.enabled:
            path.write_text(on)

    def processor_s(self) -> float:
        """Processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def anonymous_kib(self) -> int:
        """Memory beside its file."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("RssAnon:")[2].split()[0])

    def end(self) -> str:
        """End it; what it said."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        with self.stderr:
            return Path(self.stderr.name).read_text()


class Blktrace:
    """The kernel's part of blktrace: all that it records, into a buffer that nothing reads."""

    def __init__(self, tracefs: Path, device: str) -> None:
        self.tracer = tracefs / "current_tracer"
        self.switch = Path("/sys/block") / Path(device).name / "trace" / "enable"

    def enable(self, on: str) -> None:
        """Start it ("1"), or stop it."""
        self.tracer.write_text("blk" if on == "1" else "nop")
        self.switch.write_text(on)


def shown(name: str, values: list[float], without: list[float]) -> str:
    """A busy machine makes some turns longer and none shorter, so the fastest tenth says most."""
    cells = []
    for part, at in (("fastest tenth", 0), ("median", 4)):
        mine, none = (statistics.quantiles(each, n=10)[at] for each in (values, without))
        cells.append(f"{part} {mine:7.1f} us {100 * (mine / none - 1):+5.1f} %")
    return f"{name}: {', '.join(cells)}"


def measure(options: argparse.Namespace, memory: Path, image: Path) -> None:
    """Print a line for each mode, and what `io` itself has used."""
    with mounted("tracefs", "tracefs", memory / "tracing") as tracefs, loop_device(image) as device:
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device], check=True)
        with mounted("ext4", device, memory / "files") as files:
            io, blktrace, database = Io(options.program, tracefs, device), Blktrace(tracefs, device), None
            try:
                database = Database(files, options.journal)
                modes: dict[str, tuple[Io | Blktrace, ...]] = {"none": (), "io": (io,), "blktrace": (blktrace,)}
                times = {mode: Times() for mode in modes}
                io.enable("0")
                for turn in range(options.turns):
                    for mode in list(modes)[turn % 3 :] + list(modes)[: turn % 3]:
                        # All enable and disable the same before: it flushes caches.
                        for each in (io, blktrace):
                            each.enable("1")
                        for each in (io, blktrace):
                            if each not in modes[mode]:
                                each.enable("0")
                        database.insert(options.inserts, times[mode])
                        for each in modes[mode]:
                            each.enable("0")
                recorded_s = sum(times["io"].clock_us) * options.inserts / 1e6
                used = f"io itself: {io.processor_s():.2f} s of processor time for {recorded_s:.1f} s of recording, "
                used += f"{io.anonymous_kib()} KiB of memory of its own"
            finally:
                if database:
                    database.database.close()
                said = io.end()
    for mode, mine in times.items():
        print(  # noqa: T201
            f"{mode:9}",
            shown("clock", mine.clock_us, times["none"].clock_us),
            shown("processor", mine.processor_us, times["none"].processor_us),
            sep="  ",
        )
    print(used, said, sep="\n")  # noqa: T201


def main() -> None:
    """Measure in a file in memory, or on a disk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--inserts", type=int, default=50)
    parser.add_argument("--journal", default="delete")
    parser.add_argument("--disk", type=Path)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        mounted("tmpfs", "tmpfs", Path(name) / "memory") as memory,
        tempfile.TemporaryDirectory(dir=options.disk or memory) as place,
    ):
        measure(options, memory, Path(place) / "image")


if __name__ == "__main__":
    main()
