# SPDX-License-Identifier: Apache-2.0
"""Stations that several access points report: whose a station is, and that nobody takes another one's."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from airbound.core.effects import Effect, Note
from airbound.core.events import AccessPointReported, Disconnected, Event, TerminalReported
from airbound.core.parameters import Parameters
from airbound.core.reasons import Code, Reason
from airbound.core.reports import STATIONS_MAX, AccessPointReport, Arrivals, Station, TerminalReport
from airbound_testing.scenario import (
    BSSID,
    OTHER_BSSID,
    PACKET_BYTES,
    SECOND_US,
    Scenario,
    ip,
    mac,
    name,
    upload,
)

if TYPE_CHECKING:
    from airbound.core.principals import Stream

PHONES = tuple(map(mac, range(3)))
VICTIM = PHONES[0]
WRONG = bytes([172, 16, 0, 9])
CELL, OTHER_CELL = "02:00:00:00:00:01", "02:00:00:00:00:02"
SETTLED_S = 20  # until the capacity moves no more


class Site(Scenario):
    """Three phones that upload in a cell, and another enrolled access point, which lists what it likes."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        super().__init__(parameters)
        self.rogue: Stream | None = None
        self.sequence = self.packets = 0
        self.notes: list[Note] = []
        self.seconds(SETTLED_S)
        self.before = self.ranges()

    def do(self, event: Event) -> list[Effect]:
        effects = super().do(event)
        self.notes += [effect for effect in effects if isinstance(effect, Note)]
        return effects

    def ranges(self) -> list[tuple[int, int] | None]:
        return [self.phones[phone].range() for phone in PHONES]

    def second(self) -> None:
        """The good access point and its phones report."""
        self.advance(1)
        self.access_point(dict.fromkeys(PHONES, 4.0))
        for phone in PHONES:
            self.terminal(phone, upload())

    def seconds(self, count: int) -> None:
        for _ in range(count):
            self.second()

    def list_stations(
        self,
        stations: Iterable[bytes] = PHONES,
        addresses: tuple[bytes, ...] | None = (),
        *,
        packets: int = 0,
        connected_ms: int = 0,
    ) -> None:
        """The other access point reports stations; `packets` more than before of each. `addresses` of none are the
        right ones.
        """
        self.rogue = self.rogue or self.new_stream("access-point", "rogue")
        self.sequence, self.packets = self.sequence + 1, self.packets + packets
        listed = tuple(
            Station(
                station,
                rx_bytes=self.packets * PACKET_BYTES,
                rx_packets=self.packets,
                connected_time_ms=connected_ms,
                ip_addresses=(ip(station),) if addresses is None else addresses,
            )
            for station in stations
        )
        report = AccessPointReport(
            bssid=OTHER_BSSID, sequence=self.sequence, monotonic_us=self.now_us + self.sequence, stations=listed
        )
        self.do(AccessPointReported(self.rogue, report))

    def cells_of(self) -> list[bytes]:
        return [terminal.bssid for terminal in self.engine.terminals()]

    def of_kind(self, kind: str) -> list[tuple[str, str, bytes, tuple[Reason, ...]]]:
        return [(note.subject, note.level, note.cell, note.reasons) for note in self.notes if note.kind == kind]


ADDRESSES = pytest.mark.parametrize(
    "addresses", [(), (WRONG,), None], ids=["no addresses", "wrong ones", "the right ones"]
)


@ADDRESSES
def test_one_report_of_another_access_point_takes_no_phone(addresses: tuple[bytes, ...] | None) -> None:
    site = Site()
    site.list_stations(addresses=addresses)
    assert site.rogue is not None
    site.do(Disconnected(site.rogue))
    for _ in range(20):
        site.second()
        assert site.ranges() == site.before
    assert set(site.cells_of()) == {BSSID}
    assert all(entry.bounds for phone in PHONES for entry in site.phones[phone].sets)


@ADDRESSES
@pytest.mark.parametrize("associates_each_time", [True, False])
def test_an_access_point_that_goes_on_to_list_them_with_counters_that_move_takes_none(
    addresses: tuple[bytes, ...] | None,
    associates_each_time: bool,  # noqa: FBT001
) -> None:
    site = Site()
    invented = [mac(1_000 + number) for number in range(2_000 - len(PHONES))]
    for second in range(8):
        connected_ms = 0 if associates_each_time else second * 1000
        site.list_stations([*PHONES, *invented], addresses, packets=10, connected_ms=connected_ms)
        site.second()
        assert site.ranges() == site.before
    assert site.engine.cells[BSSID].stations.active_senders == len(PHONES)
    assert site.engine.cells[OTHER_BSSID].stations.active_senders > 1_900


def test_a_dispute_is_counted_for_who_claims_and_noted() -> None:
    site = Site()
    for second in range(6):
        site.list_stations(connected_ms=second * 1000)
        site.second()
    disputed = site.engine.cells[OTHER_BSSID], site.engine.cells[BSSID]
    assert [cell.disputes_total for cell in disputed] == [len(PHONES), 0]
    assert [cell.moves_total for cell in disputed] == [0, 0]
    reason = (Reason(Code.STATION_DISPUTED, CELL),)
    found = sorted(site.of_kind("disputed"))
    assert [(subject, cell, reasons) for subject, _, cell, reasons in found] == [
        (subject, OTHER_BSSID, reason)
        for subject in sorted(":".join(f"{octet:02x}" for octet in phone) for phone in PHONES)
    ]
    assert sorted(level for _, level, _, _ in found) == ["counted", "warning", "warning"]  # the 1st, 2nd, 4th


def test_disputes_of_a_whole_report_fill_no_log() -> None:
    site = Site()
    invented = [mac(1_000 + number) for number in range(STATIONS_MAX - len(PHONES))]
    for _ in range(3):
        site.list_stations([*PHONES, *invented])
        site.second()
    before = len(site.notes)
    for _ in range(10):
        site.list_stations([*PHONES, *invented])
        site.second()
    assert [note for note in site.notes[before:] if note.level != "counted"] == []


def test_a_phone_that_says_it_arrived_is_in_its_new_cell_at_once_and_that_is_counted() -> None:
    site = Site()
    site.list_stations([mac(9)], packets=10)
    site.advance(1)
    site.list_stations([mac(9)], packets=10)
    for says_so_first in (True, False):
        site.notes.clear()
        if says_so_first:
            site.arrive(VICTIM)
            site.terminal(VICTIM, upload())
        site.list_stations([mac(9), VICTIM])  # its address is not known yet
        if not says_so_first:
            site.arrive(VICTIM)
            site.advance(0.02)
            site.terminal(VICTIM, upload())
        assert site.cells_of()[0] == OTHER_BSSID
        assert site.of_kind("moved") == [(name(VICTIM), "info", OTHER_BSSID, (Reason(Code.STATION_MOVED, CELL),))]
        assert site.of_kind("disputed") == []
        if says_so_first:  # back
            site.advance(1)
            site.list_stations([mac(9)], packets=10)
            site.arrive(VICTIM)
            site.access_point(dict.fromkeys(PHONES[1:], 4.0))
            site.access_point(dict.fromkeys(PHONES, 4.0), seconds=0.1)
            site.terminal(VICTIM, upload())
            assert site.cells_of()[0] == BSSID
            site.seconds(7)
    assert site.engine.cells[OTHER_BSSID].moves_total == 2
    assert site.engine.cells[BSSID].disputes_total == 0


def test_what_the_controller_sent_is_not_the_phones_own_word() -> None:
    """A phone reports the controller's command as an arrival, which follows from an access point's report."""
    site = Site()
    phone = site.phones[VICTIM]
    assert phone.stream is not None
    phone.sequence += 1
    report = TerminalReport(
        VICTIM, phone.sequence, site.now_us, (upload(),), phone.generation, arrivals=Arrivals(1, "controller", 0)
    )
    site.do(TerminalReported(phone.stream, report))
    for _ in range(5):
        site.list_stations(packets=10)
        site.second()
    assert set(site.cells_of()) == {BSSID}


@pytest.mark.parametrize("sends", [True, False])
def test_a_phone_that_says_nothing_is_where_it_is_heard(sends: bool) -> None:  # noqa: FBT001
    """Its agent goes on to report, and the counters of the access point that it left stand still."""
    site = Site()
    for second in range(4):
        site.list_stations([VICTIM], packets=100, connected_ms=second * 1000)
        site.advance(1)
        site.access_point(dict.fromkeys(PHONES[1:], 4.0), idle=[VICTIM])
        for phone in PHONES:
            site.terminal(phone, *([upload()] if sends or phone is not VICTIM else []))
    assert site.cells_of()[0] == OTHER_BSSID
    assert site.of_kind("disputed") == []


def test_an_idle_phone_is_no_other_access_points() -> None:
    """It sends a heartbeat each 10 s. Then it begins to upload: the other one's counters move as well."""
    site = Site()
    for second in range(30):
        site.list_stations(packets=10, connected_ms=second * 1000)
        site.advance(1)
        site.access_point({}, idle=PHONES)
    site.seconds(SETTLED_S)
    assert set(site.cells_of()) == {BSSID}
    assert site.ranges() == site.before


def test_an_access_point_does_not_take_a_phone_while_the_phones_own_is_silent() -> None:
    """The phone says that it arrived there; the own one comes back."""
    site = Site()
    site.arrive(VICTIM)
    for phone in PHONES:
        site.phones[phone].stream = None
    site.access_points.clear()
    site.engine.cells[BSSID].access_point = None
    site.seconds(SETTLED_S)
    before = site.ranges()
    for second in range(10):
        site.list_stations(packets=10, connected_ms=second * 1000)
        site.advance(1)
        for phone in PHONES:
            site.terminal(phone, upload())
    for _ in range(SETTLED_S):
        site.list_stations(packets=10, connected_ms=1)
        site.second()
    assert set(site.cells_of()) == {BSSID}
    assert site.ranges() == before


def test_a_station_that_was_taken_comes_back_when_the_other_stops_or_goes() -> None:
    for goes in (True, False):
        site = Site()
        for _ in range(4):  # the good access point lists nobody for a while, and the other has them
            site.advance(1)
            site.list_stations(packets=10)
            site.access_point({})
        assert set(site.cells_of()) == {OTHER_BSSID}
        site.access_point({}, idle=PHONES)
        for _ in range(5):
            if not goes:
                site.list_stations()  # their counters stand still
            site.second()
        assert set(site.cells_of()) == {BSSID}
        assert None not in site.ranges()


def test_a_repeater_that_lists_its_upstreams_clients_takes_none_and_has_its_own_at_once() -> None:
    """Both access points list all phones, with counters that move: the upstream one's of a phone behind the repeater
    are those of the relayed frames.
    """
    site = Site()
    for second in range(5):
        site.list_stations(packets=10, connected_ms=1_000 * second)
        site.second()
    assert site.ranges() == site.before
    site.arrive(VICTIM)
    site.list_stations(packets=-50)  # it associates with the repeater
    site.terminal(VICTIM, upload())
    assert site.cells_of() == [OTHER_BSSID, BSSID, BSSID]
    for second in range(30):
        site.list_stations(packets=10, connected_ms=1_000 * second)
        site.second()
        assert site.cells_of() == [OTHER_BSSID, BSSID, BSSID]


def test_after_a_restart_of_the_controller_phones_are_where_they_say_they_arrived() -> None:
    for rogue_first in (True, False):
        site = Site()
        for phone in PHONES:
            site.arrive(phone)
        site.access_points.clear()
        for phone in PHONES:
            site.phones[phone].stream = None
        site.engine.cells[BSSID].access_point = None
        site.seconds(SETTLED_S)
        before = site.ranges()
        site.restart()
        site.rogue, site.sequence = None, 0
        for second in range(SETTLED_S):
            if rogue_first:
                site.list_stations(packets=10, connected_ms=second * 1000)
            site.second()
            if not rogue_first:
                site.list_stations(packets=10, connected_ms=second * 1000)
        assert set(site.cells_of()) == {BSSID}
        assert site.ranges() == before


def test_a_terminal_elsewhere_with_a_friendly_access_point_takes_no_station_that_is_heard() -> None:
    """An agent claims the phone's MAC from another address, and says that it arrived where the other access point lists
    the phone.
    """
    site = Site()
    stream = site.new_stream("terminal", "accomplice", WRONG)
    for second in range(1, 20):
        site.list_stations(addresses=(WRONG,), packets=10)
        report = TerminalReport(VICTIM, second, second * SECOND_US, arrivals=Arrivals(second, "nl80211", 0))
        site.do(TerminalReported(stream, report))
        site.second()
        assert site.ranges() == site.before
