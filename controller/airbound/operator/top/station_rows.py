# SPDX-License-Identifier: Apache-2.0
"""The tables of one cell: its stations, and its terminals with each destination."""

from airbound.operator import values
from airbound.operator.top import fields, graphs
from airbound.operator.top.model import OpenCell
from airbound.operator.top.order import steady
from airbound.operator.top.table import Column, Row
from airbound.v1 import operations_pb2

STATION_COLUMNS = (
    Column("name", "STATION", 17, flexible=True),
    Column("agent", "AGENT", 5),
    Column("sends", "SENDS", 5),
    Column("airtime", "AIRTIME", 17),
    Column("uplink", "Mb/s", 6, right=True),
    Column("limit", "kB MAX", 7, right=True),
    Column("signal", "dBm", 4, right=True),
    Column("rates", "PHY UP/DOWN", 12, right=True),
    Column("retries", "RETRIES/FAILED", 16, right=True, needs=110),
    Column("mac", "MAC", 17, needs=110),
    Column("no_limit", "WHY NO LIMIT", 22, flexible=True, needs=150),
)
TERMINAL_COLUMNS = (
    Column("name", "TERMINAL", 15, flexible=True),
    Column("destination", "TO", 13, flexible=True),
    Column("srtt", "RTT ms", 6, right=True),
    Column("min_rtt", "MIN", 5, right=True),
    Column("ratio", "RTTx", 4, right=True),
    Column("bounds", "SEGMENTS", 11, right=True),
    Column("window", "CWND WITHIN", 19, flexible=True),
    Column("generations", "IN FORCE/SENT", 13, right=True, needs=120),
)
AIRTIME_BAR, WINDOW_BAR = 12, 10
SHARE_STEP, RATIO_STEP = 0.1, 1.0  # rows change places if they differ by more


def stations(cell: OpenCell) -> list[Row]:
    """Stations, those that take most airtime first."""
    shares, by_mac = cell.airtime.by_mac, {station.mac: station for station in cell.stations}
    order = steady(cell.order.get("stations", ()), {mac: shares.get(mac, 0.0) for mac in by_mac}, SHARE_STEP)
    cell.order["stations"] = order
    return [_station(by_mac[mac], shares.get(mac)) for mac in order]


def _station(station: operations_pb2.StationView, share: float | None) -> Row:
    airtime = fields.NONE if share is None else f"{graphs.bar(share, AIRTIME_BAR)} {share:4.0%}"
    cells = {
        "name": station.terminal or (station.ip_addresses[0] if station.ip_addresses else station.mac),
        "mac": station.mac,
        "agent": "yes" if station.terminal else "no",
        "sends": "sends" if station.active_sender else "",
        "airtime": airtime,
        "uplink": fields.mbps(station.uplink_bps),
        "limit": _limit(station),
        "no_limit": _no_limit(station),
        "signal": str(station.signal_dbm) if station.HasField("signal_dbm") else fields.NONE,
        "rates": values.phy_rates(station),
        "retries": f"{station.tx_retries}/{station.tx_failed}",
    }
    return Row(station.mac, cells, "" if station.active_sender else "dim", {"sends": "green", "airtime": "cyan"})


def _no_limit(station: operations_pb2.StationView) -> str:
    if not station.HasField("no_limit"):
        return ""
    return f"{values.reason_words(station.no_limit)}{values.unlimited_for(station)}"


def _limit(station: operations_pb2.StationView) -> str:
    """What a connection of a station that its access point limits may have in flight: the range over destinations."""
    if not station.limits:
        return "no" if station.HasField("lack") else ""
    kilobytes = [f"{max_bytes / 1000:.0f}" for max_bytes in sorted({limit.max_bytes for limit in station.limits})]
    return kilobytes[0] if kilobytes[0] == kilobytes[-1] else f"{kilobytes[0]}..{kilobytes[-1]}"


def terminals(cell: OpenCell) -> list[Row]:
    """Terminals, each with the destinations that it sends to; those with the worst RTT ratio first."""
    rows = list[tuple[float, Row]]()
    for terminal in cell.terminals:
        views = cell.destinations.get(terminal.mac)
        seen = {view.address: view for view in views.destinations} if views else {}
        for decision in terminal.decisions:
            rows.append((-decision.rtt_ratio, _decided(terminal, decision, seen.get(decision.destination))))
        if not terminal.decisions:
            rows.append((1.0, _idle(terminal)))
    by_key = {row.key: row for _, row in rows}
    order = steady(cell.order.get("terminals", ()), {row.key: -value for value, row in rows}, RATIO_STEP)
    cell.order["terminals"] = order
    return [by_key[key] for key in order]


def _decided(
    terminal: operations_pb2.Terminal, decision: operations_pb2.Decision, seen: operations_pb2.DestinationView | None
) -> Row:
    sent = next((bound for bound in terminal.bounds_sent if bound.destination in {decision.destination, ""}), None)
    low, high = (sent.min_segs, sent.max_segs) if sent else (decision.min_segs, decision.max_segs)
    window = graphs.window_bar(low, high, seen.cwnd_segs, WINDOW_BAR) if seen else ""
    if sent is None:
        window = f"{window} {_why(terminal)}".strip()
    cells = {
        "name": terminal.name,
        "destination": decision.destination,
        "srtt": fields.ms(decision.srtt_us),
        "min_rtt": fields.ms(decision.min_rtt_us),
        "ratio": fields.ratio(decision.rtt_ratio),
        # In parentheses: computed, not in force.
        "bounds": f"{low}..{high}" if sent else f"({low}..{high})",
        "window": window,
        "generations": f"{terminal.bounds_generation_in_force}/{terminal.bounds_generation_sent}",
    }
    outside = seen is not None and not low <= seen.cwnd_segs <= high
    styles = {"ratio": fields.ratio_style(decision.rtt_ratio), "window": "yellow" if outside else "cyan"}
    key = f"{terminal.mac} {terminal.name} {decision.destination}"
    return Row(key, cells, "" if sent else "dim", styles if sent else {})


def _idle(terminal: operations_pb2.Terminal) -> Row:
    cells = {
        "name": terminal.name,
        "destination": fields.NONE,
        "bounds": "none",
        "window": _why(terminal),
        "generations": f"{terminal.bounds_generation_in_force}/{terminal.bounds_generation_sent}",
    }
    return Row(f"{terminal.mac} {terminal.name}", cells, "dim")


def _why(terminal: operations_pb2.Terminal) -> str:
    """Why it has no bounds: the code in words, since the column is narrow."""
    return values.reason_words(terminal.no_bounds) if terminal.HasField("no_bounds") else ""
