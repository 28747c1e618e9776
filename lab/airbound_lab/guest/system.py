# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH123
# pathlib would cost the guest start-up time.
"""System calls that Python 3.11's os module lacks, and processes in network namespaces."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_MS_BIND = 0x1000
_RB_POWER_OFF = 0x4321FEDC

LOG_DIRECTORY = "/run/result/log"
TRACEFS = "/sys/kernel/tracing"

ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/run/lab",
    "TMPDIR": "/run/lab",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class GuestError(Exception):
    """The run cannot go on; `airbound-lab` prints the message."""


def _checked(result: int, what: str) -> None:
    if result != 0:
        raise GuestError(f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(kind: str, target: str, options: str | None = None, source: str = "none", flags: int = 0) -> None:
    """Mount a file system."""
    data = options.encode() if options is not None else None
    result = _LIBC.mount(source.encode(), target.encode(), kind.encode(), flags, data)
    _checked(result, f"cannot mount {kind} on {target}")


def power_off() -> None:
    """End the machine, at once."""
    _LIBC.reboot(_RB_POWER_OFF)


def add_namespace(name: str) -> None:
    """Create a named network namespace, as `ip netns add` does."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    os.close(os.open(f"/run/netns/{name}", os.O_CREAT | os.O_RDONLY))
    _checked(_LIBC.unshare(_CLONE_NEWNET), f"cannot create the network namespace {name}")
    mount("none", f"/run/netns/{name}", source="/proc/self/ns/net", flags=_MS_BIND)
    _checked(_LIBC.setns(home, _CLONE_NEWNET), "cannot leave a network namespace")
    os.close(home)


@contextlib.contextmanager
def namespace(name: str) -> Iterator[None]:
    """Enter a named network namespace for a while; the empty name is the present one."""
    if not name:
        yield
        return
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{name}", os.O_RDONLY)
    _checked(_LIBC.setns(there, _CLONE_NEWNET), f"cannot enter the network namespace {name}")
    os.close(there)
    try:
        yield
    finally:
        _checked(_LIBC.setns(home, _CLONE_NEWNET), "cannot leave a network namespace")
        os.close(home)


def spawn(
    name: str, argv: list[str], netns: str = "", environment: dict[str, str] | None = None, output: str | None = None
) -> int:
    """Start a program whose output goes to its own log (appended), or to a file; return its process id."""
    log = f"{LOG_DIRECTORY}/{name}.log"
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output or log, append, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, log, append, 0o644),
    ]
    with namespace(netns):
        try:
            return os.posix_spawn(argv[0], argv, ENVIRONMENT | (environment or {}), file_actions=actions)
        except OSError as error:
            raise GuestError(f"cannot start {argv[0]}: {error.strerror}") from error


def run(name: str, argv: list[str], netns: str = "", environment: dict[str, str] | None = None) -> None:
    """Run a program to its end; GuestError if it fails."""
    _, status = os.waitpid(spawn(name, argv, netns, environment), 0)
    if status != 0:
        output = read(f"{LOG_DIRECTORY}/{name}.log").strip()[-500:]
        where = f" in {netns}" if netns else ""
        raise GuestError(f"{' '.join(argv)}{where} failed: {output}")


def exited(pid: int) -> bool:
    """Whether a child has ended; reaps it."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def read(path: str) -> str:
    """Return a file's text."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path: str, text: str) -> None:
    """Write a file in one go, as /proc and /sys need it."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
