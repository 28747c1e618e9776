from airbound.v1 import access_point_pb2 as _access_point_pb2
from airbound.v1 import operations_pb2 as _operations_pb2
from airbound.v1 import reason_pb2 as _reason_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_LEVEL_UNSPECIFIED: _ClassVar[EventLevel]
    EVENT_LEVEL_INFO: _ClassVar[EventLevel]
    EVENT_LEVEL_WARNING: _ClassVar[EventLevel]
EVENT_LEVEL_UNSPECIFIED: EventLevel
EVENT_LEVEL_INFO: EventLevel
EVENT_LEVEL_WARNING: EventLevel

class Event(_message.Message):
    __slots__ = ("sequence", "time_us", "level", "kind", "subject", "terminal", "cell", "reasons", "bounds", "queues", "text", "replica", "windows", "flows")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_US_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    time_us: int
    level: EventLevel
    kind: str
    subject: str
    terminal: str
    cell: str
    reasons: _containers.RepeatedCompositeFieldContainer[_reason_pb2.Reason]
    bounds: EventBounds
    queues: EventQueues
    text: str
    replica: str
    windows: EventWindows
    flows: EventFlows
    def __init__(self, sequence: _Optional[int] = ..., time_us: _Optional[int] = ..., level: _Optional[_Union[EventLevel, str]] = ..., kind: _Optional[str] = ..., subject: _Optional[str] = ..., terminal: _Optional[str] = ..., cell: _Optional[str] = ..., reasons: _Optional[_Iterable[_Union[_reason_pb2.Reason, _Mapping]]] = ..., bounds: _Optional[_Union[EventBounds, _Mapping]] = ..., queues: _Optional[_Union[EventQueues, _Mapping]] = ..., text: _Optional[str] = ..., replica: _Optional[str] = ..., windows: _Optional[_Union[EventWindows, _Mapping]] = ..., flows: _Optional[_Union[EventFlows, _Mapping]] = ...) -> None: ...

class EventBounds(_message.Message):
    __slots__ = ("bounds",)
    BOUNDS_FIELD_NUMBER: _ClassVar[int]
    bounds: _containers.RepeatedCompositeFieldContainer[_operations_pb2.BoundSent]
    def __init__(self, bounds: _Optional[_Iterable[_Union[_operations_pb2.BoundSent, _Mapping]]] = ...) -> None: ...

class EventQueues(_message.Message):
    __slots__ = ("queues", "stations")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[_access_point_pb2.Edca]
    stations: _containers.RepeatedCompositeFieldContainer[_access_point_pb2.Edca]
    def __init__(self, queues: _Optional[_Iterable[_Union[_access_point_pb2.Edca, _Mapping]]] = ..., stations: _Optional[_Iterable[_Union[_access_point_pb2.Edca, _Mapping]]] = ...) -> None: ...

class EventWindows(_message.Message):
    __slots__ = ("limits",)
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    limits: _containers.RepeatedCompositeFieldContainer[_operations_pb2.WindowLimitSent]
    def __init__(self, limits: _Optional[_Iterable[_Union[_operations_pb2.WindowLimitSent, _Mapping]]] = ...) -> None: ...

class EventFlows(_message.Message):
    __slots__ = ("flows",)
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    flows: _containers.RepeatedCompositeFieldContainer[FlowSent]
    def __init__(self, flows: _Optional[_Iterable[_Union[FlowSent, _Mapping]]] = ...) -> None: ...

class FlowSent(_message.Message):
    __slots__ = ("uid", "destination", "category", "admitted_us_per_s", "udp_bps")
    UID_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_US_PER_S_FIELD_NUMBER: _ClassVar[int]
    UDP_BPS_FIELD_NUMBER: _ClassVar[int]
    uid: int
    destination: str
    category: _access_point_pb2.AccessCategory
    admitted_us_per_s: int
    udp_bps: int
    def __init__(self, uid: _Optional[int] = ..., destination: _Optional[str] = ..., category: _Optional[_Union[_access_point_pb2.AccessCategory, str]] = ..., admitted_us_per_s: _Optional[int] = ..., udp_bps: _Optional[int] = ...) -> None: ...

class EventFilter(_message.Message):
    __slots__ = ("cell", "terminal", "kinds", "codes", "level", "since_ms")
    CELL_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    CODES_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    cell: str
    terminal: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    codes: _containers.RepeatedScalarFieldContainer[_reason_pb2.ReasonCode]
    level: EventLevel
    since_ms: int
    def __init__(self, cell: _Optional[str] = ..., terminal: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., codes: _Optional[_Iterable[_Union[_reason_pb2.ReasonCode, str]]] = ..., level: _Optional[_Union[EventLevel, str]] = ..., since_ms: _Optional[int] = ...) -> None: ...

class EventPosition(_message.Message):
    __slots__ = ("history", "sequence")
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    history: int
    sequence: int
    def __init__(self, history: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("filter", "limit", "after", "after_others")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    AFTER_OTHERS_FIELD_NUMBER: _ClassVar[int]
    filter: EventFilter
    limit: int
    after: EventPosition
    after_others: _containers.RepeatedCompositeFieldContainer[EventPosition]
    def __init__(self, filter: _Optional[_Union[EventFilter, _Mapping]] = ..., limit: _Optional[int] = ..., after: _Optional[_Union[EventPosition, _Mapping]] = ..., after_others: _Optional[_Iterable[_Union[EventPosition, _Mapping]]] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events", "position", "left_out", "others")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    position: EventPosition
    left_out: int
    others: _containers.RepeatedCompositeFieldContainer[EventPosition]
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., position: _Optional[_Union[EventPosition, _Mapping]] = ..., left_out: _Optional[int] = ..., others: _Optional[_Iterable[_Union[EventPosition, _Mapping]]] = ...) -> None: ...

class FollowEventsRequest(_message.Message):
    __slots__ = ("filter", "limit", "after", "after_others")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    AFTER_OTHERS_FIELD_NUMBER: _ClassVar[int]
    filter: EventFilter
    limit: int
    after: EventPosition
    after_others: _containers.RepeatedCompositeFieldContainer[EventPosition]
    def __init__(self, filter: _Optional[_Union[EventFilter, _Mapping]] = ..., limit: _Optional[int] = ..., after: _Optional[_Union[EventPosition, _Mapping]] = ..., after_others: _Optional[_Iterable[_Union[EventPosition, _Mapping]]] = ...) -> None: ...

class FollowEventsResponse(_message.Message):
    __slots__ = ("events", "position", "left_out", "others")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    position: EventPosition
    left_out: int
    others: _containers.RepeatedCompositeFieldContainer[EventPosition]
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., position: _Optional[_Union[EventPosition, _Mapping]] = ..., left_out: _Optional[int] = ..., others: _Optional[_Iterable[_Union[EventPosition, _Mapping]]] = ...) -> None: ...
