# SPDX-License-Identifier: Apache-2.0
"""A report's way from the stream that it arrives on to the stream that its command leaves on, as the real code goes.

A file counts if it converts, hands on, decides or commands. The others are asked: values, what is known (core/cell/),
policies, which are functions, the heap of deadlines, counters, and predicates. It is checked that none of these enters
a file that counts, so that each question ends where it was put.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import airbound
from airbound.core.parameters import Parameters
from airbound_testing.live import LiveController, upload

ROOT = Path(airbound.__file__).parent
WAY = [
    "grpc/agent_services.py",
    "grpc/convert.py",
    "runtime/reception.py",
    "runtime/runner.py",
    "core/engine.py",
    "core/cell_decisions.py",
    "core/decisions.py",
    "core/commands.py",
    "grpc/session.py",
]
ASKED = (
    "core/addresses.py", "core/cell/", "core/deadlines.py", "core/effects.py", "core/events.py", "core/leases.py",
    "core/policy/", "core/reasons.py", "core/registry.py", "core/reports.py", "core/restriction.py", "core/settings.py",
    "runtime/counts.py", "runtime/histogram.py", "runtime/rate_limit.py",
)  # fmt: skip


class Trace:
    """The files that are entered from `take` of the services to `send` of a session."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.entered_by_asked: list[tuple[str, str]] = []
        self._takes: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame is self._takes:  # a report that led to no command
            self.entered, self.entered_by_asked, self._takes = [], [], None
        if event != "call":
            return
        file = _file(frame)
        if file == WAY[0] and frame.f_code.co_name == "take":
            self._takes = frame
            self.entered.append(file)
        elif self._takes is not None and file:
            self._enter(frame, file)

    def _enter(self, frame: FrameType, file: str) -> None:
        callers = list(self._callers(frame))
        if not file.startswith(ASKED):
            if file != next(caller for caller in callers if not caller.startswith(ASKED)):
                self.entered.append(file)
            if callers[0].startswith(ASKED):
                self.entered_by_asked.append((callers[0], file))
        if file == WAY[-1] and frame.f_code.co_name == "send":
            sys.setprofile(None)

    def _callers(self, frame: FrameType) -> Iterator[str]:
        """The files of those who called, the last first, up to `take`."""
        while frame is not self._takes and frame.f_back is not None:
            frame = frame.f_back
            if file := _file(frame):
                yield file


def _file(frame: FrameType) -> str:
    """A file of the controller; empty for others', and for tests' own."""
    path = Path(frame.f_code.co_filename)
    if not path.is_relative_to(ROOT) or path.is_relative_to(ROOT / "testing"):
        return ""
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController(Parameters(policy="paper")) as controller:
        yield controller


async def test_a_report_that_changes_a_bound_goes_through_nine_files_once_each(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    before, trace = phone.bounds, Trace()
    sys.setprofile(trace)
    try:
        await phone.report(upload(srtt_us=9 * 256_500), monotonic_us=2)
        await phone.until(lambda: phone.bounds != before)
    finally:
        sys.setprofile(None)
    assert trace.entered == WAY
    assert trace.entered_by_asked == []
    assert len(WAY) <= 9
