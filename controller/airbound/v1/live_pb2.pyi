from airbound.v1 import operations_pb2 as _operations_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListRttRatiosRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListRttRatiosResponse(_message.Message):
    __slots__ = ("cells",)
    CELLS_FIELD_NUMBER: _ClassVar[int]
    cells: _containers.RepeatedCompositeFieldContainer[CellRttRatio]
    def __init__(self, cells: _Optional[_Iterable[_Union[CellRttRatio, _Mapping]]] = ...) -> None: ...

class CellRttRatio(_message.Message):
    __slots__ = ("bssid", "worst", "worst_terminal", "mean")
    BSSID_FIELD_NUMBER: _ClassVar[int]
    WORST_FIELD_NUMBER: _ClassVar[int]
    WORST_TERMINAL_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    worst: float
    worst_terminal: str
    mean: float
    def __init__(self, bssid: _Optional[str] = ..., worst: _Optional[float] = ..., worst_terminal: _Optional[str] = ..., mean: _Optional[float] = ...) -> None: ...

class ListDestinationsRequest(_message.Message):
    __slots__ = ("bssid",)
    BSSID_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    def __init__(self, bssid: _Optional[str] = ...) -> None: ...

class ListDestinationsResponse(_message.Message):
    __slots__ = ("terminals",)
    TERMINALS_FIELD_NUMBER: _ClassVar[int]
    terminals: _containers.RepeatedCompositeFieldContainer[TerminalDestinations]
    def __init__(self, terminals: _Optional[_Iterable[_Union[TerminalDestinations, _Mapping]]] = ...) -> None: ...

class TerminalDestinations(_message.Message):
    __slots__ = ("mac", "destinations")
    MAC_FIELD_NUMBER: _ClassVar[int]
    DESTINATIONS_FIELD_NUMBER: _ClassVar[int]
    mac: str
    destinations: _containers.RepeatedCompositeFieldContainer[_operations_pb2.DestinationView]
    def __init__(self, mac: _Optional[str] = ..., destinations: _Optional[_Iterable[_Union[_operations_pb2.DestinationView, _Mapping]]] = ...) -> None: ...
