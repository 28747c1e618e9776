# SPDX-License-Identifier: Apache-2.0
"""Which objects have series of their own where there are more than a limit.

Those that have some keep them as long as they are there; what is left goes to the others in the order in which they
come. The rest is counted and not summed: a sum over objects that change would fall when one is given series of its own,
and Prometheus takes a counter that falls for one that began again at 0.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
State = TypeVar("State")


class Slots(Generic[Key, State]):
    """At most so many objects, each with what is kept of it from one snapshot to the next."""

    def __init__(self, most: int, new: Callable[[], State]) -> None:
        self.omitted = 0  # in the last snapshot
        self._most = most
        self._new = new
        self.states: dict[Key, State] = {}  # of those that were chosen last

    def choose(self, keys: Iterable[Key]) -> None:
        """Choose those of a snapshot's objects that have series; what is kept of others is forgotten."""
        present = dict.fromkeys(keys)
        before = self.states
        states = {key: before[key] for key in present if key in before}
        free = self._most - len(states)
        for key in present:
            if free <= 0:
                break
            if key not in states:
                states[key] = self._new()
                free -= 1
        self.states = states
        self.omitted = len(present) - len(states)
