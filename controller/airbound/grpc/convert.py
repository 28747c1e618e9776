# SPDX-License-Identifier: Apache-2.0
"""From the agents' messages to the core's types; command_convert.py is the way back.

What comes in is checked here and nowhere else. An absurd entry (a station, a destination, a survey) is refused
alone and the rest of its report counts; a report whose sender or time is absurd is refused whole.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from airbound.core.addresses import Address, is_loopback, is_peer_address, is_station_mac
from airbound.core.arrivals import SOURCES
from airbound.core.bands import BAND_NAMES
from airbound.core.class_choices import DEFAULT
from airbound.core.edca import AIFSN_MAX, CW_MAX, TXOP_LIMIT_MAX, Category, Edca, is_contention_window
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.core.reports import (
    APP_PARTS_MAX,
    APP_UIDS_MAX,
    BITRATE_MAX_KBPS,
    CONNECTIONS_MAX,
    COUNTER_MAX,
    DESTINATIONS_MAX,
    FREQUENCY_MAX_MHZ,
    LINKS_MAX,
    MSS_MAX_BYTES,
    MSS_MIN_BYTES,
    RECENT_MAX_US,
    REPORT_DESTINATIONS_MAX,
    RTT_MAX_US,
    RTT_MIN_US,
    SIGNAL_DBM,
    SSID_MAX_BYTES,
    STATION_ADDRESSES_MAX,
    STATION_DESTINATIONS_MAX,
    STATIONS_MAX,
    SURVEY_REFUSAL_MAX_CHARACTERS,
    UNKNOWN_RADIO,
    AccessPointReport,
    Agent,
    AppPart,
    Arrivals,
    BackEnd,
    Destination,
    EdcaState,
    FlowAbilities,
    FlowState,
    Radio,
    Station,
    StationFlowState,
    Survey,
    TerminalReport,
    WindowState,
)
from airbound.v1 import access_point_pb2, terminal_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

ARRIVAL_COUNTERS = (
    "arrivals_total",
    "merged_reports_total",
    "waiting_connections_total",
    "retransmissions_total",
    "last_age_ms",
    "answered_total",
    "silence_ms_total",
    "last_silence_ms",
    "silent_downloads_total",
    "resumed_downloads_total",
    "server_messages_total",
)
NAME_MAX_CHARACTERS = 32
VERSION_MAX_CHARACTERS = 64
REFUSAL_MAX_CHARACTERS = 200
FULL = 0.8  # of its windows: what a sender has queued is sampled at any moment
_SHOWN_OCTETS = 20
_NO_DESTINATIONS: "Mapping[bytes, tuple[Destination, ...]]" = {}  # made once: most reports have none
# An access point's EDCA parameters are the same in nearly every report. What an agent reports of them is some 100
# octets; more is converted each time, so that what is kept is bounded.
_EDCA_KEPT, _EDCA_KEPT_MAX_OCTETS = 16_384, 400
_MEASURED = access_point_pb2.AIRTIME_SOURCE_MEASURED
_CATEGORIES = {category.value: category for category in Category}
_CLASSES = frozenset(terminal_pb2.ApplicationClass.values()) - {0}
Classed = tuple[int, Address, list[terminal_pb2.ClassPart]]
"""What of a destination, by its number and address, is of classes of applications."""
_FLOW_COUNTERS = tuple(field.name for field in terminal_pb2.FlowState.DESCRIPTOR.fields if field.name != "failure")


def access_point_report(
    message: access_point_pb2.AccessPointReport,
) -> tuple[AccessPointReport | None, list[Reason]]:
    """The report, unless it is refused, and everything that was refused."""
    refusals = list[Reason]()
    try:
        _check_head(message.bssid, "bssid", message.sequence, message.monotonic_us)
    except RefusedError as error:
        return None, [error.reason]
    ssid, frequency_mhz = message.ssid, message.channel.center_frequency_mhz
    if len(ssid) > SSID_MAX_BYTES:
        refusals.append(Reason(Code.OUT_OF_RANGE, "ssid", after=len(ssid), limit=SSID_MAX_BYTES))
        ssid = b""
    if frequency_mhz > FREQUENCY_MAX_MHZ:
        reason = Reason(Code.OUT_OF_RANGE, "channel.center_frequency_mhz", after=frequency_mhz, limit=FREQUENCY_MAX_MHZ)
        refusals.append(reason)
        frequency_mhz = 0
    stations = _stations(message, refusals)
    windows, destinations = None, _NO_DESTINATIONS
    if message.HasField("windows"):  # without it there are no destinations to look for, as at most access points
        windows = _window_state(message.windows, refusals)
        destinations = _station_destinations(message, stations, refusals)
    report = AccessPointReport(
        bssid=message.bssid,
        sequence=message.sequence,
        monotonic_us=message.monotonic_us,
        recent_us=min(message.recent_us, RECENT_MAX_US),
        stations=stations,
        survey=_survey(message, refusals),
        ssid=ssid,
        center_frequency_mhz=frequency_mhz,
        malformed_inputs_total=message.malformed_inputs_total,
        agent_version=_version(message.agent_version, "agent_version", refusals),
        edca=_edca_state(message.edca, refusals) if message.HasField("edca") else None,
        radio=_radio(message, refusals),
        windows=windows,
        destinations=destinations,
        datapath_id=message.datapath_id,
        station_flows=_station_flow_state(message.station_flows, refusals)
        if message.HasField("station_flows")
        else None,
    )
    return report, refusals


def _radio(message: access_point_pb2.AccessPointReport, refusals: list[Reason]) -> Radio:
    """A band that this version does not know is none."""
    links, refused_total = len(message.links), message.surveys_refused_total
    band = message.channel.band  # none of several links
    if not (band or links or refused_total):
        return UNKNOWN_RADIO
    if links > LINKS_MAX:
        refusals.append(Reason(Code.TOO_MANY_ENTRIES, "links", after=links, limit=LINKS_MAX))
        links = LINKS_MAX
    if refused_total > COUNTER_MAX:
        refusals.append(Reason(Code.OUT_OF_RANGE, "surveys_refused_total", after=refused_total, limit=COUNTER_MAX))
        refused_total = 0
    return Radio(
        band=band if band in BAND_NAMES else 0,
        links=links,
        survey_refusal=message.survey_refusal[:SURVEY_REFUSAL_MAX_CHARACTERS],
        surveys_refused_total=refused_total,
    )


def terminal_report(message: terminal_pb2.TerminalReport) -> tuple[TerminalReport | None, list[Reason]]:
    """The report, unless it is refused, and everything that was refused."""
    refusals = list[Reason]()
    mac, sequence, monotonic_us, generation = (
        message.mac,
        message.sequence,
        message.monotonic_us,
        message.bounds_generation,
    )
    try:
        _check_head(mac, "mac", sequence, monotonic_us)
        if generation > COUNTER_MAX:
            _out_of_range("bounds_generation", generation, COUNTER_MAX)
        agent = _agent(message.agent, refusals) if message.HasField("agent") else None
    except RefusedError as error:
        return None, [error.reason]
    entries = message.destinations[:]  # a list: to iterate over what protobuf has costs as much as all the rest
    destinations, classed = _destinations(entries, refusals)
    malformed = message.malformed_inputs_total
    arrivals = _arrivals(message.arrivals, refusals) if message.HasField("arrivals") else None
    apps = _app_parts(classed, refusals) if classed else ()
    flows = _flow_state(message.flows, refusals) if message.HasField("flows") else None
    delivered_bytes = 0
    for entry in entries:  # a few
        delivered_bytes += entry.delivered_bytes
    report = TerminalReport(
        mac, sequence, monotonic_us, destinations, generation, malformed, agent, arrivals, apps, flows, delivered_bytes,
        partial(_unclassed_parts, message),
    )  # fmt: skip
    return report, refusals


def _check_head(mac: bytes, field: str, sequence: int, monotonic_us: int) -> None:
    if not is_station_mac(mac):
        _malformed(field, mac)
    if not 1 <= sequence <= COUNTER_MAX:
        _out_of_range("sequence", sequence, COUNTER_MAX if sequence else 1)
    if monotonic_us > COUNTER_MAX:
        _out_of_range("monotonic_us", monotonic_us, COUNTER_MAX)


def _malformed(field: str, octets: bytes) -> None:
    raise RefusedError(_malformed_octets(field, octets))


def _malformed_octets(field: str, octets: bytes) -> Reason:
    shown = octets[:_SHOWN_OCTETS].hex()
    rest = "..." if len(octets) > _SHOWN_OCTETS else ""
    return Reason(Code.MALFORMED, f"{field} (octets {shown}{rest})")


def _out_of_range(field: str, value: int, limit: int) -> None:
    raise RefusedError(Reason(Code.OUT_OF_RANGE, field, after=value, limit=limit))


def _stations(message: access_point_pb2.AccessPointReport, refusals: list[Reason]) -> tuple[Station, ...]:
    """The stations by their order; of those with the same MAC the first."""
    entries: Sequence[access_point_pb2.Station] = message.stations
    if len(entries) > STATIONS_MAX:
        refusals.append(Reason(Code.TOO_MANY_ENTRIES, "stations", after=len(entries), limit=STATIONS_MAX))
        entries = entries[:STATIONS_MAX]
    stations = dict[bytes, Station]()
    for index, entry in enumerate(entries):
        try:
            station = _station(entry, index, refusals)
        except RefusedError as error:  # one bad entry must not cost the others
            refusals.append(_within(f"stations[{index}]", error.reason))
            continue
        if stations.setdefault(station.mac, station) is not station:
            refusals.append(Reason(Code.DUPLICATE_ENTRY, f"stations[{index}].mac"))
    return tuple(stations.values())


def _station(entry: access_point_pb2.Station, index: int, refusals: list[Reason]) -> Station:
    mac, rx_bytes, rx_packets = entry.mac, entry.rx_bytes, entry.rx_packets
    airtime_us, tx_bitrate_kbps = entry.rx_airtime_us + entry.tx_airtime_us, entry.tx_bitrate_kbps
    tx_bytes, tx_packets, tx_retries = entry.tx_bytes, entry.tx_packets, entry.tx_retries
    connected_ms, bitrate_kbps = entry.connected_time_ms, entry.rx_bitrate_kbps
    low, high = SIGNAL_DBM
    if (
        not is_station_mac(mac)
        # The largest is one less than a power of two.
        or rx_bytes | rx_packets | tx_bytes | tx_packets | tx_retries | connected_ms > COUNTER_MAX
        or bitrate_kbps > BITRATE_MAX_KBPS
        or not low <= entry.signal_dbm <= high  # 0 if absent
    ):
        _refuse_station(entry)
    addresses = tuple(entry.ip_addresses)
    if addresses and not (len(addresses) == 1 and is_peer_address(addresses[0])):
        addresses = _right_addresses(addresses, f"stations[{index}].ip_addresses", refusals)
    aggregates = entry.aggregates
    # More than all that there was is none; of most stations it is nothing.
    recent_bytes, recent_packets = min(entry.recent_rx_bytes, rx_bytes), min(entry.recent_rx_packets, rx_packets)
    # Station(...) without a call of Python code: there are thousands of them in a second.
    return tuple.__new__(
        Station,
        (
            mac,
            rx_bytes,
            rx_packets,
            tx_bytes,
            tx_packets,
            tx_retries,
            bitrate_kbps,
            connected_ms,
            aggregates,
            addresses,
            recent_bytes,
            recent_packets,
            entry.silent,
            # The capacity can do without these, so absurd ones are none.
            tx_bitrate_kbps if tx_bitrate_kbps <= BITRATE_MAX_KBPS else 0,
            entry.rx_rate_format,
            entry.tx_rate_format,
            airtime_us if entry.airtime_source == _MEASURED and airtime_us <= COUNTER_MAX else 0,
            # More than all packets are none of theirs.
            min(entry.rx_video_packets, rx_packets),
            min(entry.rx_voice_packets, rx_packets),
        ),
    )


def _refuse_station(entry: access_point_pb2.Station) -> None:
    """What the first absurd field of a station is."""
    if not is_station_mac(entry.mac):
        _malformed("mac", entry.mac)
    for field in ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets", "tx_retries", "connected_time_ms"):
        if getattr(entry, field) > COUNTER_MAX:
            _out_of_range(field, getattr(entry, field), COUNTER_MAX)
    if entry.rx_bitrate_kbps > BITRATE_MAX_KBPS:
        _out_of_range("rx_bitrate_kbps", entry.rx_bitrate_kbps, BITRATE_MAX_KBPS)
    low, high = SIGNAL_DBM
    _out_of_range("signal_dbm", entry.signal_dbm, low if entry.signal_dbm < low else high)


def _station_destinations(
    message: access_point_pb2.AccessPointReport, stations: tuple[Station, ...], refusals: list[Reason]
) -> dict[bytes, tuple[Destination, ...]]:
    """The destinations of the stations that have some. Of those with the same address the first counts. Of a station
    there is one refusal, so that their number is bounded by the stations.
    """
    known, found = {station.mac for station in stations}, dict[bytes, tuple[Destination, ...]]()
    left = REPORT_DESTINATIONS_MAX
    for index, station in enumerate(message.stations):
        entries: Sequence[access_point_pb2.StationDestination] = station.destinations
        if not entries or station.mac not in known or station.mac in found:
            continue
        field, most = f"stations[{index}].destinations", min(STATION_DESTINATIONS_MAX, left)
        refusal = None
        if len(entries) > most:
            refusal = Reason(Code.TOO_MANY_ENTRIES, field, after=len(entries), limit=most)
            entries = entries[:most]
        left -= len(entries)
        destinations = dict[Address, Destination]()
        for number, entry in enumerate(entries):
            try:
                destination = _station_destination(entry)
            except RefusedError as error:
                refusal = refusal or _within(f"{field}[{number}]", error.reason)
                continue
            if destinations.setdefault(destination.address, destination) is not destination:
                refusal = refusal or Reason(Code.DUPLICATE_ENTRY, f"{field}[{number}].address")
        if refusal is not None:
            refusals.append(refusal)
        if destinations:
            found[station.mac] = tuple(destinations.values())
    return found


def _station_destination(entry: access_point_pb2.StationDestination) -> Destination:
    address, connections, min_rtt_us = entry.address, entry.connections_sending, entry.min_rtt_us
    mss_bytes, srtt_us = entry.mss_bytes, entry.srtt_us
    if not is_peer_address(address) or is_loopback(address):
        _malformed("address", address)
    for field in ("connections", "connections_sending", "connections_unscaled"):
        limit = CONNECTIONS_MAX if field == "connections" else min(entry.connections, CONNECTIONS_MAX)
        if getattr(entry, field) > limit:
            _out_of_range(field, getattr(entry, field), limit)
    _check_path(srtt_us, min_rtt_us, mss_bytes)
    for field in ("sent_bytes", "received_bytes"):
        if getattr(entry, field) > COUNTER_MAX:
            _out_of_range(field, getattr(entry, field), COUNTER_MAX)
    return Destination(address, connections, min_rtt_us, mss_bytes, fills_window=True, srtt_us=srtt_us)


def _window_state(message: access_point_pb2.WindowState, refusals: list[Reason]) -> WindowState | None:
    """What an access point does with windows; none if it cannot be known which limits are in force."""
    if message.generation > COUNTER_MAX:
        refusals.append(Reason(Code.OUT_OF_RANGE, "windows.generation", after=message.generation, limit=COUNTER_MAX))
        return None
    refusal, counters = message.refusal, dict[str, int]()
    if len(refusal) > REFUSAL_MAX_CHARACTERS or not refusal.isprintable():
        refusals.append(Reason(Code.MALFORMED, "windows.refusal"))
        refusal = ""
    for field in ("refused_total", "connections_evicted_total", "limited_segments_total"):
        value = counters[field] = getattr(message, field)
        if value > COUNTER_MAX:
            refusals.append(Reason(Code.OUT_OF_RANGE, f"windows.{field}", after=value, limit=COUNTER_MAX))
            counters[field] = 0
    return WindowState(
        can_set=message.can_set,
        refusal=refusal,
        generation=message.generation,
        connections=message.connections,
        connections_max=message.connections_max,
        limits_max=message.limits_max,
        **counters,
    )


def _right_addresses(reported: tuple[bytes, ...], field: str, refusals: list[Reason]) -> tuple[Address, ...]:
    """Those that are addresses, up to a limit: a station with odd ones, or with very many, sends all the same."""
    if len(reported) <= STATION_ADDRESSES_MAX and all(map(is_peer_address, reported)):
        return reported
    if len(reported) > STATION_ADDRESSES_MAX:
        reason = Reason(Code.TOO_MANY_ENTRIES, field, after=len(reported), limit=STATION_ADDRESSES_MAX)
        refusals.append(reason)
        reported = reported[:STATION_ADDRESSES_MAX]
    known = tuple(filter(is_peer_address, reported))
    if len(known) < len(reported):  # one refusal for all of them: the number of refusals is bounded by the stations
        refusals.append(_malformed_octets(field, next(other for other in reported if not is_peer_address(other))))
    return known


def _survey(message: access_point_pb2.AccessPointReport, refusals: list[Reason]) -> Survey | None:
    if not message.HasField("survey"):
        return None
    active_us, busy_us = message.survey.active_us, message.survey.busy_us
    if active_us > COUNTER_MAX or busy_us > active_us:
        limit = min(active_us, COUNTER_MAX)
        field, value = ("active_us", active_us) if active_us > COUNTER_MAX else ("busy_us", busy_us)
        refusals.append(Reason(Code.OUT_OF_RANGE, f"survey.{field}", after=value, limit=limit))
        return None
    return Survey(active_us, busy_us)


def _edca_state(message: access_point_pb2.EdcaState, refusals: list[Reason]) -> EdcaState | None:
    octets = message.SerializeToString()
    convert = _edca_state_of if len(octets) <= _EDCA_KEPT_MAX_OCTETS else _edca_state_of.__wrapped__
    state, refused = convert(octets)
    refusals += refused
    return state


@lru_cache(maxsize=_EDCA_KEPT)
def _edca_state_of(octets: bytes) -> tuple[EdcaState | None, tuple[Reason, ...]]:
    """An access point's EDCA parameters; none if it cannot be known which are in force."""
    message, refusals = access_point_pb2.EdcaState.FromString(octets), list[Reason]()
    if message.generation > COUNTER_MAX:
        return None, (Reason(Code.OUT_OF_RANGE, "edca.generation", after=message.generation, limit=COUNTER_MAX),)
    state = EdcaState(
        can_set=message.can_set,
        refusal=_refusal(message.refusal, "edca.refusal", refusals),
        generation=message.generation,
        own=_queues(message.own, "edca.own", refusals),
        stations=_queues(message.stations, "edca.stations", refusals),
        wmm=message.wmm,
        refused_total=message.refused_total,
        can_set_stations=message.can_set_stations,
        stations_refusal=_refusal(message.stations_refusal, "edca.stations_refusal", refusals),
        takes_priorities=message.takes_priorities,
    )
    return state, tuple(refusals)


def _queues(entries: "Sequence[access_point_pb2.Edca]", field: str, refusals: list[Reason]) -> tuple[Edca, ...]:
    """The queues by their order; of those of the same category the first."""
    if len(entries) > len(Category):
        refusals.append(Reason(Code.TOO_MANY_ENTRIES, field, after=len(entries), limit=len(Category)))
        entries = entries[: len(Category)]
    queues = dict[Category, Edca]()
    for index, entry in enumerate(entries):
        try:
            queue = _queue(entry)
        except RefusedError as error:
            refusals.append(_within(f"{field}[{index}]", error.reason))
            continue
        if queues.setdefault(queue.category, queue) is not queue:
            refusals.append(Reason(Code.DUPLICATE_ENTRY, f"{field}[{index}].category"))
    return tuple(queues.values())


def _queue(entry: access_point_pb2.Edca) -> Edca:
    category = _CATEGORIES.get(entry.category)
    if category is None:
        raise RefusedError(Reason(Code.OUT_OF_RANGE, "category", after=entry.category, limit=max(_CATEGORIES)))
    if not 1 <= entry.aifsn <= AIFSN_MAX:
        _out_of_range("aifsn", entry.aifsn, AIFSN_MAX if entry.aifsn else 1)
    for field, slots in (("cw_min", entry.cw_min), ("cw_max", entry.cw_max)):
        if slots > CW_MAX:
            _out_of_range(field, slots, CW_MAX)
        if not is_contention_window(slots):
            raise RefusedError(Reason(Code.MALFORMED, field))
    if entry.cw_max < entry.cw_min:
        _out_of_range("cw_max", entry.cw_max, entry.cw_min)
    if entry.txop_limit > TXOP_LIMIT_MAX:
        _out_of_range("txop_limit", entry.txop_limit, TXOP_LIMIT_MAX)
    return Edca(
        category, entry.aifsn, entry.cw_min, entry.cw_max, entry.txop_limit, announced=False, admission=entry.admission
    )


def _version(version: str, field: str, refusals: list[Reason]) -> str:
    """An agent's version is for people only: without it the report counts."""
    if len(version) <= VERSION_MAX_CHARACTERS and version.isprintable():
        return version
    refusals.append(Reason(Code.MALFORMED, field))
    return ""


def _agent(message: terminal_pb2.Agent, refusals: list[Reason]) -> Agent:
    """A terminal whose back end is not described has one that can do nothing: every flag is false."""
    back_end = message.back_end
    name = back_end.name
    if len(name) > NAME_MAX_CHARACTERS or not name.isprintable():
        raise RefusedError(Reason(Code.MALFORMED, "agent.back_end.name"))
    return Agent(
        _version(message.version, "agent.version", refusals),
        BackEnd(
            name=name,
            can_set_max=back_end.can_set_max,
            can_set_min=back_end.can_set_min,
            can_select_destination=back_end.can_select_destination,
            rules_max=back_end.rules_max,
            can_select_uid_destination=back_end.can_select_uid_destination,
        ),
        message.takes_arrivals,
        FlowAbilities(
            can_mark=message.can_mark,
            can_admit=message.can_admit,
            can_pace=message.can_pace,
            refusal=_refusal(message.flows_refusal, "agent.flows_refusal", refusals),
            flows_max=message.flows_max,
        ),
    )


def _refusal(text: str, field: str, refusals: list[Reason]) -> str:
    """Why something cannot be done, in an agent's words: for people only."""
    if len(text) <= REFUSAL_MAX_CHARACTERS and text.isprintable():
        return text
    refusals.append(Reason(Code.MALFORMED, field))
    return ""


def _app_parts(classed: Iterable[Classed], refusals: list[Reason]) -> tuple[AppPart, ...]:
    """The parts of applications with a class; most terminals have none. One of a later version's class is left out.
    Of a report there is one refusal, so that their number is bounded.
    """
    parts, refusal, new = list[AppPart](), None, tuple.__new__
    for index, address, entries in classed:
        for number, entry in enumerate(entries):
            application_class = entry.application_class
            if application_class not in _CLASSES:
                continue
            if len(parts) == APP_PARTS_MAX:
                field = f"destinations[{index}].classes[{number}]"
                refusal = refusal or Reason(Code.TOO_MANY_ENTRIES, field, after=APP_PARTS_MAX + 1, limit=APP_PARTS_MAX)
                continue
            sending, delivered, queued = entry.connections_sending, entry.delivered_bytes, entry.queued_bytes
            uids = tuple(entry.uids[:])
            # The largest counter is one less than a power of two.
            if sending > CONNECTIONS_MAX or delivered | queued > COUNTER_MAX or len(uids) > APP_UIDS_MAX:
                refusal = refusal or _within(f"destinations[{index}].classes[{number}]", _why_refused(entry))
                continue
            # AppPart(...) without a call of Python code: there are as many of them as destinations.
            parts.append(new(AppPart, (address, application_class, sending, delivered, queued, uids)))
    if refusal is not None:
        refusals.append(refusal)
    return tuple(parts)


def _why_refused(entry: terminal_pb2.ClassPart) -> Reason:
    """What the first absurd field of a part is."""
    if entry.connections_sending > CONNECTIONS_MAX:
        return Reason(Code.OUT_OF_RANGE, "connections_sending", after=entry.connections_sending, limit=CONNECTIONS_MAX)
    for field, octets in (("delivered_bytes", entry.delivered_bytes), ("queued_bytes", entry.queued_bytes)):
        if octets > COUNTER_MAX:
            return Reason(Code.OUT_OF_RANGE, field, after=octets, limit=COUNTER_MAX)
    return Reason(Code.TOO_MANY_ENTRIES, "uids", after=len(entry.uids), limit=APP_UIDS_MAX)


def _unclassed_parts(message: terminal_pb2.TerminalReport) -> tuple[AppPart, ...]:
    """What the parts of applications with a class leave of each destination. An application with connections of both
    kinds to one address is of the class. What was refused as a destination is left out.
    """
    parts = list[AppPart]()
    for destination in message.destinations[:DESTINATIONS_MAX]:
        classed = [entry for entry in destination.classes if entry.application_class in _CLASSES]
        uids = sorted(set(destination.uids).difference(*(entry.uids for entry in classed)))
        if not uids or not is_peer_address(destination.address):
            continue
        sending, delivered, queued = (
            max(0, min(getattr(destination, field), COUNTER_MAX) - sum(getattr(entry, field) for entry in classed))
            for field in ("connections_sending", "delivered_bytes", "queued_bytes")
        )
        parts.append(AppPart(destination.address, DEFAULT, sending, delivered, queued, tuple(uids)))
    return tuple(parts)


def _flow_state(message: terminal_pb2.FlowState, refusals: list[Reason]) -> FlowState | None:
    """What a terminal does with its flows; none if it cannot be known which set is in force."""
    generation, refused, failures = message.generation, message.refused_total, message.failures_total
    marked, paced, dropped = message.marked_packets_total, message.paced_packets_total, message.dropped_packets_total
    if generation | refused | failures | marked | paced | dropped > COUNTER_MAX:  # one less than a power of two
        for field in _FLOW_COUNTERS:
            value = getattr(message, field)
            if value > COUNTER_MAX:
                refusals.append(Reason(Code.OUT_OF_RANGE, f"flows.{field}", after=value, limit=COUNTER_MAX))
                break
        return None
    failure = message.failure
    if failure:
        failure = _refusal(failure, "flows.failure", refusals)
    # FlowState(...) without a call of Python code: one in each report of a terminal that can do something with flows.
    state: FlowState = tuple.__new__(FlowState, (generation, refused, failures, failure, marked, paced, dropped))
    return state


def _station_flow_state(message: access_point_pb2.StationFlowState, refusals: list[Reason]) -> StationFlowState | None:
    """What an access point does with its stations' flows; none if it cannot be known which set is in force."""
    for field in ("generation", "refused_total", "marked_packets_total"):
        value = getattr(message, field)
        if value > COUNTER_MAX:
            refusals.append(Reason(Code.OUT_OF_RANGE, f"station_flows.{field}", after=value, limit=COUNTER_MAX))
            return None
    return StationFlowState(
        message.can_set,
        _refusal(message.refusal, "station_flows.refusal", refusals),
        message.generation,
        message.refused_total,
        message.flows_max,
        message.marked_packets_total,
    )


def _arrivals(message: terminal_pb2.Arrivals, refusals: list[Reason]) -> Arrivals | None:
    """What an agent counts of arrivals; without it the report counts. A source of a later version is none."""
    for field in ARRIVAL_COUNTERS:
        value = getattr(message, field)
        if value > COUNTER_MAX:
            refusals.append(Reason(Code.OUT_OF_RANGE, f"arrivals.{field}", after=value, limit=COUNTER_MAX))
            return None
    source = message.last_source
    name = SOURCES[source] if 0 <= source < len(SOURCES) else ""
    return Arrivals(message.arrivals_total, name, message.last_age_ms)


def _destinations(
    entries: Sequence[terminal_pb2.Destination], refusals: list[Reason]
) -> tuple[tuple[Destination, ...], list[Classed]]:
    """The destinations by their order; of those with the same address the first. And what of them is of classes."""
    if len(entries) > DESTINATIONS_MAX:
        reason = Reason(Code.TOO_MANY_ENTRIES, "destinations", after=len(entries), limit=DESTINATIONS_MAX)
        refusals.append(reason)
        entries = entries[:DESTINATIONS_MAX]
    destinations, classed = dict[Address, Destination](), list[Classed]()
    for index, entry in enumerate(entries):
        try:
            destination = _destination(entry)
        except RefusedError as error:
            refusals.append(_within(f"destinations[{index}]", error.reason))
            continue
        if destinations.setdefault(destination.address, destination) is not destination:
            refusals.append(Reason(Code.DUPLICATE_ENTRY, f"destinations[{index}].address"))
        elif parts := entry.classes:
            classed.append((index, destination.address, parts[:]))
    return tuple(destinations.values()), classed


def _destination(entry: terminal_pb2.Destination) -> Destination:
    address, connections, min_rtt_us = entry.address, entry.connections_sending, entry.min_rtt_us
    mss_bytes, srtt_us = entry.mss_bytes, entry.srtt_us
    cwnd_segs = entry.cwnd_segs  # 0: no kernel's
    fills_window = cwnd_segs > 0 and entry.queued_bytes >= FULL * cwnd_segs * mss_bytes
    if not is_peer_address(address):
        _malformed("address", address)
    if connections > CONNECTIONS_MAX:
        _out_of_range("connections_sending", connections, CONNECTIONS_MAX)
    may_be_short = (srtt_us < RTT_MIN_US or min_rtt_us < RTT_MIN_US) and is_loopback(address)
    _check_path(srtt_us, min_rtt_us, mss_bytes, rtt_min_us=0 if may_be_short else RTT_MIN_US)
    return Destination(address, connections, min_rtt_us, mss_bytes, fills_window, srtt_us)


def _check_path(srtt_us: int, min_rtt_us: int, mss_bytes: int, rtt_min_us: int = RTT_MIN_US) -> None:
    for field, value_us in (("srtt_us", srtt_us), ("min_rtt_us", min_rtt_us)):
        if value_us > RTT_MAX_US:
            _out_of_range(field, value_us, RTT_MAX_US)
        if 0 < value_us < rtt_min_us:
            _out_of_range(field, value_us, rtt_min_us)
    if mss_bytes > MSS_MAX_BYTES or 0 < mss_bytes < MSS_MIN_BYTES:
        _out_of_range("mss_bytes", mss_bytes, MSS_MIN_BYTES if mss_bytes < MSS_MIN_BYTES else MSS_MAX_BYTES)


def _within(where: str, reason: Reason) -> Reason:
    return Reason(reason.code, f"{where}.{reason.subject}", reason.before, reason.after, reason.limit)
