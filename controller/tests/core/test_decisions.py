# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace

import pytest

from airbound.core.addresses import Address, address_from_text
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.commands import changes
from airbound.core.decisions import decide, segment_bytes
from airbound.core.parameters import BdpParameters, MinRttParameters, Parameters
from airbound.core.policy import POLICIES, Decision, PolicyInput, Range
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import Destination, TerminalReport
from airbound.core.settings import Settings
from airbound_testing.scenario import BSSID, OTHER_SERVER, SECOND_US, SERVER, mac, upload

IPV6 = address_from_text("2001:db8::1")


class Phone:
    """A terminal in a cell of three active senders and 20 Mb/s."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.settings = Settings(parameters or Parameters())
        self.cell = CellState(BSSID, self.settings)
        self.cell.stations.active_senders = 3
        self.terminal = Terminal(Stream(1, Principal("terminal", "phone")), mac=mac(0))
        self.now_us = SECOND_US

    def report(self, *destinations: Destination) -> tuple[Decision, ...]:
        self.now_us += SECOND_US
        self.terminal.reported_at_us = self.now_us
        report = TerminalReport(mac=mac(0), sequence=1, monotonic_us=1, destinations=destinations)
        self.terminal.accept(report, self.now_us, 3 * SECOND_US)
        return decide(self.terminal, self.cell)


def test_a_decision_has_everything_that_it_follows_from() -> None:
    phone = Phone()
    [decision] = phone.report(upload(300, 256.5, connections=2))
    policy_input = PolicyInput(3, 2, 300_000, 256_500, 1500, 20e6)
    assert decision == Decision(SERVER, phone.cell.policy.decide(policy_input), policy_input, 256_500)


def test_a_cell_in_which_nobody_is_seen_to_send_has_this_one() -> None:
    phone = Phone()
    phone.cell.stations.active_senders = 0
    assert phone.report(upload())[0].policy_input.active_senders == 1


def test_decisions_come_by_address_and_count_all_connections() -> None:
    made = Phone().report(upload(address=IPV6), upload(address=OTHER_SERVER, connections=2), upload())
    assert [decision.destination for decision in made] == sorted([SERVER, OTHER_SERVER, IPV6])
    assert {decision.policy_input.connections for decision in made} == {4}


def test_a_pause_takes_nothing_from_the_others() -> None:
    phone = Phone()
    phone.report(upload(connections=2), upload(address=OTHER_SERVER, connections=3))
    made = {decision.destination: decision for decision in phone.report(upload(connections=2))}
    assert made[SERVER].policy_input.connections == 2
    assert made[OTHER_SERVER].policy_input.connections == 5


def test_without_an_rtt_there_is_no_decision() -> None:
    assert Phone().report(Destination(SERVER, 1)) == ()
    made = Phone().report(Destination(SERVER, 1), upload(address=OTHER_SERVER))
    assert [decision.destination for decision in made] == [OTHER_SERVER]
    assert made[0].policy_input.connections == 2


@pytest.mark.parametrize(("own_ms", "shared_ms", "used_ms"), [(4, 0, 4), (0, 4, 4), (9, 4, 4), (4, 9, 4), (4, 4, 4)])
def test_the_smaller_of_the_own_and_the_shared_minimum_rtt_counts(own_ms: int, shared_ms: int, used_ms: int) -> None:
    phone = Phone()
    phone.cell.min_rtt.observe("other", SERVER, shared_ms * 1000, 1)
    [decision] = phone.report(upload(own_ms, own_ms))
    assert (decision.policy_input.min_rtt_us, decision.own_min_rtt_us) == (used_ms * 1000, own_ms * 1000)


def test_the_shared_minimum_rtt_can_be_turned_off() -> None:
    phone = Phone(Parameters(min_rtt=MinRttParameters(share=False)))
    phone.cell.min_rtt.observe("other", SERVER, 4000, 1)
    assert phone.report(upload(9, 9))[0].policy_input.min_rtt_us == 9000
    assert phone.report(Destination(SERVER, 1)) == ()


@pytest.mark.parametrize(
    ("address", "mss_bytes", "expected"), [(SERVER, 1448, 1500), (IPV6, 1428, 1500), (SERVER, 0, 1500), (IPV6, 0, 1520)]
)
def test_a_segment_on_the_wire(address: Address, mss_bytes: int, expected: int) -> None:
    assert segment_bytes(Destination(address, mss_bytes=mss_bytes)) == expected


OF = PolicyInput(10, 1, 300_000, 256_500, 1500, 20e6)


def decisions(policy_input: PolicyInput = OF, *addresses: Address, high: int = 35) -> tuple[Decision, ...]:
    return tuple(Decision(address, Range(2, high), policy_input, 0) for address in addresses or (SERVER,))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"active_senders": 9}, Reason(Code.ACTIVE_SENDERS, "", 10, 9)),
        ({"capacity_bps": 30e6}, Reason(Code.CAPACITY, "", 20e6, 30e6)),
        ({"connections": 4}, Reason(Code.CONNECTIONS, "", 1, 4)),
        ({"min_rtt_us": 4000}, Reason(Code.MIN_RTT, "10.0.4.1", 256_500, 4000)),
        ({}, Reason(Code.POLICY, "bdp")),
    ],
)
def test_one_change_is_one_reason(change: dict[str, float], reason: Reason) -> None:
    after = decisions(OF._replace(**change), high=36)  # type: ignore[arg-type]  # fields of both types
    assert changes(decisions(), after, POLICIES["bdp"]) == (reason,)


def test_a_range_that_stayed_gives_no_reason() -> None:
    moved = decisions(OF._replace(active_senders=9), SERVER)
    assert changes(decisions(), moved, POLICIES["bdp"]) == (Reason(Code.POLICY, "bdp"),)


def test_each_policy_has_its_own_reasons() -> None:
    after = decisions(OF._replace(capacity_bps=30e6, srtt_us=513_000), high=36)
    before = decisions(OF._replace(srtt_us=256_500))
    assert changes(before, after, POLICIES["bdp"]) == (Reason(Code.CAPACITY, "", 20e6, 30e6),)
    assert changes(before, after, POLICIES["paper"]) == (Reason(Code.RTT_RATIO, "10.0.4.1", 1.0, 2.0),)


def test_the_cells_reasons_come_first_and_once() -> None:
    before = decisions(OF, SERVER, IPV6)
    after = decisions(OF._replace(active_senders=9, min_rtt_us=4000), SERVER, OTHER_SERVER, high=36)
    assert changes(before, after, POLICIES["bdp"]) == (
        Reason(Code.ACTIVE_SENDERS, "", 10, 9),
        Reason(Code.STARTED_SENDING, "10.0.4.2"),
        Reason(Code.MIN_RTT, "10.0.4.1", 256_500, 4000),
        Reason(Code.STOPPED_SENDING, "2001:db8::1"),
    )
    both = decisions(OF._replace(active_senders=9), SERVER, IPV6, high=36)
    assert changes(before, both, POLICIES["bdp"]) == (Reason(Code.ACTIVE_SENDERS, "", 10, 9),)


def test_policies_can_be_replaced() -> None:
    phone = Phone()
    before = phone.report(upload())
    phone.cell.policy = POLICIES["bdp"](replace(phone.settings.parameters, bdp=BdpParameters(gain=9)))
    after = phone.report(upload())
    assert changes(before, after, POLICIES["bdp"]) == (Reason(Code.POLICY, "bdp"),)
    assert after[0].range.max_segs > before[0].range.max_segs
