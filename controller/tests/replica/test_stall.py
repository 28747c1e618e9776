# SPDX-License-Identifier: Apache-2.0
"""A process that stood still."""

from airbound.replica.stall import STALL_US, Stall


class Clock:
    """A clock that a test sets."""

    now_us = 5_000_000

    def __call__(self) -> int:
        return self.now_us


def test_a_stall_is_noticed_once_by_the_first_check_after_it() -> None:
    clock, stalls = Clock(), list[int]()
    stall = Stall(clock, stalls.append)
    for _ in range(10):
        clock.now_us += STALL_US
        stall.check()
    assert stalls == []
    clock.now_us += STALL_US + 1
    stall.check()
    assert stalls == [clock.now_us]
    stall.check()
    assert len(stalls) == 1


def test_the_time_before_the_start_does_not_count() -> None:
    clock, stalls = Clock(), list[int]()
    stall = Stall(clock, stalls.append)
    clock.now_us += 10 * STALL_US
    stall.start()
    stall.check()
    assert stalls == []
