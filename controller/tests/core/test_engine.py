# SPDX-License-Identifier: Apache-2.0
"""What is in force on phones, and why, in virtual time: not what messages were sent."""

import pytest

from airbound.core.addresses import Mac, address_from_text
from airbound.core.cell.state import CellState
from airbound.core.effects import Bound, SetReporting
from airbound.core.parameters import MinRttParameters, Parameters
from airbound.core.policy import Decision
from airbound.core.reasons import Code, Reason
from airbound.core.reports import BackEnd, Destination
from airbound_testing.scenario import (
    BSSID,
    OTHER_BSSID,
    OTHER_SERVER,
    PAPER,
    SERVER,
    Scenario,
    mac,
    upload,
    uploading,
)

IPV6 = address_from_text("2001:db8::1")


def cell(scenario: Scenario) -> CellState:
    return scenario.engine.cells[BSSID]


def sent_decisions(scenario: Scenario, address: Mac) -> tuple[Decision, ...]:
    """What the bounds that a phone was sent last follow from."""
    [found] = [terminal for terminal in scenario.engine.terminals() if terminal.mac == address]
    return found.sent_decisions


def test_every_phone_gets_the_row_of_n() -> None:
    scenario = uploading(10)
    assert {phone.range() for phone in scenario.phones.values()} == {(20, 35)}


def test_a_change_of_n_reaches_every_phone_without_their_asking() -> None:
    scenario = uploading(4)
    assert scenario.phones[mac(0)].range() == (120, 200)
    scenario.advance(1)
    scenario.access_point(dict.fromkeys(map(mac, range(5)), 2.0))
    assert [scenario.phones[mac(number)].range() for number in range(4)] == [(100, 150)] * 4
    assert scenario.phones[mac(0)].sets[-1].reasons == (Reason(Code.ACTIVE_SENDERS, "", 4, 5),)
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(1): 2.0}, idle=map(mac, range(2, 5)))
    assert scenario.phones[mac(0)].range() == (300, 300)


def test_a_station_without_an_agent_counts() -> None:
    scenario = Scenario(PAPER)
    sending = {mac(number): 2.0 for number in range(3)}
    scenario.access_point(sending)
    scenario.advance(1)
    scenario.access_point(sending)
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() == (250, 400)


def test_the_ratio_band_of_a_report_changes_that_phone_alone() -> None:
    scenario = uploading(2)
    before = len(scenario.phones[mac(1)].sets)
    scenario.advance(0.1)
    scenario.terminal(mac(0), upload(srtt_ms=5 * 256.5))
    assert scenario.phones[mac(0)].range() == (50, 90)
    assert len(scenario.phones[mac(1)].sets) == before


def test_unchanged_bounds_are_not_sent_again_but_renewed() -> None:
    scenario = uploading(3)
    sets = [len(phone.sets) for phone in scenario.phones.values()]
    scenario.keep_reporting(dict.fromkeys(map(mac, range(3)), 2.0), 30)
    assert [len(phone.sets) for phone in scenario.phones.values()] == sets
    for phone in scenario.phones.values():
        assert phone.range() is not None
        assert 12 <= phone.renewals <= 16  # every third of six seconds


def test_noise_in_the_capacity_is_not_passed_on_but_a_change_is() -> None:
    scenario = uploading(4, Parameters(), mbps=5.0)
    sending = {mac(number): 5.0 for number in range(4)}
    scenario.keep_reporting(sending, 15)
    sets = len(scenario.phones[mac(0)].sets)
    for wobble in (5.2, 4.8, 5.1, 4.9, 5.0):
        scenario.keep_reporting(dict.fromkeys(sending, wobble), 1)
    assert len(scenario.phones[mac(0)].sets) == sets
    before = scenario.phones[mac(0)].range()
    scenario.keep_reporting(dict.fromkeys(sending, 2.5), 15)
    after = scenario.phones[mac(0)].range()
    assert before is not None
    assert after is not None
    assert after[1] < 0.6 * before[1]
    assert sets < len(scenario.phones[mac(0)].sets) < sets + 15
    assert scenario.phones[mac(0)].sets[-1].reasons[0].code is Code.CAPACITY


def test_a_phone_that_no_access_point_reports_gets_nothing() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(9), upload())
    assert scenario.phones[mac(9)].sets == []
    assert scenario.no_bounds(mac(9)) is Code.CELL_UNKNOWN
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(9): 2.0})
    assert scenario.phones[mac(9)].range() is not None
    assert scenario.no_bounds(mac(9)) is None


def test_an_unjoined_phones_rtt_is_nobodys_business() -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    scenario.terminal(mac(9), upload(min_rtt_ms=0.1))
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() == before


def test_a_late_joiner_gets_the_bound_of_the_true_minimum_rtt() -> None:
    late: dict[bool, tuple[int, int]] = {}
    for share in (True, False):
        parameters = Parameters(policy="bdp", min_rtt=MinRttParameters(share=share))
        scenario = uploading(9, parameters)
        scenario.advance(1)
        scenario.access_point(dict.fromkeys(map(mac, range(10)), 2.0))
        # The cell is full: this flow never saw less than 900 ms.
        scenario.terminal(mac(9), upload(srtt_ms=950, min_rtt_ms=900))
        late[share] = scenario.phones[mac(9)].range() or (0, 0)
        if share:
            assert late[share] == scenario.phones[mac(0)].range()
            [decision] = sent_decisions(scenario, mac(9))
            assert (decision.policy_input.min_rtt_us, decision.own_min_rtt_us) == (256_500, 900_000)
    assert late[False][1] > 3 * late[True][1] > 0


def test_a_smaller_minimum_rtt_reaches_the_phones_of_its_cell_and_no_other() -> None:
    """10.0.4.1 of the other cell may be another machine."""
    scenario = Scenario(PAPER)
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0, mac(2): 2.0})
        scenario.access_point({mac(1): 2.0}, bssid=OTHER_BSSID)
    scenario.terminal(mac(0), upload(srtt_ms=300, min_rtt_ms=290))
    before = scenario.phones[mac(0)].range()
    assert before == (300, 300)  # Table 2, two senders
    scenario.terminal(mac(1), upload(srtt_ms=100, min_rtt_ms=75))
    assert scenario.phones[mac(0)].range() == before
    scenario.terminal(mac(2), upload(srtt_ms=100, min_rtt_ms=75))
    after = scenario.phones[mac(0)].range()
    assert after is not None
    assert after[1] <= 90  # class A now: it is 75 ms, ratio 4


def test_several_destinations_and_connections_share_the_phones_part() -> None:
    scenario = uploading(10)
    scenario.terminal(mac(0), upload(connections=2), upload(4.5, 4.3, address=IPV6, connections=1))
    phone = scenario.phones[mac(0)]
    assert [bound.address for bound in phone.bounds] == [SERVER, IPV6]
    assert phone.range(SERVER) == (6, 11)  # 20/35 over three connections
    assert phone.range(IPV6) == (2, 2)  # 2/4 over three, not below two


def test_a_pause_keeps_the_bound_for_a_while_and_takes_nothing_from_others() -> None:
    scenario = uploading(10)
    other = OTHER_SERVER
    scenario.terminal(mac(0), upload(), upload(address=other))
    assert scenario.phones[mac(0)].range() == (10, 17)
    scenario.advance(1)
    scenario.access_point(dict.fromkeys(map(mac, range(10)), 2.0))
    scenario.terminal(mac(0), upload(), upload(address=other, connections=0))
    assert scenario.phones[mac(0)].range() == (20, 35)
    assert scenario.phones[mac(0)].range(other) == (10, 17)
    for _ in range(4):
        scenario.advance(1)
        scenario.access_point(dict.fromkeys(map(mac, range(10)), 2.0))
        scenario.terminal(mac(0), upload(), upload(address=other, connections=0))
    assert scenario.phones[mac(0)].range(other) is None


def test_without_an_rtt_there_is_no_bound_yet() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), Destination(OTHER_SERVER, connections_sending=1))
    assert scenario.phones[mac(0)].range(OTHER_SERVER) is None
    fresh = Scenario(PAPER)
    for _ in range(2):
        fresh.advance(1)
        fresh.access_point({mac(0): 2.0})
    fresh.terminal(mac(0), Destination(OTHER_SERVER, connections_sending=1))
    assert fresh.no_bounds(mac(0)) is Code.NO_RTT_SAMPLE
    assert fresh.phones[mac(0)].sets == []


def test_loopback_is_not_over_the_air() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), upload(), upload(0.04, 0.02, address=address_from_text("127.0.0.1")))
    assert [bound.address for bound in scenario.phones[mac(0)].bounds] == [SERVER]
    assert sent_decisions(scenario, mac(0))[0].policy_input.connections == 1


def test_a_back_end_gets_only_what_it_can_do() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), upload(), back_end=BackEnd(can_set_min=False))
    assert scenario.phones[mac(0)].range() == (1, 555)
    scenario.terminal(mac(0), upload(), back_end=BackEnd(can_select_destination=False))
    assert [bound.address for bound in scenario.phones[mac(0)].bounds] == [b""]
    assert [decision.destination for decision in sent_decisions(scenario, mac(0))] == [SERVER]
    scenario.terminal(mac(0), upload(), back_end=BackEnd(name="none", can_set_max=False))
    assert scenario.phones[mac(0)].range() is None
    assert scenario.no_bounds(mac(0)) is Code.BACK_END_CANNOT_BOUND
    assert scenario.phones[mac(0)].sets[-1].reasons == (Reason(Code.BACK_END_CANNOT_BOUND, "none"),)


@pytest.mark.parametrize(
    ("back_end", "bounds"),
    [
        (BackEnd(), [Bound(SERVER, 10, 17), Bound(OTHER_SERVER, 2, 2)]),
        (BackEnd(can_set_min=False), [Bound(SERVER, 1, 17), Bound(OTHER_SERVER, 1, 2)]),
        (BackEnd(can_select_destination=False), [Bound(b"", 2, 2)]),
        (BackEnd(can_set_min=False, can_select_destination=False), [Bound(b"", 1, 2)]),
        (BackEnd(rules_max=1), [Bound(OTHER_SERVER, 2, 2)]),
    ],
)
def test_back_ends_with_several_destinations(back_end: BackEnd, bounds: list[Bound]) -> None:
    scenario = uploading(10)
    scenario.terminal(mac(0), upload(), upload(4.5, 4.3, address=OTHER_SERVER), back_end=back_end)
    assert list(scenario.phones[mac(0)].bounds) == bounds


def test_a_phone_with_many_destinations_gets_them_all() -> None:
    scenario = uploading(1)
    many = [upload(address=address_from_text(f"10.0.5.{host}")) for host in range(1, 101)]
    scenario.terminal(mac(0), *many)
    last = scenario.phones[mac(0)].sets[-1]
    assert len(last.bounds) == 101  # with the one that it has just stopped sending to
    assert {reason.code for reason in last.reasons} == {Code.STARTED_SENDING, Code.CONNECTIONS}
    assert len(last.reasons) == 101


def test_a_set_has_the_cells_values() -> None:
    scenario = uploading(3, Parameters())
    last = scenario.phones[mac(0)].sets[-1]
    assert (last.active_senders, last.capacity_bps) == (3, cell(scenario).decided_capacity_bps)
    assert last.lease_ms == 6_000
    assert last.reasons == (Reason(Code.STARTED_SENDING, "10.0.4.1"),)


def test_agents_learn_when_to_report_with_their_first_report() -> None:
    for parameters, ratio in ((PAPER, 200), (Parameters(), 0)):
        scenario = Scenario(parameters)
        effects = scenario.terminal(mac(0), upload())
        stream = scenario.phones[mac(0)].stream
        assert [effect for effect in effects if isinstance(effect, SetReporting)] == [
            SetReporting(stream, interval_ms=1_000, heartbeat_ms=10_000, rtt_ratio_change_permille=ratio)
        ]
        assert not any(isinstance(effect, SetReporting) for effect in scenario.terminal(mac(0), upload()))
