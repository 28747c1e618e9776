from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AccessPointReportTrigger(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCESS_POINT_REPORT_TRIGGER_UNSPECIFIED: _ClassVar[AccessPointReportTrigger]
    ACCESS_POINT_REPORT_TRIGGER_INTERVAL: _ClassVar[AccessPointReportTrigger]
    ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED: _ClassVar[AccessPointReportTrigger]
    ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT: _ClassVar[AccessPointReportTrigger]

class AirtimeSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AIRTIME_SOURCE_UNSPECIFIED: _ClassVar[AirtimeSource]
    AIRTIME_SOURCE_MEASURED: _ClassVar[AirtimeSource]
    AIRTIME_SOURCE_ESTIMATED: _ClassVar[AirtimeSource]
ACCESS_POINT_REPORT_TRIGGER_UNSPECIFIED: AccessPointReportTrigger
ACCESS_POINT_REPORT_TRIGGER_INTERVAL: AccessPointReportTrigger
ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED: AccessPointReportTrigger
ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT: AccessPointReportTrigger
AIRTIME_SOURCE_UNSPECIFIED: AirtimeSource
AIRTIME_SOURCE_MEASURED: AirtimeSource
AIRTIME_SOURCE_ESTIMATED: AirtimeSource

class AccessPointServiceConnectRequest(_message.Message):
    __slots__ = ("report",)
    REPORT_FIELD_NUMBER: _ClassVar[int]
    report: AccessPointReport
    def __init__(self, report: _Optional[_Union[AccessPointReport, _Mapping]] = ...) -> None: ...

class AccessPointServiceConnectResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AccessPointReport(_message.Message):
    __slots__ = ("bssid", "ssid", "interface", "sequence", "monotonic_us", "channel", "survey", "stations", "trigger", "malformed_inputs_total", "agent_version")
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
    def __init__(self, bssid: _Optional[bytes] = ..., ssid: _Optional[bytes] = ..., interface: _Optional[str] = ..., sequence: _Optional[int] = ..., monotonic_us: _Optional[int] = ..., channel: _Optional[_Union[Channel, _Mapping]] = ..., survey: _Optional[_Union[ChannelSurvey, _Mapping]] = ..., stations: _Optional[_Iterable[_Union[Station, _Mapping]]] = ..., trigger: _Optional[_Union[AccessPointReportTrigger, str]] = ..., malformed_inputs_total: _Optional[int] = ..., agent_version: _Optional[str] = ...) -> None: ...

class Channel(_message.Message):
    __slots__ = ("center_frequency_mhz", "width_mhz")
    CENTER_FREQUENCY_MHZ_FIELD_NUMBER: _ClassVar[int]
    WIDTH_MHZ_FIELD_NUMBER: _ClassVar[int]
    center_frequency_mhz: int
    width_mhz: int
    def __init__(self, center_frequency_mhz: _Optional[int] = ..., width_mhz: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("mac", "signal_dbm", "rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "tx_retries", "tx_failed", "rx_bitrate_kbps", "tx_bitrate_kbps", "rx_airtime_us", "tx_airtime_us", "airtime_source", "connected_time_ms", "aggregates", "ip_addresses")
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
    def __init__(self, mac: _Optional[bytes] = ..., signal_dbm: _Optional[int] = ..., rx_bytes: _Optional[int] = ..., tx_bytes: _Optional[int] = ..., rx_packets: _Optional[int] = ..., tx_packets: _Optional[int] = ..., tx_retries: _Optional[int] = ..., tx_failed: _Optional[int] = ..., rx_bitrate_kbps: _Optional[int] = ..., tx_bitrate_kbps: _Optional[int] = ..., rx_airtime_us: _Optional[int] = ..., tx_airtime_us: _Optional[int] = ..., airtime_source: _Optional[_Union[AirtimeSource, str]] = ..., connected_time_ms: _Optional[int] = ..., aggregates: bool = ..., ip_addresses: _Optional[_Iterable[bytes]] = ...) -> None: ...
