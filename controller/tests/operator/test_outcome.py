# SPDX-License-Identifier: Apache-2.0
"""The answer to an operator's choice."""

import pytest

from airbound.operator import outcome
from airbound.operator.outcome import Sent
from airbound.v1 import operations_pb2

OBSERVE, CONTROL = operations_pb2.MODE_OBSERVE, operations_pb2.MODE_CONTROL


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (Sent(3, 0, 0), Sent(0, 0, 0), "bounds of 3 phones released"),
        (Sent(1, 2, 1), Sent(0, 0, 0),
         "bounds of 1 phone released, windows of 2 stations released, EDCA parameters of 1 access point released"),
        (Sent(0, 0, 0), Sent(2, 1, 0), "bounds of 2 phones set, windows of 1 station set"),
        (Sent(0, 0, 0), Sent(0, 0, 0), "nothing was in force"),
        (Sent(2, 0, 0), Sent(2, 0, 0), "what is in force stays"),
    ],
)  # fmt: skip
def test_what_changed_is_counted(before: Sent, after: Sent, text: str) -> None:
    assert outcome.difference(before, after) == text


@pytest.mark.parametrize(
    ("previous", "now", "wanted", "cell", "lasts", "text"),
    [
        (CONTROL, OBSERVE, "observe", "", "", "observe (was control); x; `airbound mode control` ends that"),
        (CONTROL, OBSERVE, "observe", "C", "",
         "observe (was control); x; `airbound mode configured --cell C` ends that"),
        (CONTROL, OBSERVE, "observe", "", "10m", "observe (was control); x; ends by itself in 10m"),
        (OBSERVE, CONTROL, "control", "", "", "control (was observe); x"),
        (OBSERVE, OBSERVE, "configured", "", "", "observe (as before); x"),
        (OBSERVE, operations_pb2.MODE_UNSPECIFIED, "configured", "C", "", "configured (was observe); x"),
    ],
)  # fmt: skip
def test_a_mode_is_said_with_what_ends_it(  # a row each
    previous: "operations_pb2.Mode", now: "operations_pb2.Mode", wanted: str, cell: str, lasts: str, text: str
) -> None:
    answer = operations_pb2.SetModeResponse(previous_mode=previous, mode=now)
    assert outcome.mode_set(answer, wanted, cell, lasts, "x") == text


@pytest.mark.parametrize(
    ("before", "off", "text"),
    [
        (False, False, "tv exempt (was under control); x; `airbound exempt tv --off` ends that"),
        (True, False, "tv exempt (as before); x; `airbound exempt tv --off` ends that"),
        (True, True, "tv under control (was exempt); x"),
        (False, True, "tv under control (as before); x"),
    ],
)
def test_an_exemption_is_said_with_what_ends_it(*, before: bool, off: bool, text: str) -> None:
    answer = operations_pb2.ExemptTerminalResponse(previously_exempt=before)
    assert outcome.exempted("tv", answer, "x", off=off) == text
