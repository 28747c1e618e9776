# SPDX-License-Identifier: Apache-2.0
"""Cells whose access point's driver reports no PHY rates. The air of such a cell here: phones take turns, each access
costs ROUND_US beside its frames, and what of a window is not on its way waits to be sent in one access.
"""

from dataclasses import dataclass, field

import pytest

from airbound.core.addresses import Mac
from airbound.core.effects import Effect, Note
from airbound.core.parameters import Parameters
from airbound.core.policy import RateSource
from airbound.core.policy.aggregate import ROUND_US, frame_us
from airbound.core.reasons import Code
from airbound_testing.scenario import BSSID, Scenario, mac, upload

SEGMENT_BYTES = 1500
FRAMES_MOST = 64
CUBIC_SEGS = 2_000.0


@dataclass
class Air:
    """A cell of phones that upload, all at one rate that nobody reports."""

    rate_bps: float
    phones: int
    rtt_ms: float
    reported_kbps: int = 0
    scenario: Scenario = field(default_factory=lambda: Scenario(Parameters()))
    effects: list[Effect] = field(default_factory=list)

    @property
    def macs(self) -> list[Mac]:
        return [mac(number) for number in range(self.phones)]

    def phone_mbps(self, window_segs: float) -> float:
        """What each phone carries with such a window."""
        one_us = frame_us(SEGMENT_BYTES, self.rate_bps)
        low, high = 0.0, float(FRAMES_MOST)
        for _ in range(40):
            frames = (low + high) / 2
            per_us = frames / (self.phones * (ROUND_US + frames * one_us))
            low, high = (frames, high) if frames + per_us * self.rtt_ms * 1e3 < window_segs else (low, frames)
        return SEGMENT_BYTES * 8 * low / (self.phones * (ROUND_US + low * one_us))

    def run(self, seconds: int) -> float:
        """What a phone carries in the last second, Mb/s."""
        mbps = 0.0
        for _ in range(seconds):
            self.scenario.advance(1.0)
            bounds = self.scenario.phones[self.macs[0]].range() if self.macs[0] in self.scenario.phones else None
            mbps = self.phone_mbps(float(bounds[1]) if bounds else CUBIC_SEGS)
            rates, kbps = dict.fromkeys(self.macs, mbps), dict.fromkeys(self.macs, self.reported_kbps)
            self.effects += self.scenario.access_point(rates, aggregating=kbps)
            for address in self.macs:
                sends = upload(srtt_ms=2 * self.rtt_ms, min_rtt_ms=self.rtt_ms)
                self.effects += self.scenario.terminal(address, sends)
        return mbps

    @property
    def assumed_bps(self) -> float:
        return self.scenario.engine.cells[BSSID].air.by_mac[self.macs[0]].rate_bps

    def notes(self, kind: str) -> list[Note]:
        return [effect for effect in self.effects if isinstance(effect, Note) and effect.kind == kind]


@pytest.mark.parametrize("rtt_ms", [4.0, 16.0, 64.0])
@pytest.mark.parametrize("phones", [1, 2, 10])
@pytest.mark.parametrize("rate_mbps", [72.2, 300.0, 866.7])
def test_nobody_carries_less_for_it(rate_mbps: float, phones: int, rtt_ms: float) -> None:
    """Than with windows that limit nothing; and windows come to rest."""
    air = Air(rate_mbps * 1e6, phones, rtt_ms)
    most = air.phone_mbps(CUBIC_SEGS)
    assert air.run(20) > 0.94 * most
    before = air.assumed_bps
    air.run(20)
    assert air.assumed_bps == pytest.approx(before, rel=0.05)
    assert air.scenario.engine.cells[BSSID].air.by_mac[mac(0)].source is RateSource.CARRIED


def test_windows_are_not_those_without_any_bounds() -> None:
    air = Air(866.7e6, 10, 4.0)
    air.run(20)
    bounds = air.scenario.phones[mac(0)].range()
    assert bounds is not None
    assert bounds[1] < 160


def test_the_log_says_when_it_begins_and_when_rates_are_reported_again() -> None:
    air = Air(866.7e6, 3, 16.0)
    air.run(5)
    [note] = air.notes("assumed")
    assert (note.level, note.reasons[0].code, note.reasons[0].after) == ("warning", Code.ASSUMED_RATES, 3)
    air.reported_kbps = 866_700
    air.run(9)
    assert not air.notes("reported")
    air.run(3)
    assert len(air.notes("reported")) == 1
    assert air.assumed_bps == 866.7e6
    assert len(air.notes("assumed")) == 1


def test_a_pause_is_no_report() -> None:
    air = Air(866.7e6, 2, 16.0)
    air.run(5)
    for _ in range(20):
        air.scenario.advance(1.0)
        air.effects += air.scenario.access_point({}, idle=air.macs, aggregating=dict.fromkeys(air.macs, 0))
    air.run(5)
    assert not air.notes("reported")
    assert len(air.notes("assumed")) == 1


def test_explanation_names_what_it_is_assumed_by() -> None:
    air = Air(866.7e6, 2, 16.0)
    air.run(5)
    cell = air.scenario.engine.cells[BSSID]
    [decision] = cell.terminals[mac(0)].sent_decisions
    assert "assumed by what the cell carried" in cell.policy.formula(decision.policy_input)
