# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace

import pytest

from airbound.core.addresses import address_from_text
from airbound.core.cell.terminal import Terminal
from airbound.core.leases import SentSet
from airbound.core.principals import Principal, Stream
from airbound.core.reports import NO_AGENT, Agent, BackEnd, Destination, TerminalReport
from airbound_testing.scenario import OTHER_SERVER, SECOND_US, SERVER, mac, upload

KEEP_US = 3 * SECOND_US


def terminal() -> Terminal:
    return Terminal(Stream(1, Principal("terminal", "phone")), mac=mac(0))


def report(*destinations: Destination, generation: int = 0, agent: Agent | None = None) -> TerminalReport:
    return TerminalReport(
        mac=mac(0),
        sequence=1,
        monotonic_us=1,
        destinations=destinations,
        bounds_generation=generation,
        malformed_inputs_total=4,
        agent=agent,
    )


def test_a_terminal_begins_with_nothing() -> None:
    phone = terminal()
    assert (phone.destinations, phone.sending, phone.generation_in_force) == ((), {}, 0)
    assert (phone.bssid, phone.unplaced, phone.sent, phone.no_bounds) == (b"", None, None, None)
    assert (phone.failures_total, phone.superseded_at_us, phone.reports_since_superseded, phone.due_us) == (0, 0, 0, 0)
    assert (phone.reported_at_us, phone.refused_total, phone.malformed_inputs_total) == (0, 0, 0)
    assert (phone.agent_version, phone.closed) == ("", False)


def test_a_report_is_taken_over() -> None:
    phone = terminal()
    assert (phone.name, phone.last_generation, phone.back_end) == ("phone", 0, NO_AGENT.back_end)
    back_end = BackEnd(name="ebpf")
    phone.accept(report(upload(), generation=7, agent=Agent("1.2", back_end)), 5, KEEP_US)
    assert phone.destinations == (upload(),)
    assert (phone.generation_in_force, phone.malformed_inputs_total) == (7, 4)
    assert (phone.agent_version, phone.back_end) == ("1.2", back_end)
    phone.accept(report(), 6, KEEP_US)
    assert (phone.agent_version, phone.back_end, phone.generation_in_force) == ("1.2", back_end, 0)


def test_a_terminal_that_described_nothing_can_do_nothing() -> None:
    back_end = terminal().back_end
    assert [back_end.can_set_max, back_end.can_set_min, back_end.can_select_destination] == [False] * 3


def test_it_sends_where_data_is_queued_and_not_to_itself() -> None:
    phone = terminal()
    loopback = upload(address=address_from_text("127.0.0.1"))
    phone.accept(report(upload(), loopback, upload(address=OTHER_SERVER, connections=0)), 5, KEEP_US)
    assert phone.sending == {SERVER: upload()}
    assert phone.sends


def test_a_pause_is_bridged_and_no_longer() -> None:
    phone, busy = terminal(), upload(connections=3)
    phone.accept(report(busy), 1, KEEP_US)
    phone.accept(report(upload(connections=0)), 1 + KEEP_US, KEEP_US)
    assert (phone.sending, phone.paused) == ({}, {SERVER: (busy, 1)})
    assert phone.sends
    phone.accept(report(), 2 + KEEP_US, KEEP_US)
    assert phone.paused == {}
    assert not phone.sends


def test_a_pause_that_is_noticed_too_late_is_not_bridged() -> None:
    phone = terminal()
    phone.accept(report(upload()), 1, KEEP_US)
    phone.accept(report(), 2 + KEEP_US, KEEP_US)
    assert phone.paused == {}


def test_a_pause_counts_from_the_last_report_with_queued_data() -> None:
    phone = terminal()
    phone.accept(report(upload()), 1, KEEP_US)
    phone.accept(report(upload(srtt_ms=299)), 5, KEEP_US, srtt_counts=False)
    phone.accept(report(), 7, KEEP_US)
    assert phone.paused == {SERVER: (upload(srtt_ms=299), 5)}
    phone.accept(report(), 5 + KEEP_US, KEEP_US)
    assert phone.sends
    phone.accept(report(), 6 + KEEP_US, KEEP_US)
    assert not phone.sends


def test_sending_again_counts_as_now() -> None:
    phone = terminal()
    phone.accept(report(upload()), 1, KEEP_US)
    phone.accept(report(), 2, KEEP_US)
    phone.accept(report(upload(connections=2)), 3, KEEP_US)
    assert (phone.sending, phone.paused) == ({SERVER: upload(connections=2)}, {})


def test_it_sends_to_what_paused_as_well() -> None:
    phone = terminal()
    phone.accept(report(upload()), 1, KEEP_US)
    phone.accept(report(upload(address=OTHER_SERVER)), 2, KEEP_US)
    assert phone.sends_to([SERVER])
    assert phone.sends_to([b"none", OTHER_SERVER])
    assert not phone.sends_to([b"none"])


@pytest.mark.parametrize(
    ("destinations", "changed"),
    [
        ([upload()], False),
        ([upload(srtt_ms=301)], False),
        ([upload(), upload(address=OTHER_SERVER, connections=0)], False),
        ([upload(min_rtt_ms=4)], True),
        ([upload(connections=2)], True),
        ([upload()._replace(mss_bytes=1400)], True),
        ([upload(connections=0)], True),
        ([], True),
        ([upload(address=OTHER_SERVER)], True),
        ([upload(), upload(address=OTHER_SERVER)], True),
    ],
)
def test_most_reports_change_nothing_that_decisions_follow_from(
    destinations: list[Destination], *, changed: bool
) -> None:
    phone = terminal()
    assert phone.accept(report(upload()), 1, KEEP_US)
    assert phone.accept(report(*destinations), 2, KEEP_US, srtt_counts=False) is changed


def test_a_smoothed_rtt_changes_decisions_where_it_counts() -> None:
    phone = terminal()
    phone.accept(report(upload()), 1, KEEP_US)
    assert not phone.accept(report(upload()), 2, KEEP_US, srtt_counts=True)
    assert phone.accept(report(upload(srtt_ms=301)), 3, KEEP_US, srtt_counts=True)


def test_the_end_of_a_pause_and_another_back_end_change_decisions() -> None:
    phone = terminal()
    phone.accept(report(upload()), 1, KEEP_US)
    assert phone.accept(report(), 2, KEEP_US)
    assert not phone.accept(report(), 3, KEEP_US)
    assert phone.accept(report(), 2 + KEEP_US, KEEP_US)
    assert not phone.accept(report(), 3 + KEEP_US, KEEP_US)
    assert phone.accept(report(agent=Agent("1.2", BackEnd())), 4 + KEEP_US, KEEP_US)


def test_reports_count_after_a_newer_stream_only() -> None:
    phone = terminal()
    phone.accept(report(), 1, KEEP_US)
    assert phone.reports_since_superseded == 0
    phone.superseded_at_us = 2
    phone.accept(report(), 3, KEEP_US)
    assert phone.reports_since_superseded == 1


def test_reports_after_a_newer_stream_that_come_at_once_count_as_one() -> None:
    phone = terminal()
    phone.superseded_at_us = 1
    counts = []
    for made_us, at_us in (
        (1_000_000, 9_000_000),
        (3_000_000, 9_000_000),  # waited with the one before
        (5_000_000, 9_999_999),  # a microsecond less than half of the two seconds
        (6_000_000, 10_499_999),  # half a second later, made a second later
        (6_000_000, 10_499_999),  # an agent whose clock stands still does not escape
        (7_000_000, 11_400_000),
    ):
        phone.accept(replace(report(), monotonic_us=made_us), at_us, KEEP_US)
        counts.append(phone.reports_since_superseded)
    assert counts == [1, 1, 1, 2, 3, 4]


def test_the_generation_of_what_was_sent() -> None:
    phone = terminal()
    phone.sent = SentSet(9, (), (), 1, 0, 0)
    assert phone.last_generation == 9
