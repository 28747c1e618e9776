# SPDX-License-Identifier: Apache-2.0
"""Boots guests for the cases that are not stored yet, several cases in each."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import LabError
from airbound_lab.handover_study import guest, lanes, observed
from airbound_lab.plan import guest_paths
from airbound_lab.run import boot, host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from airbound_lab.handover_study.lanes import Lane
    from airbound_lab.handover_study.observed import Observed

INIT = Path(guest.__file__).with_name("init.py")
SOURCES = (
    "handover_study/lanes.py",
    "handover_study/design.py",
    "run/boot.py",
    "guest/system.py",
    "guest/first_process.py",
)
"""What a run is made of, beside its lanes and what runs in the guest."""
LANES_PER_GUEST = 60
WALL_LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Setting:
    """How guests are run; has no influence on what is found."""

    kernel: Path
    program: Path
    jobs: int
    store: Path
    wall_limit_s: float = WALL_LIMIT_S
    logs: Path | None = None


class Runs:
    """The lanes that were run, each in a file of its own, by a hash of all that it depends on."""

    def __init__(self, setting: Setting, *, ipv6: bool) -> None:
        self._setting = setting
        self._ipv6 = ipv6
        digest = hashlib.sha256()
        sources = [*(host.LAB / name for name in SOURCES), *Path(guest.__file__).parent.glob("*.py")]
        for path in (setting.kernel, setting.program, *sorted(sources)):
            digest.update(host.sha256(path).encode())
        self._made_of = digest.hexdigest()

    def load(self, lane: Lane) -> Observed | None:
        """Return a lane that was run before."""
        path = self._path(lane)
        if not path.exists():
            return None
        try:
            stored = json.loads(gzip.decompress(path.read_bytes()))
            [found] = observed.parse([stored["exchange"]], [stored["forward"]], [stored["exchange"]["name"]])
        except (LabError, OSError, EOFError, ValueError, KeyError, TypeError):
            return None  # it is made again
        return found

    def make(
        self, wanted: Sequence[Lane], on_done: Callable[[int], None], stopped: Callable[[], bool]
    ) -> dict[Lane, Observed]:
        """Run lanes in one guest."""
        names = [lanes.name_of(number) for number in range(len(wanted))]
        exchange, forward = self._boot(wanted, stopped)
        found = observed.parse(exchange, forward, names)
        for number, lane in enumerate(wanted):
            stored = json.dumps({"exchange": exchange[number], "forward": forward[number]})
            new = self._path(lane).with_suffix(".new")
            new.write_bytes(gzip.compress(stored.encode(), mtime=0))
            new.replace(self._path(lane))
        on_done(len(wanted))
        return dict(zip(wanted, found, strict=True))

    def _path(self, lane: Lane) -> Path:
        # The name of a lane in its guest, and with it its addresses, are of no consequence to what it does.
        alone = lanes.plan([lane], ipv6=self._ipv6)
        key = hashlib.sha256(f"{self._made_of} {json.dumps(alone, sort_keys=True)}".encode()).hexdigest()
        return self._setting.store / f"{key[:32]}.json.gz"

    def _boot(self, wanted: Sequence[Lane], stopped: Callable[[], bool]) -> tuple[Any, Any]:
        directory = Path(tempfile.mkdtemp(prefix="airbound-lab-handover-", dir=self._setting.logs))
        plan = lanes.plan(wanted, ipv6=self._ipv6)
        (directory / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        command = boot.command_line(
            self._setting.kernel, radios=0, rate_control="minstrel_ht", ap_rate_control="minstrel_ht", seed=1, init=INIT
        )
        with guest_paths.linked(directory, {lanes.DIRECTORY: str(self._setting.program.parent)}):
            boot.boot(command, directory, self._setting.wall_limit_s, lambda: None, stopped)
        exchange, forward = (_read(directory / f"{part}.json") for part in ("exchange", "forward"))
        if self._setting.logs is None:
            shutil.rmtree(directory)
        return exchange, forward


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def run_all(
    wanted: Iterable[Lane], runs: Runs, jobs: int, on_progress: Callable[[int, int], None]
) -> Mapping[Lane, Observed]:
    """Return what is known of all lanes, after running those that are not stored.

    `on_progress` is called with how many of how many were run. The first failure ends all and is raised as LabError.
    """
    found: dict[Lane, Observed] = {}
    missing = []
    for lane in dict.fromkeys(wanted):
        stored = runs.load(lane)
        if stored is None:
            missing.append(lane)
        else:
            found[lane] = stored
    batches = [missing[start : start + LANES_PER_GUEST] for start in range(0, len(missing), LANES_PER_GUEST)]
    done, stop, lock = 0, threading.Event(), threading.Lock()

    def on_done(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            on_progress(done, len(missing))

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(runs.make, batch, on_done, stop.is_set) for batch in batches]
        try:
            for future in as_completed(futures):
                found |= future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return found
