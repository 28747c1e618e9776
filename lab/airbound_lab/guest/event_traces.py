# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH102, PTH106
# pathlib would cost the guest start-up time.
"""Recorders of the kernel's trace events, as the plan names them.

An event's text may lack values, and takes long to make. So the kernel's pages are stored as they are, with the event's
format; airbound_lab/records/ring_buffer.py reads them. They are read after the traffic: reading takes virtual time.
"""

from __future__ import annotations

import os
from typing import Any

from airbound_lab.guest.system import TRACEFS, GuestError, read, write

PAGE_BYTES = 4096
RESULT = "/run/result"


class EventTraces:
    """The recordings of one run; none if there are to be none."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, start nothing."""
        self._traces = plan["event_traces"]

    def start(self, t0_ns: int) -> None:
        """Record from now on; what has a window, in that time of the run."""
        for trace in self._traces:
            event, instance = f"events/{trace['event']}", _instance(trace)
            if not os.path.isdir(f"{TRACEFS}/{event}"):  # noqa: PTH112
                raise GuestError(f"this kernel has no {TRACEFS}/{event}")
            os.mkdir(instance)
            write(f"{instance}/trace_clock", "mono")
            write(f"{instance}/buffer_size_kb", str(trace["buffer_kib"]))
            if (window := trace["window"]) is not None:
                field, from_ns, to_ns = window["field"], t0_ns + window["from_ns"], t0_ns + window["to_ns"]
                write(f"{instance}/{event}/filter", f"{field} >= {from_ns} && {field} < {to_ns}")
            write(f"{instance}/{event}/enable", "1")

    def stop(self) -> None:
        """End the recordings and store them beside the other results."""
        for trace in self._traces:
            event, instance = f"events/{trace['event']}", _instance(trace)
            write(f"{instance}/tracing_on", "0")
            write(f"{instance}/{event}/enable", "0")
            write(f"{RESULT}/{trace['name']}.format", read(f"{instance}/{event}/format"))
            # User Mode Linux has one CPU.
            pipe = os.open(f"{instance}/per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
            try:
                with open(f"{RESULT}/{trace['name']}.pages", "wb") as pages:  # noqa: PTH123
                    while page := _page(pipe):
                        pages.write(page)
            finally:
                os.close(pipe)
            os.rmdir(instance)


def _instance(trace: dict[str, Any]) -> str:
    return f"{TRACEFS}/instances/{trace['name']}"


def _page(pipe: int) -> bytes:
    """The next page of the kernel's buffer; empty after the last."""
    try:
        return os.read(pipe, PAGE_BYTES)
    except BlockingIOError:
        return b""
