# SPDX-License-Identifier: Apache-2.0
"""Which OpenFlow messages are taken from a switch, by their headers alone (OpenFlow 1.3.5, 7.1). Opens nothing.

os-ken checks neither the length nor the type of a message before it allocates and parses. So bad ones are stopped here.
"""

from enum import IntEnum
from typing import NamedTuple

from airbound.core.reasons import Code, Reason, RefusedError

HEADER_BYTES = 8
VERSION = 0x04  # OpenFlow 1.3
VERSION_MAX = 0x7F  # the highest bit is reserved
FEATURES_REPLY_BYTES = 32
DATAPATH_ID_AT = HEADER_BYTES


class Type(IntEnum):
    """Messages that a switch may send."""

    HELLO = 0
    ERROR = 1
    ECHO_REQUEST = 2
    ECHO_REPLY = 3
    EXPERIMENTER = 4
    FEATURES_REPLY = 6
    GET_CONFIG_REPLY = 8
    PACKET_IN = 10
    FLOW_REMOVED = 11
    PORT_STATUS = 12
    MULTIPART_REPLY = 19
    BARRIER_REPLY = 21
    QUEUE_GET_CONFIG_REPLY = 23
    ROLE_REPLY = 25
    GET_ASYNC_REPLY = 27


# Octets. What the switch is asked for never makes longer ones: a copy of a packet is cut off (flows.COPIED_BYTES).
LENGTH_MAX = dict.fromkeys(Type, 2_048) | {
    Type.HELLO: 256,
    Type.ECHO_REQUEST: 256,
    Type.ECHO_REPLY: 256,
    Type.MULTIPART_REPLY: 65_535,
}


class Header(NamedTuple):
    """The first octets of a message."""

    version: int
    type: Type
    length: int


def header(octets: bytes, *, first: bool) -> Header:
    """The header of a switch's message; the `first` one says which versions the switch speaks.

    Raises:
        RefusedError: no such message is taken.
    """
    version, number, length = octets[0], octets[1], int.from_bytes(octets[2:4], "big")
    if first and number != Type.HELLO:
        raise RefusedError(Reason(Code.MALFORMED, f"OpenFlow message of type {number} before a hello"))
    if not (VERSION <= version <= VERSION_MAX if number == Type.HELLO else version == VERSION):
        raise RefusedError(Reason(Code.SWITCH_VERSION, after=version, limit=VERSION))
    try:
        kind = Type(number)
    except ValueError:
        raise RefusedError(Reason(Code.MALFORMED, f"OpenFlow message of type {number}")) from None
    if length < HEADER_BYTES:
        raise RefusedError(Reason(Code.MALFORMED, f"OpenFlow message of {length} octets"))
    if length > LENGTH_MAX[kind]:
        raise RefusedError(Reason(Code.TOO_LARGE, after=length, limit=LENGTH_MAX[kind]))
    return Header(version, kind, length)


def datapath_id(features_reply: bytes) -> int:
    """Which switch a whole OFPT_FEATURES_REPLY is of.

    Raises:
        RefusedError: it is not one, or names none.
    """
    if len(features_reply) != FEATURES_REPLY_BYTES:
        raise RefusedError(Reason(Code.MALFORMED, f"features of {len(features_reply)} octets"))
    found = int.from_bytes(features_reply[DATAPATH_ID_AT : DATAPATH_ID_AT + 8], "big")
    if not found:
        raise RefusedError(Reason(Code.MALFORMED, "datapath_id"))
    return found
