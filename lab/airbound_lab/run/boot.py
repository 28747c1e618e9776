# SPDX-License-Identifier: Apache-2.0
"""Boots one guest and waits for it: command line, watchdog, panic detection."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from airbound_lab.errors import LabError
from airbound_lab.run import processor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GUEST_INIT = Path(__file__).parents[1] / "guest" / "init.py"

GUEST_MEMORY_MIB = 1500
START_NS_SINCE_1970 = 1_700_000_000 * 10**9
"""The guest's date, the same in every run."""

POLL_S = 0.2
TAIL_LINES = 15
PANIC_MESSAGES = ("Kernel panic", "Oops:", "BUG:", "Segfault with no mm", "general protection fault")


def command_line(
    kernel: Path,
    radios: int,
    rate_control: str,
    ap_rate_control: str,
    seed: int,
    *,
    medium: Mapping[str, int] | None = None,
    init: Path = GUEST_INIT,
) -> list[str]:
    """Return the command that boots the guest; everything in it is an input of the run.

    `medium` are parameters of mac80211_hwsim that its radios are made with, `init` is the guest's process 1.
    """
    return [
        *guest_command(kernel, seed, init=init),
        f"mac80211_hwsim.radios={radios}",
        f"mac80211_hwsim.rate_control={rate_control}",
        f"mac80211_hwsim.ap_rate_control={ap_rate_control}",
        *(f"mac80211_hwsim.{name}={value}" for name, value in (medium or {}).items()),
    ]


def guest_command(kernel: Path, seed: int, *, init: Path = GUEST_INIT) -> list[str]:
    """Return the command that boots a guest of any kind: with it begin the parameters of its kernel."""
    return [
        *("setarch", "-R", str(kernel)),
        *(f"mem={GUEST_MEMORY_MIB}M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"),
        *("con=null", "con0=fd:0,fd:1", "quiet", "loglevel=4", "panic=-1", "norandmaps"),
        *("time-travel=inf-cpu", f"time-travel-start={START_NS_SINCE_1970}", f"airbound_seed={seed}"),
        # New network namespaces do not inherit this as a sysctl, and their IPv6 would send at random moments.
        "ipv6.disable_ipv6=1",
    ]


def boot(
    command: list[str], directory: Path, wall_limit_s: float, on_poll: Callable[[], None], stopped: Callable[[], bool]
) -> float:
    """Run a guest in its directory until it powers off; return the seconds of wall-clock time.

    `on_poll` is called a few times a second; the guest is ended when `stopped` returns True. Raises LabError with the
    reason and the end of the console if the guest fails, panics, or is not done within the limit.
    """
    began = time.monotonic()
    console = directory / "console.log"
    # A clean environment: the kernel passes every variable that it has no use for to the guest's first process.
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(directory)}
    with console.open("wb") as output, processor.own_processor() as processors:
        guest = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            # What the guest's kernel starts is where its kernel is. One that ended at once is reported below.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(guest.pid, processors)
            while guest.poll() is None:
                if stopped():
                    raise LabError("stopped")
                if time.monotonic() - began > wall_limit_s:
                    raise LabError(_explain(f"not done after {wall_limit_s:.0f} s of wall-clock time", directory))
                on_poll()
                try:
                    guest.wait(POLL_S)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if guest.poll() is None:
                _end(guest)
    on_poll()
    text = console.read_text(encoding="utf-8", errors="replace")
    if any(message in text for message in PANIC_MESSAGES):
        raise LabError(_explain("the guest's kernel failed", directory))
    error = directory / "error.txt"
    if error.exists():
        raise LabError(_explain(error.read_text(encoding="utf-8"), directory))
    if _progress(directory) != "done":
        raise LabError(_explain(f"the guest ended early (status {guest.returncode})", directory))
    return time.monotonic() - began


def _end(guest: subprocess.Popen[bytes]) -> None:
    """Kill the guest with its processes: they are children of its kernel, in a session of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(guest.pid, signal.SIGKILL)
    guest.wait()


def _progress(directory: Path) -> str:
    path = directory / "progress"
    return path.read_text(encoding="utf-8") if path.exists() else "booting"


def _explain(what: str, directory: Path) -> str:
    tail = (directory / "console.log").read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
    console = "".join(f"\n  | {line}" for line in tail)
    return f"{what}\n  while: {_progress(directory)}; logs: {directory}{console}"
