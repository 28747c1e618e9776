# SPDX-License-Identifier: Apache-2.0
"""Keeps a live cell going: boots its guest, again whenever that ends, and shows its status, until it is to stop."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import LabError, UsageError
from airbound_lab.live import status as statuses
from airbound_lab.live.guest_process import Guest

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from airbound_lab.live.plan import Programs
    from airbound_lab.live.settings import Settings

STATUS_S = 1.0
RESTART_S = (1.0, 60.0)
STEADY_S = 300.0
"""A guest that ran for so long is started again at once."""
TOKEN_WAIT_S = 120.0
"""Until the tokens of the agents must be there: another container makes them, as soon as its controller answers."""


class Service:
    """One live cell."""

    def __init__(self, settings: Settings, kernel: Path, programs: Programs, directory: Path) -> None:
        """Know what to run, and where; nothing runs yet."""
        self._settings = settings
        self._kernel = kernel
        self._programs = programs
        self._directory = directory
        self._boots = 0
        self._terminal = sys.stdout.isatty()

    def run(self, stop: threading.Event, tokens: Path | None) -> None:
        """Run until `stop` is set.

        Raises:
            LabError: it was to stop, and the guest did not end by itself.
            UsageError: a device has neither a certificate nor a token.
        """
        self._prepare()
        self._wait_for_tokens(stop, tokens)
        wait_s = RESTART_S[0]
        while not stop.is_set():
            began_s = time.monotonic()
            self._boots += 1
            why = self._run_guest(stop, tokens)
            if why is None:
                return
            if time.monotonic() - began_s > STEADY_S:
                wait_s = RESTART_S[0]
            self._log(f"{why}\nit is started again in {wait_s:.0f} s")
            self._write("waiting", None)
            stop.wait(wait_s)
            wait_s = min(2 * wait_s, RESTART_S[1])

    def _run_guest(self, stop: threading.Event, tokens: Path | None) -> str | None:
        """Return why the guest failed; None if it was to stop."""
        try:
            guest = Guest(self._kernel, self._settings, self._programs, self._directory)
        except OSError as error:
            return f"cannot boot the guest: {error}"
        changes = statuses.Changes()
        try:
            while not stop.wait(STATUS_S):
                if (why := guest.failure()) is not None:
                    return why
                # A device whose certificate has ended reads its token again: there may be a new one.
                self._copy_tokens(tokens)
                status = self._write(guest.progress(), guest)
                for line in changes.lines(status):
                    self._log(line)
                if self._terminal:
                    print(f"\r\x1b[K{statuses.line(status)}"[: os.get_terminal_size().columns + 3], end="", flush=True)
            self._log("stopping")
            if not guest.stop():
                raise LabError("the guest did not end by itself and was killed")
            self._write("stopped", None)
            return None
        finally:
            guest.end()

    def _write(self, state: str, guest: Guest | None) -> dict[str, Any]:
        found = guest.running() if guest is not None else None
        status = statuses.document(time.time(), state, self._boots, found)
        _replace(self._directory / statuses.FILE, json.dumps(status) + "\n")
        return status

    def _prepare(self) -> None:
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("credentials", "tokens"):
                (self._directory / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--state: {error.filename}: {error.strerror}") from error

    def _missing(self) -> list[str]:
        """Return the devices that could neither connect nor enrol."""
        if self._settings.plain_text:
            return []
        return [
            name
            for name in self._settings.devices()
            if not (self._directory / "credentials" / name / "certificate.pem").exists()
            and not (self._directory / "tokens" / name).exists()
        ]

    def _wait_for_tokens(self, stop: threading.Event, tokens: Path | None) -> None:
        self._copy_tokens(tokens)
        if not (missing := self._missing()):
            return
        if tokens is None:
            raise UsageError(f"--tokens: needed, since there is no certificate of {', '.join(missing)} yet")
        self._log(f"waiting for tokens in {tokens}: {', '.join(missing)}")
        deadline = time.monotonic() + TOKEN_WAIT_S
        while (missing := self._missing()) and not stop.is_set():
            if time.monotonic() > deadline:
                raise UsageError(f"--tokens: {tokens} has no token of {', '.join(missing)}; airbound enroll makes them")
            stop.wait(STATUS_S)
            self._copy_tokens(tokens)

    def _copy_tokens(self, tokens: Path | None) -> None:
        """Copy what is there to where the guest finds it: it has no /run of this machine."""
        if tokens is None:
            return
        for name in self._settings.devices():
            target = self._directory / "tokens" / name
            try:
                text = (tokens / name).read_text(encoding="utf-8")
            except OSError:
                continue
            if not text.strip() or (target.exists() and target.read_text(encoding="utf-8") == text):
                continue
            _replace(target, text)

    def _log(self, text: str) -> None:
        print("\r\x1b[K" if self._terminal else "", f"airbound-lab: {text}", sep="", flush=True)


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.touch(mode=0o600)
    new.write_text(text, encoding="utf-8")
    new.replace(path)
