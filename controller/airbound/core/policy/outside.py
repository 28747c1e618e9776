# SPDX-License-Identifier: Apache-2.0
"""Policies from outside: what they return is checked, and what they raise concerns nothing but its decision.

A policy is a function from `PolicyInput` to `Range`, or a subclass of `Policy` (docs/own-policy.md). A function may
look at all of its input, so a change of any of it is a reason to call it again, and its cell's senders have equal parts
of the air where frames are aggregated. A class says itself what its ranges follow from.

A decision that fails raises `PolicyFailedError`, as any error of the controller does: its terminal has no bounds, and
the failure is counted and logged (core/failure.py). If `observe` fails, or what a search has found is no number, all
decisions of the cell fail until a report later on does not.
"""

import math
import operator
import traceback
from collections.abc import Callable
from typing import Any, ClassVar, cast

from airbound.core.parameters import Parameters
from airbound.core.policy.types import SEGMENTS_MAX, CellFacts, Policy, PolicyInput, Range

SHOWN_MAX_CHARACTERS = 120
FORMULA_MAX_CHARACTERS = 500
_FLAGS = ("uses_capacity", "uses_rtt_ratio", "shares_air", "widens")

Function = Callable[[PolicyInput], Range]


class PolicyFailedError(Exception):
    """A policy from outside raised something, or returned something wrong; the text names it and what."""


class Outside(Policy):
    """A policy from outside, with all that it does checked."""

    given: ClassVar[type[Policy]]

    def __init__(self, parameters: Parameters) -> None:
        self._failure: PolicyFailedError | None = None
        self._found, self._trials_total = 1.0, 0
        try:
            self._policy: Policy | None = self.given(parameters)
            self._take_search()
        except Exception as error:  # noqa: BLE001  # whatever it is, decisions fail with it
            self._policy, self._failure = None, _failed(self.name, error)

    @property
    def found(self) -> float:
        """What its search had found after the last report."""
        return self._found

    @property
    def trials_total(self) -> int:
        """Likewise."""
        return self._trials_total

    def observe(self, facts: CellFacts, now_us: int) -> bool:
        """Have it learn from a report; a failure, and its end, change what is decided."""
        if self._policy is None:
            return False
        before = self._failure
        try:
            changed = bool(self._policy.observe(facts, now_us))
            self._take_search()
            self._failure = None
        except Exception as error:  # noqa: BLE001  # the report goes on
            changed, self._failure = False, _failed(self.name, error)
        return changed or (before is None) != (self._failure is None)

    def decide(self, given: PolicyInput) -> Range:
        """Its range.

        Raises:
            PolicyFailedError: it raised something, or returned no range.
        """
        if self._failure is not None or self._policy is None:
            # A new one each time: each raise of the same exception adds frames to its traceback, which is never freed.
            raise PolicyFailedError(str(self._failure))
        try:
            answer = self._policy.decide(given)
        except Exception as error:
            raise _failed(self.name, error) from error
        return _checked(self.name, answer)

    def formula(self, given: PolicyInput) -> str:
        """Its text, or why there is none."""
        if self._policy is None:
            return str(self._failure)
        try:
            return str(self._policy.formula(given))[:FORMULA_MAX_CHARACTERS]
        except Exception as error:  # noqa: BLE001  # it is only shown
            return str(_failed(self.name, error))

    def _take_search(self) -> None:
        if self._policy is None:
            return
        found, trials = self._policy.found, self._policy.trials_total
        if not (math.isfinite(found) and found > 0):
            raise ValueError(f"found is {_shown(found)}: a number above 0 is expected")
        self._found, self._trials_total = float(found), max(operator.index(trials), 0)


def outside(name: str, given: Any) -> type[Policy]:
    """A class for a policy that was loaded under a name.

    Raises:
        TypeError: it is neither a function nor a subclass of `Policy` that says what it uses and
            has all of its methods.
    """
    if isinstance(given, type) and issubclass(given, Policy):
        missing = [flag for flag in _FLAGS if not isinstance(getattr(given, flag, None), bool)]
        if missing:
            raise TypeError(f"the class says neither true nor false of {', '.join(missing)}")
        lacks = sorted(getattr(given, "__abstractmethods__", ()))
        if lacks:
            raise TypeError(f"the class lacks {', '.join(lacks)}")
        values = {flag: getattr(given, flag) for flag in _FLAGS}
    elif callable(given) and not isinstance(given, type):
        given = _of_function(given)
        values = dict.fromkeys(_FLAGS, True)
    else:
        raise TypeError("it is neither a function nor a subclass of airbound.core.policy.Policy")
    made = type(f"Outside[{name}]", (Outside,), {"name": name, "given": given, "__doc__": given.__doc__, **values})
    return cast("type[Policy]", made)


def _of_function(function: Function) -> type[Policy]:
    summary = " ".join((function.__doc__ or "").strip().split("\n\n")[0].split())

    class OfFunction(Policy):
        """Of a function alone."""

        def __init__(self, parameters: Parameters) -> None:
            """It has no parameters."""

        def decide(self, given: PolicyInput) -> Range:
            """What the function returns."""
            return function(given)

        def formula(self, given: PolicyInput) -> str:
            """What it says of itself, and what it is given."""
            path = f"{given.share_bps / 1e6:.1f} Mb/s, min RTT {given.min_rtt_us / 1000:.1f} ms"
            return f"{summary or 'no docstring'}: {path}, {given.connections} connections"

    return OfFunction


def _checked(name: str, answer: object) -> Range:
    """What a policy returned, as a range."""
    try:
        least, most = (operator.index(segs) for segs in cast("Range", answer))
    except (TypeError, ValueError):
        raise PolicyFailedError(
            f"policy {name} returned {_shown(answer)}: a Range of two whole numbers is expected"
        ) from None
    if not 1 <= least <= most <= SEGMENTS_MAX:
        raise PolicyFailedError(
            f"policy {name} returned {_shown(answer)}: 1 <= min_segs <= max_segs <= {SEGMENTS_MAX} is expected"
        )
    return Range(least, most)


def _failed(name: str, error: Exception) -> PolicyFailedError:
    """What was raised, and where: the innermost function, which may be a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    where = ""
    if frames:
        file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
        where = f", in {frames[-1].name}, {file} line {frames[-1].lineno}"
    return PolicyFailedError(f"policy {name}: {type(error).__name__}: {_text(error)}{where}")


def _shown(value: object) -> str:
    try:
        return repr(value)[:SHOWN_MAX_CHARACTERS]
    except Exception:  # noqa: BLE001  # a value whose text fails is wrong as well
        return f"a {type(value).__name__}"


def _text(error: Exception) -> str:
    try:
        return str(error)[:SHOWN_MAX_CHARACTERS]
    except Exception:  # noqa: BLE001  # likewise
        return "without a text"
