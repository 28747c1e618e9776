# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from airbound_lab.errors import LabError
from airbound_lab.figures import senders
from airbound_lab.figures.senders import Answer
from airbound_lab.settings.scenario import Action, Scenario, built_in

MAC_OF = {1: "02:00:00:00:01:00", 2: "02:00:00:00:02:00"}
ACTIONS = (
    Action(1, "start-traffic", phone=1),
    Action(3, "stop-traffic", phone=1),
    Action(5, "start-traffic", phone=1),
    # Who downloads sends ACKs only.
    Action(0, "start-traffic", phone=2, direction="down"),
)
FLOWS = Scenario("x", ACTIONS).flows(2, 8, seed=1)


def answers(*counted: tuple[str, ...] | None) -> list[Answer]:
    """One each second from 0.5 s on."""
    return [
        Answer(500.0 + 1000 * number, None if active is None else frozenset(active))
        for number, active in enumerate(counted)
    ]


ONE, TWO = (MAC_OF[1],), (MAC_OF[2],)


def test_who_is_always_right_has_no_delay_but_the_intervals() -> None:
    found = senders.figures(FLOWS, answers((), ONE, ONE, (), (), ONE, ONE, ONE), MAC_OF, (0, 8000))
    assert (found.precision, found.recall, found.answers, found.unanswered) == (1, 1, 8, 0)
    assert (found.starts, found.starts_missed, found.start_delay_ms, found.start_delay_max_ms) == (2, 0, 500, 500)
    assert found.missed_longest_ms is None
    assert (found.stops, found.stops_missed, found.stop_delay_ms, found.stop_delay_max_ms) == (1, 0, 500, 500)


def test_who_is_late_who_is_missed_and_who_is_wrong() -> None:
    found = senders.figures(FLOWS, answers((), (), TWO, ONE, ONE, ONE, None, ONE), MAC_OF, (0, 8000))
    # Five moments of a sender: phone 1 at 1.5, 2.5, 5.5, 6.5, 7.5 s; counted are five, two of them right.
    assert (found.precision, found.recall, found.unanswered) == (0.4, 0.4, 1)
    # Counted only after it stopped, and then until it started again.
    assert (found.starts, found.starts_missed, found.start_delay_ms) == (2, 1, 500)
    assert found.missed_longest_ms == 2000
    assert (found.stops, found.stops_missed, found.stop_delay_ms, found.stop_delay_max_ms) == (1, 1, None, None)


def test_only_the_window_counts_and_no_answer_is_no_stop() -> None:
    found = senders.figures(FLOWS, answers(ONE, ONE, TWO, None, (), ONE), MAC_OF, (3000, 5000))
    assert (found.answers, found.starts, found.stops, found.stop_delay_ms) == (2, 0, 1, 1500)
    assert (found.precision, found.recall) == (None, None)


def test_lines_are_read_or_named() -> None:
    lines = [
        json.dumps({"monotonic_ns": 5_000_000_000, "active": [MAC_OF[1]]}),
        '{"monotonic_ns": 1000000, "active": null}',
    ]
    assert senders.parse(lines, 4_000_000_000) == [Answer(1000, frozenset(ONE)), Answer(-3999.0, None)]
    with pytest.raises(LabError, match="senders, line 2: not an answer"):
        senders.parse([lines[0], '{"monotonic_ns": 1}'], 0)


def test_the_scripted_scenario_has_senders_of_every_kind() -> None:
    flows = built_in("starts-and-stops").flows(6, 30, seed=1)
    uploads = [flow for flow in flows if flow.direction == "up"]
    assert {flow.phone for flow in flows} - {flow.phone for flow in uploads} == {4}
    assert len(uploads) == 11
    assert min(flow.stop_ms - flow.start_ms for flow in uploads) == 1000


def test_on_the_air_an_upload_begins_with_its_data_and_ends_with_its_queue() -> None:
    # Phone 1 uploads from 1 s to 3 s and from 5 s on, phone 2 downloads: per second, octets and packets of each.
    data, acks, report, nothing = (1514 * 100, 100), (66 * 1000, 1000), (400, 2), (0, 0)
    sent = [nothing, report, data, data, data, nothing, nothing, acks, nothing]
    total, lines = [0, 0], []
    for second, (octets, packets) in enumerate(sent):
        total = [total[0] + octets, total[1] + packets]
        lines.append(
            json.dumps(
                {
                    "monotonic_ns": (second + 4) * 10**9,
                    "active": [MAC_OF[1]] if second in {2, 3} else [],
                    "sent": {MAC_OF[1]: total, MAC_OF[2]: [66 * 1000 * second, 1000 * second]},
                }
            )
        )
    found = senders.figures(FLOWS, senders.parse(lines, 4 * 10**9), MAC_OF, (0, 8000))
    assert (found.starts, found.starts_missed, found.stop_delay_ms) == (2, 1, 1000)
    assert found.air is not None
    assert found.air.air is None
    # The second is never on the air; the first from the second before its first data to its last.
    assert (found.air.starts, found.air.start_delay_ms, found.air.stops, found.air.stop_delay_ms) == (1, 1000, 1, 0)
    assert (found.air.precision, found.air.recall) == (1, 0.6667)
