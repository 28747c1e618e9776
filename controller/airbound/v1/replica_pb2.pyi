from airbound.v1 import reason_pb2 as _reason_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReplicaMessages(_message.Message):
    __slots__ = ("sender", "messages", "number")
    SENDER_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    sender: str
    messages: _containers.RepeatedCompositeFieldContainer[ReplicaMessage]
    number: int
    def __init__(self, sender: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[ReplicaMessage, _Mapping]]] = ..., number: _Optional[int] = ...) -> None: ...

class ReplicaMessage(_message.Message):
    __slots__ = ("stream_opened", "stream_reported", "stream_closed", "stream_command", "close_stream", "station_placed", "cell_requested", "cell_granted", "cell_refused", "choices_changed", "revoked", "asked", "answered")
    STREAM_OPENED_FIELD_NUMBER: _ClassVar[int]
    STREAM_REPORTED_FIELD_NUMBER: _ClassVar[int]
    STREAM_CLOSED_FIELD_NUMBER: _ClassVar[int]
    STREAM_COMMAND_FIELD_NUMBER: _ClassVar[int]
    CLOSE_STREAM_FIELD_NUMBER: _ClassVar[int]
    STATION_PLACED_FIELD_NUMBER: _ClassVar[int]
    CELL_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    CELL_GRANTED_FIELD_NUMBER: _ClassVar[int]
    CELL_REFUSED_FIELD_NUMBER: _ClassVar[int]
    CHOICES_CHANGED_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    stream_opened: StreamOpened
    stream_reported: StreamReported
    stream_closed: StreamClosed
    stream_command: StreamCommand
    close_stream: CloseStream
    station_placed: StationPlaced
    cell_requested: CellRequested
    cell_granted: CellGranted
    cell_refused: CellRefused
    choices_changed: ChoicesChanged
    revoked: Revoked
    asked: Asked
    answered: Answered
    def __init__(self, stream_opened: _Optional[_Union[StreamOpened, _Mapping]] = ..., stream_reported: _Optional[_Union[StreamReported, _Mapping]] = ..., stream_closed: _Optional[_Union[StreamClosed, _Mapping]] = ..., stream_command: _Optional[_Union[StreamCommand, _Mapping]] = ..., close_stream: _Optional[_Union[CloseStream, _Mapping]] = ..., station_placed: _Optional[_Union[StationPlaced, _Mapping]] = ..., cell_requested: _Optional[_Union[CellRequested, _Mapping]] = ..., cell_granted: _Optional[_Union[CellGranted, _Mapping]] = ..., cell_refused: _Optional[_Union[CellRefused, _Mapping]] = ..., choices_changed: _Optional[_Union[ChoicesChanged, _Mapping]] = ..., revoked: _Optional[_Union[Revoked, _Mapping]] = ..., asked: _Optional[_Union[Asked, _Mapping]] = ..., answered: _Optional[_Union[Answered, _Mapping]] = ...) -> None: ...

class StreamOpened(_message.Message):
    __slots__ = ("stream", "name", "address", "generation", "report")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    stream: int
    name: str
    address: bytes
    generation: int
    report: bytes
    def __init__(self, stream: _Optional[int] = ..., name: _Optional[str] = ..., address: _Optional[bytes] = ..., generation: _Optional[int] = ..., report: _Optional[bytes] = ...) -> None: ...

class StreamReported(_message.Message):
    __slots__ = ("stream", "report")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    stream: int
    report: bytes
    def __init__(self, stream: _Optional[int] = ..., report: _Optional[bytes] = ...) -> None: ...

class StreamClosed(_message.Message):
    __slots__ = ("stream", "ended")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    stream: int
    ended: bool
    def __init__(self, stream: _Optional[int] = ..., ended: bool = ...) -> None: ...

class StreamCommand(_message.Message):
    __slots__ = ("stream", "epoch", "command", "bssid")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    stream: int
    epoch: int
    command: bytes
    bssid: bytes
    def __init__(self, stream: _Optional[int] = ..., epoch: _Optional[int] = ..., command: _Optional[bytes] = ..., bssid: _Optional[bytes] = ...) -> None: ...

class CloseStream(_message.Message):
    __slots__ = ("stream", "reason")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    stream: int
    reason: _reason_pb2.Reason
    def __init__(self, stream: _Optional[int] = ..., reason: _Optional[_Union[_reason_pb2.Reason, _Mapping]] = ...) -> None: ...

class StationPlaced(_message.Message):
    __slots__ = ("mac", "bssid", "epoch")
    MAC_FIELD_NUMBER: _ClassVar[int]
    BSSID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    mac: bytes
    bssid: bytes
    epoch: int
    def __init__(self, mac: _Optional[bytes] = ..., bssid: _Optional[bytes] = ..., epoch: _Optional[int] = ...) -> None: ...

class CellRequested(_message.Message):
    __slots__ = ("bssid", "access_point")
    BSSID_FIELD_NUMBER: _ClassVar[int]
    ACCESS_POINT_FIELD_NUMBER: _ClassVar[int]
    bssid: bytes
    access_point: str
    def __init__(self, bssid: _Optional[bytes] = ..., access_point: _Optional[str] = ...) -> None: ...

class CellGranted(_message.Message):
    __slots__ = ("bssid",)
    BSSID_FIELD_NUMBER: _ClassVar[int]
    bssid: bytes
    def __init__(self, bssid: _Optional[bytes] = ...) -> None: ...

class CellRefused(_message.Message):
    __slots__ = ("bssid", "access_point")
    BSSID_FIELD_NUMBER: _ClassVar[int]
    ACCESS_POINT_FIELD_NUMBER: _ClassVar[int]
    bssid: bytes
    access_point: str
    def __init__(self, bssid: _Optional[bytes] = ..., access_point: _Optional[str] = ...) -> None: ...

class ChoicesChanged(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Revoked(_message.Message):
    __slots__ = ("serials",)
    SERIALS_FIELD_NUMBER: _ClassVar[int]
    serials: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, serials: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Asked(_message.Message):
    __slots__ = ("question", "method", "request")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    question: int
    method: str
    request: bytes
    def __init__(self, question: _Optional[int] = ..., method: _Optional[str] = ..., request: _Optional[bytes] = ...) -> None: ...

class Answered(_message.Message):
    __slots__ = ("question", "responses", "last", "error", "status")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    question: int
    responses: _containers.RepeatedScalarFieldContainer[bytes]
    last: bool
    error: str
    status: int
    def __init__(self, question: _Optional[int] = ..., responses: _Optional[_Iterable[bytes]] = ..., last: bool = ..., error: _Optional[str] = ..., status: _Optional[int] = ...) -> None: ...

class CellMemory(_message.Message):
    __slots__ = ("capacity_bps", "min_rtts", "access_point")
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    MIN_RTTS_FIELD_NUMBER: _ClassVar[int]
    ACCESS_POINT_FIELD_NUMBER: _ClassVar[int]
    capacity_bps: float
    min_rtts: _containers.RepeatedCompositeFieldContainer[SeenMinRtt]
    access_point: str
    def __init__(self, capacity_bps: _Optional[float] = ..., min_rtts: _Optional[_Iterable[_Union[SeenMinRtt, _Mapping]]] = ..., access_point: _Optional[str] = ...) -> None: ...

class SeenMinRtt(_message.Message):
    __slots__ = ("address", "terminal", "min_rtt_us", "age_us")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    MIN_RTT_US_FIELD_NUMBER: _ClassVar[int]
    AGE_US_FIELD_NUMBER: _ClassVar[int]
    address: bytes
    terminal: str
    min_rtt_us: int
    age_us: int
    def __init__(self, address: _Optional[bytes] = ..., terminal: _Optional[str] = ..., min_rtt_us: _Optional[int] = ..., age_us: _Optional[int] = ...) -> None: ...

class ReplicaRecord(_message.Message):
    __slots__ = ("name", "version", "started_s_since_1970", "access_points", "terminals", "cells", "terminals_of_others", "stopping", "choices_not_kept")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STARTED_S_SINCE_1970_FIELD_NUMBER: _ClassVar[int]
    ACCESS_POINTS_FIELD_NUMBER: _ClassVar[int]
    TERMINALS_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    TERMINALS_OF_OTHERS_FIELD_NUMBER: _ClassVar[int]
    STOPPING_FIELD_NUMBER: _ClassVar[int]
    CHOICES_NOT_KEPT_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    started_s_since_1970: int
    access_points: int
    terminals: int
    cells: int
    terminals_of_others: int
    stopping: bool
    choices_not_kept: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., started_s_since_1970: _Optional[int] = ..., access_points: _Optional[int] = ..., terminals: _Optional[int] = ..., cells: _Optional[int] = ..., terminals_of_others: _Optional[int] = ..., stopping: bool = ..., choices_not_kept: _Optional[_Iterable[str]] = ...) -> None: ...
