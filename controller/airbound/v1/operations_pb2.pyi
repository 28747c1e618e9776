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
MODE_UNSPECIFIED: Mode
MODE_OBSERVE: Mode
MODE_CONTROL: Mode

class Cell(_message.Message):
    __slots__ = ("bssid", "ssid", "center_frequency_mhz", "stations", "active_senders", "terminals", "uplink_bps", "capacity_bps", "busy_ratio", "report_age_ms", "refused_reports_total")
    BSSID_FIELD_NUMBER: _ClassVar[int]
    SSID_FIELD_NUMBER: _ClassVar[int]
    CENTER_FREQUENCY_MHZ_FIELD_NUMBER: _ClassVar[int]
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDERS_FIELD_NUMBER: _ClassVar[int]
    TERMINALS_FIELD_NUMBER: _ClassVar[int]
    UPLINK_BPS_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    BUSY_RATIO_FIELD_NUMBER: _ClassVar[int]
    REPORT_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_REPORTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    ssid: bytes
    center_frequency_mhz: int
    stations: int
    active_senders: int
    terminals: int
    uplink_bps: int
    capacity_bps: int
    busy_ratio: float
    report_age_ms: int
    refused_reports_total: int
    def __init__(self, bssid: _Optional[str] = ..., ssid: _Optional[bytes] = ..., center_frequency_mhz: _Optional[int] = ..., stations: _Optional[int] = ..., active_senders: _Optional[int] = ..., terminals: _Optional[int] = ..., uplink_bps: _Optional[int] = ..., capacity_bps: _Optional[int] = ..., busy_ratio: _Optional[float] = ..., report_age_ms: _Optional[int] = ..., refused_reports_total: _Optional[int] = ...) -> None: ...

class Terminal(_message.Message):
    __slots__ = ("mac", "bssid", "connected", "active_sender", "exempt", "back_end", "bounds_generation_in_force", "bounds_generation_sent", "decisions", "report_age_ms", "refused_reports_total", "bounds_sent")
    MAC_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDER_FIELD_NUMBER: _ClassVar[int]
    EXEMPT_FIELD_NUMBER: _ClassVar[int]
    BACK_END_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_GENERATION_IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_GENERATION_SENT_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    REPORT_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_REPORTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_SENT_FIELD_NUMBER: _ClassVar[int]
    mac: str
    bssid: str
    connected: bool
    active_sender: bool
    exempt: bool
    back_end: str
    bounds_generation_in_force: int
    bounds_generation_sent: int
    decisions: _containers.RepeatedCompositeFieldContainer[DestinationDecision]
    report_age_ms: int
    refused_reports_total: int
    bounds_sent: _containers.RepeatedCompositeFieldContainer[_terminal_pb2.Bound]
    def __init__(self, mac: _Optional[str] = ..., bssid: _Optional[str] = ..., connected: bool = ..., active_sender: bool = ..., exempt: bool = ..., back_end: _Optional[str] = ..., bounds_generation_in_force: _Optional[int] = ..., bounds_generation_sent: _Optional[int] = ..., decisions: _Optional[_Iterable[_Union[DestinationDecision, _Mapping]]] = ..., report_age_ms: _Optional[int] = ..., refused_reports_total: _Optional[int] = ..., bounds_sent: _Optional[_Iterable[_Union[_terminal_pb2.Bound, _Mapping]]] = ...) -> None: ...

class DestinationDecision(_message.Message):
    __slots__ = ("bound", "policy", "active_senders", "srtt_us", "min_rtt_us", "own_min_rtt_us", "rtt_ratio", "capacity_bps", "reason")
    BOUND_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SENDERS_FIELD_NUMBER: _ClassVar[int]
    SRTT_US_FIELD_NUMBER: _ClassVar[int]
    MIN_RTT_US_FIELD_NUMBER: _ClassVar[int]
    OWN_MIN_RTT_US_FIELD_NUMBER: _ClassVar[int]
    RTT_RATIO_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    bound: _terminal_pb2.Bound
    policy: str
    active_senders: int
    srtt_us: int
    min_rtt_us: int
    own_min_rtt_us: int
    rtt_ratio: float
    capacity_bps: int
    reason: str
    def __init__(self, bound: _Optional[_Union[_terminal_pb2.Bound, _Mapping]] = ..., policy: _Optional[str] = ..., active_senders: _Optional[int] = ..., srtt_us: _Optional[int] = ..., min_rtt_us: _Optional[int] = ..., own_min_rtt_us: _Optional[int] = ..., rtt_ratio: _Optional[float] = ..., capacity_bps: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class ListCellsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListCellsResponse(_message.Message):
    __slots__ = ("cells", "mode", "policy")
    CELLS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    cells: _containers.RepeatedCompositeFieldContainer[Cell]
    mode: Mode
    policy: str
    def __init__(self, cells: _Optional[_Iterable[_Union[Cell, _Mapping]]] = ..., mode: _Optional[_Union[Mode, str]] = ..., policy: _Optional[str] = ...) -> None: ...

class WatchCellsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchCellsResponse(_message.Message):
    __slots__ = ("cell",)
    CELL_FIELD_NUMBER: _ClassVar[int]
    cell: Cell
    def __init__(self, cell: _Optional[_Union[Cell, _Mapping]] = ...) -> None: ...

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

class ExplainTerminalRequest(_message.Message):
    __slots__ = ("mac",)
    MAC_FIELD_NUMBER: _ClassVar[int]
    mac: str
    def __init__(self, mac: _Optional[str] = ...) -> None: ...

class ExplainTerminalResponse(_message.Message):
    __slots__ = ("terminal", "cell", "no_bounds_reason")
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    NO_BOUNDS_REASON_FIELD_NUMBER: _ClassVar[int]
    terminal: Terminal
    cell: Cell
    no_bounds_reason: str
    def __init__(self, terminal: _Optional[_Union[Terminal, _Mapping]] = ..., cell: _Optional[_Union[Cell, _Mapping]] = ..., no_bounds_reason: _Optional[str] = ...) -> None: ...

class SetModeRequest(_message.Message):
    __slots__ = ("mode",)
    MODE_FIELD_NUMBER: _ClassVar[int]
    mode: Mode
    def __init__(self, mode: _Optional[_Union[Mode, str]] = ...) -> None: ...

class SetModeResponse(_message.Message):
    __slots__ = ("previous_mode",)
    PREVIOUS_MODE_FIELD_NUMBER: _ClassVar[int]
    previous_mode: Mode
    def __init__(self, previous_mode: _Optional[_Union[Mode, str]] = ...) -> None: ...

class ExemptTerminalRequest(_message.Message):
    __slots__ = ("mac", "exempt")
    MAC_FIELD_NUMBER: _ClassVar[int]
    EXEMPT_FIELD_NUMBER: _ClassVar[int]
    mac: str
    exempt: bool
    def __init__(self, mac: _Optional[str] = ..., exempt: bool = ...) -> None: ...

class ExemptTerminalResponse(_message.Message):
    __slots__ = ("previously_exempt",)
    PREVIOUSLY_EXEMPT_FIELD_NUMBER: _ClassVar[int]
    previously_exempt: bool
    def __init__(self, previously_exempt: bool = ...) -> None: ...
