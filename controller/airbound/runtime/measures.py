# SPDX-License-Identifier: Apache-2.0
"""What the event loop counts and measures of itself; it belongs to the loop's thread."""

from collections import Counter
from dataclasses import dataclass, field

from airbound.runtime.histogram import Histogram


@dataclass(slots=True)
class Measures:
    """Since the controller started. Keys are roles, and types of commands."""

    reports: Counter[str] = field(default_factory=Counter)  # that arrived, refused ones included
    commands: Counter[str] = field(default_factory=Counter)
    streams: Counter[str] = field(default_factory=Counter)  # open now
    streams_opened: Counter[str] = field(default_factory=Counter)
    decision: Histogram = field(default_factory=Histogram)  # from a report's arrival to the commands that it leads to
    write: Histogram = field(default_factory=Histogram)  # from a command to when its stream took it
    timer_delay: Histogram = field(default_factory=Histogram)  # how late the engine's deadlines are met
