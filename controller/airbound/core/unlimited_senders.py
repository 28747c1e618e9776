# SPDX-License-Identifier: Apache-2.0
"""Which of a cell's senders nothing limits, and how much of their shares they and the others get."""

from collections.abc import Iterator, Mapping, Sequence

from airbound.core.addresses import Mac, mac_text
from airbound.core.cell.pacing import LEAST_TAKEN, Use
from airbound.core.cell.senders import StationSender
from airbound.core.cell.state import CellState
from airbound.core.cell.stations import StationState
from airbound.core.cell.unlimited import CLAIMS
from airbound.core.effects import Effect, Note
from airbound.core.reasons import Code, Reason
from airbound.core.restriction import is_station_exempt, widens
from airbound.core.working_agent import why_no_working_agent

REPORT_MAX_US = 3_000_000  # what a terminal delivered longer ago is not what it sends now


def observe_unlimited(
    cell: CellState, unlimited: Mapping[Mac, float], limited: Sequence[float], now_us: int
) -> tuple[bool, list[Effect]]:
    """Have the others' maxima follow what these take, both as of `used_of_shares`: whether those must be decided again,
    and notes for the log.
    """
    before = cell.unlimited.mac
    moved = cell.unlimited.observe(unlimited, limited, now_us)
    after = cell.unlimited.mac
    if bool(before) == bool(after):
        return moved, []
    return moved, [unlimited_note(cell, before or after, ended=not after)]


def used_of_shares(cell: CellState, now_us: int) -> tuple[dict[Mac, float], list[float]]:
    """What senders get over their shares of the cell: each that nothing limits and that uses CLAIMS of its share, and,
    where there are such or downloads, the limited ones that want more.
    """
    parts = _parts(cell)
    # In order of cost: most cells have no sender that nothing limits, and no downloads.
    unlimited = {mac: part for mac, _, part in parts if part >= CLAIMS and not _is_limited(cell, mac, now_us)}
    if not unlimited and not cell.air.received:
        return unlimited, []
    return unlimited, [
        part for mac, station, part in parts if cell.wants_more(mac, station) and _is_limited(cell, mac, now_us)
    ]


def observe_pacing(cell: CellState, unlimited: dict[Mac, float], now_us: int) -> bool:
    """Have rates follow what phones send that can be given one, and leave these out of those that nothing limits:
    whether what is left to TCP of one moved. `unlimited` as of `used_of_shares`.
    """
    pacing, uses = cell.pacing, dict[Mac, Use]()
    if cell.settings.parameters.pacing.enabled and widens(cell) and cell.stations.active_senders > 1:
        for mac in [mac for mac in pacing.paces if mac in cell.terminals and cell.terminals[mac].ignores_flows()]:
            pacing.give_up(mac, now_us)
        candidates = unlimited.keys() | pacing.paces.keys() | set(_by_tcp_and_udp(cell))
        found = {mac: _use(cell, mac, now_us) for mac in candidates if not pacing.is_given_up(mac, now_us)}
        uses = {mac: use for mac, use in found.items() if use is not None}
    if not uses and not pacing.paces and not pacing.beside:
        pacing.had = False
        return False
    moved = pacing.observe(uses, now_us)
    for mac in pacing.paces:
        unlimited.pop(mac, None)
    return moved


def _by_tcp_and_udp(cell: CellState) -> Iterator[Mac]:
    """Who sends UDP beside TCP, or did a moment ago, and can be given a rate for it: of most terminals what they
    deliver by TCP is all that they send, and nothing follows from that.
    """
    stations, beside = cell.stations.by_mac, cell.pacing.beside
    for mac, terminal in cell.terminals.items():
        tcp_bps = terminal.delivered.bps
        if tcp_bps is None or not terminal.flow_abilities.can_pace or not terminal.sends:
            continue
        station = stations.get(mac)
        if station is None:
            continue
        left_bps = (station.payload_bytes_per_s * 8 if station.sending else 0.0) - tcp_bps
        if mac not in beside:
            share_bps = cell.share_bps(mac) if left_bps > 0 else 0.0
            if share_bps <= 0 or left_bps / share_bps < LEAST_TAKEN:
                continue  # nearly always
        yield mac


def _use(cell: CellState, mac: Mac, now_us: int) -> Use | None:
    """What a phone sends; none if it cannot be given a rate, or what of it is UDP is not known."""
    terminal, station = cell.terminals.get(mac), cell.stations.by_mac.get(mac)
    if terminal is None or station is None or is_station_exempt(mac, cell):
        return None
    if not terminal.flow_abilities.can_pace or not terminal.flow_abilities.flows_max:
        return None
    sent_bps = station.payload_bytes_per_s * 8 if station.sending else 0.0
    tcp_bps = terminal.delivered.bps if terminal.sends else None
    is_old = now_us - terminal.reported_at_us > REPORT_MAX_US
    share_bps = cell.share_bps(mac)
    if share_bps <= 0 or (terminal.sends and (tcp_bps is None or is_old)):
        return None
    return Use(share_bps, sent_bps, tcp_bps, terminal.fills_its_window)


def is_held_back(cell: CellState, now_us: int) -> bool:
    """Whether a limited sender would send more if its window were larger."""
    return any(
        station.sending and cell.wants_more(mac, station) and _is_limited(cell, mac, now_us)
        for mac, station in cell.stations.by_mac.items()
    )


def _parts(cell: CellState) -> list[tuple[Mac, StationState, float]]:
    """What each sender gets over its share. None where nobody is to have bounds."""
    if not widens(cell):
        return []
    parts = list[tuple[Mac, StationState, float]]()
    stations = cell.stations
    equal_bps = cell.decided_capacity_bps / (stations.active_senders or 1) + cell.spare_bps
    for mac, station in stations.by_mac.items():
        if not station.sending:
            continue
        air = cell.air.air_for(mac)
        share_bps = air.share_bps if air is not None else equal_bps
        if share_bps > 0:
            parts.append((mac, station, station.payload_bytes_per_s * 8 / share_bps))
    return parts


def _is_limited(cell: CellState, mac: Mac, now_us: int) -> bool:
    """Whether a station's TCP has bounds, is about to have them, or would have them but for one that nothing limits. Of
    one that sends by UDP as well that is all that is known.
    """
    sender = cell.windows.senders.get(mac)
    if sender is not None and (sender.limited or (cell.bounds_have_ended and _has_limits(cell, sender))):
        return True
    terminal = cell.terminals.get(mac)
    return (
        terminal is not None
        and terminal.sends
        and not is_station_exempt(mac, cell)
        and why_no_working_agent(cell, mac, now_us) is None
    )


def _has_limits(cell: CellState, sender: StationSender) -> bool:
    """Whether its access point would limit a station."""
    state = cell.access_point.windows if cell.access_point is not None else None
    enabled = cell.settings.parameters.window_clamp.enabled
    return enabled and state is not None and state.can_set and sender.no_limit is None and bool(sender.limits)


def unlimited_note(cell: CellState, mac: Mac, *, ended: bool) -> Note:
    """For the log: somebody takes more than its part, or nobody does any more."""
    reasons = () if ended else (Reason(Code.UNLIMITED_SENDER, mac_text(mac)),)
    return Note(
        "info" if ended else "warning", "limited" if ended else "unlimited", cell.name, reasons, cell=cell.bssid
    )
