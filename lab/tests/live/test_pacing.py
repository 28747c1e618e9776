# SPDX-License-Identifier: Apache-2.0
"""A guest's time keeps to real time: never early, late by less than a quantum, and what is lost is counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from airbound_lab.live.pacing import Pace

ZERO_NS = 7_000_000_000
QUANTUM_NS = 5_000_000
CATCH_UP_NS = 100_000_000


@dataclass
class Guest:
    """A guest whose events take real time to be worked off."""

    pace: Pace = field(default_factory=lambda: Pace(ZERO_NS, QUANTUM_NS, CATCH_UP_NS))
    real_ns: int = ZERO_NS
    time_ns: int = 0
    free_until_ns: int = 0

    def go_on(self, step_ns: int, work_ns: int) -> None:
        """Go on to the next event, and work it off."""
        wanted_ns = self.time_ns + step_ns
        if wanted_ns >= self.free_until_ns:
            grant = self.pace.grant(wanted_ns, self.real_ns)
            assert grant.free_until_ns >= wanted_ns
            self.real_ns = max(self.real_ns, grant.at_ns)
            self.free_until_ns = grant.free_until_ns
            self.time_ns = wanted_ns
            assert self.late_ns <= CATCH_UP_NS
        self.time_ns = wanted_ns
        assert self.late_ns >= 0
        self.real_ns += work_ns

    @property
    def late_ns(self) -> int:
        """Real time since its start, less its own time and what it has lost."""
        return self.real_ns - ZERO_NS - self.time_ns - self.pace.lost_ns


@settings(deadline=None)
@given(st.lists(st.integers(1, 20_000_000), max_size=200))
def test_on_a_quick_machine_no_event_is_early_and_none_later_than_a_quantum(steps: list[int]) -> None:
    guest = Guest()
    for step_ns in steps:
        guest.go_on(step_ns, 0)
        assert guest.late_ns < QUANTUM_NS
    assert guest.pace.lost_ns == 0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 20_000_000), st.integers(0, 10**9)), max_size=200))
def test_on_any_machine_no_event_is_early_and_none_is_granted_later_than_may_be_caught_up(
    steps: list[tuple[int, int]],
) -> None:
    guest = Guest()
    for step_ns, work_ns in steps:
        lost_before_ns = guest.pace.lost_ns
        guest.go_on(step_ns, work_ns)
        assert guest.pace.lost_ns >= lost_before_ns


def test_a_stall_is_lost_once_and_the_pace_is_that_of_real_time_again() -> None:
    guest = Guest()
    guest.go_on(1_000_000, 10_000_000_000)
    for _ in range(1000):
        guest.go_on(1_000_000, 0)
    assert 9_900_000_000 <= guest.pace.lost_ns <= 10_000_000_000
    assert guest.real_ns - ZERO_NS - 10_000_000_000 >= 990_000_000
    assert guest.pace.take_behind_max_ns() >= 9_900_000_000
    assert guest.pace.take_behind_max_ns() == 0


def test_a_short_delay_is_caught_up() -> None:
    guest = Guest()
    guest.go_on(1_000_000, 80_000_000)
    for _ in range(200):
        guest.go_on(1_000_000, 10_000)
    assert guest.pace.lost_ns == 0
    assert guest.late_ns <= QUANTUM_NS
    assert guest.pace.take_behind_max_ns() >= 70_000_000


def test_events_of_one_quantum_need_one_grant() -> None:
    pace = Pace(ZERO_NS, QUANTUM_NS, CATCH_UP_NS)
    grant = pace.grant(1, ZERO_NS)
    assert (grant.at_ns, grant.free_until_ns) == (ZERO_NS + QUANTUM_NS, QUANTUM_NS)
    grant = pace.grant(2 * QUANTUM_NS, ZERO_NS + QUANTUM_NS)
    assert (grant.at_ns, grant.free_until_ns) == (ZERO_NS + 2 * QUANTUM_NS, 2 * QUANTUM_NS)


def test_a_guest_without_a_timer_waits_for_the_end_of_time() -> None:
    grant = Pace(ZERO_NS).grant(2**63 - 1, ZERO_NS)
    assert grant.at_ns > 2**62
