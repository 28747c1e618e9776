# SPDX-License-Identifier: Apache-2.0
"""Why something was decided, refused, left out or released: a code and values. Text is made where a person reads it
(`airbound.reason_text`); nothing here or elsewhere tests the truth of a sentence.

The codes, and the values that each has, are those of proto/airbound/v1/reason.proto; a test compares the two.
"""

from enum import IntEnum
from typing import NamedTuple


class Code(IntEnum):
    """The codes of the wire contract, which explains each."""

    UNSPECIFIED = 0
    # Waiting: nothing is sent. Numbers up to _WAITING_UP_TO.
    CELL_UNKNOWN = 2
    CELL_LEARNING = 3
    NO_RTT_SAMPLE = 4
    OTHER_REPLICA = 5
    # Released: an empty set is sent. Numbers up to _RELEASED_UP_TO, all of which are taken, and _RELEASED_AS_WELL.
    OBSERVE_MODE = 20
    EXEMPT = 21
    NOT_SENDING = 22
    BACK_END_CANNOT_BOUND = 23
    MAC_CLAIMED_TWICE = 24
    ADDRESS_MISMATCH = 25
    LEFT_CELL = 26
    TERMINAL_STALE = 27
    CELL_STALE = 28
    INTERNAL_ERROR = 29
    EDCA_OFF = 30
    CANNOT_SET_EDCA = 31
    FEW_SENDERS = 32
    DOWNLOADS = 33
    WINDOW_CLAMP_OFF = 34
    CANNOT_SET_WINDOWS = 35
    AGENT_BOUNDS = 36
    NO_STATION_TO_LIMIT = 37
    UNLIMITED_SENDER = 38
    NOTHING_BOUNDED = 39
    # Changed: one set replaces another.
    STARTED_SENDING = 40
    STOPPED_SENDING = 41
    ACTIVE_SENDERS = 42
    CONNECTIONS = 43
    CAPACITY = 44
    MIN_RTT = 45
    RTT_RATIO = 46
    POLICY = 47
    REPEATED = 48
    UPLOADS = 49
    SHARE = 50
    NO_AGENT = 51
    AGENT_IGNORES_BOUNDS = 52
    STATIONS_LIMITED = 53
    AGGREGATES = 54
    PHY_RATE = 55
    WIDENED = 56
    LIVE_FLOWS = 57
    PRIORITY_NOT_GRANTED = 58
    APPLICATIONS = 59
    PACED = 60
    STOPPING_SENDERS = 61
    # Noted beside a decision.
    OMITTED_RULES_MAX = 62
    OMITTED_LIMITS_MAX = 63
    ASSUMED_RATES = 64
    ARRIVED = 65
    STATION_MOVED = 66
    STATION_DISPUTED = 67
    # Refused: counted and not used.
    MALFORMED = 80
    OUT_OF_RANGE = 81
    TOO_MANY_ENTRIES = 82
    DUPLICATE_ENTRY = 83
    OUT_OF_ORDER = 84
    COUNTER_JUMP = 85
    TOO_LARGE = 86
    RATE_LIMITED = 87
    OTHER_CELL = 88
    CELL_CLAIMED = 89
    TOO_MANY_STREAMS = 90
    CELL_PINNED = 91
    NO_REPORT = 92
    SLOW_READER = 93
    # Closed.
    REPLACED = 100
    OUT_OF_ORDER_STREAK = 101
    STOPPING = 102
    REBALANCED = 103
    STORE_LOST = 104
    # Refused or closed by the peer's certificate or token.
    NO_CERTIFICATE = 110
    CERTIFICATE_EXPIRED = 111
    CERTIFICATE_REVOKED = 112
    WRONG_ROLE = 113
    NO_IDENTITY = 114
    TLS_VERSION = 115
    TOKEN_UNKNOWN = 116
    TOKEN_EXPIRED = 117
    TOKEN_USED = 118
    REQUEST_INVALID = 119
    KEY_UNSUITABLE = 120
    TOO_MANY_CERTIFICATES = 121
    TOO_MANY_ENROLLMENTS = 122
    CANNOT_SIGN = 123
    TOKEN_OF_ANOTHER_ROLE = 124
    # Of OpenFlow switches.
    SWITCH_VERSION = 140
    SWITCH_NOT_ITS_OWN = 141
    SWITCH_CLAIMED = 142
    SWITCH_UNBOUND = 143
    SWITCH_SURPLUS = 144
    SWITCH_STATIONS = 145
    METERED = 146
    # Released as well.
    KEPT_TXOP = 160
    NEIGHBOURS = 161
    NO_LIVE_FLOW = 162
    LIVE_OFF = 163
    CANNOT_MARK = 164
    NO_WMM = 165
    LIVE_AIR = 166
    TAKES_ALL = 167
    # Of checks that an access point asks for.
    CHECK_RUNS = 180
    CHECK_MODE_CHOSEN = 181
    CHECK_FOREIGN = 182
    CHECK_TOO_SOON = 183
    CHECK_MODE_CHANGED = 184
    CHECK_NO_SENDERS = 185
    CHECK_STOPPED = 186


_WAITING_UP_TO, _RELEASED_UP_TO = 19, 39
_RELEASED_AS_WELL = range(160, 180)


def is_waiting(code: Code) -> bool:
    """Whether a code says that too little is known to decide."""
    return 0 < code <= _WAITING_UP_TO


class Reason(NamedTuple):
    """A code and its values. `subject` is what it is about; a value that the code does not have is None."""

    code: Code
    subject: str = ""
    before: float | None = None
    after: float | None = None
    limit: float | None = None

    @property
    def waits(self) -> bool:
        """Whether too little is known to decide: nothing is sent, and what the terminal has ends with its lease."""
        return is_waiting(self.code)

    @property
    def releases(self) -> bool:
        """Whether the terminal must have no bounds."""
        return _WAITING_UP_TO < self.code <= _RELEASED_UP_TO or self.code in _RELEASED_AS_WELL


class RefusedError(ValueError):
    """Input that is not used: `reason` says which field and why. Its text is for a traceback only."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(f"{reason.code.name} {reason.subject}")
        self.reason = reason
