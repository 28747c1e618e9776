# SPDX-License-Identifier: Apache-2.0
"""Which terminal is which station: rivals for a MAC address, streams that replace streams, addresses of streams."""

from dataclasses import replace

import pytest

from airbound.core.addresses import Address, address_from_text
from airbound.core.effects import SetBounds
from airbound.core.events import ModeSet, Reconfigured
from airbound.core.parameters import IdentityParameters, Parameters, ReportingParameters, SafetyParameters
from airbound.core.reasons import Code, Reason
from airbound_testing.scenario import BSSID, PAPER, Phone, Scenario, ip, mac, name, upload, uploading

OTHER_IP = address_from_text("192.168.9.9")
IPV6 = address_from_text("2001:db8::7")
ANY_ADDRESS = replace(PAPER, identity=IdentityParameters(match_addresses=False))


class Rivals:
    """Two agents that report the MAC address of one station."""

    def __init__(self, second_comes_from: Address) -> None:
        self.scenario = uploading(2, ANY_ADDRESS)
        self.first = self.scenario.phones[mac(0)]
        self.second = Phone(mac(0), None)
        self.comes_from = second_comes_from

    def report(self, which: Phone, monotonic_us: int | None = None) -> None:
        phones = self.scenario.phones
        phones[mac(0)] = which
        # The rival keeps an entry, so that its commands reach it.
        phones[b"rival!"] = self.second if which is self.first else self.first
        comes_from = self.comes_from if which is self.second else None
        self.scenario.terminal(mac(0), upload(), comes_from=comes_from, monotonic_us=monotonic_us)

    def second_long(self, *which: Phone) -> None:
        self.scenario.advance(1)
        self.scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        self.scenario.terminal(mac(1), upload())
        for phone in which:
            self.report(phone)

    def reason(self, which: Phone) -> Reason | None:
        assert which.stream is not None
        for terminal in self.scenario.engine.terminals():
            if terminal.stream == which.stream:
                return terminal.no_bounds
        raise LookupError


@pytest.mark.parametrize("comes_from", [OTHER_IP, ip(mac(0))], ids=["another address", "the same address"])
def test_two_that_claim_one_mac_are_both_unbounded(comes_from: Address) -> None:
    rivals = Rivals(comes_from)
    for _ in range(3):
        rivals.second_long(rivals.second, rivals.first)
    for which, other in ((rivals.first, rivals.second), (rivals.second, rivals.first)):
        assert which.range() is None
        assert other.stream is not None
        assert rivals.reason(which) == Reason(Code.MAC_CLAIMED_TWICE, other.stream.principal.name)
        assert which.closed is None
    assert rivals.scenario.phones[mac(1)].range() is not None
    for _ in range(20):
        rivals.second_long(rivals.first, rivals.second)
        assert (rivals.first.range(), rivals.second.range()) == (None, None)


@pytest.mark.parametrize("leaves", ["first", "second"])
def test_when_one_of_two_rivals_leaves_the_other_is_bounded_again(leaves: str) -> None:
    rivals = Rivals(OTHER_IP)
    for _ in range(3):
        rivals.second_long(rivals.second, rivals.first)
    gone, stays = (rivals.first, rivals.second) if leaves == "first" else (rivals.second, rivals.first)
    rivals.scenario.phones[mac(0)] = gone
    rivals.scenario.phones[b"rival!"] = stays
    rivals.scenario.disconnect(mac(0))
    assert stays.range() == (300, 300)
    assert rivals.reason(stays) is None
    rivals.second_long(stays)
    assert stays.range() == (300, 300)


def test_a_rival_that_falls_silent_is_closed_and_the_other_bounded_again() -> None:
    rivals = Rivals(OTHER_IP)
    for _ in range(3):
        rivals.second_long(rivals.second, rivals.first)
    for _ in range(29):
        rivals.second_long(rivals.second)
    assert rivals.first.closed is None
    for _ in range(2):
        rivals.second_long(rivals.second)
    assert rivals.first.closed is Code.REPLACED
    assert rivals.second.range() == (300, 300)


def test_a_reconnect_keeps_its_bounds_and_the_old_stream_is_closed() -> None:
    scenario = uploading(2)
    old = scenario.phones[mac(0)]
    scenario.advance(0.5)
    new = replace(old, stream=None, sets=[])
    scenario.phones = {mac(0): new, mac(1): scenario.phones[mac(1)], b"before": old}
    scenario.terminal(mac(0), upload())
    assert new.range() == (300, 300)
    [first] = new.sets
    assert first.generation > old.sets[-1].generation
    for _ in range(31):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        for number in range(2):
            scenario.terminal(mac(number), upload())
        assert new.range() == (300, 300)
    assert old.closed is Code.REPLACED
    assert all(entry.bounds for entry in new.sets + old.sets)
    assert {terminal.stream for terminal in scenario.engine.terminals()} == {
        new.stream,
        scenario.phones[mac(1)].stream,
    }


@pytest.mark.parametrize(
    ("stale_s", "heartbeat_s", "closed_s"), [(5, 10, 30), (60, 10, 60), (5, 1, 5)], ids=["defaults", "stale", "both"]
)
def test_the_old_stream_is_closed_after_three_heartbeats(stale_s: int, heartbeat_s: int, closed_s: int) -> None:
    parameters = replace(
        PAPER,
        safety=SafetyParameters(terminal_stale_ms=stale_s * 1000),
        reporting=ReportingParameters(heartbeat_ms=heartbeat_s * 1000),
    )
    scenario = uploading(1, parameters)
    old = scenario.phones[mac(0)]
    scenario.phones = {mac(0): Phone(mac(0), None), b"before": old}
    scenario.advance(0.5)
    scenario.terminal(mac(0), upload())
    scenario.advance(closed_s - 0.1)
    assert old.closed is None
    scenario.advance(0.2)
    assert old.closed is Code.REPLACED


def test_two_idle_agents_with_one_mac_are_both_told_so() -> None:
    """Each is heard every 10 s. Closed after 5 s of silence, each came back in turn and superseded the other."""
    scenario = uploading(1)
    phones = [scenario.phones[mac(0)], Phone(mac(0), None)]
    scenario.phones = {b"first!": phones[0], b"second": phones[1]}
    for half in range(20):
        scenario.advance(5)
        scenario.access_point({}, idle=[mac(0)], seconds=5)
        phone = phones[1 - half % 2]
        scenario.phones = {mac(0): phone, b"other!": phones[half % 2]}
        scenario.terminal(mac(0), comes_from=ip(mac(0)))
    assert [phone.closed for phone in phones] == [None, None]
    reasons = [terminal.no_bounds.code for terminal in scenario.engine.terminals() if terminal.no_bounds]
    assert reasons == [Code.MAC_CLAIMED_TWICE] * 2


def test_one_report_that_was_under_way_makes_no_rival() -> None:
    rivals = Rivals(ip(mac(0)))
    rivals.second_long(rivals.second)
    rivals.report(rivals.first)
    rivals.second_long(rivals.second)
    assert rivals.second.range() == (300, 300)
    rivals.report(rivals.first)  # the second
    assert (rivals.first.range(), rivals.second.range()) == (None, None)


def test_reports_that_waited_elsewhere_and_come_at_once_make_no_rival() -> None:
    """A store that pauses, or a full cell's queue, has the old stream's last seconds for us after the new one began."""
    rivals = Rivals(ip(mac(0)))
    rivals.second_long(rivals.first)
    made_us = [rivals.scenario.now_us + ago_us for ago_us in (1_900_000, 3_800_000, 4_900_000)]
    rivals.scenario.advance(5)
    rivals.second_long(rivals.second)
    for monotonic_us in made_us:
        rivals.report(rivals.first, monotonic_us)
        rivals.scenario.advance(0.001)
    rivals.second_long(rivals.second)
    assert rivals.second.range() == (300, 300)
    assert all(entry.bounds for entry in rivals.second.sets)
    assert rivals.reason(rivals.first) == Reason(Code.REPLACED)


def test_one_that_goes_on_after_its_reports_had_waited_is_a_rival() -> None:
    rivals = Rivals(OTHER_IP)
    rivals.second_long(rivals.first)
    begun_us = rivals.scenario.now_us
    rivals.scenario.advance(5)
    rivals.second_long(rivals.second)
    for late_us in (2_000_000, 4_000_000):
        rivals.report(rivals.first, begun_us + late_us)
    assert rivals.second.range() == (300, 300)
    rivals.second_long(rivals.second, rivals.first)  # made 3 s after the last of those, and comes after 1 s
    rivals.second_long(rivals.second, rivals.first)
    assert (rivals.first.range(), rivals.second.range()) == (None, None)
    assert rivals.reason(rivals.first) == Reason(Code.MAC_CLAIMED_TWICE, rivals.second.stream.principal.name)  # type: ignore[union-attr]


def test_a_superseded_stream_that_is_disconnected_changes_nothing() -> None:
    rivals = Rivals(ip(mac(0)))
    rivals.second_long(rivals.second)
    sets = len(rivals.second.sets)
    rivals.scenario.phones[mac(0)], rivals.scenario.phones[b"rival!"] = rivals.first, rivals.second
    rivals.scenario.disconnect(mac(0))
    rivals.second_long(rivals.second)
    assert len(rivals.second.sets) == sets
    for _ in range(10):
        rivals.second_long(rivals.second)
    assert (rivals.first.closed, rivals.second.closed) == (None, None)
    assert rivals.scenario.counts.totals["closed_total", Code.REPLACED] == 0


def test_when_one_of_two_rivals_reports_another_mac_the_other_is_bounded_again() -> None:
    rivals = Rivals(OTHER_IP)
    for _ in range(3):
        rivals.second_long(rivals.second, rivals.first)
    assert rivals.first.range() is None
    rivals.scenario.phones = {mac(5): rivals.second, mac(0): rivals.first}
    rivals.scenario.terminal(mac(5), upload())
    assert rivals.first.range() == (300, 300)
    assert rivals.scenario.no_bounds(mac(5)) is Code.CELL_UNKNOWN


def test_a_superseded_stream_has_its_own_reason_whatever_the_mode() -> None:
    rivals = Rivals(OTHER_IP)
    rivals.second_long(rivals.second)
    rivals.scenario.do(ModeSet("observe"))
    assert rivals.reason(rivals.first) == Reason(Code.REPLACED)
    assert rivals.reason(rivals.second) == Reason(Code.OBSERVE_MODE)


def test_a_terminal_with_another_mac_is_placed_by_it() -> None:
    scenario = uploading(2, ANY_ADDRESS)
    phone = scenario.phones[mac(0)]
    scenario.advance(1)
    scenario.access_point({mac(1): 2.0, mac(5): 2.0})
    assert phone.range() is None
    scenario.phones = {mac(5): replace(phone, mac=mac(5)), mac(1): scenario.phones[mac(1)]}
    scenario.terminal(mac(5), upload())
    assert scenario.phones[mac(5)].range() == (300, 300)
    assert [terminal.mac for terminal in scenario.engine.terminals()] == [mac(5), mac(1)]


def test_a_superseded_terminal_with_another_mac_is_placed_at_once() -> None:
    rivals = Rivals(OTHER_IP)
    rivals.second_long(rivals.second)
    scenario = rivals.scenario
    scenario.access_point({mac(0): 2.0, mac(1): 2.0, mac(5): 2.0})
    scenario.phones = {mac(5): rivals.first, mac(0): rivals.second}
    scenario.terminal(mac(5), upload())
    assert rivals.first.range() is not None
    assert rivals.second.range() is not None
    scenario.advance(10)
    assert rivals.first.closed is None


# Claims from elsewhere


class Attacked:
    """A phone that sends, and an agent elsewhere that claims its MAC address."""

    def __init__(self) -> None:
        self.scenario = uploading(2)
        self.victim = self.scenario.phones[mac(0)]
        self.attacker = Phone(mac(0), None)

    def attack(self) -> None:
        """The agent elsewhere reports."""
        self._report(self.attacker, OTHER_IP)

    def second(self) -> None:
        """All others report once."""
        self.scenario.advance(1)
        self.scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        self.scenario.terminal(mac(1), upload())
        self._report(self.victim, ip(mac(0)))

    def _report(self, phone: Phone, address: Address) -> None:
        other = self.victim if phone is self.attacker else self.attacker
        self.scenario.phones |= {mac(0): phone, b"other!": other}
        self.scenario.terminal(mac(0), upload(), comes_from=address)

    def reasons(self) -> dict[str, Reason | None]:
        """By the terminals' names."""
        return {terminal.name: terminal.no_bounds for terminal in self.scenario.engine.terminals()}


MISMATCH = Reason(Code.ADDRESS_MISMATCH, "192.168.9.9")


def test_a_claim_from_elsewhere_takes_nothing_from_the_station() -> None:
    attacked = Attacked()
    renewals = attacked.victim.renewals
    attacked.attack()
    for _ in range(40):
        attacked.second()
        assert attacked.victim.range() == (300, 300)
        attacked.attack()
        assert attacked.reasons() == {name(mac(0)): None, name(mac(1)): None, "192.168.9.9": MISMATCH}
    assert attacked.victim.renewals >= renewals + 19
    assert len(attacked.victim.sets) == 1
    assert attacked.attacker.sets == []
    assert (attacked.victim.closed, attacked.attacker.closed) == (None, None)


def test_a_claim_from_elsewhere_that_is_made_again_and_again_takes_nothing_either() -> None:
    """Each supersedes the station's own; were that to count, no two reports would come in between."""
    attacked = Attacked()
    for _ in range(40):
        attacked.attack()
        attacked.second()
        assert attacked.victim.range() == (300, 300)
        attacked.scenario.phones |= {mac(0): attacked.attacker, b"other!": attacked.victim}
        attacked.scenario.disconnect(mac(0))
    assert len(attacked.victim.sets) == 1


def test_a_station_that_comes_back_is_joined_whoever_claims_its_mac_from_elsewhere() -> None:
    attacked = Attacked()
    attacked.attack()
    attacked.second()
    before, attacked.victim = attacked.victim, replace(attacked.victim, stream=None, sets=[])
    for _ in range(40):
        attacked.second()
        attacked.attack()
        assert attacked.victim.range() == (300, 300)
    assert all(entry.bounds for entry in before.sets + attacked.victim.sets)
    assert attacked.reasons()["192.168.9.9"] == MISMATCH


def test_before_the_access_point_reports_a_claim_from_elsewhere_releases_nobody() -> None:
    attacked = Attacked()
    attacked.scenario.restart()
    attacked.attacker.stream = None
    attacked.victim.sets.clear()
    attacked.scenario.phones[mac(0)] = attacked.victim
    for _ in range(3):
        attacked.scenario.terminal(mac(0), upload(), comes_from=ip(mac(0)))
        attacked.attack()
        attacked.scenario.advance(0.2)
        attacked.scenario.phones |= {mac(0): attacked.victim, b"other!": attacked.attacker}
    for _ in range(3):
        attacked.second()
        attacked.attack()
    assert attacked.victim.range() is not None
    assert all(entry.bounds for entry in attacked.victim.sets)
    assert attacked.reasons()["192.168.9.9"] == MISMATCH


@pytest.mark.parametrize("older_first", [True, False])
def test_a_station_with_another_address_is_the_other_claimant(older_first: bool) -> None:  # noqa: FBT001
    """In one turn one of them leaves the cell and the other is joined, in either order."""
    scenario = Scenario(PAPER)
    phones = [Phone(mac(0), None), Phone(mac(0), None)]
    sources = [ip(mac(0)), OTHER_IP]
    first, second = (sources[0], sources[1]) if older_first else (sources[1], sources[0])
    for address in (first, first, first, first, second, second, first):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0}, addresses={mac(0): (address,)})
        for number in range(2):
            scenario.phones = {mac(0): phones[number], b"other!": phones[1 - number]}
            scenario.terminal(mac(0), upload(), comes_from=sources[number])
    joined, other = (phones[0], phones[1]) if older_first else (phones[1], phones[0])
    assert (joined.range() is None, other.range() is None) == (False, True)
    [terminal] = scenario.engine.cells[BSSID].terminals.values()
    assert terminal.stream == joined.stream
    for number in range(2):
        scenario.phones = {mac(0): phones[number]}
        scenario.disconnect(mac(0))
    assert scenario.engine.terminals() == []


def test_two_at_the_station_are_both_unbounded_whoever_else_claims_its_mac() -> None:
    """A third from elsewhere counts for nothing, and hides nothing."""
    rivals = Rivals(ip(mac(0)))
    rivals.scenario.do(Reconfigured(PAPER))
    for _ in range(3):
        rivals.second_long(rivals.second, rivals.first)
    stream = rivals.scenario.new_stream("terminal", "192.168.9.9", OTHER_IP)
    third = rivals.scenario.phones[b"third!"] = Phone(mac(0), stream)
    rivals.scenario.phones[mac(0)] = third
    rivals.scenario.terminal(mac(0), upload())
    for _ in range(3):
        rivals.second_long(rivals.second, rivals.first)
    assert [rivals.reason(which) for which in (rivals.first, rivals.second, third)] == [
        Reason(Code.MAC_CLAIMED_TWICE, name(mac(0))),
        Reason(Code.MAC_CLAIMED_TWICE, name(mac(0))),
        MISMATCH,
    ]


# Addresses


def cell_of(addresses: tuple[Address, ...], parameters: Parameters = PAPER) -> Scenario:
    scenario = Scenario(parameters)
    report(scenario, addresses)
    report(scenario, addresses)
    return scenario


def report(scenario: Scenario, addresses: tuple[Address, ...]) -> None:
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0}, addresses={mac(0): addresses})


def test_a_stream_from_an_address_that_is_not_the_stations_is_not_joined() -> None:
    scenario = cell_of((ip(mac(0)),))
    effects = scenario.terminal(mac(0), upload(), comes_from=OTHER_IP)
    assert not any(isinstance(effect, SetBounds) for effect in effects)
    [terminal] = scenario.engine.terminals()
    assert terminal.no_bounds == Reason(Code.ADDRESS_MISMATCH, "192.168.9.9")
    assert not terminal.bssid


@pytest.mark.parametrize(
    "addresses", [(), (IPV6,), (OTHER_IP,), (ip(mac(0)), OTHER_IP)], ids=["none", "no IPv4", "the only", "one of two"]
)
def test_a_stream_is_joined_where_its_address_matches_or_cannot_be_compared(addresses: tuple[Address, ...]) -> None:
    scenario = cell_of(addresses)
    scenario.terminal(mac(0), upload(), comes_from=OTHER_IP)
    assert scenario.phones[mac(0)].range() is not None


def test_a_stream_without_an_address_is_joined() -> None:
    scenario = cell_of((ip(mac(0)),))
    phone = scenario.phones[mac(0)] = Phone(mac(0), scenario.new_stream("terminal", "unix", b""))
    scenario.terminal(mac(0), upload())
    assert phone.range() is not None


def test_an_address_that_appears_later_joins_or_parts() -> None:
    scenario = cell_of((ip(mac(0)),))
    scenario.terminal(mac(0), upload(), comes_from=OTHER_IP)
    report(scenario, (ip(mac(0)), OTHER_IP))
    assert scenario.phones[mac(0)].range() is not None
    report(scenario, (ip(mac(0)),))
    phone = scenario.phones[mac(0)]
    assert phone.range() is None
    assert phone.sets[-1].reasons == (Reason(Code.ADDRESS_MISMATCH, "192.168.9.9"),)
    report(scenario, ())
    assert phone.range() is not None


def test_a_stream_that_was_joined_to_no_cell_has_left_none() -> None:
    scenario = cell_of((ip(mac(0)),))
    scenario.terminal(mac(0), upload(), comes_from=OTHER_IP)
    scenario.advance(1)
    scenario.access_point({})
    [terminal] = scenario.engine.terminals()
    assert terminal.no_bounds == Reason(Code.CELL_UNKNOWN)


def test_networks_that_translate_addresses_can_be_joined() -> None:
    scenario = cell_of((ip(mac(0)),), ANY_ADDRESS)
    scenario.terminal(mac(0), upload(), comes_from=OTHER_IP)
    assert scenario.phones[mac(0)].range() is not None
    scenario.do(Reconfigured(PAPER))
    assert scenario.phones[mac(0)].range() is None
    assert scenario.no_bounds(mac(0)) is Code.ADDRESS_MISMATCH
    scenario.do(Reconfigured(ANY_ADDRESS))
    assert scenario.phones[mac(0)].range() is not None


def test_a_stream_that_is_not_joined_shares_no_minimum_rtt() -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(3): 2.0})
    scenario.terminal(mac(3), upload(min_rtt_ms=0.06), comes_from=OTHER_IP)
    scenario.access_point({mac(0): 2.0})
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() == before
