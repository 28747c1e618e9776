from airbound.v1 import access_point_pb2 as _access_point_pb2
from airbound.v1 import reason_pb2 as _reason_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Retransmission(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RETRANSMISSION_UNSPECIFIED: _ClassVar[Retransmission]
    RETRANSMISSION_TIMERS: _ClassVar[Retransmission]
    RETRANSMISSION_REQUESTS: _ClassVar[Retransmission]
    RETRANSMISSION_MESSAGES: _ClassVar[Retransmission]

class ArrivalSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARRIVAL_SOURCE_UNSPECIFIED: _ClassVar[ArrivalSource]
    ARRIVAL_SOURCE_NL80211: _ClassVar[ArrivalSource]
    ARRIVAL_SOURCE_RTNETLINK: _ClassVar[ArrivalSource]
    ARRIVAL_SOURCE_STREAM: _ClassVar[ArrivalSource]
    ARRIVAL_SOURCE_FILE: _ClassVar[ArrivalSource]
    ARRIVAL_SOURCE_PROGRAM: _ClassVar[ArrivalSource]
    ARRIVAL_SOURCE_LOOPBACK: _ClassVar[ArrivalSource]
    ARRIVAL_SOURCE_CONTROLLER: _ClassVar[ArrivalSource]

class TerminalReportTrigger(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TERMINAL_REPORT_TRIGGER_UNSPECIFIED: _ClassVar[TerminalReportTrigger]
    TERMINAL_REPORT_TRIGGER_INTERVAL: _ClassVar[TerminalReportTrigger]
    TERMINAL_REPORT_TRIGGER_STARTED_SENDING: _ClassVar[TerminalReportTrigger]
    TERMINAL_REPORT_TRIGGER_STOPPED_SENDING: _ClassVar[TerminalReportTrigger]
    TERMINAL_REPORT_TRIGGER_RTT_RATIO_CHANGED: _ClassVar[TerminalReportTrigger]
    TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED: _ClassVar[TerminalReportTrigger]

class ApplicationClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPLICATION_CLASS_UNSPECIFIED: _ClassVar[ApplicationClass]
    APPLICATION_CLASS_LIVE: _ClassVar[ApplicationClass]
    APPLICATION_CLASS_BURST: _ClassVar[ApplicationClass]
    APPLICATION_CLASS_BULK: _ClassVar[ApplicationClass]
    APPLICATION_CLASS_BACKGROUND: _ClassVar[ApplicationClass]
RETRANSMISSION_UNSPECIFIED: Retransmission
RETRANSMISSION_TIMERS: Retransmission
RETRANSMISSION_REQUESTS: Retransmission
RETRANSMISSION_MESSAGES: Retransmission
ARRIVAL_SOURCE_UNSPECIFIED: ArrivalSource
ARRIVAL_SOURCE_NL80211: ArrivalSource
ARRIVAL_SOURCE_RTNETLINK: ArrivalSource
ARRIVAL_SOURCE_STREAM: ArrivalSource
ARRIVAL_SOURCE_FILE: ArrivalSource
ARRIVAL_SOURCE_PROGRAM: ArrivalSource
ARRIVAL_SOURCE_LOOPBACK: ArrivalSource
ARRIVAL_SOURCE_CONTROLLER: ArrivalSource
TERMINAL_REPORT_TRIGGER_UNSPECIFIED: TerminalReportTrigger
TERMINAL_REPORT_TRIGGER_INTERVAL: TerminalReportTrigger
TERMINAL_REPORT_TRIGGER_STARTED_SENDING: TerminalReportTrigger
TERMINAL_REPORT_TRIGGER_STOPPED_SENDING: TerminalReportTrigger
TERMINAL_REPORT_TRIGGER_RTT_RATIO_CHANGED: TerminalReportTrigger
TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED: TerminalReportTrigger
APPLICATION_CLASS_UNSPECIFIED: ApplicationClass
APPLICATION_CLASS_LIVE: ApplicationClass
APPLICATION_CLASS_BURST: ApplicationClass
APPLICATION_CLASS_BULK: ApplicationClass
APPLICATION_CLASS_BACKGROUND: ApplicationClass

class TerminalServiceConnectRequest(_message.Message):
    __slots__ = ("report",)
    REPORT_FIELD_NUMBER: _ClassVar[int]
    report: TerminalReport
    def __init__(self, report: _Optional[_Union[TerminalReport, _Mapping]] = ...) -> None: ...

class TerminalServiceConnectResponse(_message.Message):
    __slots__ = ("command",)
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    command: TerminalCommand
    def __init__(self, command: _Optional[_Union[TerminalCommand, _Mapping]] = ...) -> None: ...

class TerminalReport(_message.Message):
    __slots__ = ("mac", "sequence", "monotonic_us", "agent", "destinations", "bounds_generation", "trigger", "malformed_inputs_total", "arrivals", "flows")
    MAC_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    MONOTONIC_US_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    DESTINATIONS_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_GENERATION_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_INPUTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    ARRIVALS_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    mac: bytes
    sequence: int
    monotonic_us: int
    agent: Agent
    destinations: _containers.RepeatedCompositeFieldContainer[Destination]
    bounds_generation: int
    trigger: TerminalReportTrigger
    malformed_inputs_total: int
    arrivals: Arrivals
    flows: FlowState
    def __init__(self, mac: _Optional[bytes] = ..., sequence: _Optional[int] = ..., monotonic_us: _Optional[int] = ..., agent: _Optional[_Union[Agent, _Mapping]] = ..., destinations: _Optional[_Iterable[_Union[Destination, _Mapping]]] = ..., bounds_generation: _Optional[int] = ..., trigger: _Optional[_Union[TerminalReportTrigger, str]] = ..., malformed_inputs_total: _Optional[int] = ..., arrivals: _Optional[_Union[Arrivals, _Mapping]] = ..., flows: _Optional[_Union[FlowState, _Mapping]] = ...) -> None: ...

class FlowState(_message.Message):
    __slots__ = ("generation", "refused_total", "failures_total", "failure", "marked_packets_total", "paced_packets_total", "dropped_packets_total")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    FAILURES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    MARKED_PACKETS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    PACED_PACKETS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    DROPPED_PACKETS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    generation: int
    refused_total: int
    failures_total: int
    failure: str
    marked_packets_total: int
    paced_packets_total: int
    dropped_packets_total: int
    def __init__(self, generation: _Optional[int] = ..., refused_total: _Optional[int] = ..., failures_total: _Optional[int] = ..., failure: _Optional[str] = ..., marked_packets_total: _Optional[int] = ..., paced_packets_total: _Optional[int] = ..., dropped_packets_total: _Optional[int] = ...) -> None: ...

class Arrivals(_message.Message):
    __slots__ = ("arrivals_total", "merged_reports_total", "waiting_connections_total", "retransmissions_total", "last_source", "last_age_ms", "back_end", "answered_total", "silence_ms_total", "last_silence_ms", "silent_downloads_total", "resumed_downloads_total", "server_messages_total")
    ARRIVALS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MERGED_REPORTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    WAITING_CONNECTIONS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    RETRANSMISSIONS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    LAST_SOURCE_FIELD_NUMBER: _ClassVar[int]
    LAST_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    BACK_END_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    SILENCE_MS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    LAST_SILENCE_MS_FIELD_NUMBER: _ClassVar[int]
    SILENT_DOWNLOADS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    RESUMED_DOWNLOADS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    SERVER_MESSAGES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    arrivals_total: int
    merged_reports_total: int
    waiting_connections_total: int
    retransmissions_total: int
    last_source: ArrivalSource
    last_age_ms: int
    back_end: Retransmission
    answered_total: int
    silence_ms_total: int
    last_silence_ms: int
    silent_downloads_total: int
    resumed_downloads_total: int
    server_messages_total: int
    def __init__(self, arrivals_total: _Optional[int] = ..., merged_reports_total: _Optional[int] = ..., waiting_connections_total: _Optional[int] = ..., retransmissions_total: _Optional[int] = ..., last_source: _Optional[_Union[ArrivalSource, str]] = ..., last_age_ms: _Optional[int] = ..., back_end: _Optional[_Union[Retransmission, str]] = ..., answered_total: _Optional[int] = ..., silence_ms_total: _Optional[int] = ..., last_silence_ms: _Optional[int] = ..., silent_downloads_total: _Optional[int] = ..., resumed_downloads_total: _Optional[int] = ..., server_messages_total: _Optional[int] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("version", "back_end", "takes_arrivals", "can_mark", "can_admit", "can_pace", "flows_refusal", "flows_max")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BACK_END_FIELD_NUMBER: _ClassVar[int]
    TAKES_ARRIVALS_FIELD_NUMBER: _ClassVar[int]
    CAN_MARK_FIELD_NUMBER: _ClassVar[int]
    CAN_ADMIT_FIELD_NUMBER: _ClassVar[int]
    CAN_PACE_FIELD_NUMBER: _ClassVar[int]
    FLOWS_REFUSAL_FIELD_NUMBER: _ClassVar[int]
    FLOWS_MAX_FIELD_NUMBER: _ClassVar[int]
    version: str
    back_end: BackEnd
    takes_arrivals: bool
    can_mark: bool
    can_admit: bool
    can_pace: bool
    flows_refusal: str
    flows_max: int
    def __init__(self, version: _Optional[str] = ..., back_end: _Optional[_Union[BackEnd, _Mapping]] = ..., takes_arrivals: bool = ..., can_mark: bool = ..., can_admit: bool = ..., can_pace: bool = ..., flows_refusal: _Optional[str] = ..., flows_max: _Optional[int] = ...) -> None: ...

class BackEnd(_message.Message):
    __slots__ = ("name", "can_set_max", "can_set_min", "can_select_destination", "can_select_uid", "rules_max", "can_select_uid_destination")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CAN_SET_MAX_FIELD_NUMBER: _ClassVar[int]
    CAN_SET_MIN_FIELD_NUMBER: _ClassVar[int]
    CAN_SELECT_DESTINATION_FIELD_NUMBER: _ClassVar[int]
    CAN_SELECT_UID_FIELD_NUMBER: _ClassVar[int]
    RULES_MAX_FIELD_NUMBER: _ClassVar[int]
    CAN_SELECT_UID_DESTINATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    can_set_max: bool
    can_set_min: bool
    can_select_destination: bool
    can_select_uid: bool
    rules_max: int
    can_select_uid_destination: bool
    def __init__(self, name: _Optional[str] = ..., can_set_max: bool = ..., can_set_min: bool = ..., can_select_destination: bool = ..., can_select_uid: bool = ..., rules_max: _Optional[int] = ..., can_select_uid_destination: bool = ...) -> None: ...

class Destination(_message.Message):
    __slots__ = ("address", "connections", "connections_sending", "srtt_us", "min_rtt_us", "cwnd_segs", "ssthresh_segs", "mss_bytes", "delivered_bytes", "queued_bytes", "events", "uids", "classes")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_SENDING_FIELD_NUMBER: _ClassVar[int]
    SRTT_US_FIELD_NUMBER: _ClassVar[int]
    MIN_RTT_US_FIELD_NUMBER: _ClassVar[int]
    CWND_SEGS_FIELD_NUMBER: _ClassVar[int]
    SSTHRESH_SEGS_FIELD_NUMBER: _ClassVar[int]
    MSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_BYTES_FIELD_NUMBER: _ClassVar[int]
    QUEUED_BYTES_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    UIDS_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    address: bytes
    connections: int
    connections_sending: int
    srtt_us: int
    min_rtt_us: int
    cwnd_segs: int
    ssthresh_segs: int
    mss_bytes: int
    delivered_bytes: int
    queued_bytes: int
    events: EventCounts
    uids: _containers.RepeatedScalarFieldContainer[int]
    classes: _containers.RepeatedCompositeFieldContainer[ClassPart]
    def __init__(self, address: _Optional[bytes] = ..., connections: _Optional[int] = ..., connections_sending: _Optional[int] = ..., srtt_us: _Optional[int] = ..., min_rtt_us: _Optional[int] = ..., cwnd_segs: _Optional[int] = ..., ssthresh_segs: _Optional[int] = ..., mss_bytes: _Optional[int] = ..., delivered_bytes: _Optional[int] = ..., queued_bytes: _Optional[int] = ..., events: _Optional[_Union[EventCounts, _Mapping]] = ..., uids: _Optional[_Iterable[int]] = ..., classes: _Optional[_Iterable[_Union[ClassPart, _Mapping]]] = ...) -> None: ...

class ClassPart(_message.Message):
    __slots__ = ("application_class", "connections", "connections_sending", "delivered_bytes", "queued_bytes", "uids")
    APPLICATION_CLASS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_SENDING_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_BYTES_FIELD_NUMBER: _ClassVar[int]
    QUEUED_BYTES_FIELD_NUMBER: _ClassVar[int]
    UIDS_FIELD_NUMBER: _ClassVar[int]
    application_class: ApplicationClass
    connections: int
    connections_sending: int
    delivered_bytes: int
    queued_bytes: int
    uids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, application_class: _Optional[_Union[ApplicationClass, str]] = ..., connections: _Optional[int] = ..., connections_sending: _Optional[int] = ..., delivered_bytes: _Optional[int] = ..., queued_bytes: _Optional[int] = ..., uids: _Optional[_Iterable[int]] = ...) -> None: ...

class EventCounts(_message.Message):
    __slots__ = ("local_congestion", "duplicate_ack", "sack", "fast_retransmit", "timeout", "undo")
    LOCAL_CONGESTION_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_ACK_FIELD_NUMBER: _ClassVar[int]
    SACK_FIELD_NUMBER: _ClassVar[int]
    FAST_RETRANSMIT_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    local_congestion: int
    duplicate_ack: int
    sack: int
    fast_retransmit: int
    timeout: int
    undo: int
    def __init__(self, local_congestion: _Optional[int] = ..., duplicate_ack: _Optional[int] = ..., sack: _Optional[int] = ..., fast_retransmit: _Optional[int] = ..., timeout: _Optional[int] = ..., undo: _Optional[int] = ...) -> None: ...

class TerminalCommand(_message.Message):
    __slots__ = ("set_bounds", "renew_lease", "set_reporting", "arrived", "set_flows")
    SET_BOUNDS_FIELD_NUMBER: _ClassVar[int]
    RENEW_LEASE_FIELD_NUMBER: _ClassVar[int]
    SET_REPORTING_FIELD_NUMBER: _ClassVar[int]
    ARRIVED_FIELD_NUMBER: _ClassVar[int]
    SET_FLOWS_FIELD_NUMBER: _ClassVar[int]
    set_bounds: SetBounds
    renew_lease: RenewLease
    set_reporting: SetReporting
    arrived: Arrived
    set_flows: SetFlows
    def __init__(self, set_bounds: _Optional[_Union[SetBounds, _Mapping]] = ..., renew_lease: _Optional[_Union[RenewLease, _Mapping]] = ..., set_reporting: _Optional[_Union[SetReporting, _Mapping]] = ..., arrived: _Optional[_Union[Arrived, _Mapping]] = ..., set_flows: _Optional[_Union[SetFlows, _Mapping]] = ...) -> None: ...

class SetFlows(_message.Message):
    __slots__ = ("generation", "flows", "lease_ms", "reason")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    generation: int
    flows: _containers.RepeatedCompositeFieldContainer[Flow]
    lease_ms: int
    reason: _reason_pb2.Reason
    def __init__(self, generation: _Optional[int] = ..., flows: _Optional[_Iterable[_Union[Flow, _Mapping]]] = ..., lease_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ...) -> None: ...

class Flow(_message.Message):
    __slots__ = ("uid", "address", "category", "admitted_us_per_s", "udp_bps")
    UID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_US_PER_S_FIELD_NUMBER: _ClassVar[int]
    UDP_BPS_FIELD_NUMBER: _ClassVar[int]
    uid: int
    address: bytes
    category: _access_point_pb2.AccessCategory
    admitted_us_per_s: int
    udp_bps: int
    def __init__(self, uid: _Optional[int] = ..., address: _Optional[bytes] = ..., category: _Optional[_Union[_access_point_pb2.AccessCategory, str]] = ..., admitted_us_per_s: _Optional[int] = ..., udp_bps: _Optional[int] = ...) -> None: ...

class Arrived(_message.Message):
    __slots__ = ("bssid",)
    BSSID_FIELD_NUMBER: _ClassVar[int]
    bssid: bytes
    def __init__(self, bssid: _Optional[bytes] = ...) -> None: ...

class SetBounds(_message.Message):
    __slots__ = ("generation", "bounds", "lease_ms", "reason", "active_senders", "capacity_bps")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDERS_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    generation: int
    bounds: _containers.RepeatedCompositeFieldContainer[Bound]
    lease_ms: int
    reason: _reason_pb2.Reason
    active_senders: int
    capacity_bps: int
    def __init__(self, generation: _Optional[int] = ..., bounds: _Optional[_Iterable[_Union[Bound, _Mapping]]] = ..., lease_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ..., active_senders: _Optional[int] = ..., capacity_bps: _Optional[int] = ...) -> None: ...

class RenewLease(_message.Message):
    __slots__ = ("generation", "lease_ms")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    generation: int
    lease_ms: int
    def __init__(self, generation: _Optional[int] = ..., lease_ms: _Optional[int] = ...) -> None: ...

class SetReporting(_message.Message):
    __slots__ = ("interval_ms", "heartbeat_ms", "rtt_ratio_change_permille")
    INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_MS_FIELD_NUMBER: _ClassVar[int]
    RTT_RATIO_CHANGE_PERMILLE_FIELD_NUMBER: _ClassVar[int]
    interval_ms: int
    heartbeat_ms: int
    rtt_ratio_change_permille: int
    def __init__(self, interval_ms: _Optional[int] = ..., heartbeat_ms: _Optional[int] = ..., rtt_ratio_change_permille: _Optional[int] = ...) -> None: ...

class Bound(_message.Message):
    __slots__ = ("all", "destination", "uid", "uid_destination", "min_segs", "max_segs")
    ALL_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    UID_DESTINATION_FIELD_NUMBER: _ClassVar[int]
    MIN_SEGS_FIELD_NUMBER: _ClassVar[int]
    MAX_SEGS_FIELD_NUMBER: _ClassVar[int]
    all: bool
    destination: Prefix
    uid: int
    uid_destination: UidDestination
    min_segs: int
    max_segs: int
    def __init__(self, all: bool = ..., destination: _Optional[_Union[Prefix, _Mapping]] = ..., uid: _Optional[int] = ..., uid_destination: _Optional[_Union[UidDestination, _Mapping]] = ..., min_segs: _Optional[int] = ..., max_segs: _Optional[int] = ...) -> None: ...

class Prefix(_message.Message):
    __slots__ = ("address", "length_bits")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LENGTH_BITS_FIELD_NUMBER: _ClassVar[int]
    address: bytes
    length_bits: int
    def __init__(self, address: _Optional[bytes] = ..., length_bits: _Optional[int] = ...) -> None: ...

class UidDestination(_message.Message):
    __slots__ = ("uid", "destination")
    UID_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    uid: int
    destination: Prefix
    def __init__(self, uid: _Optional[int] = ..., destination: _Optional[_Union[Prefix, _Mapping]] = ...) -> None: ...
