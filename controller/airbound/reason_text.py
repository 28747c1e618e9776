# SPDX-License-Identifier: Apache-2.0
"""One line of English for a reason: for the log and for the operators' commands. Programs read codes."""

import datetime
from collections.abc import Callable

from airbound.core.reasons import Code, Reason

_TEXTS: dict[Code, Callable[[Reason], str]] = {
    Code.CELL_UNKNOWN: lambda _: "no access point reports it as associated yet",
    Code.CELL_LEARNING: lambda r: f"the access point of {r.subject} has reported only once: rates are not known yet",
    Code.NO_RTT_SAMPLE: lambda _: "no RTT sample yet",
    Code.OTHER_REPLICA: lambda r: f"another replica owns the cell {r.subject}, or is about to",
    Code.OBSERVE_MODE: lambda _: "observe mode: computed and shown, not applied",
    Code.EXEMPT: lambda _: "exempt: computed and shown, not applied",
    Code.NOT_SENDING: lambda _: "it sends nothing",
    Code.BACK_END_CANNOT_BOUND: lambda r: f"its back end {r.subject!r} cannot set a maximum",
    Code.MAC_CLAIMED_TWICE: lambda r: (
        f"{r.subject} reports the same MAC address: which of the two is the station is open"
    ),
    Code.ADDRESS_MISMATCH: lambda r: (
        f"its stream comes from {r.subject}, which is not an address of the station"
        " ([identity] match_addresses = false allows that)"
    ),
    Code.LEFT_CELL: lambda r: f"it left the cell {r.subject}",
    Code.TERMINAL_STALE: lambda r: f"it has not reported for more than {_number(r.limit)} s",
    Code.CELL_STALE: lambda r: f"the access point of {r.subject} has not reported for more than {_number(r.limit)} s",
    Code.INTERNAL_ERROR: lambda r: f"an error of the controller: {r.subject}",
    Code.EDCA_OFF: lambda _: "the configuration leaves the access point its own EDCA parameters",
    Code.CANNOT_SET_EDCA: lambda r: (
        f"the access point cannot set EDCA parameters{f': {r.subject}' if r.subject else ''}"
    ),
    Code.FEW_SENDERS: lambda r: f"active senders {_number(r.after)}: fewer than {_number(r.limit)}",
    Code.DOWNLOADS: lambda r: f"uploads are {_percent(r.after)} of the payload: less than {_percent(r.limit)}",
    Code.WINDOW_CLAMP_OFF: lambda _: "the configuration leaves the windows of stations without an agent alone",
    Code.CANNOT_SET_WINDOWS: lambda r: f"the access point cannot limit windows{f': {r.subject}' if r.subject else ''}",
    Code.AGENT_BOUNDS: lambda r: f"its agent bounds it{f': terminal {r.subject}' if r.subject else ''}",
    Code.NO_STATION_TO_LIMIT: lambda _: "no station without a working agent sends",
    Code.STARTED_SENDING: lambda r: f"it began to send to {r.subject}",
    Code.STOPPED_SENDING: lambda r: f"it no longer sends to {r.subject}",
    Code.ACTIVE_SENDERS: lambda r: f"active senders {_number(r.before)} -> {_number(r.after)}",
    Code.SHARE: lambda r: f"its share of the cell {_mbps(r.before)} -> {_mbps(r.after)} Mb/s",
    Code.CONNECTIONS: lambda r: f"sending connections {_number(r.before)} -> {_number(r.after)}",
    Code.CAPACITY: lambda r: f"capacity {_mbps(r.before)} -> {_mbps(r.after)} Mb/s",
    Code.MIN_RTT: lambda r: f"minimum RTT to {r.subject} {_ms(r.before)} -> {_ms(r.after)} ms",
    Code.RTT_RATIO: lambda r: f"RTT ratio to {r.subject} {_tenths(r.before)} -> {_tenths(r.after)}",
    Code.POLICY: lambda r: f"the policy {r.subject} or a parameter changed".replace("  ", " "),
    Code.REPEATED: lambda r: f"sent again: the agent still reports generation {_number(r.before)}",
    Code.UPLOADS: lambda r: f"uploads are {_percent(r.after)} of the payload",
    Code.NO_AGENT: lambda _: "it has no agent",
    Code.AGENT_IGNORES_BOUNDS: lambda r: (
        f"its agent was sent generation {_number(r.after)}, and still reports {_number(r.before)}"
    ),
    Code.STATIONS_LIMITED: lambda r: (
        f"stations with limited windows {f'{_number(r.before)} -> ' if r.before is not None else ''}{_number(r.after)}"
    ),
    Code.OMITTED_LIMITS_MAX: lambda r: (
        f"{r.subject} has no limit: the access point takes at most {_number(r.limit)} limits"
    ),
    Code.OMITTED_RULES_MAX: lambda r: f"{r.subject} has no bound: the back end takes at most {_number(r.limit)} rules",
    Code.MALFORMED: lambda r: f"{r.subject}: not what it must be",
    Code.OUT_OF_RANGE: lambda r: f"{r.subject} = {_number(r.after)}: out of range{_bound(r)}",
    Code.TOO_MANY_ENTRIES: lambda r: f"{r.subject}: {_number(r.after)} entries{_limit(r)}; the rest is ignored",
    Code.DUPLICATE_ENTRY: lambda r: f"{r.subject}: listed twice",
    Code.OUT_OF_ORDER: lambda r: f"{r.subject} = {_number(r.after)}: not after {_number(r.before)}",
    Code.COUNTER_JUMP: lambda r: f"{r.subject} moved from {_number(r.before)} to {_number(r.after)}: not possible",
    Code.TOO_LARGE: lambda r: f"a message of {_number(r.after)} bytes{_limit(r)}",
    Code.RATE_LIMITED: lambda r: f"more than {_number(r.limit)} reports a second",
    Code.OTHER_CELL: lambda r: f"a stream reports one cell; this one reports {r.subject} as well",
    Code.CELL_CLAIMED: lambda r: f"the access point {r.subject} reports the same cell",
    Code.CELL_PINNED: lambda r: f"the cell is the access point {r.subject}'s (`airbound move-cell` changes that)",
    Code.TOO_MANY_STREAMS: lambda r: f"more than {_number(r.limit)} streams{f' from {r.subject}' if r.subject else ''}",
    Code.NO_REPORT: lambda r: f"no report within {_number(r.limit)} s",
    Code.SLOW_READER: lambda r: f"a command waited for {_number(r.limit)} s: the peer does not read",
    Code.REPLACED: lambda _: "a newer stream took its place",
    Code.OUT_OF_ORDER_STREAK: lambda r: f"{_number(r.after)} reports in a row were out of order",
    Code.STOPPING: lambda _: "the controller is stopping",
    Code.STORE_LOST: lambda _: "this replica has lost the store; another may have it",
    Code.REBALANCED: lambda r: (
        f"{_number(r.after)} streams, and {_number(r.limit)} on average: other replicas have fewer"
    ),
    Code.NO_CERTIFICATE: lambda _: "no certificate was shown",
    Code.CERTIFICATE_EXPIRED: lambda r: f"the certificate ended at {_time(r.after)}",
    Code.CERTIFICATE_REVOKED: lambda r: f"the certificate {r.subject} is revoked",
    Code.WRONG_ROLE: lambda r: f"the certificate is for {r.subject}, not for this service",
    Code.NO_IDENTITY: lambda r: f"the certificate has no identity of this trust domain: {r.subject}",
    Code.TLS_VERSION: lambda r: f"the connection is {r.subject}: TLS 1.3 is needed",
    Code.TOKEN_UNKNOWN: lambda _: "no such token",
    Code.TOKEN_EXPIRED: lambda _: "the token was not used in time",
    Code.TOKEN_USED: lambda r: f"the token was used {_number(r.limit)} times, as often as it may be",
    Code.TOKEN_OF_ANOTHER_ROLE: lambda r: f"the token is for the role {r.subject}",
    Code.REQUEST_INVALID: lambda r: f"the request for a certificate is not valid: {r.subject}",
    Code.KEY_UNSUITABLE: lambda r: f"the key is {r.subject}: ECDSA P-256 is needed",
    Code.TOO_MANY_CERTIFICATES: lambda r: f"more than {_number(r.limit)} certificates that have not ended",
    Code.TOO_MANY_ENROLLMENTS: lambda r: f"more than {_number(r.limit)} enrolments a second from {r.subject}",
    Code.CANNOT_SIGN: lambda _: "this controller does not have the authority's key",
    Code.SWITCH_VERSION: lambda r: f"OpenFlow's version {_number(r.after)}: {_number(r.limit)} (1.3) is needed",
    Code.SWITCH_NOT_ITS_OWN: lambda r: f"the datapath {r.subject} is not the one of its certificate",
    Code.SWITCH_CLAIMED: lambda r: f"the datapath is connected by {r.subject}",
    Code.SWITCH_UNBOUND: lambda r: (
        f"no access point reports its cell {r.subject}" if r.subject else "nobody says which cell's switch it is"
    ),
    Code.SWITCH_SURPLUS: lambda r: f"the switch {r.subject} is the cell's",
    Code.SWITCH_STATIONS: lambda r: f"stations or their rules changed: {_number(r.after)} stations",
    Code.METERED: lambda r: f"no agent bounds it: {_number(r.after)} kb/s",
}

_YEAR_10000_S = 253_402_300_800


def text(reason: Reason) -> str:
    """One line for a person."""
    make = _TEXTS.get(reason.code)
    return make(reason) if make else reason.code.name.lower().replace("_", " ")


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.15g}"


def _limit(reason: Reason) -> str:
    return "" if reason.limit is None else f", at most {_number(reason.limit)}"


def _bound(reason: Reason) -> str:
    """A value may be out of range at either end."""
    if reason.limit is None or reason.after is None or reason.after > reason.limit:
        return _limit(reason)
    return f", at least {_number(reason.limit)}"


def _tenths(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}"


def _ms(microseconds: float | None) -> str:
    return _tenths(None if microseconds is None else microseconds / 1000)


def _mbps(bps: float | None) -> str:
    return _tenths(None if bps is None else bps / 1e6)


def _time(seconds: float | None) -> str:
    """UTC, as `date` writes it for programs."""
    if seconds is None or not 0 <= seconds < _YEAR_10000_S:
        return _number(seconds)
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.0f} %"
