# SPDX-License-Identifier: Apache-2.0
"""What operators read: what a terminal was sent is told from what was only computed."""

import pytest

from airbound.edges import display
from airbound.v1 import operations_pb2, terminal_pb2

NEAR = terminal_pb2.Bound(destination_prefix="10.0.4.1/32", min_segs=20, max_segs=35)
FAR = terminal_pb2.Bound(destination_prefix="10.0.4.2/32", min_segs=40, max_segs=70)
ALL = terminal_pb2.Bound(all=True, min_segs=20, max_segs=35)


def terminal(*sent: terminal_pb2.Bound) -> operations_pb2.Terminal:
    decisions = [operations_pb2.DestinationDecision(bound=bound, policy="paper") for bound in (NEAR, FAR)]
    return operations_pb2.Terminal(mac="02:00:00:00:01:00", decisions=decisions, bounds_sent=sent)


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ((NEAR, FAR), "  10.0.4.1/32 20..35, 10.0.4.2/32 40..70  "),
        ((ALL,), "  all 20..35  "),
        ((), "  none (would be 10.0.4.1/32 20..35, 10.0.4.2/32 40..70)  "),
    ],
)
def test_the_table_shows_what_was_sent(sent: tuple[terminal_pb2.Bound, ...], shown: str) -> None:
    answer = operations_pb2.ListTerminalsResponse(terminals=[terminal(*sent)])
    assert shown in display.terminals(answer, "nobody")


def test_a_terminal_with_nothing_decided_has_none() -> None:
    answer = operations_pb2.ListTerminalsResponse(terminals=[operations_pb2.Terminal(mac="02:00:00:00:01:00")])
    assert "would be" not in display.terminals(answer, "nobody")


@pytest.mark.parametrize(
    ("sent", "fitted", "not_sent"),
    [
        ((NEAR, FAR), "", 0),
        ((NEAR,), "sent, as its back end can take it: 10.0.4.1/32 20..35", 1),
        ((ALL,), "sent, as its back end can take it: all 20..35", 2),
        ((), "", 2),
    ],
)
def test_the_explanation_marks_what_was_not_sent(
    sent: tuple[terminal_pb2.Bound, ...], fitted: str, not_sent: int
) -> None:
    text = display.explanation(operations_pb2.ExplainTerminalResponse(terminal=terminal(*sent)))
    assert text.count("computed, not sent") == not_sent
    assert text.count("as its back end can take it") == bool(fitted)
    assert fitted in text
