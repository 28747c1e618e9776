# SPDX-License-Identifier: Apache-2.0
"""When a guest in virtual time may go on, so that its time keeps to real time; pure.

A guest works off all that happens at one moment of its time, however long that takes, and asks for its next moment. It
is let go on when that moment has come in real time:

    guest time 0         |--e1--e2--------|-------e3-------|        events
    real time  0                          |e1,e2           |e3      when they are worked off, with a quantum of |---|

A quantum is several milliseconds: an event is never early, and late by less than a quantum and the time that it takes.
Within the guest nothing of that can be seen; what comes from outside arrives at the end of a quantum.

A machine that is too busy makes the guest late. It may catch up a little. More than that is lost: the guest's clock
then stays behind by as much. Otherwise a stall of ten seconds would be followed by ten seconds of traffic in three, and
a controller on the host would see rates that no radio has.
"""

from __future__ import annotations

from dataclasses import dataclass

QUANTUM_NS = 5_000_000
CATCH_UP_MAX_NS = 100_000_000
"""Twenty quanta: more than a scheduler's usual delays, less than anybody sees in a report each second."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to go on."""

    at_ns: int
    """When to give it, on the clock of real time; in the past if the guest is late."""
    free_until_ns: int
    """Guest time before which it need not ask again."""


@dataclass(slots=True)
class Pace:
    """Keeps a guest's time to real time; all times are in nanoseconds, of clocks that never go back."""

    zero_ns: int
    """Real time at the guest's time 0."""
    quantum_ns: int = QUANTUM_NS
    catch_up_max_ns: int = CATCH_UP_MAX_NS
    behind_ns: int = 0
    """How late the guest was when it asked last, of which it may catch up."""
    behind_max_ns: int = 0
    """The largest of these since take_behind_max."""
    lost_ns: int = 0
    """By how much its clock is behind for good."""

    def grant(self, wanted_ns: int, now_ns: int) -> Grant:
        """Return when the guest may go on to the moment that it asks for; `now_ns` is real time."""
        due_ns = now_ns - self.zero_ns - self.lost_ns
        self.behind_ns = max(0, due_ns - wanted_ns)
        self.behind_max_ns = max(self.behind_max_ns, self.behind_ns)
        if self.behind_ns > self.catch_up_max_ns:
            self.lost_ns += self.behind_ns
            self.behind_ns = 0
            due_ns = wanted_ns
        end_ns = -(-max(wanted_ns, 1) // self.quantum_ns) * self.quantum_ns
        if end_ns <= due_ns:
            return Grant(now_ns, due_ns)
        return Grant(now_ns + end_ns - due_ns, end_ns)

    def guest_ns(self, now_ns: int) -> int:
        """Return the guest's time, if it is not late, at a moment of real time."""
        return now_ns - self.zero_ns - self.lost_ns

    def take_behind_max_ns(self) -> int:
        """Return how late the guest was at most since the last call."""
        taken, self.behind_max_ns = self.behind_max_ns, self.behind_ns
        return taken
