from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListReplicasRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListReplicasResponse(_message.Message):
    __slots__ = ("replicas", "store")
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    STORE_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.RepeatedCompositeFieldContainer[Replica]
    store: str
    def __init__(self, replicas: _Optional[_Iterable[_Union[Replica, _Mapping]]] = ..., store: _Optional[str] = ...) -> None: ...

class Replica(_message.Message):
    __slots__ = ("name", "answers", "version", "started_s_since_1970", "access_points", "terminals", "terminals_of_others", "cells", "stopping", "choices_not_kept")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STARTED_S_SINCE_1970_FIELD_NUMBER: _ClassVar[int]
    ACCESS_POINTS_FIELD_NUMBER: _ClassVar[int]
    TERMINALS_FIELD_NUMBER: _ClassVar[int]
    TERMINALS_OF_OTHERS_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    STOPPING_FIELD_NUMBER: _ClassVar[int]
    CHOICES_NOT_KEPT_FIELD_NUMBER: _ClassVar[int]
    name: str
    answers: bool
    version: str
    started_s_since_1970: int
    access_points: int
    terminals: int
    terminals_of_others: int
    cells: int
    stopping: bool
    choices_not_kept: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., answers: bool = ..., version: _Optional[str] = ..., started_s_since_1970: _Optional[int] = ..., access_points: _Optional[int] = ..., terminals: _Optional[int] = ..., terminals_of_others: _Optional[int] = ..., cells: _Optional[int] = ..., stopping: bool = ..., choices_not_kept: _Optional[_Iterable[str]] = ...) -> None: ...

class ListOwnedRequest(_message.Message):
    __slots__ = ("only_this",)
    ONLY_THIS_FIELD_NUMBER: _ClassVar[int]
    only_this: bool
    def __init__(self, only_this: bool = ...) -> None: ...

class ListOwnedResponse(_message.Message):
    __slots__ = ("cells",)
    CELLS_FIELD_NUMBER: _ClassVar[int]
    cells: _containers.RepeatedCompositeFieldContainer[OwnedCell]
    def __init__(self, cells: _Optional[_Iterable[_Union[OwnedCell, _Mapping]]] = ...) -> None: ...

class OwnedCell(_message.Message):
    __slots__ = ("bssid", "replica", "epoch", "lease_left_ms", "terminals", "remote_terminals")
    BSSID_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEASE_LEFT_MS_FIELD_NUMBER: _ClassVar[int]
    TERMINALS_FIELD_NUMBER: _ClassVar[int]
    REMOTE_TERMINALS_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    replica: str
    epoch: int
    lease_left_ms: int
    terminals: int
    remote_terminals: int
    def __init__(self, bssid: _Optional[str] = ..., replica: _Optional[str] = ..., epoch: _Optional[int] = ..., lease_left_ms: _Optional[int] = ..., terminals: _Optional[int] = ..., remote_terminals: _Optional[int] = ...) -> None: ...
