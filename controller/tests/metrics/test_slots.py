# SPDX-License-Identifier: Apache-2.0

from airbound.metrics.slots import Slots


def test_up_to_the_limit_all_have_series() -> None:
    slots = Slots[str, list[int]](2, list)
    slots.choose(["a", "b"])
    assert list(slots.states) == ["a", "b"]
    assert slots.omitted == 0


def test_those_that_have_series_keep_them_and_what_is_kept_of_them() -> None:
    slots = Slots[str, list[int]](2, list)
    slots.choose(["a", "b", "c"])
    slots.states["b"].append(1)
    slots.choose(["c", "x", "b", "a"])
    assert slots.states == {"b": [1], "a": []}
    assert slots.omitted == 2


def test_what_left_makes_room_and_is_forgotten() -> None:
    slots = Slots[str, list[int]](2, list)
    slots.choose(["a", "b", "c"])
    slots.states["a"].append(1)
    slots.choose(["b", "c"])
    assert set(slots.states) == {"b", "c"}
    slots.choose(["a"])
    assert slots.states == {"a": []}


def test_an_object_that_is_there_twice_is_one() -> None:
    slots = Slots[str, list[int]](2, list)
    slots.choose(["a", "a", "b"])
    assert (set(slots.states), slots.omitted) == ({"a", "b"}, 0)


def test_a_limit_of_0_is_none() -> None:
    slots = Slots[str, list[int]](0, list)
    slots.choose(["a"])
    assert (slots.states, slots.omitted) == ({}, 1)
