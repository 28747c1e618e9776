# SPDX-License-Identifier: Apache-2.0
"""What phones hold, and why, in virtual time: not what messages were sent."""

from airbound.core.parameters import MinRttParameters, Parameters
from airbound.core.reports import BackEnd, Destination
from airbound.testing.scenario import OTHER_BSSID, PAPER, Scenario, mac, upload, uploading


def test_every_phone_gets_the_row_of_n() -> None:
    scenario = uploading(10)
    assert {phone.range() for phone in scenario.phones.values()} == {(20, 35)}


def test_a_change_of_n_reaches_every_phone_without_their_asking() -> None:
    scenario = uploading(4)
    assert scenario.phones[mac(0)].range() == (120, 200)
    scenario.advance(1)
    scenario.access_point(dict.fromkeys(map(mac, range(5)), 2.0))
    assert [scenario.phones[mac(number)].range() for number in range(4)] == [(100, 150)] * 4
    assert "n 4 -> 5" in scenario.phones[mac(0)].sets[-1].reason
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
    assert len(scenario.phones[mac(0)].sets) < sets + 12


def test_a_phone_that_no_access_point_reports_gets_nothing() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(9), upload())
    assert scenario.phones[mac(9)].sets == []
    assert "not joined" in scenario.no_bounds_reason(mac(9))
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(9): 2.0})
    assert scenario.phones[mac(9)].range() is not None
    assert scenario.no_bounds_reason(mac(9)) == ""


def test_an_unjoined_phones_rtt_is_nobodys_business() -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    scenario.terminal(mac(9), upload(min_rtt_ms=0.1))
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() == before


def test_a_roaming_phone_belongs_to_its_later_association() -> None:
    scenario = uploading(2)
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        scenario.access_point({mac(1): 2.0}, bssid=OTHER_BSSID)
        scenario.terminal(mac(1), upload())
    view = scenario.engine.terminal(mac(1), scenario.now_us)
    assert view is not None
    assert view.bssid == OTHER_BSSID
    assert scenario.phones[mac(1)].range() == (250, 555)
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0})
    assert scenario.phones[mac(1)].range() == (250, 555)


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
            view = scenario.engine.terminal(mac(9), scenario.now_us)
            assert view is not None
            assert (view.decisions[0].min_rtt_us, view.decisions[0].own_min_rtt_us) == (256_500, 900_000)
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
    scenario.terminal(mac(0), upload(connections=2), upload(4.5, 4.3, address="2001:db8::1", connections=1))
    phone = scenario.phones[mac(0)]
    assert [bound.prefix for bound in phone.bounds] == ["10.0.4.1/32", "2001:db8::1/128"]
    assert phone.range("10.0.4.1") == (6, 11)  # 20/35 over three connections
    assert phone.range("2001:db8::1") == (2, 2)  # 2/4 over three, not below two


def test_a_pause_keeps_the_bound_for_a_while_and_takes_nothing_from_others() -> None:
    scenario = uploading(10)
    other = "10.0.5.1"
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
    scenario.terminal(mac(0), Destination(address="10.9.9.9", connections_sending=1))
    assert scenario.phones[mac(0)].range("10.9.9.9") is None
    fresh = Scenario(PAPER)
    fresh.access_point({mac(0): 2.0})
    fresh.terminal(mac(0), Destination(address="10.9.9.9", connections_sending=1))
    assert fresh.no_bounds_reason(mac(0)) == "no RTT sample yet"


def test_loopback_is_not_over_the_air() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), upload(), upload(0.04, 0.02, address="127.0.0.1"))
    assert [bound.prefix for bound in scenario.phones[mac(0)].bounds] == ["10.0.4.1/32"]


def test_a_back_end_gets_only_what_it_can_do() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), upload(), back_end=BackEnd(can_set_min=False))
    assert scenario.phones[mac(0)].range() == (1, 555)
    scenario.terminal(mac(0), upload(), back_end=BackEnd(can_select_destination=False))
    assert [bound.prefix for bound in scenario.phones[mac(0)].bounds] == [""]
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert ([bound.prefix for bound in view.bounds_sent], view.decisions[0].bound.prefix) == ([""], "10.0.4.1/32")
    scenario.terminal(mac(0), upload(), back_end=BackEnd(name="none", can_set_max=False))
    assert scenario.phones[mac(0)].range() is None
    assert scenario.no_bounds_reason(mac(0)) == "the back end 'none' cannot set a maximum"


def test_a_phone_with_many_destinations_is_told_why_for_a_few() -> None:
    scenario = uploading(1)
    many = [upload(address=f"10.0.5.{host}") for host in range(1, 101)]
    scenario.terminal(mac(0), *many)
    last = scenario.phones[mac(0)].sets[-1]
    assert len(last.bounds) == 101  # with the one it has just stopped sending to
    assert last.reason.endswith("; and 93 destinations more")


def test_a_reason_begins_with_a_word() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), upload(), back_end=BackEnd(can_set_min=False))
    assert scenario.phones[mac(0)].sets[-1].reason.startswith("10.0.4.1: jb class B")
