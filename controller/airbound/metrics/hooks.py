# SPDX-License-Identifier: Apache-2.0
"""What other parts of a controller report to the metrics, without Prometheus. All of it belongs to the event loop's
thread; callables are called there, once for each snapshot, and return what they know at once.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from airbound.config import Config
from airbound.configuration.values import config_hash
from airbound.core.addresses import Mac
from airbound.runtime.connections import PortCount
from airbound.runtime.histogram import Histogram


@dataclass(slots=True)
class StoreCalls:
    """Calls of the store, by the name of its method."""

    kind: str = "memory"
    durations: dict[str, Histogram] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)

    def called(self, call: str, seconds: float, *, failed: bool = False) -> None:
        """Count a call that is over."""
        histogram = self.durations.get(call)
        if histogram is None:
            histogram = self.durations[call] = Histogram()
        histogram.observe(seconds)
        if failed:
            self.errors[call] += 1


@dataclass(slots=True)
class Configuration:
    """Which configuration is in force, and since when."""

    digest: str = ""  # as `airbound config show` has it
    applied_at_s: float = 0.0  # Unix time
    errors_total: int = 0  # files that were refused
    clock_s: Callable[[], float] = time.time

    def applied(self, config: Config) -> None:
        """A configuration is in force from now on."""
        self.digest, self.applied_at_s = config_hash(config), self.clock_s()

    def refused(self) -> None:
        """A configuration had an error: the one before stays in force."""
        self.errors_total += 1


@dataclass(slots=True)
class Hooks:
    """All of them; what a controller does not have is none."""

    store: StoreCalls = field(default_factory=StoreCalls)
    configuration: Configuration = field(default_factory=Configuration)
    epochs: Callable[[], Mapping[Mac, int]] | None = None  # of the cells that this controller owns
    replica_messages: Callable[[], Mapping[str, int]] | None = None  # to and from other replicas, by outcome
    certificates_end: Callable[[], Mapping[str, float]] | None = None  # Unix time, by the certificate's name
    handshakes: Callable[[], Mapping[str, int]] | None = None  # begun, by port
    handshakes_failed: Callable[[], Mapping[str, int]] | None = None  # by reason
    connections: Callable[[], Mapping[str, PortCount]] | None = None  # by port
    connections_closed: Callable[[], Mapping[tuple[str, str], int]] | None = None  # by port and cause
    connections_excessive: Callable[[], Mapping[str, int]] | None = None  # by port
    front_processes: Callable[[], int] | None = None  # that were started
    enrollment_processes: Callable[[], int] | None = None  # that were started
    enrolled: Callable[[], Mapping[str, tuple[int, int]]] | None = None  # by role: names, of them overdue to renew
    log_lines_dropped: Callable[[], int] = lambda: 0
