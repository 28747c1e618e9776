from airbound.v1 import reason_pb2 as _reason_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CellMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CELL_MODE_UNSPECIFIED: _ClassVar[CellMode]
    CELL_MODE_OBSERVE: _ClassVar[CellMode]
    CELL_MODE_CONTROL: _ClassVar[CellMode]

class AccessPointReportTrigger(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCESS_POINT_REPORT_TRIGGER_UNSPECIFIED: _ClassVar[AccessPointReportTrigger]
    ACCESS_POINT_REPORT_TRIGGER_INTERVAL: _ClassVar[AccessPointReportTrigger]
    ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED: _ClassVar[AccessPointReportTrigger]
    ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT: _ClassVar[AccessPointReportTrigger]
    ACCESS_POINT_REPORT_TRIGGER_SENDERS: _ClassVar[AccessPointReportTrigger]

class Band(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BAND_UNSPECIFIED: _ClassVar[Band]
    BAND_2_4_GHZ: _ClassVar[Band]
    BAND_5_GHZ: _ClassVar[Band]
    BAND_6_GHZ: _ClassVar[Band]
    BAND_60_GHZ: _ClassVar[Band]

class AirtimeSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AIRTIME_SOURCE_UNSPECIFIED: _ClassVar[AirtimeSource]
    AIRTIME_SOURCE_MEASURED: _ClassVar[AirtimeSource]
    AIRTIME_SOURCE_ESTIMATED: _ClassVar[AirtimeSource]

class RateFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RATE_FORMAT_UNSPECIFIED: _ClassVar[RateFormat]
    RATE_FORMAT_LEGACY: _ClassVar[RateFormat]
    RATE_FORMAT_HT: _ClassVar[RateFormat]
    RATE_FORMAT_VHT: _ClassVar[RateFormat]
    RATE_FORMAT_HE: _ClassVar[RateFormat]
    RATE_FORMAT_EHT: _ClassVar[RateFormat]

class AccessCategory(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCESS_CATEGORY_UNSPECIFIED: _ClassVar[AccessCategory]
    ACCESS_CATEGORY_BACKGROUND: _ClassVar[AccessCategory]
    ACCESS_CATEGORY_BEST_EFFORT: _ClassVar[AccessCategory]
    ACCESS_CATEGORY_VIDEO: _ClassVar[AccessCategory]
    ACCESS_CATEGORY_VOICE: _ClassVar[AccessCategory]
CELL_MODE_UNSPECIFIED: CellMode
CELL_MODE_OBSERVE: CellMode
CELL_MODE_CONTROL: CellMode
ACCESS_POINT_REPORT_TRIGGER_UNSPECIFIED: AccessPointReportTrigger
ACCESS_POINT_REPORT_TRIGGER_INTERVAL: AccessPointReportTrigger
ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED: AccessPointReportTrigger
ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT: AccessPointReportTrigger
ACCESS_POINT_REPORT_TRIGGER_SENDERS: AccessPointReportTrigger
BAND_UNSPECIFIED: Band
BAND_2_4_GHZ: Band
BAND_5_GHZ: Band
BAND_6_GHZ: Band
BAND_60_GHZ: Band
AIRTIME_SOURCE_UNSPECIFIED: AirtimeSource
AIRTIME_SOURCE_MEASURED: AirtimeSource
AIRTIME_SOURCE_ESTIMATED: AirtimeSource
RATE_FORMAT_UNSPECIFIED: RateFormat
RATE_FORMAT_LEGACY: RateFormat
RATE_FORMAT_HT: RateFormat
RATE_FORMAT_VHT: RateFormat
RATE_FORMAT_HE: RateFormat
RATE_FORMAT_EHT: RateFormat
ACCESS_CATEGORY_UNSPECIFIED: AccessCategory
ACCESS_CATEGORY_BACKGROUND: AccessCategory
ACCESS_CATEGORY_BEST_EFFORT: AccessCategory
ACCESS_CATEGORY_VIDEO: AccessCategory
ACCESS_CATEGORY_VOICE: AccessCategory

class AccessPointServiceConnectRequest(_message.Message):
    __slots__ = ("report",)
    REPORT_FIELD_NUMBER: _ClassVar[int]
    report: AccessPointReport
    def __init__(self, report: _Optional[_Union[AccessPointReport, _Mapping]] = ...) -> None: ...

class AccessPointServiceConnectResponse(_message.Message):
    __slots__ = ("command", "mode", "check")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    command: AccessPointCommand
    mode: CellMode
    check: CellCheck
    def __init__(self, command: _Optional[_Union[AccessPointCommand, _Mapping]] = ..., mode: _Optional[_Union[CellMode, str]] = ..., check: _Optional[_Union[CellCheck, _Mapping]] = ...) -> None: ...

class CheckRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class CellCheck(_message.Message):
    __slots__ = ("id", "turn", "turns", "refusal", "line", "verdict")
    ID_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    id: str
    turn: int
    turns: int
    refusal: _reason_pb2.Reason
    line: str
    verdict: str
    def __init__(self, id: _Optional[str] = ..., turn: _Optional[int] = ..., turns: _Optional[int] = ..., refusal: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., line: _Optional[str] = ..., verdict: _Optional[str] = ...) -> None: ...

class AccessPointReport(_message.Message):
    __slots__ = ("bssid", "ssid", "interface", "sequence", "monotonic_us", "channel", "survey", "stations", "trigger", "malformed_inputs_total", "agent_version", "edca", "survey_refusal", "surveys_refused_total", "links", "windows", "datapath_id", "recent_us", "station_flows", "check")
    BSSID_FIELD_NUMBER: _ClassVar[int]
    SSID_FIELD_NUMBER: _ClassVar[int]
    INTERFACE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    MONOTONIC_US_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    SURVEY_FIELD_NUMBER: _ClassVar[int]
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_INPUTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    EDCA_FIELD_NUMBER: _ClassVar[int]
    SURVEY_REFUSAL_FIELD_NUMBER: _ClassVar[int]
    SURVEYS_REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    DATAPATH_ID_FIELD_NUMBER: _ClassVar[int]
    RECENT_US_FIELD_NUMBER: _ClassVar[int]
    STATION_FLOWS_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    bssid: bytes
    ssid: bytes
    interface: str
    sequence: int
    monotonic_us: int
    channel: Channel
    survey: ChannelSurvey
    stations: _containers.RepeatedCompositeFieldContainer[Station]
    trigger: AccessPointReportTrigger
    malformed_inputs_total: int
    agent_version: str
    edca: EdcaState
    survey_refusal: str
    surveys_refused_total: int
    links: _containers.RepeatedCompositeFieldContainer[Link]
    windows: WindowState
    datapath_id: int
    recent_us: int
    station_flows: StationFlowState
    check: CheckRequest
    def __init__(self, bssid: _Optional[bytes] = ..., ssid: _Optional[bytes] = ..., interface: _Optional[str] = ..., sequence: _Optional[int] = ..., monotonic_us: _Optional[int] = ..., channel: _Optional[_Union[Channel, _Mapping]] = ..., survey: _Optional[_Union[ChannelSurvey, _Mapping]] = ..., stations: _Optional[_Iterable[_Union[Station, _Mapping]]] = ..., trigger: _Optional[_Union[AccessPointReportTrigger, str]] = ..., malformed_inputs_total: _Optional[int] = ..., agent_version: _Optional[str] = ..., edca: _Optional[_Union[EdcaState, _Mapping]] = ..., survey_refusal: _Optional[str] = ..., surveys_refused_total: _Optional[int] = ..., links: _Optional[_Iterable[_Union[Link, _Mapping]]] = ..., windows: _Optional[_Union[WindowState, _Mapping]] = ..., datapath_id: _Optional[int] = ..., recent_us: _Optional[int] = ..., station_flows: _Optional[_Union[StationFlowState, _Mapping]] = ..., check: _Optional[_Union[CheckRequest, _Mapping]] = ...) -> None: ...

class StationFlowState(_message.Message):
    __slots__ = ("can_set", "refusal", "generation", "refused_total", "flows_max", "marked_packets_total")
    CAN_SET_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    FLOWS_MAX_FIELD_NUMBER: _ClassVar[int]
    MARKED_PACKETS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    can_set: bool
    refusal: str
    generation: int
    refused_total: int
    flows_max: int
    marked_packets_total: int
    def __init__(self, can_set: bool = ..., refusal: _Optional[str] = ..., generation: _Optional[int] = ..., refused_total: _Optional[int] = ..., flows_max: _Optional[int] = ..., marked_packets_total: _Optional[int] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("link_id", "bssid", "channel", "survey")
    LINK_ID_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    SURVEY_FIELD_NUMBER: _ClassVar[int]
    link_id: int
    bssid: bytes
    channel: Channel
    survey: ChannelSurvey
    def __init__(self, link_id: _Optional[int] = ..., bssid: _Optional[bytes] = ..., channel: _Optional[_Union[Channel, _Mapping]] = ..., survey: _Optional[_Union[ChannelSurvey, _Mapping]] = ...) -> None: ...

class Channel(_message.Message):
    __slots__ = ("center_frequency_mhz", "width_mhz", "band", "primary_frequency_mhz", "second_center_frequency_mhz")
    CENTER_FREQUENCY_MHZ_FIELD_NUMBER: _ClassVar[int]
    WIDTH_MHZ_FIELD_NUMBER: _ClassVar[int]
    BAND_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_FREQUENCY_MHZ_FIELD_NUMBER: _ClassVar[int]
    SECOND_CENTER_FREQUENCY_MHZ_FIELD_NUMBER: _ClassVar[int]
    center_frequency_mhz: int
    width_mhz: int
    band: Band
    primary_frequency_mhz: int
    second_center_frequency_mhz: int
    def __init__(self, center_frequency_mhz: _Optional[int] = ..., width_mhz: _Optional[int] = ..., band: _Optional[_Union[Band, str]] = ..., primary_frequency_mhz: _Optional[int] = ..., second_center_frequency_mhz: _Optional[int] = ...) -> None: ...

class ChannelSurvey(_message.Message):
    __slots__ = ("active_us", "busy_us", "rx_us", "tx_us")
    ACTIVE_US_FIELD_NUMBER: _ClassVar[int]
    BUSY_US_FIELD_NUMBER: _ClassVar[int]
    RX_US_FIELD_NUMBER: _ClassVar[int]
    TX_US_FIELD_NUMBER: _ClassVar[int]
    active_us: int
    busy_us: int
    rx_us: int
    tx_us: int
    def __init__(self, active_us: _Optional[int] = ..., busy_us: _Optional[int] = ..., rx_us: _Optional[int] = ..., tx_us: _Optional[int] = ...) -> None: ...

class Station(_message.Message):
    __slots__ = ("mac", "signal_dbm", "rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "tx_retries", "tx_failed", "rx_bitrate_kbps", "tx_bitrate_kbps", "rx_airtime_us", "tx_airtime_us", "airtime_source", "connected_time_ms", "aggregates", "ip_addresses", "vlan_interface", "four_address", "multi_link", "links", "destinations", "recent_rx_bytes", "recent_rx_packets", "silent", "rx_rate_format", "tx_rate_format", "counts_categories", "rx_video_packets", "rx_voice_packets")
    MAC_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_DBM_FIELD_NUMBER: _ClassVar[int]
    RX_BYTES_FIELD_NUMBER: _ClassVar[int]
    TX_BYTES_FIELD_NUMBER: _ClassVar[int]
    RX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    TX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    TX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    TX_FAILED_FIELD_NUMBER: _ClassVar[int]
    RX_BITRATE_KBPS_FIELD_NUMBER: _ClassVar[int]
    TX_BITRATE_KBPS_FIELD_NUMBER: _ClassVar[int]
    RX_AIRTIME_US_FIELD_NUMBER: _ClassVar[int]
    TX_AIRTIME_US_FIELD_NUMBER: _ClassVar[int]
    AIRTIME_SOURCE_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    AGGREGATES_FIELD_NUMBER: _ClassVar[int]
    IP_ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    VLAN_INTERFACE_FIELD_NUMBER: _ClassVar[int]
    FOUR_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    MULTI_LINK_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    DESTINATIONS_FIELD_NUMBER: _ClassVar[int]
    RECENT_RX_BYTES_FIELD_NUMBER: _ClassVar[int]
    RECENT_RX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    SILENT_FIELD_NUMBER: _ClassVar[int]
    RX_RATE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    TX_RATE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    RX_VIDEO_PACKETS_FIELD_NUMBER: _ClassVar[int]
    RX_VOICE_PACKETS_FIELD_NUMBER: _ClassVar[int]
    mac: bytes
    signal_dbm: int
    rx_bytes: int
    tx_bytes: int
    rx_packets: int
    tx_packets: int
    tx_retries: int
    tx_failed: int
    rx_bitrate_kbps: int
    tx_bitrate_kbps: int
    rx_airtime_us: int
    tx_airtime_us: int
    airtime_source: AirtimeSource
    connected_time_ms: int
    aggregates: bool
    ip_addresses: _containers.RepeatedScalarFieldContainer[bytes]
    vlan_interface: str
    four_address: bool
    multi_link: bool
    links: int
    destinations: _containers.RepeatedCompositeFieldContainer[StationDestination]
    recent_rx_bytes: int
    recent_rx_packets: int
    silent: bool
    rx_rate_format: RateFormat
    tx_rate_format: RateFormat
    counts_categories: bool
    rx_video_packets: int
    rx_voice_packets: int
    def __init__(self, mac: _Optional[bytes] = ..., signal_dbm: _Optional[int] = ..., rx_bytes: _Optional[int] = ..., tx_bytes: _Optional[int] = ..., rx_packets: _Optional[int] = ..., tx_packets: _Optional[int] = ..., tx_retries: _Optional[int] = ..., tx_failed: _Optional[int] = ..., rx_bitrate_kbps: _Optional[int] = ..., tx_bitrate_kbps: _Optional[int] = ..., rx_airtime_us: _Optional[int] = ..., tx_airtime_us: _Optional[int] = ..., airtime_source: _Optional[_Union[AirtimeSource, str]] = ..., connected_time_ms: _Optional[int] = ..., aggregates: bool = ..., ip_addresses: _Optional[_Iterable[bytes]] = ..., vlan_interface: _Optional[str] = ..., four_address: bool = ..., multi_link: bool = ..., links: _Optional[int] = ..., destinations: _Optional[_Iterable[_Union[StationDestination, _Mapping]]] = ..., recent_rx_bytes: _Optional[int] = ..., recent_rx_packets: _Optional[int] = ..., silent: bool = ..., rx_rate_format: _Optional[_Union[RateFormat, str]] = ..., tx_rate_format: _Optional[_Union[RateFormat, str]] = ..., counts_categories: bool = ..., rx_video_packets: _Optional[int] = ..., rx_voice_packets: _Optional[int] = ...) -> None: ...

class StationDestination(_message.Message):
    __slots__ = ("address", "connections", "connections_sending", "srtt_us", "min_rtt_us", "mss_bytes", "sent_bytes", "received_bytes", "connections_unscaled")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_SENDING_FIELD_NUMBER: _ClassVar[int]
    SRTT_US_FIELD_NUMBER: _ClassVar[int]
    MIN_RTT_US_FIELD_NUMBER: _ClassVar[int]
    MSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    SENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_UNSCALED_FIELD_NUMBER: _ClassVar[int]
    address: bytes
    connections: int
    connections_sending: int
    srtt_us: int
    min_rtt_us: int
    mss_bytes: int
    sent_bytes: int
    received_bytes: int
    connections_unscaled: int
    def __init__(self, address: _Optional[bytes] = ..., connections: _Optional[int] = ..., connections_sending: _Optional[int] = ..., srtt_us: _Optional[int] = ..., min_rtt_us: _Optional[int] = ..., mss_bytes: _Optional[int] = ..., sent_bytes: _Optional[int] = ..., received_bytes: _Optional[int] = ..., connections_unscaled: _Optional[int] = ...) -> None: ...

class WindowState(_message.Message):
    __slots__ = ("can_set", "refusal", "generation", "refused_total", "connections", "connections_max", "connections_evicted_total", "limited_segments_total", "limits_max")
    CAN_SET_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_MAX_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_EVICTED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    LIMITED_SEGMENTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    LIMITS_MAX_FIELD_NUMBER: _ClassVar[int]
    can_set: bool
    refusal: str
    generation: int
    refused_total: int
    connections: int
    connections_max: int
    connections_evicted_total: int
    limited_segments_total: int
    limits_max: int
    def __init__(self, can_set: bool = ..., refusal: _Optional[str] = ..., generation: _Optional[int] = ..., refused_total: _Optional[int] = ..., connections: _Optional[int] = ..., connections_max: _Optional[int] = ..., connections_evicted_total: _Optional[int] = ..., limited_segments_total: _Optional[int] = ..., limits_max: _Optional[int] = ...) -> None: ...

class Edca(_message.Message):
    __slots__ = ("category", "aifsn", "cw_min", "cw_max", "txop_limit", "admission")
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    AIFSN_FIELD_NUMBER: _ClassVar[int]
    CW_MIN_FIELD_NUMBER: _ClassVar[int]
    CW_MAX_FIELD_NUMBER: _ClassVar[int]
    TXOP_LIMIT_FIELD_NUMBER: _ClassVar[int]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    category: AccessCategory
    aifsn: int
    cw_min: int
    cw_max: int
    txop_limit: int
    admission: bool
    def __init__(self, category: _Optional[_Union[AccessCategory, str]] = ..., aifsn: _Optional[int] = ..., cw_min: _Optional[int] = ..., cw_max: _Optional[int] = ..., txop_limit: _Optional[int] = ..., admission: bool = ...) -> None: ...

class EdcaState(_message.Message):
    __slots__ = ("can_set", "refusal", "generation", "own", "stations", "wmm", "refused_total", "can_set_stations", "stations_refusal", "takes_priorities")
    CAN_SET_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    WMM_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    CAN_SET_STATIONS_FIELD_NUMBER: _ClassVar[int]
    STATIONS_REFUSAL_FIELD_NUMBER: _ClassVar[int]
    TAKES_PRIORITIES_FIELD_NUMBER: _ClassVar[int]
    can_set: bool
    refusal: str
    generation: int
    own: _containers.RepeatedCompositeFieldContainer[Edca]
    stations: _containers.RepeatedCompositeFieldContainer[Edca]
    wmm: bool
    refused_total: int
    can_set_stations: bool
    stations_refusal: str
    takes_priorities: bool
    def __init__(self, can_set: bool = ..., refusal: _Optional[str] = ..., generation: _Optional[int] = ..., own: _Optional[_Iterable[_Union[Edca, _Mapping]]] = ..., stations: _Optional[_Iterable[_Union[Edca, _Mapping]]] = ..., wmm: bool = ..., refused_total: _Optional[int] = ..., can_set_stations: bool = ..., stations_refusal: _Optional[str] = ..., takes_priorities: bool = ...) -> None: ...

class AccessPointCommand(_message.Message):
    __slots__ = ("set_edca", "set_windows", "set_station_flows")
    SET_EDCA_FIELD_NUMBER: _ClassVar[int]
    SET_WINDOWS_FIELD_NUMBER: _ClassVar[int]
    SET_STATION_FLOWS_FIELD_NUMBER: _ClassVar[int]
    set_edca: SetEdca
    set_windows: SetWindows
    set_station_flows: SetStationFlows
    def __init__(self, set_edca: _Optional[_Union[SetEdca, _Mapping]] = ..., set_windows: _Optional[_Union[SetWindows, _Mapping]] = ..., set_station_flows: _Optional[_Union[SetStationFlows, _Mapping]] = ...) -> None: ...

class SetStationFlows(_message.Message):
    __slots__ = ("generation", "flows", "lease_ms", "reason")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    generation: int
    flows: _containers.RepeatedCompositeFieldContainer[StationFlow]
    lease_ms: int
    reason: _reason_pb2.Reason
    def __init__(self, generation: _Optional[int] = ..., flows: _Optional[_Iterable[_Union[StationFlow, _Mapping]]] = ..., lease_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ...) -> None: ...

class StationFlow(_message.Message):
    __slots__ = ("mac", "address", "category")
    MAC_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    mac: bytes
    address: bytes
    category: AccessCategory
    def __init__(self, mac: _Optional[bytes] = ..., address: _Optional[bytes] = ..., category: _Optional[_Union[AccessCategory, str]] = ...) -> None: ...

class SetWindows(_message.Message):
    __slots__ = ("generation", "limits", "lease_ms", "reason")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    generation: int
    limits: _containers.RepeatedCompositeFieldContainer[WindowLimit]
    lease_ms: int
    reason: _reason_pb2.Reason
    def __init__(self, generation: _Optional[int] = ..., limits: _Optional[_Iterable[_Union[WindowLimit, _Mapping]]] = ..., lease_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ...) -> None: ...

class WindowLimit(_message.Message):
    __slots__ = ("mac", "address", "max_bytes")
    MAC_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    mac: bytes
    address: bytes
    max_bytes: int
    def __init__(self, mac: _Optional[bytes] = ..., address: _Optional[bytes] = ..., max_bytes: _Optional[int] = ...) -> None: ...

class SetEdca(_message.Message):
    __slots__ = ("generation", "queues", "lease_ms", "reason", "stations")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    generation: int
    queues: _containers.RepeatedCompositeFieldContainer[Edca]
    lease_ms: int
    reason: _reason_pb2.Reason
    stations: _containers.RepeatedCompositeFieldContainer[Edca]
    def __init__(self, generation: _Optional[int] = ..., queues: _Optional[_Iterable[_Union[Edca, _Mapping]]] = ..., lease_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., stations: _Optional[_Iterable[_Union[Edca, _Mapping]]] = ...) -> None: ...
