# SPDX-License-Identifier: Apache-2.0
"""Bounds for single applications, by their class."""

import math

import pytest

from airbound.core.effects import Bound, Note
from airbound.core.parameters import Parameters
from airbound.core.policy.types import header_bytes
from airbound.core.reasons import Code
from airbound.core.reports import AppPart, BackEnd, FlowAbilities
from airbound_testing.scenario import BSSID, OTHER_SERVER, SERVER, Scenario, mac, upload

PHONES = [mac(number) for number in range(4)]
LIVE, BURST, BULK, BACKGROUND = 1, 2, 3, 4
ABLE = FlowAbilities(can_mark=True, can_admit=True, flows_max=64)
BY_BOTH = BackEnd(can_select_uid_destination=True, rules_max=256)
MIN_RTT_MS = 60.0
SLOW_KBPS = 5_000  # carries 2.2 Mb/s
SEGMENT_BYTES = 1448 + header_bytes(SERVER)


def run(
    scenario: Scenario,
    *apps: AppPart,
    senders: int = 4,
    back_end: BackEnd = BY_BOTH,
    abilities: FlowAbilities = ABLE,
    bitrate_kbps: int = 54_000,
) -> list[Note]:
    """The first phone sends with these applications, the others without; the notes of what it was sent."""
    notes, mbps = list[Note](), bitrate_kbps * 0.44e-3 / senders
    for step in range(8):
        scenario.advance(0.5)
        sending = dict.fromkeys(PHONES[:senders], mbps)
        scenario.access_point(sending, PHONES[senders:], seconds=0.5, bitrate_kbps=bitrate_kbps)
        for phone in PHONES[:senders]:
            first = phone == PHONES[0]
            parts = tuple(app._replace(delivered_bytes=44_000 * (step + 1)) for app in apps) if first else ()
            effects = scenario.terminal(
                phone,
                upload(80, MIN_RTT_MS),
                apps=parts,
                back_end=back_end if step == 0 else None,
                abilities=abilities if step == 0 else None,
            )
            notes += [effect for effect in effects if isinstance(effect, Note) and effect.kind == "bounds" and first]
    return notes


def app(application_class: int, *uids: int, address: bytes = SERVER) -> AppPart:
    return AppPart(address, application_class, 1, 0, 2000, uids)


def bounds(scenario: Scenario) -> tuple[list[Bound], list[Bound]]:
    """The first phone's: those of its destinations, and those of its applications."""
    entries = scenario.phones[PHONES[0]].bounds
    return [bound for bound in entries if bound.uid is None], [bound for bound in entries if bound.uid is not None]


def test_a_live_flow_has_a_window_for_its_rate() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(LIVE, 10073, 10074), bitrate_kbps=SLOW_KBPS)
    [whole], [first, second] = bounds(scenario)
    assert first == second._replace(uid=10073)
    assert second.uid == 10074
    needs = math.ceil(700e3 * MIN_RTT_MS / 1e3 / 8 / SEGMENT_BYTES) + 1  # an equal part is less than what it sends
    assert (first.min_segs, first.max_segs) == (needs, 2 * needs)
    assert whole.max_segs < needs


def test_one_that_has_enough_with_its_destination_has_no_bound_of_its_own() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(LIVE, 10073))
    [whole], apps = bounds(scenario)
    assert whole.min_segs > 5
    assert apps == []


def test_what_is_in_the_background_has_what_is_left() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(BACKGROUND, 10080))
    [whole], [background] = bounds(scenario)
    assert background == Bound(SERVER, 2, 2, 10080)
    assert whole.max_segs > 2


def test_alone_in_its_cell_it_has_all_of_it() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(BACKGROUND, 10080), senders=1)
    assert bounds(scenario)[1] == []


def test_a_burst_begins_with_its_share() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(BURST, 10080), app(BULK, 10081))
    [whole], [burst] = bounds(scenario)
    assert whole.min_segs < burst.min_segs < burst.max_segs == whole.max_segs
    share_bps = scenario.engine.cells[BSSID].decided_capacity_bps / 4
    assert burst.min_segs == pytest.approx(share_bps * MIN_RTT_MS / 8e3 / SEGMENT_BYTES, abs=1)
    assert burst.uid == 10080


def test_several_connections_of_a_burst_begin_with_it_together() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(BURST, 10080))
    [_], [alone] = bounds(scenario)
    parts = (app(BURST, 10080)._replace(delivered_bytes=400_000),)
    scenario.advance(0.5)
    scenario.terminal(PHONES[0], upload(80, MIN_RTT_MS, connections=4), apps=parts)
    [_], [burst] = bounds(scenario)
    assert burst.min_segs == pytest.approx(alone.min_segs / 4, abs=1)


def test_a_burst_keeps_that_over_a_pause_and_no_longer() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(BURST, 10080))
    before, sets = bounds(scenario)[1], len(scenario.phones[PHONES[0]].sets)
    scenario.advance(0.1)
    scenario.terminal(PHONES[0], apps=())  # between two photos on a connection each there is none
    assert bounds(scenario)[1] == before
    scenario.advance(0.1)
    scenario.terminal(PHONES[0], upload(80, MIN_RTT_MS), apps=(app(BURST, 10080),))
    assert (bounds(scenario)[1], len(scenario.phones[PHONES[0]].sets)) == (before, sets)
    for _ in range(5):
        scenario.advance(1)
        scenario.terminal(PHONES[0], apps=())
    assert bounds(scenario) == ([], [])
    scenario.terminal(PHONES[0], upload(80, MIN_RTT_MS), apps=())
    assert bounds(scenario)[1] == []


def test_where_windows_do_not_follow_from_shares_a_burst_has_what_its_destination_has() -> None:
    scenario = Scenario(Parameters(policy="paper"))
    run(scenario, app(BURST, 10080))
    assert bounds(scenario)[1] == []


@pytest.mark.parametrize("application_class", [0, BULK])
def test_others_have_what_their_destination_has(application_class: int) -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(application_class, 10080))
    [whole], apps = bounds(scenario)
    assert whole.max_segs > 2
    assert apps == []


def test_without_a_grant_a_live_flow_has_what_its_destination_has() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(LIVE, 10073), abilities=FlowAbilities())
    assert bounds(scenario)[1] == []


def test_a_back_end_that_cannot_select_by_both_is_sent_none() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(LIVE, 10073), app(BACKGROUND, 10080), back_end=BackEnd())
    whole, apps = bounds(scenario)
    assert (len(whole), apps) == (1, [])


def test_a_destination_that_is_not_sent_to_has_none() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(BACKGROUND, 10080, address=OTHER_SERVER))
    assert bounds(scenario)[1] == []


def test_an_application_in_two_classes_has_the_first_ones() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(LIVE, 10073), app(BACKGROUND, 10073))
    assert bounds(scenario)[1] == []


def test_they_are_left_out_where_there_is_no_room_for_all() -> None:
    scenario = Scenario(Parameters())
    run(scenario, app(BACKGROUND, *range(10)), back_end=BackEnd(can_select_uid_destination=True, rules_max=10))
    whole, apps = bounds(scenario)
    assert (len(whole), apps) == (1, [])


def test_a_back_end_without_minima_has_the_maxima() -> None:
    scenario = Scenario(Parameters())
    back_end = BackEnd(can_set_min=False, can_select_uid_destination=True)
    run(scenario, app(LIVE, 10073), back_end=back_end, bitrate_kbps=SLOW_KBPS)
    [whole], [live] = bounds(scenario)
    assert (whole.min_segs, live.min_segs) == (1, 1)
    assert live.max_segs > whole.max_segs


def test_the_reason_says_that_applications_changed() -> None:
    scenario = Scenario(Parameters())
    run(scenario)
    notes = run(scenario, app(BACKGROUND, 10080))
    codes = [[reason.code for reason in note.reasons] for note in notes]
    assert any(Code.APPLICATIONS in reasons for reasons in codes)
    assert all(Code.POLICY not in reasons for reasons in codes)
    [note] = [note for note in notes if Code.APPLICATIONS in {reason.code for reason in note.reasons}]
    [reason] = [reason for reason in note.reasons if reason.code is Code.APPLICATIONS]
    assert (reason.before, reason.after) == (0, 1)


def test_a_terminal_without_applications_has_the_bounds_that_it_would_have() -> None:
    plain, by_both = Scenario(Parameters()), Scenario(Parameters())
    run(plain, back_end=BackEnd(rules_max=256))
    run(by_both)
    assert plain.phones[PHONES[0]].bounds == by_both.phones[PHONES[0]].bounds
