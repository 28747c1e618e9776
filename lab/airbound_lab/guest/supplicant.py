# SPDX-License-Identifier: Apache-2.0
"""A client of wpa_supplicant's control socket."""

from __future__ import annotations

import contextlib
import os
import socket

CONTROL_TIMEOUT_S = 5.0


class Supplicant:
    """A client of one wpa_supplicant's control socket."""

    def __init__(self, interface: str) -> None:
        """Connect to it."""
        path = f"/run/lab/supplicant-{interface}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108  (pathlib would cost the guest start-up time)
        self._socket.bind(path)
        self._socket.connect(f"/run/wpa_supplicant/{interface}")
        self._socket.settimeout(CONTROL_TIMEOUT_S)

    def command(self, text: str) -> str:
        """Send a command; return the answer, empty if there is none."""
        try:
            self._socket.send(text.encode())
            return self._socket.recv(4096).decode(errors="replace")
        except OSError:
            return ""
