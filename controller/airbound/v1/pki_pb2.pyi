from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CertificateOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CERTIFICATE_ORIGIN_UNSPECIFIED: _ClassVar[CertificateOrigin]
    CERTIFICATE_ORIGIN_TOKEN: _ClassVar[CertificateOrigin]
    CERTIFICATE_ORIGIN_RENEWAL: _ClassVar[CertificateOrigin]
    CERTIFICATE_ORIGIN_COMMAND: _ClassVar[CertificateOrigin]
CERTIFICATE_ORIGIN_UNSPECIFIED: CertificateOrigin
CERTIFICATE_ORIGIN_TOKEN: CertificateOrigin
CERTIFICATE_ORIGIN_RENEWAL: CertificateOrigin
CERTIFICATE_ORIGIN_COMMAND: CertificateOrigin

class IssueTokenRequest(_message.Message):
    __slots__ = ("role", "name", "uses", "lifetime_s")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    LIFETIME_S_FIELD_NUMBER: _ClassVar[int]
    role: str
    name: str
    uses: int
    lifetime_s: int
    def __init__(self, role: _Optional[str] = ..., name: _Optional[str] = ..., uses: _Optional[int] = ..., lifetime_s: _Optional[int] = ...) -> None: ...

class IssueTokenResponse(_message.Message):
    __slots__ = ("token", "expires_at_s", "enrollment", "valid_certificates")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_S_FIELD_NUMBER: _ClassVar[int]
    ENROLLMENT_FIELD_NUMBER: _ClassVar[int]
    VALID_CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    token: str
    expires_at_s: int
    enrollment: str
    valid_certificates: int
    def __init__(self, token: _Optional[str] = ..., expires_at_s: _Optional[int] = ..., enrollment: _Optional[str] = ..., valid_certificates: _Optional[int] = ...) -> None: ...

class MoveCellRequest(_message.Message):
    __slots__ = ("bssid", "access_point")
    BSSID_FIELD_NUMBER: _ClassVar[int]
    ACCESS_POINT_FIELD_NUMBER: _ClassVar[int]
    bssid: str
    access_point: str
    def __init__(self, bssid: _Optional[str] = ..., access_point: _Optional[str] = ...) -> None: ...

class MoveCellResponse(_message.Message):
    __slots__ = ("previous_access_point",)
    PREVIOUS_ACCESS_POINT_FIELD_NUMBER: _ClassVar[int]
    previous_access_point: str
    def __init__(self, previous_access_point: _Optional[str] = ...) -> None: ...

class ListEnrolledRequest(_message.Message):
    __slots__ = ("role",)
    ROLE_FIELD_NUMBER: _ClassVar[int]
    role: str
    def __init__(self, role: _Optional[str] = ...) -> None: ...

class ListEnrolledResponse(_message.Message):
    __slots__ = ("enrolled",)
    ENROLLED_FIELD_NUMBER: _ClassVar[int]
    enrolled: _containers.RepeatedCompositeFieldContainer[Enrolled]
    def __init__(self, enrolled: _Optional[_Iterable[_Union[Enrolled, _Mapping]]] = ...) -> None: ...

class Enrolled(_message.Message):
    __slots__ = ("role", "name", "enrolled_at_s", "certificates")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENROLLED_AT_S_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    role: str
    name: str
    enrolled_at_s: int
    certificates: _containers.RepeatedCompositeFieldContainer[IssuedCertificate]
    def __init__(self, role: _Optional[str] = ..., name: _Optional[str] = ..., enrolled_at_s: _Optional[int] = ..., certificates: _Optional[_Iterable[_Union[IssuedCertificate, _Mapping]]] = ...) -> None: ...

class IssuedCertificate(_message.Message):
    __slots__ = ("serial", "issued_at_s", "not_after_s", "key_sha256", "origin", "revoked", "revocation_reason")
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    ISSUED_AT_S_FIELD_NUMBER: _ClassVar[int]
    NOT_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    KEY_SHA256_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    REVOCATION_REASON_FIELD_NUMBER: _ClassVar[int]
    serial: str
    issued_at_s: int
    not_after_s: int
    key_sha256: str
    origin: CertificateOrigin
    revoked: bool
    revocation_reason: str
    def __init__(self, serial: _Optional[str] = ..., issued_at_s: _Optional[int] = ..., not_after_s: _Optional[int] = ..., key_sha256: _Optional[str] = ..., origin: _Optional[_Union[CertificateOrigin, str]] = ..., revoked: bool = ..., revocation_reason: _Optional[str] = ...) -> None: ...

class RevokeRequest(_message.Message):
    __slots__ = ("identity", "serial", "reason")
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    identity: str
    serial: str
    reason: str
    def __init__(self, identity: _Optional[str] = ..., serial: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RevokeResponse(_message.Message):
    __slots__ = ("serials", "streams", "tokens")
    SERIALS_FIELD_NUMBER: _ClassVar[int]
    STREAMS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    serials: _containers.RepeatedScalarFieldContainer[str]
    streams: int
    tokens: int
    def __init__(self, serials: _Optional[_Iterable[str]] = ..., streams: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class GetAuthorityRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetAuthorityResponse(_message.Message):
    __slots__ = ("trust_domain", "certificate", "fingerprint", "not_after_s", "can_sign", "authorities", "server_serial", "server_not_after_s")
    TRUST_DOMAIN_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    NOT_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    CAN_SIGN_FIELD_NUMBER: _ClassVar[int]
    AUTHORITIES_FIELD_NUMBER: _ClassVar[int]
    SERVER_SERIAL_FIELD_NUMBER: _ClassVar[int]
    SERVER_NOT_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    trust_domain: str
    certificate: bytes
    fingerprint: str
    not_after_s: int
    can_sign: bool
    authorities: _containers.RepeatedScalarFieldContainer[bytes]
    server_serial: str
    server_not_after_s: int
    def __init__(self, trust_domain: _Optional[str] = ..., certificate: _Optional[bytes] = ..., fingerprint: _Optional[str] = ..., not_after_s: _Optional[int] = ..., can_sign: bool = ..., authorities: _Optional[_Iterable[bytes]] = ..., server_serial: _Optional[str] = ..., server_not_after_s: _Optional[int] = ...) -> None: ...
