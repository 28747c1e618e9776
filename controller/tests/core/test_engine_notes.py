# SPDX-License-Identifier: Apache-2.0
"""Whom a note concerns: those who look for a cell's or a terminal's events find all of them."""

from airbound.core.effects import Effect, Note
from airbound.core.events import Disconnected, Exempted, ModeSet, Refused
from airbound.core.reasons import Code, Reason
from airbound_testing.scenario import BSSID, OTHER_BSSID, Scenario, mac, name, upload, uploading

MALFORMED = Reason(Code.MALFORMED, "message")


def concerned(effects: list[Effect], what: str) -> list[tuple[str, bytes]]:
    return [(note.terminal, note.cell) for note in effects if isinstance(note, Note) and note.what == what]


def test_bounds_concern_the_terminal_and_its_cell() -> None:
    scenario = Scenario()
    scenario.access_point({mac(0): 2.0})
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0})
    effects = scenario.terminal(mac(0), upload())
    assert concerned(effects, "connected") == concerned(effects, "bounds") == [(name(mac(0)), BSSID)]


def test_a_terminal_that_connects_before_its_cell_is_known_concerns_none() -> None:
    assert concerned(Scenario().terminal(mac(0), upload()), "connected") == [(name(mac(0)), b"")]


def test_a_release_concerns_the_cell_that_the_terminal_has_left() -> None:
    scenario = uploading(2)
    assert concerned(scenario.access_point({mac(1): 2.0}), "bounds")[0] == (name(mac(0)), BSSID)


def test_a_terminal_that_disconnects_concerns_its_cell() -> None:
    scenario = uploading(1)
    stream = scenario.phones[mac(0)].stream
    assert stream is not None
    assert concerned(scenario.do(Refused(stream, MALFORMED)), "refused") == [(name(mac(0)), BSSID)]
    effects = scenario.do(Disconnected(stream))
    assert concerned(effects, "disconnected") == [(name(mac(0)), BSSID)]


def test_what_an_access_point_sent_and_is_refused_concerns_its_cell() -> None:
    scenario = uploading(1)
    effects = scenario.do(Refused(scenario.access_points[BSSID].stream, MALFORMED))
    assert concerned(effects, "refused") == [("", BSSID)]
    unknown = scenario.new_stream("access-point", "ap9")
    assert concerned(scenario.do(Refused(unknown, Reason(Code.TOO_LARGE))), "refused") == [("", b"")]


def test_an_exemption_concerns_a_terminal_or_a_cell_and_the_mode_nobody() -> None:
    scenario = uploading(1)
    assert concerned(scenario.do(Exempted("192.0.2.7", exempt=True)), "exempt") == [("192.0.2.7", b"")]
    off = scenario.do(Exempted("02:00:00:00:00:02", exempt=False))
    assert concerned(off, "not exempt") == [("", OTHER_BSSID)]
    assert concerned(scenario.do(ModeSet("observe")), "mode") == [("", b"")]
