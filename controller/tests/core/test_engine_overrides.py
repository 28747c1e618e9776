# SPDX-License-Identifier: Apache-2.0
"""Cells that go by settings of their own, beside cells that go by the controller's."""

from dataclasses import replace
from typing import Any

import pytest

from airbound.core.addresses import Address, Mac
from airbound.core.effects import Effect, Note, SetBounds, SetReporting
from airbound.core.events import Exempted, ModeSet, Reconfigured
from airbound.core.overrides import CellOverride
from airbound.core.parameters import (
    BdpParameters,
    CapacityParameters,
    EdcaParameters,
    IdentityParameters,
    MinRttParameters,
    Parameters,
    ReportingParameters,
    SafetyParameters,
)
from airbound.core.reasons import Code
from airbound_testing.scenario import BSSID, NO_WMM, OTHER_BSSID, PAPER, Scenario, ip, mac, name, upload

CELL = "02:00:00:00:00:01"
HERE, THERE = (mac(0), mac(1)), (mac(10), mac(11))
BDP = Parameters(policy="bdp", capacity=CapacityParameters(min_bps=2e7, max_bps=2e7))  # whatever is measured
NATTED: dict[Mac, tuple[Address, ...]] = {mac(0): (ip(mac(99)),), mac(1): (ip(mac(99)),)}


def of_bssid(parameters: Parameters = PAPER, **changes: Any) -> CellOverride:
    return CellOverride(name="cell.0", bssids=(BSSID,), parameters=parameters, **changes)


def of_ssid(pattern: str, parameters: Parameters = PAPER, **changes: Any) -> CellOverride:
    return CellOverride(name="cell.1", ssids=(pattern,), parameters=parameters, **changes)


class TwoCells(Scenario):
    """Two phones each send in two cells; an override concerns the first one."""

    def __init__(self, *overrides: CellOverride, parameters: Parameters = PAPER, ssid: bytes = b"lab") -> None:
        super().__init__(parameters, overrides=overrides)
        self.edca = NO_WMM
        self.access_point(dict.fromkeys(HERE, 2.0), ssid=ssid)
        self.access_point(dict.fromkeys(THERE, 2.0), bssid=OTHER_BSSID, ssid=b"other")
        for _ in range(3):  # until shares no longer change
            self.advance(1)
            self.report()

    def report(self, ssid: bytes | None = None, addresses: Any = None) -> list[Effect]:
        """A second's reports of all; what those of the first access point led to."""
        effects = self.access_point(dict.fromkeys(HERE, 2.0), ssid=ssid, addresses=addresses)
        self.access_point(dict.fromkeys(THERE, 2.0), bssid=OTHER_BSSID)
        for address in (*HERE, *THERE):
            self.terminal(address, upload())
        return effects

    def ranges(self) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        """What phones have here and there; both of each cell have the same."""
        here, there = ({self.phones[address].range() for address in addresses} for addresses in (HERE, THERE))
        assert (len(here), len(there)) == (1, 1)
        return here.pop(), there.pop()

    def codes(self) -> tuple[Code | None, Code | None]:
        """Why phones have no bounds, here and there."""
        return self.no_bounds(HERE[0]), self.no_bounds(THERE[0])

    def aifsn(self) -> tuple[int | None, int | None]:
        """What the access points' queues were set to."""
        here, there = (self.access_points[bssid].queues for bssid in (BSSID, OTHER_BSSID))
        return here[0].aifsn if here else None, there[0].aifsn if there else None


def alone(parameters: Parameters) -> tuple[int, int] | None:
    """What phones have where everything goes by these parameters."""
    return TwoCells(parameters=parameters).ranges()[0]


def test_without_an_override_cells_share_the_controllers_settings() -> None:
    cells = TwoCells(of_ssid("office-*"))
    assert all(cell.settings is cells.engine.settings for cell in cells.engine.cells.values())


@pytest.mark.parametrize("ssid", [b"lab", b"office-1"])
def test_a_policy_and_its_parameters_are_a_cells_own(ssid: bytes) -> None:
    own = replace(BDP, bdp=BdpParameters(gain=3.0))
    cells = TwoCells(of_bssid(own), of_ssid("office-*", Parameters()), ssid=ssid)
    assert cells.ranges() == (alone(own), alone(PAPER))
    assert alone(own) != alone(PAPER)
    for _ in range(20):  # leases are renewed by the same settings
        cells.advance(1)
        cells.report()
    assert cells.ranges() == (alone(own), alone(PAPER))


def test_observe_in_one_cell_and_control_in_the_other() -> None:
    cells = TwoCells(of_bssid(mode="observe"))
    assert cells.codes() == (Code.OBSERVE_MODE, None)
    assert cells.aifsn() == (None, 4)
    assert cells.engine.settings.mode == "control"
    rollout = Scenario(PAPER, mode="observe", overrides=[of_bssid(mode="control")])
    rollout.access_point({mac(0): 2.0})
    rollout.advance(1)
    rollout.access_point({mac(0): 2.0})
    rollout.terminal(mac(0), upload())
    assert rollout.phones[mac(0)].range() is not None


def test_an_exempt_cell_and_an_operator_who_ends_that() -> None:
    cells = TwoCells(of_ssid("l*", exempt=True))
    assert cells.codes() == (Code.EXEMPT, None)
    assert cells.aifsn() == (None, 4)
    assert cells.engine.is_exempt(CELL)
    assert not cells.engine.is_exempt("02:00:00:00:00:02")
    cells.do(Exempted(CELL, exempt=False))
    assert cells.codes() == (None, None)
    assert cells.aifsn() == (4, 4)
    assert not cells.engine.is_exempt(CELL)
    cells.do(Exempted(CELL, exempt=True))
    assert cells.codes() == (Code.EXEMPT, None)
    cells.do(Exempted(CELL, exempt=False, by_operator=False))  # left the configuration's list; the override stays
    assert cells.codes() == (Code.EXEMPT, None)


def test_terminals_that_are_exempt_in_one_cell_only() -> None:
    cells = TwoCells(of_bssid(exempt_terminals=frozenset({name(HERE[0]), name(THERE[0])})))
    assert cells.codes() == (Code.EXEMPT, None)
    assert cells.no_bounds(HERE[1]) is None
    assert cells.engine.is_exempt(name(HERE[0]))
    assert not cells.engine.is_exempt(name(THERE[0]))
    cells.do(Exempted(name(HERE[0]), exempt=False))
    assert cells.codes() == (None, None)
    cells.do(Exempted(name(THERE[0]), exempt=True))
    assert cells.codes() == (None, Code.EXEMPT)


def test_capacity_edca_and_leases_are_a_cells_own() -> None:
    own = replace(
        PAPER,
        capacity=CapacityParameters(max_bps=1e6),
        edca=EdcaParameters(aifsn_extra=4),
        safety=SafetyParameters(lease_ms=9_000),
    )
    cells = TwoCells(of_bssid(own))
    here, there = (cells.engine.cells[bssid] for bssid in (BSSID, OTHER_BSSID))
    assert (here.decided_capacity_bps, here.capacity.bps) == (1e6, 1e6)
    assert there.decided_capacity_bps > 1e6
    assert cells.aifsn() == (6, 4)
    leases = [cells.phones[addresses[0]].sets[-1].lease_ms for addresses in (HERE, THERE)]
    assert leases == [9_000, 6_000]
    assert [point.edca_sets[-1].lease_ms for point in cells.access_points.values()] == [9_000, 6_000]


def test_time_outs_are_a_cells_own() -> None:
    own = replace(PAPER, safety=SafetyParameters(cell_stale_ms=1_000, forget_ms=10_000, lease_ms=60_000))
    other = replace(PAPER, safety=SafetyParameters(cell_stale_ms=20_000, terminal_stale_ms=20_000, lease_ms=60_000))
    cells = TwoCells(of_bssid(own), parameters=other)
    cells.advance(1.1)
    assert cells.codes() == (Code.CELL_STALE, None)
    cells.advance(9)
    assert list(cells.engine.cells) == [OTHER_BSSID]


def test_minimum_rtts_are_shared_where_the_cell_has_it_so() -> None:
    own = replace(PAPER, min_rtt=MinRttParameters(share=False))
    cells = TwoCells(of_bssid(own))
    before = cells.ranges()
    for addresses in (HERE, THERE):
        cells.terminal(addresses[0], upload(min_rtt_ms=90))
    here, there = (cells.phones[addresses[1]].range() for addresses in (HERE, THERE))
    assert here == before[0]
    assert there == cells.phones[THERE[0]].range() != before[1]


def test_terminals_of_a_cell_behind_translated_addresses() -> None:
    own = replace(PAPER, identity=IdentityParameters(match_addresses=False))
    cells = TwoCells(of_ssid("natted", own))
    cells.advance(1)
    cells.report(addresses=NATTED)
    assert cells.codes() == (Code.ADDRESS_MISMATCH, None)
    cells.advance(1)
    cells.report(ssid=b"natted", addresses=NATTED)
    assert cells.codes() == (None, None)
    cells.advance(1)
    cells.report(ssid=b"lab", addresses=NATTED)
    assert cells.codes() == (Code.ADDRESS_MISMATCH, None)


def test_a_cell_that_becomes_known_by_its_ssid_goes_by_it_in_the_same_report() -> None:
    own = BDP
    cells = TwoCells(of_ssid("office-*", own), of_ssid("home", mode="observe"))
    assert cells.ranges() == (alone(PAPER), alone(PAPER))
    cells.advance(1)
    effects = cells.report(ssid=b"office-1")
    assert effects[0] == Note("info", "override", f"{CELL} cell.1 (ssid office-*)", cell=BSSID)
    assert {effect.stream for effect in effects if isinstance(effect, SetBounds)} == {
        cells.phones[address].stream for address in HERE
    }
    assert cells.ranges() == (alone(own), alone(PAPER))
    cells.advance(1)
    cells.report(ssid=b"home")
    assert cells.codes() == (Code.OBSERVE_MODE, None)
    assert cells.aifsn() == (None, 4)
    cells.advance(1)
    assert cells.report(ssid=b"")[0] == Note("info", "override", f"{CELL} none", cell=BSSID)
    assert cells.ranges() == (alone(PAPER), alone(PAPER))
    assert cells.aifsn() == (4, 4)


def test_a_shorter_time_out_after_another_ssid_counts_at_once() -> None:
    safety = SafetyParameters(forget_ms=10_000)
    cells = TwoCells(of_ssid("short", replace(PAPER, safety=safety)))
    cells.advance(1)
    cells.report(ssid=b"short")
    cells.advance(10.1)
    assert list(cells.engine.cells) == [OTHER_BSSID]


def test_a_new_cell_is_noted_with_its_override() -> None:
    scenario = Scenario(overrides=[of_bssid()])
    assert scenario.access_point({})[0] == Note("info", "override", f"{CELL} cell.0 (bssid {CELL})", cell=BSSID)
    assert not any(isinstance(effect, Note) for effect in scenario.access_point({}, bssid=OTHER_BSSID))


def test_agents_are_sent_when_to_report_by_their_cell() -> None:
    own = Parameters(policy="bdp", reporting=ReportingParameters(interval_ms=2_000, heartbeat_ms=60_000))
    cells = TwoCells(of_bssid(own))
    phone = cells.phones[HERE[0]]
    stranger = cells.terminal(mac(50))
    assert [effect[1:] for effect in stranger if isinstance(effect, SetReporting)] == [(1_000, 10_000, 200)]
    joined = cells.access_point(dict.fromkeys(HERE, 2.0), idle=[mac(50)])
    assert [effect for effect in joined if isinstance(effect, SetReporting)] == [
        SetReporting(cells.phones[mac(50)].stream, 2_000, 60_000, 0)
    ]
    gone = cells.access_point({HERE[0]: 2.0, HERE[1]: 2.0})
    assert [effect for effect in gone if isinstance(effect, SetReporting)] == [
        SetReporting(cells.phones[mac(50)].stream, 1_000, 10_000, 200)
    ]
    assert not any(isinstance(effect, SetReporting) for effect in cells.terminal(HERE[0], upload()))
    effects = cells.do(Reconfigured(PAPER))
    assert SetReporting(phone.stream, 1_000, 10_000, 200) in effects
    assert len([effect for effect in effects if isinstance(effect, SetReporting)]) == len(HERE)


def test_other_overrides_are_in_force_at_once_in_the_cells_that_they_concern() -> None:
    cells = TwoCells()
    before = cells.ranges()
    own = BDP
    effects = cells.do(Reconfigured(PAPER, (of_ssid("lab", own, mode="control"),)))
    assert Note("info", "override", f"{CELL} cell.1 (ssid lab)", cell=BSSID) in effects
    assert {effect.stream for effect in effects if isinstance(effect, SetBounds)} == {
        cells.phones[address].stream for address in HERE
    }
    assert cells.ranges() == (alone(own), before[1])
    assert cells.do(Reconfigured(PAPER, (of_ssid("lab", own, mode="control"),))) == []
    cells.do(Reconfigured(PAPER, (of_ssid("lab", own, mode="observe"),)))
    assert cells.codes() == (Code.OBSERVE_MODE, None)
    cells.do(Reconfigured(PAPER))
    assert cells.ranges() == before


def test_a_mode_for_one_cell() -> None:
    cells = TwoCells()
    effects = cells.do(ModeSet("observe", BSSID))
    assert effects[0] == Note("info", "mode", f"{CELL} observe", cell=BSSID)
    assert cells.codes() == (Code.OBSERVE_MODE, None)
    assert cells.aifsn() == (None, 4)
    assert (cells.engine.mode_of(BSSID), cells.engine.mode_of(OTHER_BSSID)) == ("observe", "control")
    cells.do(Reconfigured(PAPER, (of_bssid(mode="control"),)))
    assert cells.codes() == (Code.OBSERVE_MODE, None)
    assert cells.do(ModeSet(None, BSSID))[0] == Note("info", "mode", f"{CELL} configured", cell=BSSID)
    assert cells.codes() == (None, None)
    assert cells.aifsn() == (4, 4)


def test_a_mode_for_a_cell_that_comes_later_or_comes_again() -> None:
    scenario = Scenario(PAPER, overrides=[of_ssid("*", mode="control")])
    assert scenario.do(ModeSet("observe", BSSID)) == [Note("info", "mode", f"{CELL} observe", cell=BSSID)]
    assert (scenario.engine.mode_of(BSSID), scenario.engine.mode_of(OTHER_BSSID)) == ("observe", "control")
    scenario.access_point({})
    assert scenario.engine.cells[BSSID].settings.mode == "observe"
    scenario.advance(700)
    assert not scenario.engine.cells
    scenario.access_point({})
    assert scenario.engine.cells[BSSID].settings.mode == "observe"


def test_observe_for_all_is_for_cells_with_an_override_and_a_choice_as_well() -> None:
    cells = TwoCells(of_bssid(mode="control"))
    cells.do(ModeSet("control", OTHER_BSSID))
    cells.do(ModeSet("observe"))
    assert cells.codes() == (Code.OBSERVE_MODE, Code.OBSERVE_MODE)
    assert cells.aifsn() == (None, None)
    cells.do(ModeSet("control", BSSID))
    assert cells.codes() == (None, Code.OBSERVE_MODE)
    assert cells.do(ModeSet(None))[0] == Note("info", "mode", "control")
    assert cells.codes() == (None, None)


def test_a_terminal_that_is_joined_to_no_cell_goes_by_the_controllers_mode() -> None:
    cells = TwoCells(of_bssid(mode="observe"))
    cells.do(ModeSet("control", BSSID))
    cells.access_point({HERE[0]: 2.0})
    assert cells.no_bounds(HERE[1]) is Code.LEFT_CELL
    cells.do(ModeSet("observe", BSSID))
    assert cells.no_bounds(HERE[1]) is Code.LEFT_CELL


def test_another_configured_mode_counts_beside_overrides() -> None:
    cells = TwoCells(of_bssid(mode="control"))
    cells.do(Reconfigured(PAPER, (of_bssid(mode="control"),), "observe"))
    assert cells.codes() == (None, Code.OBSERVE_MODE)
    assert cells.engine.settings.mode == "observe"


def test_a_phone_that_roams_goes_by_the_cell_where_it_is() -> None:
    own = replace(BDP, bdp=BdpParameters(gain=3.0))
    cells = TwoCells(of_bssid(own))
    roamer = HERE[0]
    cells.advance(1)
    cells.access_point({HERE[1]: 2.0})
    cells.access_point({THERE[0]: 2.0, THERE[1]: 2.0, roamer: 2.0}, bssid=OTHER_BSSID)
    cells.advance(1)
    cells.access_point({HERE[1]: 2.0})
    cells.access_point({THERE[0]: 2.0, THERE[1]: 2.0, roamer: 2.0}, bssid=OTHER_BSSID)
    cells.terminal(roamer, upload())
    assert cells.phones[roamer].range() == cells.phones[THERE[0]].range()
