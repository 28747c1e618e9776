# SPDX-License-Identifier: Apache-2.0
"""Metrics of stations, by cell and by a pseudonym or their MAC address.

A MAC address is personal data. A pseudonym is the same as long as the controller runs, and says nothing afterwards: its
key is random and kept nowhere.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from airbound.core.addresses import Mac, mac_text
from airbound.core.reports import COUNTER_MAX, Station
from airbound.metrics.family import Family
from airbound.metrics.labels import label_set, printable
from airbound.metrics.options import StationLabel
from airbound.metrics.rtt import Rtt
from airbound.metrics.samples import CellSample, SenderSample
from airbound.metrics.slots import Slots
from airbound.metrics.table import Column, Table
from airbound.metrics.totals import Totals
from airbound.v1 import access_point_pb2

_STATION = ("bssid", "station")
_DIRECTION = (*_STATION, "direction")
_PLAIN, _INFO, _UPLINK, _DOWNLINK, _UNLIMITED = range(5)  # sets of labels
_ASSOCIATED_AGAIN_US = 2_000_000  # connected time is in whole seconds on some drivers, and reports take a moment
_PSEUDONYM_OCTETS = 6
IFNAME_MAX_CHARACTERS = 15
_NOT_REPORTED = access_point_pb2.Station()
_SOURCES = {
    access_point_pb2.AIRTIME_SOURCE_MEASURED: "measured",
    access_point_pb2.AIRTIME_SOURCE_ESTIMATED: "estimated",
}


class _Station(NamedTuple):
    """A station, and what else its metrics follow from."""

    latest: Station
    reported: access_point_pb2.Station  # what decisions do not need
    totals: tuple[int, ...]  # in the order of _counts
    payload_bytes_per_s: float
    active: bool
    sender: SenderSample | None
    unlimited_s: float | None  # none: something limits it, or it sends to nobody
    rtt: Rtt | None


AIRTIME = Family(
    "airbound_station_airtime_seconds_total", "counter",
    "Time on the air of frames from (uplink) and to (downlink) the station.", _DIRECTION,
)  # fmt: skip
BYTES = Family("airbound_station_bytes_total", "counter", "Bytes of frames, as the driver counts them.", _DIRECTION)
PACKETS = Family("airbound_station_packets_total", "counter", "Packets, as the driver counts them.", _DIRECTION)
PHY_RATE = Family(
    "airbound_station_phy_rate_bytes_per_second", "gauge", "PHY rate of the last frame; absent if unknown.", _DIRECTION
)

COLUMNS = (
    Column(
        Family(
            "airbound_station_info", "info",
            "A station: the terminal that is joined as it, whether its airtime is measured or estimated, the interface "
            "of its VLAN, and what it is: station, multi_link (802.11be) or bridge (WDS, with other hosts behind it).",
            (*_STATION, "terminal", "airtime_source", "vlan", "kind"),
        ),
        lambda _: 1,
        _INFO,
    ),
    Column(AIRTIME, lambda station: station.totals[0] / 1e6 if station.reported.airtime_source else None, _UPLINK),
    Column(AIRTIME, lambda station: station.totals[1] / 1e6 if station.reported.airtime_source else None, _DOWNLINK),
    Column(BYTES, lambda station: station.totals[2], _UPLINK),
    Column(BYTES, lambda station: station.totals[3], _DOWNLINK),
    Column(PACKETS, lambda station: station.totals[4], _UPLINK),
    Column(PACKETS, lambda station: station.totals[5], _DOWNLINK),
    Column(
        Family("airbound_station_retries_total", "counter", "Frames to the station that were sent again.", _STATION),
        lambda station: station.totals[6],
    ),
    Column(
        Family("airbound_station_failures_total", "counter", "Packets to the station that were given up.", _STATION),
        lambda station: station.totals[7],
    ),
    Column(PHY_RATE, lambda station: station.reported.rx_bitrate_kbps * 125 or None, _UPLINK),
    Column(PHY_RATE, lambda station: station.reported.tx_bitrate_kbps * 125 or None, _DOWNLINK),
    Column(
        Family("airbound_station_signal_dbm", "gauge", "Signal of the station's frames at the access point.", _STATION),
        lambda station: station.reported.signal_dbm if station.reported.HasField("signal_dbm") else None,
    ),
    Column(
        Family(
            "airbound_station_uplink_bytes_per_second", "gauge",
            "Payload (IP) from the station over the last interval of the access point's reports.", _STATION,
        ),
        lambda station: station.payload_bytes_per_s,
    ),
    Column(
        Family("airbound_station_active_sender", "gauge", "1 if it counts as an active sender, else 0.", _STATION),
        lambda station: int(station.active),
    ),
    Column(
        Family(
            "airbound_station_limit_bytes", "gauge",
            "What a connection of the station may have in flight by its access point: the least over destinations; "
            "absent while it has no such limit.", _STATION,
        ),
        lambda station: (station.sender and station.sender.limit_bytes) or None,
    ),
    Column(
        Family(
            "airbound_station_unlimited_seconds", "gauge",
            "For how long the station has sent by TCP without a limit of its access point or an agent that bounds it, "
            "and why; absent while it has one.", (*_STATION, "reason"),
        ),
        lambda station: station.unlimited_s,
        _UNLIMITED,
    ),
    Column(
        Family(
            "airbound_station_rtt_seconds", "gauge",
            "Smoothed RTT of its connections, as the access point measures it, to the worst of the destinations that "
            "are sent to; absent while none is known.", _STATION,
        ),
        lambda station: station.rtt and station.rtt.srtt_s,
    ),
    Column(
        Family("airbound_station_rtt_ratio", "gauge", "RTT over minimum RTT of the same, at least 1.", _STATION),
        lambda station: station.rtt and station.rtt.ratio,
    ),
    Column(
        Family("airbound_station_connected_seconds", "gauge", "Time since the station associated.", _STATION),
        lambda station: station.latest.connected_time_ms / 1e3,
    ),
)  # fmt: skip


class StationSeries:
    """What is kept of a station from one snapshot to the next."""

    __slots__ = ("associated_at_us", "described", "labels", "totals")

    def __init__(self) -> None:
        self.totals = Totals(8)
        self.associated_at_us = 0
        self.described: tuple[object, ...] = ()  # what the labels were made of
        self.labels: tuple[str, ...] = ()


class StationTables:
    """From samples of cells to lines of their stations."""

    def __init__(self, most: int, label: StationLabel) -> None:
        self.slots = Slots[tuple[Mac, Mac], StationSeries](0 if label == "off" else most, StationSeries)
        self.table = Table(COLUMNS)
        self._label = label
        self._key = secrets.token_bytes(32)

    def take(self, now_us: int, cells: Sequence[CellSample], names: Mapping[Mac, Mapping[Mac, str]]) -> None:
        """Take in the stations that have series; `names` are those of terminals, by cell and station."""
        self.slots.choose((cell.bssid, station.latest.mac) for cell in cells for station in cell.stations)
        for cell in cells:
            self._take(now_us, cell, names.get(cell.bssid, {}))

    def _take(self, now_us: int, cell: CellSample, names: Mapping[Mac, str]) -> None:
        states, bssid, access_point = self.slots.states, cell.bssid, cell.access_point
        if not cell.stations or not states:
            return
        last_report = access_point.last_report if access_point is not None else b""
        message = access_point_pb2.AccessPointServiceConnectRequest.FromString(last_report)
        reported = {station.mac: station for station in reversed(message.report.stations)}  # of equal ones the first
        for sample in cell.stations:
            series = states.get((bssid, sample.latest.mac))
            if series is not None:
                counted = reported.get(sample.latest.mac, _NOT_REPORTED)
                if sample.associated_at_us > series.associated_at_us + _ASSOCIATED_AGAIN_US:
                    series.totals.begin_again()
                    series.associated_at_us = sample.associated_at_us
                totals = series.totals.update([("", _counts(sample.latest, counted))])
                sender = sample.sender
                shown = _Station(
                    sample.latest,
                    counted,
                    totals,
                    sample.payload_bytes_per_s,
                    sample.active,
                    sender,
                    (now_us - sender.unlimited_since_us) / 1e6 if sender and sender.unlimited_since_us else None,
                    rtt_of(sender),
                )
                described = (
                    names.get(sample.latest.mac, ""),
                    _SOURCES.get(counted.airtime_source, ""),
                    counted.vlan_interface[:IFNAME_MAX_CHARACTERS],
                    _kind(counted),
                    sender.unlimited_for.name.lower() if sender else "",
                )
                self.table.add(self._labels(series, bssid, sample.latest.mac, described), shown)

    def _labels(
        self, series: StationSeries, bssid: Mac, mac: Mac, described: tuple[str, str, str, str, str]
    ) -> tuple[str, ...]:
        """The sets of labels; made again only if something changed."""
        if described != series.described:
            station = {"bssid": mac_text(bssid), "station": self.name(mac)}
            terminal, source, vlan, kind, reason = described
            info = {"terminal": terminal, "airtime_source": source, "vlan": printable(vlan), "kind": kind}
            sets: tuple[dict[str, str], ...] = (
                {},
                info,
                {"direction": "uplink"},
                {"direction": "downlink"},
                {"reason": reason},
            )
            series.described, series.labels = described, tuple(f"{label_set(station | more)} " for more in sets)
        return series.labels

    def name(self, mac: Mac) -> str:
        """What a station's label is; empty where stations are in no label."""
        if self._label == "off":
            return ""
        if self._label == "mac":
            return mac_text(mac)
        return hashlib.blake2b(mac, digest_size=_PSEUDONYM_OCTETS, key=self._key).hexdigest()


def rtt_of(sender: SenderSample | None) -> Rtt | None:
    """The RTTs that an access point measures of a station; none if it knows none."""
    if sender is None or not sender.srtt_us:
        return None
    return Rtt(max(1.0, sender.srtt_us / sender.min_rtt_us), sender.srtt_us / 1e6, sender.min_rtt_us / 1e6)


def _kind(reported: access_point_pb2.Station) -> str:
    if reported.four_address:
        return "bridge"
    return "multi_link" if reported.multi_link else "station"


def _counts(latest: Station, reported: access_point_pb2.Station) -> tuple[int, ...]:
    """The station's counters since it associated. Those that nobody has checked count as 0 if they are absurd."""
    rx_airtime_us, tx_airtime_us, failed = reported.rx_airtime_us, reported.tx_airtime_us, reported.tx_failed
    if rx_airtime_us | tx_airtime_us | failed > COUNTER_MAX:  # one less than a power of two
        rx_airtime_us = tx_airtime_us = failed = 0
    _, rx_bytes, rx_packets, tx_bytes, tx_packets, tx_retries, *_ = latest
    return rx_airtime_us, tx_airtime_us, rx_bytes, tx_bytes, rx_packets, tx_packets, tx_retries, failed
