# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH102, PTH106
# pathlib would cost the guest start-up time.
"""The recorder of what is set on the radios' transmit queues: mac80211's trace event drv_conf_tx.

The event's text names the queue, but not the values. So the kernel's pages are stored as they are, with the event's
format; airbound_lab/edca_trace.py reads them. They are read after the traffic: reading takes virtual time.
"""

from __future__ import annotations

import os
from typing import Any

from airbound_lab.guest.system import TRACEFS, GuestError, read, write

INSTANCE = f"{TRACEFS}/instances/edca"
EVENT = "events/mac80211/drv_conf_tx"
BUFFER_KIB = 256
"""Some 3000 settings of a queue."""

PAGE_BYTES = 4096
PAGES = "/run/result/edca-trace.pages"
FORMAT = "/run/result/edca-trace.format"


class EdcaTrace:
    """The recording of one run, if there is to be one."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, start nothing."""
        self._is_wanted = plan["edca_trace"]

    def start(self) -> None:
        """Record from now on."""
        if not self._is_wanted:
            return
        if not os.path.isdir(f"{TRACEFS}/{EVENT}"):  # noqa: PTH112
            raise GuestError(f"this kernel has no {TRACEFS}/{EVENT}")
        os.mkdir(INSTANCE)
        for name, value in (("trace_clock", "mono"), ("buffer_size_kb", str(BUFFER_KIB)), (f"{EVENT}/enable", "1")):
            write(f"{INSTANCE}/{name}", value)

    def stop(self) -> None:
        """End the recording and store it beside the other results."""
        if not self._is_wanted:
            return
        write(f"{INSTANCE}/tracing_on", "0")
        write(f"{INSTANCE}/{EVENT}/enable", "0")
        write(FORMAT, read(f"{INSTANCE}/{EVENT}/format"))
        # User Mode Linux has one CPU.
        pipe = os.open(f"{INSTANCE}/per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
        try:
            with open(PAGES, "wb") as pages:  # noqa: PTH123
                while page := _page(pipe):
                    pages.write(page)
        finally:
            os.close(pipe)
        os.rmdir(INSTANCE)


def _page(pipe: int) -> bytes:
    """The next page of the kernel's buffer; empty after the last."""
    try:
        return os.read(pipe, PAGE_BYTES)
    except BlockingIOError:
        return b""
