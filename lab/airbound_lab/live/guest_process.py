# SPDX-License-Identifier: Apache-2.0
"""One guest of a live cell on this machine: its kernel, the scheduler of its time, the far end of its link."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbound_lab.live import plan as plans
from airbound_lab.live import processor_time
from airbound_lab.live.status import Running
from airbound_lab.live.timetravel import Scheduler
from airbound_lab.run.runs import RATE_CONTROL_NAMES
from airbound_lab.settings import radio

if TYPE_CHECKING:
    from airbound_lab.live.settings import Settings

INIT = Path(__file__).parent / "guest" / "init.py"
MEMORY_MIB = 768
SEED_BYTES = 8
STOP_TIMEOUT_S = 15.0
STALE_S = 90.0
"""A guest that has written no status for so long hangs."""
CONSOLE_BYTES = 1500
LEFT_BY_EARLIER = ("guest.json", "progress", "stop", "error.txt")


def command_line(kernel: Path, settings: Settings, scheduler: Path, random_seed: int) -> list[str]:
    """Return the command that boots the guest."""
    rate_control, parameters = RATE_CONTROL_NAMES[settings.radio], settings.parameters()
    medium = radio.boot_parameters(parameters.radio, parameters.radio.streams, parameters.guard_interval)
    return [
        str(kernel),
        *(f"mem={MEMORY_MIB}M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={INIT}"),
        *("con=null", "con0=fd:0,fd:1", "quiet", "loglevel=4", "panic=-1"),
        *(f"time-travel=ext:{scheduler}", f"airbound_seed={random_seed}"),
        "ipv6.disable_ipv6=1",
        f"mac80211_hwsim.radios={settings.phones + 1}",
        f"mac80211_hwsim.rate_control={rate_control}",
        f"mac80211_hwsim.ap_rate_control={rate_control}",
        *(f"mac80211_hwsim.{name}={value}" for name, value in medium.items()),
    ]


class Guest:
    """A guest that has been booted; `end` is to be called at the end of it."""

    def __init__(self, kernel: Path, settings: Settings, programs: plans.Programs, directory: Path) -> None:
        """Boot it in a directory, where its state, its status and its logs are.

        Raises:
            OSError: a program cannot be started, or a file cannot be written.
        """
        self._directory = directory
        self._began_s = time.monotonic()
        for name in LEFT_BY_EARLIER:
            (directory / name).unlink(missing_ok=True)
        for name in ("log", ".uml"):  # User Mode Linux keeps the ids of its processes in the latter
            shutil.rmtree(directory / name, ignore_errors=True)
        with contextlib.ExitStack() as undo:
            # The path of a socket has 107 bytes at most; the directory's may be longer.
            self._short = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="airbound-live-")))
            self._scheduler = Scheduler(self._short / "time")
            undo.callback(self._scheduler.close)
            link = self._short / "link"
            link.mkdir()
            plan = json.dumps(plans.plan(settings, programs, str(link)), indent=1)
            (directory / "plan.json").write_text(plan, encoding="utf-8")
            far_end = [programs.link, "far", "--directory", str(link), *plans.far_targets(settings)]
            self._link = _start(far_end, directory, "link-far")
            undo.callback(_end, self._link)
            # Random: the agents' keys depend on it.
            random_seed = int.from_bytes(os.urandom(SEED_BYTES), "little")
            command = command_line(kernel, settings, self._short / "time", random_seed)
            self._kernel = _start(command, directory, "console")
            undo.callback(_end, self._kernel)
            self._undo = undo.pop_all()

    def running(self) -> Running:
        """Return what is known of it."""
        try:
            cell: dict[str, Any] | None = json.loads((self._directory / "guest.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            cell = None
        processor_s = sum(processor_time.of_session(process.pid) for process in (self._kernel, self._link))
        return Running(cell, self._scheduler.lateness(), processor_s)

    def progress(self) -> str:
        """Return what it does, in a word or two."""
        try:
            return (self._directory / "progress").read_text(encoding="utf-8")
        except FileNotFoundError:
            return "booting"

    def failure(self) -> str | None:
        """Return why the guest cannot go on; None while all runs."""
        if self._kernel.poll() is not None:
            return self._explain("the guest ended")
        if self._link.poll() is not None:
            return self._explain("the link ended")
        try:
            written_s_ago = time.time() - (self._directory / "guest.json").stat().st_mtime
        except FileNotFoundError:
            written_s_ago = time.monotonic() - self._began_s
        return self._explain("the guest hangs") if written_s_ago > STALE_S else None

    def stop(self) -> bool:
        """Have the guest end by itself; return whether it did."""
        (self._directory / "stop").touch()
        try:
            self._kernel.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return False
        return self.progress() == "done"

    def end(self) -> None:
        """End the guest, if it runs."""
        self._undo.close()

    def _explain(self, what: str) -> str:
        error = self._directory / "error.txt"
        if error.exists():
            return f"{what}: {error.read_text(encoding='utf-8').strip()}"
        console = (self._directory / "console.log").read_text(encoding="utf-8", errors="replace")
        tail = "".join(f"\n  | {line}" for line in console[-CONSOLE_BYTES:].splitlines())
        return f"{what}, while: {self.progress()}{tail}"


def _start(command: list[str], directory: Path, log: str) -> subprocess.Popen[bytes]:
    # A clean environment: the kernel passes every variable that it has no use for to the guest's first process.
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(directory)}
    # A guest has no end of its own: it ends with this process, also if that is killed.
    command = ["setpriv", "--pdeathsig", "KILL", "--", *command]
    with (directory / f"{log}.log").open("wb") as output:
        return subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with those of its group. A guest's are children of its kernel, and outlive it if it is killed."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
