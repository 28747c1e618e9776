# SPDX-License-Identifier: Apache-2.0
"""Times of storage devices, for the lab's disk (lab/kernel/src/drivers/block/timed_disk_model.h); pure.

They were fixed from the sources named before the first run of the study, and none was fitted to the paper's rates of
inserts. Where a source has a range, the times are of its middle; what no source has is said to be assumed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
SIZE_MB = 128


@dataclass(frozen=True, slots=True)
class Times:
    """The fields of struct timed_disk_times, whose comments say what they are."""

    depth: int = 1
    cache_kib: int = 0
    read_ns: int = 0
    write_ns: int = 0
    flush_ns: int = 0
    discard_ns: int = 0
    read_kib_ns: int = 0
    write_kib_ns: int = 0
    program_kib_ns: int = 0
    jump_ns: int = 0
    open_ns: int = 0
    unit_kib: int = 0
    open_units: int = 0
    track_kib: int = 0
    turn_ns: int = 0
    seek_ns: int = 0
    seek_most_ns: int = 0

    def boot_parameters(self) -> list[str]:
        """Return the parameters of the kernel's command line that make the disk."""
        values = asdict(self)
        return [
            f"timed_disk.size_mb={SIZE_MB}",
            *(f"timed_disk.{field.name}={values[field.name]}" for field in fields(self) if values[field.name]),
        ]


@dataclass(frozen=True, slots=True)
class Device:
    """A device, and where its times come from."""

    title: str
    times: Times
    sources: tuple[str, ...]


def _kib_ns(mb_per_s: float) -> int:
    """Return the time of a KiB at so many million bytes a second."""
    return round(1024 * NS_PER_S / (mb_per_s * 1e6))


DEVICES = {
    "disk-2010": Device(
        "a disk of 2010, 7200 turns a minute, whose cache is switched off",
        Times(
            read_kib_ns=_kib_ns(125),
            program_kib_ns=_kib_ns(125),
            # 125 MB/s at 120 turns a second
            track_kib=1017,
            turn_ns=round(NS_PER_S / 120),
            seek_ns=1 * NS_PER_MS,
            # A mean seek is over a third of the disk: 1 ms + 0.577 x (the longest - 1 ms) = 8.5 ms.
            seek_most_ns=14 * NS_PER_MS,
        ),
        (
            (
                "Seagate, Barracuda 7200.12 product manual (2009): 7200 turns a minute, 125 MB/s, seeks of 8.5 ms in "
                "the mean, 1 ms to the next track"
            ),
        ),
    ),
    "card-2010": Device(
        "a microSD card of 2010, class 4",
        Times(
            read_ns=round(1.2 * NS_PER_MS),
            write_ns=round(0.2 * NS_PER_MS),
            read_kib_ns=_kib_ns(17),
            program_kib_ns=_kib_ns(5),
            jump_ns=5 * NS_PER_MS,
            open_ns=80 * NS_PER_MS,
            unit_kib=4096,
            open_units=5,
        ),
        (
            (
                "SD Association, Physical Layer Simplified Specification 3.01: class 4 writes 4 MB/s in sequence, "
                "allocation units of 4 MiB, no cache"
            ),
            (
                "Tom's Hardware, Round-Up: 15 microSDHC Cards (2011): random reads of 4 KiB at up to 3.4 MB/s, random "
                "writes of 4 KiB below 0.1 MB/s for 13 of 15 cards"
            ),
            (
                "A. Bergmann, Optimizing Linux with cheap flash drives, LWN (2011): a card writes fast in the few "
                "allocation units that it has open, up to five; to open another one it copies one"
            ),
            "assumed: 5 ms for a write that does not go on in an open unit",
        ),
    ),
    "emmc-2010": Device(
        "eMMC 4.41 of a phone of 2010",
        Times(
            read_ns=round(0.4 * NS_PER_MS),
            write_ns=round(0.1 * NS_PER_MS),
            read_kib_ns=_kib_ns(40),
            program_kib_ns=_kib_ns(12),
            jump_ns=round(4 * NS_PER_MS),
            open_ns=round(10 * NS_PER_MS),
            unit_kib=4096,
            open_units=8,
        ),
        (
            "JEDEC JESD84-A441 (2010): no cache before eMMC 4.5, one command at a time",
            (
                "Kim, Agrawal and Ungureanu, Revisiting Storage for Smartphones, FAST 2012: internal flash of phones "
                "of 2010 and 2011 writes 4 KiB at random some hundred times a second and less"
            ),
            "assumed: how that time is divided between a jump and the opening of a unit",
        ),
    ),
    "ufs-today": Device(
        "UFS 3.1 of a phone of today",
        Times(
            depth=32,
            cache_kib=64 * 1024,
            read_ns=300_000,
            write_ns=20_000,
            flush_ns=300_000,
            discard_ns=100_000,
            read_kib_ns=_kib_ns(2100),
            write_kib_ns=_kib_ns(1200),
            program_kib_ns=_kib_ns(1200),
            jump_ns=60_000,
            open_ns=60_000,
            unit_kib=4096,
            open_units=16,
        ),
        (
            (
                "Samsung, 512 GB eUFS 3.1 (2020): 2100 and 1200 MB/s in sequence, 100,000 and 70,000 operations a "
                "second at random with a full queue of 32 (a read takes 0.3 ms then)"
            ),
            "JEDEC JESD220E: queue of 32, volatile cache, FUA",
            "assumed: 0.3 ms for a flush, 0.06 ms for each write that is programmed",
        ),
    ),
}
"""By the names of `--devices`."""
