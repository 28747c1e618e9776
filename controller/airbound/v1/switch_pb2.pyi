from airbound.v1 import reason_pb2 as _reason_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TrafficProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRAFFIC_PROTOCOL_UNSPECIFIED: _ClassVar[TrafficProtocol]
    TRAFFIC_PROTOCOL_TCP: _ClassVar[TrafficProtocol]
    TRAFFIC_PROTOCOL_UDP: _ClassVar[TrafficProtocol]
    TRAFFIC_PROTOCOL_QUIC: _ClassVar[TrafficProtocol]
    TRAFFIC_PROTOCOL_OTHER: _ClassVar[TrafficProtocol]
TRAFFIC_PROTOCOL_UNSPECIFIED: TrafficProtocol
TRAFFIC_PROTOCOL_TCP: TrafficProtocol
TRAFFIC_PROTOCOL_UDP: TrafficProtocol
TRAFFIC_PROTOCOL_QUIC: TrafficProtocol
TRAFFIC_PROTOCOL_OTHER: TrafficProtocol

class SwitchServiceConnectRequest(_message.Message):
    __slots__ = ("report",)
    REPORT_FIELD_NUMBER: _ClassVar[int]
    report: SwitchReport
    def __init__(self, report: _Optional[_Union[SwitchReport, _Mapping]] = ...) -> None: ...

class SwitchServiceConnectResponse(_message.Message):
    __slots__ = ("command",)
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    command: SwitchCommand
    def __init__(self, command: _Optional[_Union[SwitchCommand, _Mapping]] = ...) -> None: ...

class SwitchReport(_message.Message):
    __slots__ = ("datapath_id", "bssid", "sequence", "monotonic_us", "description", "peer", "agent_version", "traffic", "generation", "meters_max", "flows", "meters", "packet_ins_total", "packet_ins_dropped_total", "malformed_total", "errors_total", "refused_total", "meter_dropped_bytes", "lists_stations", "stations")
    DATAPATH_ID_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    MONOTONIC_US_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    METERS_MAX_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    METERS_FIELD_NUMBER: _ClassVar[int]
    PACKET_INS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    PACKET_INS_DROPPED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    ERRORS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    METER_DROPPED_BYTES_FIELD_NUMBER: _ClassVar[int]
    LISTS_STATIONS_FIELD_NUMBER: _ClassVar[int]
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    datapath_id: int
    bssid: bytes
    sequence: int
    monotonic_us: int
    description: str
    peer: str
    agent_version: str
    traffic: _containers.RepeatedCompositeFieldContainer[StationTraffic]
    generation: int
    meters_max: int
    flows: int
    meters: int
    packet_ins_total: int
    packet_ins_dropped_total: int
    malformed_total: int
    errors_total: int
    refused_total: int
    meter_dropped_bytes: int
    lists_stations: bool
    stations: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, datapath_id: _Optional[int] = ..., bssid: _Optional[bytes] = ..., sequence: _Optional[int] = ..., monotonic_us: _Optional[int] = ..., description: _Optional[str] = ..., peer: _Optional[str] = ..., agent_version: _Optional[str] = ..., traffic: _Optional[_Iterable[_Union[StationTraffic, _Mapping]]] = ..., generation: _Optional[int] = ..., meters_max: _Optional[int] = ..., flows: _Optional[int] = ..., meters: _Optional[int] = ..., packet_ins_total: _Optional[int] = ..., packet_ins_dropped_total: _Optional[int] = ..., malformed_total: _Optional[int] = ..., errors_total: _Optional[int] = ..., refused_total: _Optional[int] = ..., meter_dropped_bytes: _Optional[int] = ..., lists_stations: bool = ..., stations: _Optional[_Iterable[bytes]] = ...) -> None: ...

class StationTraffic(_message.Message):
    __slots__ = ("mac", "address", "protocol", "uplink_bytes", "uplink_packets", "downlink_bytes", "downlink_packets")
    MAC_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BYTES_FIELD_NUMBER: _ClassVar[int]
    UPLINK_PACKETS_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_BYTES_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_PACKETS_FIELD_NUMBER: _ClassVar[int]
    mac: bytes
    address: bytes
    protocol: TrafficProtocol
    uplink_bytes: int
    uplink_packets: int
    downlink_bytes: int
    downlink_packets: int
    def __init__(self, mac: _Optional[bytes] = ..., address: _Optional[bytes] = ..., protocol: _Optional[_Union[TrafficProtocol, str]] = ..., uplink_bytes: _Optional[int] = ..., uplink_packets: _Optional[int] = ..., downlink_bytes: _Optional[int] = ..., downlink_packets: _Optional[int] = ...) -> None: ...

class SwitchCommand(_message.Message):
    __slots__ = ("set_station_rules",)
    SET_STATION_RULES_FIELD_NUMBER: _ClassVar[int]
    set_station_rules: SetStationRules
    def __init__(self, set_station_rules: _Optional[_Union[SetStationRules, _Mapping]] = ...) -> None: ...

class SetStationRules(_message.Message):
    __slots__ = ("generation", "rules", "lease_ms", "reason")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    generation: int
    rules: _containers.RepeatedCompositeFieldContainer[StationRule]
    lease_ms: int
    reason: _reason_pb2.Reason
    def __init__(self, generation: _Optional[int] = ..., rules: _Optional[_Iterable[_Union[StationRule, _Mapping]]] = ..., lease_ms: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ...) -> None: ...

class StationRule(_message.Message):
    __slots__ = ("mac", "uplink_kbps", "downlink_kbps", "marks")
    MAC_FIELD_NUMBER: _ClassVar[int]
    UPLINK_KBPS_FIELD_NUMBER: _ClassVar[int]
    DOWNLINK_KBPS_FIELD_NUMBER: _ClassVar[int]
    MARKS_FIELD_NUMBER: _ClassVar[int]
    mac: bytes
    uplink_kbps: int
    downlink_kbps: int
    marks: _containers.RepeatedCompositeFieldContainer[DownlinkMark]
    def __init__(self, mac: _Optional[bytes] = ..., uplink_kbps: _Optional[int] = ..., downlink_kbps: _Optional[int] = ..., marks: _Optional[_Iterable[_Union[DownlinkMark, _Mapping]]] = ...) -> None: ...

class DownlinkMark(_message.Message):
    __slots__ = ("protocol", "address", "dscp", "port")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DSCP_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    protocol: TrafficProtocol
    address: bytes
    dscp: int
    port: int
    def __init__(self, protocol: _Optional[_Union[TrafficProtocol, str]] = ..., address: _Optional[bytes] = ..., dscp: _Optional[int] = ..., port: _Optional[int] = ...) -> None: ...
