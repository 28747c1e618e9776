# SPDX-License-Identifier: Apache-2.0
"""What operators chose, and when."""

from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.runtime.choices import Choice, Choices
from airbound.runtime.runner import Runner

ONE, TWO = bytes([2, 0, 0, 0, 0, 1]), bytes([2, 0, 0, 0, 0, 2])
ONE_TEXT, TWO_TEXT = "02:00:00:00:00:01", "02:00:00:00:00:02"


def choosing() -> Runner:
    """A runner; its operators choose a second apart."""
    runner = Runner(Engine(Parameters()))
    seconds = iter(range(1, 100))
    runner.choices = Choices(lambda: float(next(seconds)))
    return runner


async def test_the_last_choice_of_each_kind() -> None:
    runner = choosing()
    assert runner.set_mode("observe") == "control"
    assert runner.set_mode("control") == "observe"
    assert runner.choices.mode == Choice("control", 2)
    assert not runner.set_exempt("a", exempt=True)
    assert runner.set_exempt("a", exempt=False)
    assert runner.choices.exempt == {"a": Choice("false", 4)}
    assert runner.set_mode(None) == "control"
    assert runner.choices.mode is None


async def test_choices_for_cells_are_those_that_are_in_force() -> None:
    runner = choosing()
    assert runner.set_mode("control", ONE) == "control"
    assert runner.set_mode("observe", TWO) == "control"
    assert runner.set_mode("observe", ONE) == "control"
    assert runner.choices.modes_of_cells == {ONE_TEXT: Choice("observe", 3), TWO_TEXT: Choice("observe", 2)}
    runner.set_mode("control", ONE)
    runner.set_mode("observe")
    assert runner.choices.modes_of_cells == {TWO_TEXT: Choice("observe", 2)}
    assert runner.set_mode(None, TWO) == "observe"
    assert runner.choices.modes_of_cells == {}
    assert runner.choices.mode is not None


async def test_what_the_configuration_says_anew_ends_a_choice() -> None:
    runner = choosing()
    runner.set_mode("observe")
    runner.set_exempt("a", exempt=True)
    runner.set_exempt("b", exempt=True)
    runner.choices.configured(mode=False, exempt={"a", "c"})
    assert (runner.choices.mode is not None, list(runner.choices.exempt)) == (True, ["b"])
    runner.choices.configured(mode=True, exempt=set())
    assert runner.choices.mode is None
