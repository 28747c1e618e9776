from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EnrollRequest(_message.Message):
    __slots__ = ("token", "request", "role")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    token: str
    request: bytes
    role: str
    def __init__(self, token: _Optional[str] = ..., request: _Optional[bytes] = ..., role: _Optional[str] = ...) -> None: ...

class EnrollResponse(_message.Message):
    __slots__ = ("credentials",)
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    credentials: Credentials
    def __init__(self, credentials: _Optional[_Union[Credentials, _Mapping]] = ...) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: bytes
    def __init__(self, request: _Optional[bytes] = ...) -> None: ...

class RenewResponse(_message.Message):
    __slots__ = ("credentials",)
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    credentials: Credentials
    def __init__(self, credentials: _Optional[_Union[Credentials, _Mapping]] = ...) -> None: ...

class Credentials(_message.Message):
    __slots__ = ("certificate", "authorities")
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    AUTHORITIES_FIELD_NUMBER: _ClassVar[int]
    certificate: bytes
    authorities: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, certificate: _Optional[bytes] = ..., authorities: _Optional[_Iterable[bytes]] = ...) -> None: ...
