# SPDX-License-Identifier: Apache-2.0
"""What phones that report what is not so do to the others of their cell: the attacks that were found, again."""

from collections.abc import Callable

import pytest

from airbound.core.reports import Destination
from airbound_testing.scenario import BSSID, SERVER, Scenario, mac, upload

PHONES = tuple(map(mac, range(10)))
HONEST_MS = 40.0
SETTLED_S, UNCONFIRMED_S = 30, 15
LIES_MS = (0.05, 0.06, 0.07, 0.08, 0.09, 0.095)


class Cell(Scenario):
    """Ten phones that upload over a path of 40 ms; the first of them lie."""

    def __init__(self, liars: int = 0) -> None:
        super().__init__()
        self.liars, self.honest = PHONES[:liars], PHONES[liars:]
        self.mbps = dict.fromkeys(PHONES, 2.0)
        self.there = list(PHONES)

    def second(self, lie: Callable[[int], Destination] | None = None) -> None:
        """All report; liars what `lie` returns of them."""
        self.advance(1)
        self.access_point({phone: self.mbps[phone] for phone in self.there})
        for number, phone in enumerate(PHONES):
            if phone in self.there:
                lies = lie is not None and phone in self.liars
                self.terminal(phone, lie(number) if lies and lie is not None else upload(60, HONEST_MS + 0.1 * number))

    def seconds(self, count: int, lie: Callable[[int], Destination] | None = None) -> None:
        for _ in range(count):
            self.second(lie)

    def leave(self) -> None:
        for phone in self.liars:
            self.disconnect(phone)
            self.there.remove(phone)

    def largest(self, phone: bytes) -> int:
        bounds = self.phones[phone].range()
        assert bounds is not None
        return bounds[1]

    def maxima(self) -> list[int]:
        return [self.largest(phone) for phone in self.honest]


def collude(number: int) -> Destination:
    return upload(60, LIES_MS[number])


@pytest.mark.parametrize("liars", [1, 2, 3, 4])
def test_phones_that_lie_together_about_the_path_decide_for_15_s(liars: int) -> None:
    truth, cell = Cell(liars), Cell(liars)
    truth.seconds(SETTLED_S)
    cell.seconds(SETTLED_S)
    before = cell.maxima()
    cell.second(collude)
    cell.second(collude)
    assert max(cell.maxima()) < min(before) / 2  # as the first that saw an idle path
    cell.seconds(UNCONFIRMED_S - 1, collude)
    for _ in range(60):
        cell.second(collude)
        assert cell.maxima() == pytest.approx(before, rel=0.1)


@pytest.mark.parametrize("liars", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("after_s", [3, 60])
def test_what_liars_said_is_forgotten_with_them(liars: int, after_s: int) -> None:
    gone, cell = Cell(liars), Cell(liars)
    for each in (gone, cell):
        each.seconds(SETTLED_S)
    cell.seconds(after_s, collude)
    cell.leave()
    gone.leave()
    cell.seconds(UNCONFIRMED_S + 1)
    gone.seconds(after_s + UNCONFIRMED_S + 1)
    assert cell.maxima() == pytest.approx(gone.maxima(), abs=1)
    assert cell.engine.cells[BSSID].min_rtt.shared_us(SERVER) == HONEST_MS * 1000 + 100 * liars


def test_a_pair_that_saw_the_idle_path_is_true_beside_many_that_start_in_a_full_cell() -> None:
    """Their minima come down once they are bounded, if not below what the bounds keep in flight."""
    cell = Cell()
    cell.there = list(PHONES[:2])
    for _ in range(SETTLED_S):
        cell.second()
    cell.there = list(PHONES)
    for second in range(120):
        queue_ms = 800.0 if second < 5 else 60.0
        cell.advance(1)
        cell.access_point(dict.fromkeys(PHONES, 2.0))
        for number, phone in enumerate(PHONES):
            cell.terminal(phone, upload(300, HONEST_MS + queue_ms * (number >= 2)))
        assert cell.engine.cells[BSSID].min_rtt.shared_us(SERVER) == HONEST_MS * 1000


# A claim to want more


def trickle(*, full: bool) -> Destination:
    return upload(60, HONEST_MS)._replace(fills_window=full)


def others_largest(*, full: bool, seconds: int, mbps: float = 0.1) -> list[int]:
    """The maximum of a phone that takes what it can, beside one that sends 12 kB/s."""
    scenario, found = Scenario(), list[int]()
    for _ in range(seconds):
        scenario.advance(1)
        scenario.access_point({PHONES[0]: mbps, PHONES[1]: 18.0})
        scenario.terminal(PHONES[0], trickle(full=full))
        scenario.terminal(PHONES[1], upload(60, HONEST_MS))
        bounds = scenario.phones[PHONES[1]].range()
        found.append(bounds[1] if bounds else 0)
    return found


def test_a_phone_that_sends_little_and_claims_a_full_window_takes_no_share() -> None:
    claimed, honest = others_largest(full=True, seconds=40), others_largest(full=False, seconds=40)
    assert claimed[-20:] == honest[-20:]


def test_a_phone_that_sends_a_part_of_its_share_and_claims_a_full_window_is_believed() -> None:
    claimed = others_largest(full=True, seconds=40, mbps=4.0)
    assert claimed[-1] < others_largest(full=False, seconds=40, mbps=4.0)[-1]


# Starts without bytes


@pytest.mark.parametrize("every_s", [0.05, 0.25])
def test_starts_that_bring_no_bytes_count_in_a_third_of_the_time_at_most(every_s: float) -> None:
    """A phone that starts and stops again and again, and sends nothing."""
    cell = Cell()
    cell.there = list(PHONES[1:])
    cell.seconds(SETTLED_S)
    counted, samples = 0, 0
    for _ in range(60):
        for step in range(round(1 / every_s)):
            cell.advance(every_s)
            cell.terminal(PHONES[0], *([upload(60, HONEST_MS)] if step % 2 else []))
            samples += 1
            counted += cell.engine.cells[BSSID].stations.active_senders == len(PHONES)
        cell.access_point(dict.fromkeys(PHONES[1:], 2.0), idle=[PHONES[0]])
        for phone in PHONES[1:]:
            cell.terminal(phone, upload(60, HONEST_MS))
    assert 0 < counted <= samples / 3
