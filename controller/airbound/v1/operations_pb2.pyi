from airbound.v1 import access_point_pb2 as _access_point_pb2
from airbound.v1 import reason_pb2 as _reason_pb2
from airbound.v1 import switch_pb2 as _switch_pb2
from airbound.v1 import terminal_pb2 as _terminal_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODE_UNSPECIFIED: _ClassVar[Mode]
    MODE_OBSERVE: _ClassVar[Mode]
    MODE_CONTROL: _ClassVar[Mode]

class ConfigurationSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIGURATION_SOURCE_UNSPECIFIED: _ClassVar[ConfigurationSource]
    CONFIGURATION_SOURCE_DEFAULT: _ClassVar[ConfigurationSource]
    CONFIGURATION_SOURCE_FILE: _ClassVar[ConfigurationSource]
    CONFIGURATION_SOURCE_ENVIRONMENT: _ClassVar[ConfigurationSource]
    CONFIGURATION_SOURCE_COMMAND_LINE: _ClassVar[ConfigurationSource]
    CONFIGURATION_SOURCE_OPERATOR: _ClassVar[ConfigurationSource]

class CapacitySource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CAPACITY_SOURCE_UNSPECIFIED: _ClassVar[CapacitySource]
    CAPACITY_SOURCE_DEFAULT: _ClassVar[CapacitySource]
    CAPACITY_SOURCE_BITRATE: _ClassVar[CapacitySource]
    CAPACITY_SOURCE_BUSY_TIME: _ClassVar[CapacitySource]
    CAPACITY_SOURCE_THROUGHPUT: _ClassVar[CapacitySource]

class SwitchBinding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SWITCH_BINDING_UNSPECIFIED: _ClassVar[SwitchBinding]
    SWITCH_BINDING_CONFIGURATION: _ClassVar[SwitchBinding]
    SWITCH_BINDING_SWITCH: _ClassVar[SwitchBinding]
    SWITCH_BINDING_ACCESS_POINT: _ClassVar[SwitchBinding]
MODE_UNSPECIFIED: Mode
MODE_OBSERVE: Mode
MODE_CONTROL: Mode
CONFIGURATION_SOURCE_UNSPECIFIED: ConfigurationSource
CONFIGURATION_SOURCE_DEFAULT: ConfigurationSource
CONFIGURATION_SOURCE_FILE: ConfigurationSource
CONFIGURATION_SOURCE_ENVIRONMENT: ConfigurationSource
CONFIGURATION_SOURCE_COMMAND_LINE: ConfigurationSource
CONFIGURATION_SOURCE_OPERATOR: ConfigurationSource
CAPACITY_SOURCE_UNSPECIFIED: CapacitySource
CAPACITY_SOURCE_DEFAULT: CapacitySource
CAPACITY_SOURCE_BITRATE: CapacitySource
CAPACITY_SOURCE_BUSY_TIME: CapacitySource
CAPACITY_SOURCE_THROUGHPUT: CapacitySource
SWITCH_BINDING_UNSPECIFIED: SwitchBinding
SWITCH_BINDING_CONFIGURATION: SwitchBinding
SWITCH_BINDING_SWITCH: SwitchBinding
SWITCH_BINDING_ACCESS_POINT: SwitchBinding

class GetControllerRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetControllerResponse(_message.Message):
    __slots__ = ("version", "mode", "policy", "cells", "terminals", "exempt", "counters")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    TERMINALS_FIELD_NUMBER: _ClassVar[int]
    EXEMPT_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    version: str
    mode: Mode
    policy: str
    cells: int
    terminals: int
    exempt: _containers.RepeatedScalarFieldContainer[str]
    counters: _containers.RepeatedCompositeFieldContainer[Counter]
    def __init__(self, version: _Optional[str] = ..., mode: _Optional[_Union[Mode, str]] = ..., policy: _Optional[str] = ..., cells: _Optional[int] = ..., terminals: _Optional[int] = ..., exempt: _Optional[_Iterable[str]] = ..., counters: _Optional[_Iterable[_Union[Counter, _Mapping]]] = ...) -> None: ...

class GetConfigurationRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetConfigurationResponse(_message.Message):
    __slots__ = ("values", "sha256", "file", "error", "choices")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[ConfigurationValue]
    sha256: str
    file: str
    error: str
    choices: _containers.RepeatedCompositeFieldContainer[OperatorChoice]
    def __init__(self, values: _Optional[_Iterable[_Union[ConfigurationValue, _Mapping]]] = ..., sha256: _Optional[str] = ..., file: _Optional[str] = ..., error: _Optional[str] = ..., choices: _Optional[_Iterable[_Union[OperatorChoice, _Mapping]]] = ...) -> None: ...

class ConfigurationValue(_message.Message):
    __slots__ = ("key", "value", "source", "origin", "at_next_start")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    AT_NEXT_START_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    source: ConfigurationSource
    origin: str
    at_next_start: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ..., source: _Optional[_Union[ConfigurationSource, str]] = ..., origin: _Optional[str] = ..., at_next_start: _Optional[str] = ...) -> None: ...

class OperatorChoice(_message.Message):
    __slots__ = ("key", "name", "value", "at", "until")
    KEY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    key: str
    name: str
    value: str
    at: str
    until: str
    def __init__(self, key: _Optional[str] = ..., name: _Optional[str] = ..., value: _Optional[str] = ..., at: _Optional[str] = ..., until: _Optional[str] = ...) -> None: ...

class Counter(_message.Message):
    __slots__ = ("name", "code", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    code: _reason_pb2.ReasonCode
    value: int
    def __init__(self, name: _Optional[str] = ..., code: _Optional[_Union[_reason_pb2.ReasonCode, str]] = ..., value: _Optional[int] = ...) -> None: ...

class Cell(_message.Message):
    __slots__ = ("bssid", "ssid", "center_frequency_mhz", "stations", "active_senders", "terminals", "uplink_bps", "capacity_bps", "capacity_source", "busy_ratio", "report_age_ms", "refused_total", "reassociations_total", "access_point", "malformed_inputs_total", "agent_version", "edca", "exempt", "mode", "policy", "override", "mode_by_operator", "band", "links", "survey_refusal", "surveys_refused_total", "windows", "datapath_id", "live", "station_flows")
    BSSID_FIELD_NUMBER: _ClassVar[int]
    SSID_FIELD_NUMBER: _ClassVar[int]
    CENTER_FREQUENCY_MHZ_FIELD_NUMBER: _ClassVar[int]
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDERS_FIELD_NUMBER: _ClassVar[int]
    TERMINALS_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_SOURCE_FIELD_NUMBER: _ClassVar[int]
    BUSY_RATIO_FIELD_NUMBER: _ClassVar[int]
    REPORT_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    REASSOCIATIONS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    ACCESS_POINT_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_INPUTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    EDCA_FIELD_NUMBER: _ClassVar[int]
    EXEMPT_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    OVERRIDE_FIELD_NUMBER: _ClassVar[int]
    MODE_BY_OPERATOR_FIELD_NUMBER: _ClassVar[int]
    BAND_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    SURVEY_REFUSAL_FIELD_NUMBER: _ClassVar[int]
    SURVEYS_REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    DATAPATH_ID_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    STATION_FLOWS_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    ssid: bytes
    center_frequency_mhz: int
    stations: int
    active_senders: int
    terminals: int
    uplink_bps: int
    capacity_bps: int
    capacity_source: CapacitySource
    busy_ratio: float
    report_age_ms: int
    refused_total: int
    reassociations_total: int
    access_point: str
    malformed_inputs_total: int
    agent_version: str
    edca: CellEdca
    exempt: bool
    mode: Mode
    policy: str
    override: CellOverride
    mode_by_operator: bool
    band: _access_point_pb2.Band
    links: int
    survey_refusal: str
    surveys_refused_total: int
    windows: CellWindows
    datapath_id: int
    live: CellLive
    station_flows: CellStationFlows
    def __init__(self, bssid: _Optional[str] = ..., ssid: _Optional[bytes] = ..., center_frequency_mhz: _Optional[int] = ..., stations: _Optional[int] = ..., active_senders: _Optional[int] = ..., terminals: _Optional[int] = ..., uplink_bps: _Optional[int] = ..., capacity_bps: _Optional[int] = ..., capacity_source: _Optional[_Union[CapacitySource, str]] = ..., busy_ratio: _Optional[float] = ..., report_age_ms: _Optional[int] = ..., refused_total: _Optional[int] = ..., reassociations_total: _Optional[int] = ..., access_point: _Optional[str] = ..., malformed_inputs_total: _Optional[int] = ..., agent_version: _Optional[str] = ..., edca: _Optional[_Union[CellEdca, _Mapping]] = ..., exempt: bool = ..., mode: _Optional[_Union[Mode, str]] = ..., policy: _Optional[str] = ..., override: _Optional[_Union[CellOverride, _Mapping]] = ..., mode_by_operator: bool = ..., band: _Optional[_Union[_access_point_pb2.Band, str]] = ..., links: _Optional[int] = ..., survey_refusal: _Optional[str] = ..., surveys_refused_total: _Optional[int] = ..., windows: _Optional[_Union[CellWindows, _Mapping]] = ..., datapath_id: _Optional[int] = ..., live: _Optional[_Union[CellLive, _Mapping]] = ..., station_flows: _Optional[_Union[CellStationFlows, _Mapping]] = ...) -> None: ...

class CellStationFlows(_message.Message):
    __slots__ = ("state", "sent", "generation_sent", "lease_remaining_ms", "reason")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_SENT_FIELD_NUMBER: _ClassVar[int]
    LEASE_REMAINING_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    state: _access_point_pb2.StationFlowState
    sent: int
    generation_sent: int
    lease_remaining_ms: int
    reason: _reason_pb2.Reason
    def __init__(self, state: _Optional[_Union[_access_point_pb2.StationFlowState, _Mapping]] = ..., sent: _Optional[int] = ..., generation_sent: _Optional[int] = ..., lease_remaining_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ...) -> None: ...

class CellLive(_message.Message):
    __slots__ = ("flows", "granted", "air", "closed_by", "failures_total")
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    AIR_FIELD_NUMBER: _ClassVar[int]
    CLOSED_BY_FIELD_NUMBER: _ClassVar[int]
    FAILURES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    flows: int
    granted: int
    air: float
    closed_by: str
    failures_total: int
    def __init__(self, flows: _Optional[int] = ..., granted: _Optional[int] = ..., air: _Optional[float] = ..., closed_by: _Optional[str] = ..., failures_total: _Optional[int] = ...) -> None: ...

class LiveFlow(_message.Message):
    __slots__ = ("destination", "uids", "used_bps", "need_bps", "air", "granted", "admitted_us_per_s", "refused")
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    UIDS_FIELD_NUMBER: _ClassVar[int]
    USED_BPS_FIELD_NUMBER: _ClassVar[int]
    NEED_BPS_FIELD_NUMBER: _ClassVar[int]
    AIR_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_US_PER_S_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    destination: str
    uids: _containers.RepeatedScalarFieldContainer[int]
    used_bps: int
    need_bps: int
    air: float
    granted: bool
    admitted_us_per_s: int
    refused: _reason_pb2.Reason
    def __init__(self, destination: _Optional[str] = ..., uids: _Optional[_Iterable[int]] = ..., used_bps: _Optional[int] = ..., need_bps: _Optional[int] = ..., air: _Optional[float] = ..., granted: bool = ..., admitted_us_per_s: _Optional[int] = ..., refused: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ...) -> None: ...

class CellOverride(_message.Message):
    __slots__ = ("name", "matched")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    name: str
    matched: str
    def __init__(self, name: _Optional[str] = ..., matched: _Optional[str] = ...) -> None: ...

class CellEdca(_message.Message):
    __slots__ = ("state", "wanted", "formula", "sent", "generation_sent", "lease_remaining_ms", "reason", "traffic", "uplink_bps", "downlink_bps", "uplink_share", "failures_total", "wanted_stations", "sent_stations")
    STATE_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    FORMULA_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_SENT_FIELD_NUMBER: _ClassVar[int]
    LEASE_REMAINING_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    UPLINK_SHARE_FIELD_NUMBER: _ClassVar[int]
    FAILURES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    WANTED_STATIONS_FIELD_NUMBER: _ClassVar[int]
    SENT_STATIONS_FIELD_NUMBER: _ClassVar[int]
    state: _access_point_pb2.EdcaState
    wanted: _containers.RepeatedCompositeFieldContainer[_access_point_pb2.Edca]
    formula: str
    sent: _containers.RepeatedCompositeFieldContainer[_access_point_pb2.Edca]
    generation_sent: int
    lease_remaining_ms: int
    reason: _reason_pb2.Reason
    traffic: _reason_pb2.Reason
    uplink_bps: int
    downlink_bps: int
    uplink_share: float
    failures_total: int
    wanted_stations: _containers.RepeatedCompositeFieldContainer[_access_point_pb2.Edca]
    sent_stations: _containers.RepeatedCompositeFieldContainer[_access_point_pb2.Edca]
    def __init__(self, state: _Optional[_Union[_access_point_pb2.EdcaState, _Mapping]] = ..., wanted: _Optional[_Iterable[_Union[_access_point_pb2.Edca, _Mapping]]] = ..., formula: _Optional[str] = ..., sent: _Optional[_Iterable[_Union[_access_point_pb2.Edca, _Mapping]]] = ..., generation_sent: _Optional[int] = ..., lease_remaining_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., traffic: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., uplink_bps: _Optional[int] = ..., downlink_bps: _Optional[int] = ..., uplink_share: _Optional[float] = ..., failures_total: _Optional[int] = ..., wanted_stations: _Optional[_Iterable[_Union[_access_point_pb2.Edca, _Mapping]]] = ..., sent_stations: _Optional[_Iterable[_Union[_access_point_pb2.Edca, _Mapping]]] = ...) -> None: ...

class CellWindows(_message.Message):
    __slots__ = ("state", "sent", "generation_sent", "lease_remaining_ms", "reason", "stations_without_agent", "stations_limited", "omitted", "failures_total")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_SENT_FIELD_NUMBER: _ClassVar[int]
    LEASE_REMAINING_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATIONS_WITHOUT_AGENT_FIELD_NUMBER: _ClassVar[int]
    STATIONS_LIMITED_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    FAILURES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    state: _access_point_pb2.WindowState
    sent: _containers.RepeatedCompositeFieldContainer[WindowLimitSent]
    generation_sent: int
    lease_remaining_ms: int
    reason: _reason_pb2.Reason
    stations_without_agent: int
    stations_limited: int
    omitted: int
    failures_total: int
    def __init__(self, state: _Optional[_Union[_access_point_pb2.WindowState, _Mapping]] = ..., sent: _Optional[_Iterable[_Union[WindowLimitSent, _Mapping]]] = ..., generation_sent: _Optional[int] = ..., lease_remaining_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., stations_without_agent: _Optional[int] = ..., stations_limited: _Optional[int] = ..., omitted: _Optional[int] = ..., failures_total: _Optional[int] = ...) -> None: ...

class WindowLimitSent(_message.Message):
    __slots__ = ("station", "destination", "max_bytes")
    STATION_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    station: str
    destination: str
    max_bytes: int
    def __init__(self, station: _Optional[str] = ..., destination: _Optional[str] = ..., max_bytes: _Optional[int] = ...) -> None: ...

class Terminal(_message.Message):
    __slots__ = ("mac", "name", "bssid", "active_sender", "exempt", "back_end", "bounds_generation_in_force", "bounds_generation_sent", "bounds_sent", "decisions", "report_age_ms", "refused_total", "failures_total", "malformed_inputs_total", "agent_version", "no_bounds", "live_flows", "flows_generation_in_force", "flows_generation_sent", "flows_failure", "classes_chosen", "uplink_bps")
    MAC_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDER_FIELD_NUMBER: _ClassVar[int]
    EXEMPT_FIELD_NUMBER: _ClassVar[int]
    BACK_END_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_GENERATION_IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_GENERATION_SENT_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_SENT_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    REPORT_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    FAILURES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_INPUTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    NO_BOUNDS_FIELD_NUMBER: _ClassVar[int]
    LIVE_FLOWS_FIELD_NUMBER: _ClassVar[int]
    FLOWS_GENERATION_IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    FLOWS_GENERATION_SENT_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FAILURE_FIELD_NUMBER: _ClassVar[int]
    CLASSES_CHOSEN_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    mac: str
    name: str
    bssid: str
    active_sender: bool
    exempt: bool
    back_end: str
    bounds_generation_in_force: int
    bounds_generation_sent: int
    bounds_sent: _containers.RepeatedCompositeFieldContainer[BoundSent]
    decisions: _containers.RepeatedCompositeFieldContainer[Decision]
    report_age_ms: int
    refused_total: int
    failures_total: int
    malformed_inputs_total: int
    agent_version: str
    no_bounds: _reason_pb2.Reason
    live_flows: _containers.RepeatedCompositeFieldContainer[LiveFlow]
    flows_generation_in_force: int
    flows_generation_sent: int
    flows_failure: str
    classes_chosen: _containers.RepeatedCompositeFieldContainer[ClassChoice]
    uplink_bps: int
    def __init__(self, mac: _Optional[str] = ..., name: _Optional[str] = ..., bssid: _Optional[str] = ..., active_sender: bool = ..., exempt: bool = ..., back_end: _Optional[str] = ..., bounds_generation_in_force: _Optional[int] = ..., bounds_generation_sent: _Optional[int] = ..., bounds_sent: _Optional[_Iterable[_Union[BoundSent, _Mapping]]] = ..., decisions: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ..., report_age_ms: _Optional[int] = ..., refused_total: _Optional[int] = ..., failures_total: _Optional[int] = ..., malformed_inputs_total: _Optional[int] = ..., agent_version: _Optional[str] = ..., no_bounds: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., live_flows: _Optional[_Iterable[_Union[LiveFlow, _Mapping]]] = ..., flows_generation_in_force: _Optional[int] = ..., flows_generation_sent: _Optional[int] = ..., flows_failure: _Optional[str] = ..., classes_chosen: _Optional[_Iterable[_Union[ClassChoice, _Mapping]]] = ..., uplink_bps: _Optional[int] = ...) -> None: ...

class ClassChoice(_message.Message):
    __slots__ = ("uid", "application_class")
    UID_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_CLASS_FIELD_NUMBER: _ClassVar[int]
    uid: int
    application_class: _terminal_pb2.ApplicationClass
    def __init__(self, uid: _Optional[int] = ..., application_class: _Optional[_Union[_terminal_pb2.ApplicationClass, str]] = ...) -> None: ...

class BoundSent(_message.Message):
    __slots__ = ("destination", "min_segs", "max_segs", "uid")
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    MIN_SEGS_FIELD_NUMBER: _ClassVar[int]
    MAX_SEGS_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    destination: str
    min_segs: int
    max_segs: int
    uid: int
    def __init__(self, destination: _Optional[str] = ..., min_segs: _Optional[int] = ..., max_segs: _Optional[int] = ..., uid: _Optional[int] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("destination", "min_segs", "max_segs", "policy", "active_senders", "connections", "srtt_us", "min_rtt_us", "own_min_rtt_us", "rtt_ratio", "capacity_bps", "formula", "notes")
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    MIN_SEGS_FIELD_NUMBER: _ClassVar[int]
    MAX_SEGS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDERS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    SRTT_US_FIELD_NUMBER: _ClassVar[int]
    MIN_RTT_US_FIELD_NUMBER: _ClassVar[int]
    OWN_MIN_RTT_US_FIELD_NUMBER: _ClassVar[int]
    RTT_RATIO_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    FORMULA_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    destination: str
    min_segs: int
    max_segs: int
    policy: str
    active_senders: int
    connections: int
    srtt_us: int
    min_rtt_us: int
    own_min_rtt_us: int
    rtt_ratio: float
    capacity_bps: int
    formula: str
    notes: _containers.RepeatedCompositeFieldContainer[_reason_pb2.Reason]
    def __init__(self, destination: _Optional[str] = ..., min_segs: _Optional[int] = ..., max_segs: _Optional[int] = ..., policy: _Optional[str] = ..., active_senders: _Optional[int] = ..., connections: _Optional[int] = ..., srtt_us: _Optional[int] = ..., min_rtt_us: _Optional[int] = ..., own_min_rtt_us: _Optional[int] = ..., rtt_ratio: _Optional[float] = ..., capacity_bps: _Optional[int] = ..., formula: _Optional[str] = ..., notes: _Optional[_Iterable[_Union[_reason_pb2.Reason, _Mapping]]] = ...) -> None: ...

class ListCellsRequest(_message.Message):
    __slots__ = ("bssid",)
    BSSID_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    def __init__(self, bssid: _Optional[str] = ...) -> None: ...

class ListCellsResponse(_message.Message):
    __slots__ = ("cells",)
    CELLS_FIELD_NUMBER: _ClassVar[int]
    cells: _containers.RepeatedCompositeFieldContainer[Cell]
    def __init__(self, cells: _Optional[_Iterable[_Union[Cell, _Mapping]]] = ...) -> None: ...

class WatchCellsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchCellsResponse(_message.Message):
    __slots__ = ("cell",)
    CELL_FIELD_NUMBER: _ClassVar[int]
    cell: Cell
    def __init__(self, cell: _Optional[_Union[Cell, _Mapping]] = ...) -> None: ...

class ListStationsRequest(_message.Message):
    __slots__ = ("bssid",)
    BSSID_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    def __init__(self, bssid: _Optional[str] = ...) -> None: ...

class ListStationsResponse(_message.Message):
    __slots__ = ("stations",)
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    stations: _containers.RepeatedCompositeFieldContainer[StationView]
    def __init__(self, stations: _Optional[_Iterable[_Union[StationView, _Mapping]]] = ...) -> None: ...

class StationView(_message.Message):
    __slots__ = ("mac", "ip_addresses", "active_sender", "terminal", "uplink_bps", "signal_dbm", "rx_bitrate_kbps", "tx_bitrate_kbps", "rx_airtime_us", "tx_airtime_us", "airtime_source", "tx_retries", "tx_failed", "connected_time_ms", "vlan_interface", "four_address", "multi_link", "links", "destinations", "lack", "decisions", "limits", "no_limit", "exempt", "air_ratio", "retries_per_s", "unlimited_for_ms")
    MAC_FIELD_NUMBER: _ClassVar[int]
    IP_ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDER_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_DBM_FIELD_NUMBER: _ClassVar[int]
    RX_BITRATE_KBPS_FIELD_NUMBER: _ClassVar[int]
    TX_BITRATE_KBPS_FIELD_NUMBER: _ClassVar[int]
    RX_AIRTIME_US_FIELD_NUMBER: _ClassVar[int]
    TX_AIRTIME_US_FIELD_NUMBER: _ClassVar[int]
    AIRTIME_SOURCE_FIELD_NUMBER: _ClassVar[int]
    TX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    TX_FAILED_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    VLAN_INTERFACE_FIELD_NUMBER: _ClassVar[int]
    FOUR_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    MULTI_LINK_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    DESTINATIONS_FIELD_NUMBER: _ClassVar[int]
    LACK_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    NO_LIMIT_FIELD_NUMBER: _ClassVar[int]
    EXEMPT_FIELD_NUMBER: _ClassVar[int]
    AIR_RATIO_FIELD_NUMBER: _ClassVar[int]
    RETRIES_PER_S_FIELD_NUMBER: _ClassVar[int]
    UNLIMITED_FOR_MS_FIELD_NUMBER: _ClassVar[int]
    mac: str
    ip_addresses: _containers.RepeatedScalarFieldContainer[str]
    active_sender: bool
    terminal: str
    uplink_bps: int
    signal_dbm: int
    rx_bitrate_kbps: int
    tx_bitrate_kbps: int
    rx_airtime_us: int
    tx_airtime_us: int
    airtime_source: _access_point_pb2.AirtimeSource
    tx_retries: int
    tx_failed: int
    connected_time_ms: int
    vlan_interface: str
    four_address: bool
    multi_link: bool
    links: int
    destinations: _containers.RepeatedCompositeFieldContainer[StationDestinationView]
    lack: _reason_pb2.Reason
    decisions: _containers.RepeatedCompositeFieldContainer[Decision]
    limits: _containers.RepeatedCompositeFieldContainer[WindowLimitSent]
    no_limit: _reason_pb2.Reason
    exempt: bool
    air_ratio: float
    retries_per_s: float
    unlimited_for_ms: int
    def __init__(self, mac: _Optional[str] = ..., ip_addresses: _Optional[_Iterable[str]] = ..., active_sender: bool = ..., terminal: _Optional[str] = ..., uplink_bps: _Optional[int] = ..., signal_dbm: _Optional[int] = ..., rx_bitrate_kbps: _Optional[int] = ..., tx_bitrate_kbps: _Optional[int] = ..., rx_airtime_us: _Optional[int] = ..., tx_airtime_us: _Optional[int] = ..., airtime_source: _Optional[_Union[_access_point_pb2.AirtimeSource, str]] = ..., tx_retries: _Optional[int] = ..., tx_failed: _Optional[int] = ..., connected_time_ms: _Optional[int] = ..., vlan_interface: _Optional[str] = ..., four_address: bool = ..., multi_link: bool = ..., links: _Optional[int] = ..., destinations: _Optional[_Iterable[_Union[StationDestinationView, _Mapping]]] = ..., lack: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., decisions: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ..., limits: _Optional[_Iterable[_Union[WindowLimitSent, _Mapping]]] = ..., no_limit: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., exempt: bool = ..., air_ratio: _Optional[float] = ..., retries_per_s: _Optional[float] = ..., unlimited_for_ms: _Optional[int] = ...) -> None: ...

class StationDestinationView(_message.Message):
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
    address: str
    connections: int
    connections_sending: int
    srtt_us: int
    min_rtt_us: int
    mss_bytes: int
    sent_bytes: int
    received_bytes: int
    connections_unscaled: int
    def __init__(self, address: _Optional[str] = ..., connections: _Optional[int] = ..., connections_sending: _Optional[int] = ..., srtt_us: _Optional[int] = ..., min_rtt_us: _Optional[int] = ..., mss_bytes: _Optional[int] = ..., sent_bytes: _Optional[int] = ..., received_bytes: _Optional[int] = ..., connections_unscaled: _Optional[int] = ...) -> None: ...

class ListTerminalsRequest(_message.Message):
    __slots__ = ("bssid",)
    BSSID_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    def __init__(self, bssid: _Optional[str] = ...) -> None: ...

class ListTerminalsResponse(_message.Message):
    __slots__ = ("terminals",)
    TERMINALS_FIELD_NUMBER: _ClassVar[int]
    terminals: _containers.RepeatedCompositeFieldContainer[Terminal]
    def __init__(self, terminals: _Optional[_Iterable[_Union[Terminal, _Mapping]]] = ...) -> None: ...

class ExplainCellRequest(_message.Message):
    __slots__ = ("bssid",)
    BSSID_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    def __init__(self, bssid: _Optional[str] = ...) -> None: ...

class ExplainCellResponse(_message.Message):
    __slots__ = ("cell",)
    CELL_FIELD_NUMBER: _ClassVar[int]
    cell: Cell
    def __init__(self, cell: _Optional[_Union[Cell, _Mapping]] = ...) -> None: ...

class ExplainStationRequest(_message.Message):
    __slots__ = ("station",)
    STATION_FIELD_NUMBER: _ClassVar[int]
    station: str
    def __init__(self, station: _Optional[str] = ...) -> None: ...

class ExplainStationResponse(_message.Message):
    __slots__ = ("station", "cell")
    STATION_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    station: StationView
    cell: Cell
    def __init__(self, station: _Optional[_Union[StationView, _Mapping]] = ..., cell: _Optional[_Union[Cell, _Mapping]] = ...) -> None: ...

class ExplainTerminalRequest(_message.Message):
    __slots__ = ("terminal",)
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    terminal: str
    def __init__(self, terminal: _Optional[str] = ...) -> None: ...

class ExplainTerminalResponse(_message.Message):
    __slots__ = ("terminal", "cell", "destinations", "last_trigger")
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    DESTINATIONS_FIELD_NUMBER: _ClassVar[int]
    LAST_TRIGGER_FIELD_NUMBER: _ClassVar[int]
    terminal: Terminal
    cell: Cell
    destinations: _containers.RepeatedCompositeFieldContainer[DestinationView]
    last_trigger: _terminal_pb2.TerminalReportTrigger
    def __init__(self, terminal: _Optional[_Union[Terminal, _Mapping]] = ..., cell: _Optional[_Union[Cell, _Mapping]] = ..., destinations: _Optional[_Iterable[_Union[DestinationView, _Mapping]]] = ..., last_trigger: _Optional[_Union[_terminal_pb2.TerminalReportTrigger, str]] = ...) -> None: ...

class DestinationView(_message.Message):
    __slots__ = ("address", "connections", "connections_sending", "srtt_us", "min_rtt_us", "cwnd_segs", "ssthresh_segs", "delivered_bytes", "queued_bytes", "events", "uids", "classes")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_SENDING_FIELD_NUMBER: _ClassVar[int]
    SRTT_US_FIELD_NUMBER: _ClassVar[int]
    MIN_RTT_US_FIELD_NUMBER: _ClassVar[int]
    CWND_SEGS_FIELD_NUMBER: _ClassVar[int]
    SSTHRESH_SEGS_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_BYTES_FIELD_NUMBER: _ClassVar[int]
    QUEUED_BYTES_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    UIDS_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    address: str
    connections: int
    connections_sending: int
    srtt_us: int
    min_rtt_us: int
    cwnd_segs: int
    ssthresh_segs: int
    delivered_bytes: int
    queued_bytes: int
    events: _terminal_pb2.EventCounts
    uids: _containers.RepeatedScalarFieldContainer[int]
    classes: _containers.RepeatedCompositeFieldContainer[_terminal_pb2.ClassPart]
    def __init__(self, address: _Optional[str] = ..., connections: _Optional[int] = ..., connections_sending: _Optional[int] = ..., srtt_us: _Optional[int] = ..., min_rtt_us: _Optional[int] = ..., cwnd_segs: _Optional[int] = ..., ssthresh_segs: _Optional[int] = ..., delivered_bytes: _Optional[int] = ..., queued_bytes: _Optional[int] = ..., events: _Optional[_Union[_terminal_pb2.EventCounts, _Mapping]] = ..., uids: _Optional[_Iterable[int]] = ..., classes: _Optional[_Iterable[_Union[_terminal_pb2.ClassPart, _Mapping]]] = ...) -> None: ...

class SetModeRequest(_message.Message):
    __slots__ = ("mode", "bssid", "configured", "for_ms")
    MODE_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    CONFIGURED_FIELD_NUMBER: _ClassVar[int]
    FOR_MS_FIELD_NUMBER: _ClassVar[int]
    mode: Mode
    bssid: str
    configured: bool
    for_ms: int
    def __init__(self, mode: _Optional[_Union[Mode, str]] = ..., bssid: _Optional[str] = ..., configured: bool = ..., for_ms: _Optional[int] = ...) -> None: ...

class SetModeResponse(_message.Message):
    __slots__ = ("previous_mode", "mode")
    PREVIOUS_MODE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    previous_mode: Mode
    mode: Mode
    def __init__(self, previous_mode: _Optional[_Union[Mode, str]] = ..., mode: _Optional[_Union[Mode, str]] = ...) -> None: ...

class ExemptTerminalRequest(_message.Message):
    __slots__ = ("name", "exempt")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EXEMPT_FIELD_NUMBER: _ClassVar[int]
    name: str
    exempt: bool
    def __init__(self, name: _Optional[str] = ..., exempt: bool = ...) -> None: ...

class ExemptTerminalResponse(_message.Message):
    __slots__ = ("previously_exempt",)
    PREVIOUSLY_EXEMPT_FIELD_NUMBER: _ClassVar[int]
    previously_exempt: bool
    def __init__(self, previously_exempt: bool = ...) -> None: ...

class SetClassRequest(_message.Message):
    __slots__ = ("terminal", "uid", "application_class", "own")
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_CLASS_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    terminal: str
    uid: int
    application_class: _terminal_pb2.ApplicationClass
    own: bool
    def __init__(self, terminal: _Optional[str] = ..., uid: _Optional[int] = ..., application_class: _Optional[_Union[_terminal_pb2.ApplicationClass, str]] = ..., own: bool = ...) -> None: ...

class SetClassResponse(_message.Message):
    __slots__ = ("previous",)
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    previous: _terminal_pb2.ApplicationClass
    def __init__(self, previous: _Optional[_Union[_terminal_pb2.ApplicationClass, str]] = ...) -> None: ...

class ListSwitchesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSwitchesResponse(_message.Message):
    __slots__ = ("switches",)
    SWITCHES_FIELD_NUMBER: _ClassVar[int]
    switches: _containers.RepeatedCompositeFieldContainer[Switch]
    def __init__(self, switches: _Optional[_Iterable[_Union[Switch, _Mapping]]] = ...) -> None: ...

class GetStationTrafficRequest(_message.Message):
    __slots__ = ("station",)
    STATION_FIELD_NUMBER: _ClassVar[int]
    station: str
    def __init__(self, station: _Optional[str] = ...) -> None: ...

class GetStationTrafficResponse(_message.Message):
    __slots__ = ("stations",)
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    stations: _containers.RepeatedCompositeFieldContainer[SwitchStation]
    def __init__(self, stations: _Optional[_Iterable[_Union[SwitchStation, _Mapping]]] = ...) -> None: ...

class Switch(_message.Message):
    __slots__ = ("datapath_id", "name", "peer", "description", "agent_version", "bssid", "bound_by", "report_age_ms", "stations", "active_senders", "cell_active_senders", "counts_for_cell", "uplink_bps", "downlink_bps", "generation_sent", "generation_in_force", "lease_remaining_ms", "sent_reason", "restriction", "limited_stations", "flows", "meters", "meters_max", "packet_ins_total", "packet_ins_dropped_total", "malformed_total", "errors_total", "refused_total", "commands_refused_total", "meter_dropped_bytes")
    DATAPATH_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    BOUND_BY_FIELD_NUMBER: _ClassVar[int]
    REPORT_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDERS_FIELD_NUMBER: _ClassVar[int]
    CELL_ACTIVE_SENDERS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FOR_CELL_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_SENT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    LEASE_REMAINING_MS_FIELD_NUMBER: _ClassVar[int]
    SENT_REASON_FIELD_NUMBER: _ClassVar[int]
    RESTRICTION_FIELD_NUMBER: _ClassVar[int]
    LIMITED_STATIONS_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    METERS_FIELD_NUMBER: _ClassVar[int]
    METERS_MAX_FIELD_NUMBER: _ClassVar[int]
    PACKET_INS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    PACKET_INS_DROPPED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    ERRORS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    METER_DROPPED_BYTES_FIELD_NUMBER: _ClassVar[int]
    datapath_id: str
    name: str
    peer: str
    description: str
    agent_version: str
    bssid: str
    bound_by: SwitchBinding
    report_age_ms: int
    stations: int
    active_senders: int
    cell_active_senders: int
    counts_for_cell: bool
    uplink_bps: int
    downlink_bps: int
    generation_sent: int
    generation_in_force: int
    lease_remaining_ms: int
    sent_reason: _reason_pb2.Reason
    restriction: _reason_pb2.Reason
    limited_stations: int
    flows: int
    meters: int
    meters_max: int
    packet_ins_total: int
    packet_ins_dropped_total: int
    malformed_total: int
    errors_total: int
    refused_total: int
    commands_refused_total: int
    meter_dropped_bytes: int
    def __init__(self, datapath_id: _Optional[str] = ..., name: _Optional[str] = ..., peer: _Optional[str] = ..., description: _Optional[str] = ..., agent_version: _Optional[str] = ..., bssid: _Optional[str] = ..., bound_by: _Optional[_Union[SwitchBinding, str]] = ..., report_age_ms: _Optional[int] = ..., stations: _Optional[int] = ..., active_senders: _Optional[int] = ..., cell_active_senders: _Optional[int] = ..., counts_for_cell: bool = ..., uplink_bps: _Optional[int] = ..., downlink_bps: _Optional[int] = ..., generation_sent: _Optional[int] = ..., generation_in_force: _Optional[int] = ..., lease_remaining_ms: _Optional[int] = ..., sent_reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., restriction: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., limited_stations: _Optional[int] = ..., flows: _Optional[int] = ..., meters: _Optional[int] = ..., meters_max: _Optional[int] = ..., packet_ins_total: _Optional[int] = ..., packet_ins_dropped_total: _Optional[int] = ..., malformed_total: _Optional[int] = ..., errors_total: _Optional[int] = ..., refused_total: _Optional[int] = ..., commands_refused_total: _Optional[int] = ..., meter_dropped_bytes: _Optional[int] = ...) -> None: ...

class SwitchStation(_message.Message):
    __slots__ = ("datapath_id", "bssid", "mac", "sending", "receiving", "uplink_bps", "downlink_bps", "uplink_limit_kbps", "downlink_limit_kbps", "traffic")
    DATAPATH_ID_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    SENDING_FIELD_NUMBER: _ClassVar[int]
    RECEIVING_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    UPLINK_LIMIT_KBPS_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_LIMIT_KBPS_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_FIELD_NUMBER: _ClassVar[int]
    datapath_id: str
    bssid: str
    mac: str
    sending: bool
    receiving: bool
    uplink_bps: int
    downlink_bps: int
    uplink_limit_kbps: int
    downlink_limit_kbps: int
    traffic: _containers.RepeatedCompositeFieldContainer[TrafficView]
    def __init__(self, datapath_id: _Optional[str] = ..., bssid: _Optional[str] = ..., mac: _Optional[str] = ..., sending: bool = ..., receiving: bool = ..., uplink_bps: _Optional[int] = ..., downlink_bps: _Optional[int] = ..., uplink_limit_kbps: _Optional[int] = ..., downlink_limit_kbps: _Optional[int] = ..., traffic: _Optional[_Iterable[_Union[TrafficView, _Mapping]]] = ...) -> None: ...

class TrafficView(_message.Message):
    __slots__ = ("address", "protocol", "uplink_bps", "downlink_bps", "uplink_bytes", "downlink_bytes")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BYTES_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_BYTES_FIELD_NUMBER: _ClassVar[int]
    address: str
    protocol: _switch_pb2.TrafficProtocol
    uplink_bps: int
    downlink_bps: int
    uplink_bytes: int
    downlink_bytes: int
    def __init__(self, address: _Optional[str] = ..., protocol: _Optional[_Union[_switch_pb2.TrafficProtocol, str]] = ..., uplink_bps: _Optional[int] = ..., downlink_bps: _Optional[int] = ..., uplink_bytes: _Optional[int] = ..., downlink_bytes: _Optional[int] = ...) -> None: ...
