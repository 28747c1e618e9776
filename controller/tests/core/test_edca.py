# SPDX-License-Identifier: Apache-2.0

from airbound.core import edca
from airbound.core.edca import Category, Edca, is_contention_window
from airbound.grpc import command_convert
from airbound.v1 import access_point_pb2


def test_the_limits_are_those_that_agents_are_written_for() -> None:
    assert (edca.AIFSN_MAX, edca.CW_MAX, edca.TXOP_LIMIT_MAX) == (15, 1023, 65_535)
    assert (edca.SET_AIFSN_MAX, edca.SET_CW_MIN_MAX, edca.SET_TXOP_LIMIT_MAX) == (7, 63, 94)


def test_contention_windows_are_one_less_than_a_power_of_two() -> None:
    assert [slots for slots in range(-2, 2_050) if is_contention_window(slots)] == [2**k - 1 for k in range(11)]


def test_every_category_is_the_contracts() -> None:
    wire = {
        name.removeprefix("ACCESS_CATEGORY_"): number
        for name, number in access_point_pb2.AccessCategory.items()
        if number
    }
    assert {category.name: category.value for category in Category} == wire
    for category in Category:
        assert command_convert.queue(Edca(category, 1, 1, 1, 0)).category == category.value
