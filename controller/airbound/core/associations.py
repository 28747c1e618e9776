# SPDX-License-Identifier: Apache-2.0
"""Which cell a station is in, by what access points report of it and by what its phone reports of itself.

An access point gets no message when a phone leaves, and lists it until it has been silent for minutes; a repeater may
list its upstream's stations; and an access point may list any station. So a station that several cells report is in one
of them by these rules, in this order:

- not in a cell that does not hear it: its phone has reported to the controller while the cell's counters of it stood
  still, or the cell's access point is silent; nor in one that reports other IP addresses than the phone's, if another
  one does not;
- where it associated when its phone says that it arrived somewhere: in the cell that it was in, if that may be so,
  then in one that knows the phone's IP address, then in the nearest in time;
- in the cell that it was in, whatever others claim: that is a dispute, if this cell goes on to hear the station. One
  that was silent, and hears it again although it did not associate anew, has it back. While this cell's counters are
  not known yet it is where it associated last;
- if it was in none, in one that claims that it associated later than where it was, or that hears it.

A phone's reports count for its own station. What a phone reports of its cell does not count.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.core.addresses import Address, Mac
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal

LAG_US = 300_000  # between a phone's report and what its access point's counters show of it
SILENT_US = 2_000_000  # for so long a station without an agent, or a terminal that is joined, is taken to be there
ARRIVAL_US = 5_000_000  # between an association and the phone's time of its arrival, which may wait for an address
NEARER_US = 1_500_000  # connected times of some drivers are in whole seconds
LEFT_MAX = 8_192  # stations in no cell of which it is known where they were

MISMATCH, UNKNOWN, KNOWN = range(3)
"""Whether an access point knows the IP address of a station's phone."""

Claimants = Callable[[Mac], Sequence[Terminal]]
"""The terminals that claim a MAC."""


class Move(NamedTuple):
    """A station that is in another cell than before."""

    mac: Mac
    before: Mac  # the BSSID of the cell that it was in last


class Dispute(NamedTuple):
    """A station that one cell claims and another one goes on to hear."""

    mac: Mac
    by: CellState
    holder: CellState


@dataclass(slots=True, eq=False)
class _Listing:
    """What one of several cells reports of a station. Times are the controller's."""

    cell: CellState
    claimed_at_us: int  # when it reported the station for the first time
    alive_at_us: int  # when its counters moved, or it reported an association
    reported_at_us: int
    packets: int  # up, by its counters
    phone_us: int = 0  # when the phone had reported last, at the report before
    missed: bool = False  # whether the phone reported since and the counters stood still
    heard_beside: bool = False  # whether they moved while the station was in another cell
    disputed: bool = False


@dataclass(slots=True, eq=False)
class _Contest:
    """A station that several cells report, or one that is not in the cell that reports it."""

    holder: CellState | None  # the cell that it is in
    held_at_us: int  # since when, the controller's clock
    associated_at_us: int  # with that cell, or with the last that it was in
    displaced: Mac = b""  # the cell that it was in before, if that was not heard any more
    listings: dict[Mac, _Listing] = field(default_factory=dict)  # by BSSID


class Associations:
    """Every station that any access point reports, and the cell that it is in."""

    def __init__(self) -> None:
        self._cells: dict[Mac, CellState] = {}  # that stations are in
        self._contests: dict[Mac, _Contest] = {}
        self._contested: dict[Mac, set[Mac]] = {}  # by BSSID, its stations with a contest
        self._left: dict[Mac, Mac] = {}  # the BSSIDs of the cells that stations in no cell were in

    def cell_of(self, mac: Mac) -> CellState | None:
        """The cell that a station is in."""
        return self._cells.get(mac)

    def is_contested(self, mac: Mac) -> bool:
        """Whether it is to be found out which cell a station is in."""
        return mac in self._contests

    def are_contested(self, cell: CellState) -> bool:
        """Whether that is so of stations of a cell."""
        return cell.bssid in self._contested

    def add(self, mac: Mac, cell: CellState, now_us: int) -> Move | None:
        """A cell reports the station, for the first time or associated anew. If it is the only one the station is in
        it; else `settle` says.
        """
        holder, contest = self._cells.get(mac), self._contests.get(mac)
        if contest is None:
            if holder is cell:
                return None
            if holder is None:
                return self._put(mac, cell)
            contest = self._contests[mac] = _Contest(holder, now_us, _associated_at_us(mac, holder))
            self._list(contest, mac, holder, now_us)
        self._list(contest, mac, cell, now_us)
        if contest.holder is cell:
            contest.associated_at_us = _associated_at_us(mac, cell)
        return None

    def _list(self, contest: _Contest, mac: Mac, cell: CellState, now_us: int) -> None:
        packets, listing = cell.stations.by_mac[mac].latest.rx_packets, contest.listings.get(cell.bssid)
        if listing is None:
            contest.listings[cell.bssid] = _Listing(cell, now_us, now_us, cell.reported_at_us, packets)
            self._contested.setdefault(cell.bssid, set()).add(mac)
        else:
            listing.alive_at_us, listing.packets, listing.missed = now_us, packets, False

    def _put(self, mac: Mac, cell: CellState) -> Move | None:
        before = self._cells.get(mac)
        left = before.bssid if before is not None else self._left.pop(mac, cell.bssid)
        self._cells[mac] = cell
        return Move(mac, left) if left != cell.bssid else None

    def remove(self, mac: Mac, cell: CellState) -> None:
        """A cell no longer reports the station."""
        contest = self._contests.get(mac)
        if contest is not None:
            contest.listings.pop(cell.bssid, None)
            self._uncontested(mac, cell.bssid)
            if contest.holder is cell:
                contest.holder = None
        if self._cells.get(mac) is cell:
            del self._cells[mac]
            self._left[mac] = cell.bssid
            if len(self._left) > LEFT_MAX:
                del self._left[next(iter(self._left))]
        if contest is not None:
            self._end(mac, contest)

    def _uncontested(self, mac: Mac, bssid: Mac) -> None:
        stations = self._contested.get(bssid)
        if stations is not None:
            stations.discard(mac)
            if not stations:
                del self._contested[bssid]

    def _end(self, mac: Mac, contest: _Contest) -> None:
        """Nothing is to be found out where the cell that it is in is the only one that reports it, or none does."""
        bssids = {contest.holder.bssid} if contest.holder is not None else set()
        if contest.listings.keys() == bssids:
            for bssid in bssids:
                self._uncontested(mac, bssid)
            del self._contests[mac]

    def observe(self, cell: CellState, claimants: Claimants, now_us: int) -> tuple[Sequence[Mac], list[Dispute]]:
        """A cell has reported. Take in whether it still hears its stations that are to be settled; these, and the
        disputes that were found.
        """
        contested, disputes = self._contested.get(cell.bssid), list[Dispute]()
        if contested is None:
            return (), disputes  # nearly always
        for mac in contested:
            contest = self._contests[mac]
            listing, station = contest.listings[cell.bssid], cell.stations.by_mac[mac]
            before_us, listing.reported_at_us = listing.reported_at_us, now_us
            packets, listing.packets = listing.packets, station.latest.rx_packets
            if listing.packets == packets and not (cell.counted_by_switch and station.payload_bytes_per_s):
                _look_for_misses(listing, _witnesses(contest, mac, claimants(mac), now_us), now_us)
                continue
            listing.alive_at_us, listing.missed = now_us, False
            if contest.holder is cell:
                disputes += _disputes(contest, listing, mac, before_us)
            else:
                listing.heard_beside |= before_us >= contest.held_at_us
        return tuple(contested), disputes

    def settle(self, mac: Mac, terminals: Sequence[Terminal], now_us: int) -> Move | None:
        """Find the cell that a station is in. `terminals` are those that claim its MAC."""
        contest = self._contests.get(mac)
        if contest is None:
            return None
        chosen, by_word = _chosen(contest, mac, _witnesses(contest, mac, terminals, now_us), now_us)
        if chosen is None or chosen is contest.holder:
            return None
        move, holder = self._put(mac, chosen), contest.holder
        is_back = by_word or holder is None or chosen.bssid == contest.displaced
        contest.displaced = b"" if is_back or holder is None else holder.bssid
        contest.holder, contest.held_at_us = chosen, now_us
        contest.associated_at_us = _associated_at_us(mac, chosen)
        for listing in contest.listings.values():
            listing.heard_beside = listing.disputed = False
        self._end(mac, contest)
        return move

    def __len__(self) -> int:
        return len(self._cells)


def knowledge(mac: Mac, cell: CellState, terminals: Sequence[Terminal]) -> int:
    """Whether a cell's access point knows an IP address of one of the terminals that claim a station's MAC."""
    known = cell.stations.by_mac[mac].latest.ip_addresses
    if not terminals or not cell.settings.parameters.identity.match_addresses:
        return KNOWN if known else UNKNOWN
    return max(_compare(terminal.stream.address, known) for terminal in terminals)


def _compare(address: Address, known: tuple[Address, ...]) -> int:
    """The access point may know none of that family."""
    same_family = [other for other in known if len(other) == len(address)]
    if not same_family:
        return UNKNOWN
    return KNOWN if address in same_family else MISMATCH


def _associated_at_us(mac: Mac, cell: CellState) -> int:
    return cell.stations.by_mac[mac].associated_at_us


def _witnesses(contest: _Contest, mac: Mac, terminals: Sequence[Terminal], now_us: int) -> Sequence[Terminal]:
    """The terminals whose reports are the station's. While one is joined as it and reports, no other name's are."""
    joined = contest.holder.terminals.get(mac) if contest.holder is not None else None
    if joined is None or now_us - joined.reported_at_us > SILENT_US:
        return terminals
    return [terminal for terminal in terminals if terminal.name == joined.name]


def _look_for_misses(listing: _Listing, terminals: Sequence[Terminal], now_us: int) -> None:
    """A cell's counters of a station stand still: has its phone reported meanwhile?"""
    if listing.cell.by_switch:
        return  # it has no counters
    if not terminals:
        listing.missed |= now_us - listing.alive_at_us >= SILENT_US
        return
    reported_us = max(terminal.reported_at_us for terminal in terminals)
    for phone_us in (listing.phone_us, reported_us):
        listing.missed |= phone_us >= listing.alive_at_us + LAG_US and now_us >= phone_us + LAG_US
    listing.phone_us = reported_us


def _disputes(contest: _Contest, listing: _Listing, mac: Mac, before_us: int) -> list[Dispute]:
    """Since the report before, the cell that a station is in has heard it: which others claim it meanwhile?"""
    found = list[Dispute]()
    for other in contest.listings.values():
        if other is listing or other.disputed or other.claimed_at_us > before_us:
            continue  # what was heard may be from before the claim
        if other.heard_beside or _associated_at_us(mac, other.cell) > contest.associated_at_us:
            other.disputed = True
            found.append(Dispute(mac, other.cell, listing.cell))
    return found


def _chosen(contest: _Contest, mac: Mac, terminals: Sequence[Terminal], now_us: int) -> tuple[CellState | None, bool]:
    """The cell that a station is in by the rules above, none if it is in none; and whether by its phone's word."""
    holder = contest.holder
    hearing = [each for each in contest.listings.values() if not each.missed and not each.cell.is_stale(now_us)]
    if not hearing:
        return holder, False
    known = {each.cell.bssid: knowledge(mac, each.cell, terminals) for each in hearing}
    cells = [each.cell for each in hearing if known[each.cell.bssid] > MISMATCH] or [each.cell for each in hearing]

    beside = {each.cell.bssid for each in hearing if each.heard_beside}
    if holder is None:
        since_us = contest.associated_at_us
        cells = [cell for cell in cells if cell.bssid in beside or _associated_at_us(mac, cell) > since_us]

    def rank(cell: CellState) -> tuple[bool, int, Mac]:
        return known[cell.bssid] == KNOWN, _associated_at_us(mac, cell), cell.bssid

    arrived_us = max((terminal.arrived_at_us for terminal in terminals), default=0)
    if arrived_us and cells:
        apart_us = {cell.bssid: abs(_associated_at_us(mac, cell) - arrived_us) for cell in cells}
        most_us = min(ARRIVAL_US, min(apart_us.values()) + NEARER_US)
        near = [cell for cell in cells if apart_us[cell.bssid] <= most_us]
        if near:
            nearest = max(near, key=lambda cell: (rank(cell)[0], -apart_us[cell.bssid]))
            return holder if holder in near else nearest, True
    if holder is None:
        return max(cells, key=rank, default=None), False
    back = [cell for cell in cells if cell.bssid == contest.displaced and cell.bssid in beside]
    if back or (holder in cells and holder.stations.measured):
        return back[0] if back else holder, False
    return max(cells, key=lambda cell: rank(cell)[1:] if holder in cells else rank(cell)), False
