# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.balance import APART
from airbound.core.cell.neighbours import LARGEST, OTHERS_LEAST, ChannelAir, Neighbours, channel_air
from airbound.core.cell.unlimited import RAISED_US
from airbound.core.policy import UNBOUNDED

SECOND_US = 1_000_000
IDLE = ChannelAir(0.5, 0.1)


class Channel:
    """One that is full: of it others have `harm` times as much as the cell where windows are as computed, and less by
    the power `gain` of the factor.
    """

    def __init__(self, harm: float, gain: float = 1.0, least: float = 0.0) -> None:
        self._harm, self._gain, self._least = harm, gain, least
        self.neighbours, self.now_us = Neighbours(), 100 * SECOND_US
        self.factors = list[float]()

    @property
    def harm(self) -> float:
        return max(self._harm / self.neighbours.factor**self._gain, self._least)

    @property
    def air(self) -> ChannelAir:
        return ChannelAir(1 / (1 + self.harm), self.harm / (1 + self.harm))

    def run(
        self, seconds: int, *, air: ChannelAir | None = None, known: bool = True, held_back: bool = True,
        noise: Sequence[float] = (1.0,),
    ) -> "Channel":  # fmt: skip
        for second in range(seconds):
            self.now_us += SECOND_US
            before = self.neighbours.factor, self.neighbours.ended
            own, others = air or self.air
            seen = ChannelAir(own, others * noise[second % len(noise)]) if known else None
            moved = self.neighbours.observe(seen, self.now_us, held_back=held_back)
            assert moved is (before != (self.neighbours.factor, self.neighbours.ended))
            self.factors.append(self.neighbours.factor)
        return self


def test_the_parts_of_the_channel_follow_from_the_survey() -> None:
    assert channel_air(200_000, 900_000, 1_000_000) == ChannelAir(0.2, 0.7)
    assert channel_air(950_000, 900_000, 1_000_000) == ChannelAir(0.95, 0.0)  # a need of more than was busy
    assert channel_air(2_000_000, 900_000, 1_000_000) == ChannelAir(1.0, 0.0)
    assert channel_air(0, 900_000, 1_000_000) is None
    assert channel_air(200_000, 0, 0) is None


@pytest.mark.parametrize("harm", [1.8, 3.0, 5.0])
def test_windows_grow_until_the_cell_has_half_of_the_channel_and_stay(harm: float) -> None:
    channel = Channel(harm).run(60)
    assert 1 / APART <= channel.harm <= APART
    assert channel.neighbours.air is not None
    assert not channel.neighbours.ended
    settled = channel.neighbours.factor
    channel.run(200)
    assert channel.neighbours.factor == settled


def test_where_that_does_not_help_windows_are_raised_and_then_bounds_end() -> None:
    channel = Channel(20.0, gain=0.4)
    while channel.neighbours.factor < UNBOUNDED:
        assert channel.neighbours.factor <= LARGEST
        channel.run(1)
    assert channel.now_us < 130 * SECOND_US
    assert not channel.neighbours.ended
    channel.run(RAISED_US // SECOND_US)
    assert channel.neighbours.ended
    # They do not return while others have the channel, whatever the cell gets of it.
    channel.run(300, air=ChannelAir(0.6, 0.4))
    assert channel.neighbours.ended
    channel.run(29, air=IDLE)
    assert channel.neighbours.ended
    channel.run(2, air=IDLE)
    assert (channel.neighbours.ended, channel.neighbours.factor, channel.neighbours.air) == (False, 1.0, None)


def test_harm_that_own_collisions_may_make_begins_nothing() -> None:
    assert set(Channel(1.45).run(100).factors) == {1.0}


def test_two_cells_with_bounds_stay_as_they_are() -> None:
    assert set(Channel(1.1).run(100).factors) == {1.0}


@pytest.mark.parametrize("air", [IDLE, ChannelAir(0.05, OTHERS_LEAST - 0.01), ChannelAir(0.6, 0.35)])
def test_a_cell_that_has_more_than_others_or_whose_channel_is_not_full_stays(air: ChannelAir) -> None:
    channel = Channel(1.0).run(100, air=air)
    assert set(channel.factors) == {1.0}
    assert channel.neighbours.air is None


def test_senders_that_want_no_more_are_held_back_by_nobody() -> None:
    assert set(Channel(5.0).run(100, held_back=False).factors) == {1.0}


def test_without_a_survey_nothing_is_known() -> None:
    assert set(Channel(5.0).run(100, known=False).factors) == {1.0}


def test_the_factor_ends_with_what_others_take_and_what_the_access_point_may_not_do() -> None:
    channel = Channel(3.0).run(60)
    assert channel.neighbours.factor > 1
    channel.run(1, air=IDLE)
    assert channel.neighbours.factor > 1
    channel.run(4, air=IDLE)
    assert (channel.neighbours.factor, channel.neighbours.air) == (1.0, None)


def test_the_access_point_keeps_its_own_parameters_for_a_while_after_the_last_factor() -> None:
    channel = Channel(3.0).run(60)
    fair = ChannelAir(0.6, 0.35)
    while channel.neighbours.factor > 1:
        channel.run(1, air=fair)
    assert channel.neighbours.air is not None
    channel.run(28, air=fair)
    assert channel.neighbours.air is not None
    channel.run(2, air=fair)
    assert channel.neighbours.air is None


@given(st.floats(0.2, 50.0), st.floats(0.05, 1.9), st.lists(st.floats(0.9, 1.1), min_size=1, max_size=5))
def test_whatever_others_do_the_factor_is_in_its_limits_or_bounds_end(
    harm: float, gain: float, noise: list[float]
) -> None:
    factors = Channel(harm, gain, least=0.8).run(120, noise=noise).factors
    assert all(1 <= factor <= LARGEST or factor == UNBOUNDED for factor in factors)
    if UNBOUNDED in factors:
        assert set(factors[factors.index(UNBOUNDED) :]) == {UNBOUNDED}
