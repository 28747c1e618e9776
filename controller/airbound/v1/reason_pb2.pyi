from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReasonCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_CODE_UNSPECIFIED: _ClassVar[ReasonCode]
    REASON_CODE_CELL_UNKNOWN: _ClassVar[ReasonCode]
    REASON_CODE_CELL_LEARNING: _ClassVar[ReasonCode]
    REASON_CODE_NO_RTT_SAMPLE: _ClassVar[ReasonCode]
    REASON_CODE_OTHER_REPLICA: _ClassVar[ReasonCode]
    REASON_CODE_OBSERVE_MODE: _ClassVar[ReasonCode]
    REASON_CODE_EXEMPT: _ClassVar[ReasonCode]
    REASON_CODE_NOT_SENDING: _ClassVar[ReasonCode]
    REASON_CODE_BACK_END_CANNOT_BOUND: _ClassVar[ReasonCode]
    REASON_CODE_MAC_CLAIMED_TWICE: _ClassVar[ReasonCode]
    REASON_CODE_ADDRESS_MISMATCH: _ClassVar[ReasonCode]
    REASON_CODE_LEFT_CELL: _ClassVar[ReasonCode]
    REASON_CODE_TERMINAL_STALE: _ClassVar[ReasonCode]
    REASON_CODE_CELL_STALE: _ClassVar[ReasonCode]
    REASON_CODE_INTERNAL_ERROR: _ClassVar[ReasonCode]
    REASON_CODE_EDCA_OFF: _ClassVar[ReasonCode]
    REASON_CODE_CANNOT_SET_EDCA: _ClassVar[ReasonCode]
    REASON_CODE_FEW_SENDERS: _ClassVar[ReasonCode]
    REASON_CODE_DOWNLOADS: _ClassVar[ReasonCode]
    REASON_CODE_STARTED_SENDING: _ClassVar[ReasonCode]
    REASON_CODE_STOPPED_SENDING: _ClassVar[ReasonCode]
    REASON_CODE_ACTIVE_SENDERS: _ClassVar[ReasonCode]
    REASON_CODE_CONNECTIONS: _ClassVar[ReasonCode]
    REASON_CODE_CAPACITY: _ClassVar[ReasonCode]
    REASON_CODE_MIN_RTT: _ClassVar[ReasonCode]
    REASON_CODE_RTT_RATIO: _ClassVar[ReasonCode]
    REASON_CODE_POLICY: _ClassVar[ReasonCode]
    REASON_CODE_REPEATED: _ClassVar[ReasonCode]
    REASON_CODE_UPLOADS: _ClassVar[ReasonCode]
    REASON_CODE_SHARE: _ClassVar[ReasonCode]
    REASON_CODE_OMITTED_RULES_MAX: _ClassVar[ReasonCode]
    REASON_CODE_MALFORMED: _ClassVar[ReasonCode]
    REASON_CODE_OUT_OF_RANGE: _ClassVar[ReasonCode]
    REASON_CODE_TOO_MANY_ENTRIES: _ClassVar[ReasonCode]
    REASON_CODE_DUPLICATE_ENTRY: _ClassVar[ReasonCode]
    REASON_CODE_OUT_OF_ORDER: _ClassVar[ReasonCode]
    REASON_CODE_COUNTER_JUMP: _ClassVar[ReasonCode]
    REASON_CODE_TOO_LARGE: _ClassVar[ReasonCode]
    REASON_CODE_RATE_LIMITED: _ClassVar[ReasonCode]
    REASON_CODE_OTHER_CELL: _ClassVar[ReasonCode]
    REASON_CODE_CELL_CLAIMED: _ClassVar[ReasonCode]
    REASON_CODE_TOO_MANY_STREAMS: _ClassVar[ReasonCode]
    REASON_CODE_REPLACED: _ClassVar[ReasonCode]
    REASON_CODE_OUT_OF_ORDER_STREAK: _ClassVar[ReasonCode]
    REASON_CODE_STOPPING: _ClassVar[ReasonCode]
    REASON_CODE_REBALANCED: _ClassVar[ReasonCode]
    REASON_CODE_STORE_LOST: _ClassVar[ReasonCode]
REASON_CODE_UNSPECIFIED: ReasonCode
REASON_CODE_CELL_UNKNOWN: ReasonCode
REASON_CODE_CELL_LEARNING: ReasonCode
REASON_CODE_NO_RTT_SAMPLE: ReasonCode
REASON_CODE_OTHER_REPLICA: ReasonCode
REASON_CODE_OBSERVE_MODE: ReasonCode
REASON_CODE_EXEMPT: ReasonCode
REASON_CODE_NOT_SENDING: ReasonCode
REASON_CODE_BACK_END_CANNOT_BOUND: ReasonCode
REASON_CODE_MAC_CLAIMED_TWICE: ReasonCode
REASON_CODE_ADDRESS_MISMATCH: ReasonCode
REASON_CODE_LEFT_CELL: ReasonCode
REASON_CODE_TERMINAL_STALE: ReasonCode
REASON_CODE_CELL_STALE: ReasonCode
REASON_CODE_INTERNAL_ERROR: ReasonCode
REASON_CODE_EDCA_OFF: ReasonCode
REASON_CODE_CANNOT_SET_EDCA: ReasonCode
REASON_CODE_FEW_SENDERS: ReasonCode
REASON_CODE_DOWNLOADS: ReasonCode
REASON_CODE_STARTED_SENDING: ReasonCode
REASON_CODE_STOPPED_SENDING: ReasonCode
REASON_CODE_ACTIVE_SENDERS: ReasonCode
REASON_CODE_CONNECTIONS: ReasonCode
REASON_CODE_CAPACITY: ReasonCode
REASON_CODE_MIN_RTT: ReasonCode
REASON_CODE_RTT_RATIO: ReasonCode
REASON_CODE_POLICY: ReasonCode
REASON_CODE_REPEATED: ReasonCode
REASON_CODE_UPLOADS: ReasonCode
REASON_CODE_SHARE: ReasonCode
REASON_CODE_OMITTED_RULES_MAX: ReasonCode
REASON_CODE_MALFORMED: ReasonCode
REASON_CODE_OUT_OF_RANGE: ReasonCode
REASON_CODE_TOO_MANY_ENTRIES: ReasonCode
REASON_CODE_DUPLICATE_ENTRY: ReasonCode
REASON_CODE_OUT_OF_ORDER: ReasonCode
REASON_CODE_COUNTER_JUMP: ReasonCode
REASON_CODE_TOO_LARGE: ReasonCode
REASON_CODE_RATE_LIMITED: ReasonCode
REASON_CODE_OTHER_CELL: ReasonCode
REASON_CODE_CELL_CLAIMED: ReasonCode
REASON_CODE_TOO_MANY_STREAMS: ReasonCode
REASON_CODE_REPLACED: ReasonCode
REASON_CODE_OUT_OF_ORDER_STREAK: ReasonCode
REASON_CODE_STOPPING: ReasonCode
REASON_CODE_REBALANCED: ReasonCode
REASON_CODE_STORE_LOST: ReasonCode

class Reason(_message.Message):
    __slots__ = ("code", "subject", "before", "after", "limit")
    CODE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    code: ReasonCode
    subject: str
    before: float
    after: float
    limit: float
    def __init__(self, code: _Optional[_Union[ReasonCode, str]] = ..., subject: _Optional[str] = ..., before: _Optional[float] = ..., after: _Optional[float] = ..., limit: _Optional[float] = ...) -> None: ...
