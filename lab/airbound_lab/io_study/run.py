# SPDX-License-Identifier: Apache-2.0
"""Boots the study's guests and reads what they wrote."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import LabError, MissingError
from airbound_lab.io_study import agreement, records
from airbound_lab.io_study.devices import DEVICES
from airbound_lab.run import boot

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.io_study.design import Case
    from airbound_lab.io_study.records import Request

GUEST_INIT = Path(__file__).parents[1] / "guest" / "storage_init.py"
TOOLS = {"mkfs.ext4": "e2fsprogs", "mkfs.f2fs": "f2fs-tools"}
WALL_LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a guest has left."""

    result: dict[str, Any]
    requests: tuple[Request, ...]


def check_tools(filesystems: tuple[str, ...], path: str = "/usr/sbin:/sbin") -> None:
    """Raise MissingError with the tools that this machine lacks, and their packages."""
    missing = [f"mkfs.{name}" for name in filesystems if shutil.which(f"mkfs.{name}", path=path) is None]
    if missing:
        packages = " ".join(sorted({TOOLS[tool] for tool in missing}))
        raise MissingError(f"this machine lacks {', '.join(missing)}; install with: apt-get install {packages}")


def run(
    kernel: Path, case: Case, directory: Path, on_progress: Callable[[str], None], stopped: Callable[[], bool]
) -> Recorded:
    """Boot one guest in a directory of its own, which is emptied before.

    Raises:
        LabError: the directory cannot be written, the guest failed, or its record is not the kernel's.
    """
    try:
        if directory.exists():
            shutil.rmtree(directory)
        directory.mkdir(parents=True)
        (directory / "plan.json").write_text(json.dumps(case.plan(), indent=1), encoding="utf-8")
    except OSError as error:
        raise LabError(f"{case}: cannot write {error.filename}: {error.strerror}") from error
    command = [
        *boot.guest_command(kernel, case.seed, init=GUEST_INIT),
        "mac80211_hwsim.radios=0",
        *DEVICES[case.device].times.boot_parameters(),
        # What the kernel has no use for is the environment of the guest's process 1, which has SQLite.
        *([f"LD_PRELOAD={case.sqlite}"] if case.sqlite is not None else []),
    ]

    def on_poll() -> None:
        path = directory / "progress"
        on_progress(path.read_text(encoding="utf-8") if path.exists() else "booting")

    try:
        boot.boot(command, directory, WALL_LIMIT_S, on_poll, stopped)
        return read(directory)
    except LabError as error:
        raise LabError(f"{case}: {error}") from error


def agreement_in(directory: Path) -> agreement.Agreement:
    """Compare both records of a guest in which `airbound-phone io` ran as well.

    Raises:
        LabError: one of them cannot be read.
    """
    with (directory / "trace.txt").open(encoding="utf-8", errors="replace") as lines:
        text = list(records.every_request(lines))
    with (directory / "io.jsonl").open(encoding="utf-8") as lines:
        return agreement.compare(text, lines)


def read(directory: Path) -> Recorded:
    """Read what a guest has written."""
    result = json.loads((directory / "result.json").read_text(encoding="utf-8"))
    trace = directory / "trace.txt"
    if not trace.exists():
        return Recorded(result, ())
    with trace.open(encoding="utf-8", errors="replace") as lines:
        return Recorded(result, tuple(records.requests(lines)))
