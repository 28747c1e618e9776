# SPDX-License-Identifier: Apache-2.0
"""The table [openflow] of the configuration: what is done with access points' OpenFlow switches."""

import re
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from airbound.core.addresses import Mac, address_from_text, mac_from_text, mac_text
from airbound.core.switch_reports import (
    ANY_PROTOCOL,
    DSCP_MAX,
    MARKS_MAX,
    PORT_MAX,
    QUIC,
    TCP,
    UDP,
    Mark,
    datapath_of_text,
    datapath_text,
)

Meters = Literal["off", "on"]

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
_PROTOCOLS = {"any": ANY_PROTOCOL, "tcp": TCP, "udp": UDP, "quic": QUIC}
# RFC 4594, RFC 8622.
_NAMES = (
    {"ef": 46, "va": 44, "le": 1}
    | {f"cs{number}": 8 * number for number in range(8)}
    | {f"af{number}{drop}": 8 * number + 2 * drop for number in range(1, 5) for drop in range(1, 4)}
)
_MARK = re.compile(r"(any|tcp|udp|quic)(?::([0-9]{1,5}))?(?:@([0-9a-f:.]+))?=([a-z0-9]+)")
SWITCHES_MAX = 1_000


@lru_cache
def mark_of_text(text: str) -> Mark:
    """PROTOCOL[:PORT][@ADDRESS]=DSCP.

    Raises:
        ValueError: it is something else.
    """
    found = _MARK.fullmatch(text.lower())
    if not found:
        raise ValueError("expected PROTOCOL[:PORT][@ADDRESS]=DSCP, such as udp:3478=ef or tcp@192.0.2.9=af11")
    protocol, port, address, dscp = found.groups()
    value = _NAMES.get(dscp, int(dscp) if dscp.isdecimal() else DSCP_MAX + 1)
    if value > DSCP_MAX:
        raise ValueError(f"{dscp} is no DSCP: expected 0 to {DSCP_MAX}, or a name such as ef, cs5, af41")
    if port and (protocol == "quic" or not 1 <= int(port) <= PORT_MAX):
        raise ValueError(f"port {port}: expected 1 to {PORT_MAX}, and none with quic")
    return Mark(_PROTOCOLS[protocol], address_from_text(address) if address else b"", int(port or 0), value)


def _mark(text: str) -> str:
    mark_of_text(text)
    return text


@lru_cache
def switch_of_text(text: str) -> tuple[int, Mac]:
    """DATAPATH=BSSID.

    Raises:
        ValueError: it is something else.
    """
    datapath, equals, bssid = text.partition("=")
    if not equals:
        raise ValueError("expected DATAPATH=BSSID, such as 0000020000000001=02:00:00:00:00:01")
    return datapath_of_text(datapath), mac_from_text(bssid)


def _switch(text: str) -> str:
    datapath, bssid = switch_of_text(text)
    return f"{datapath_text(datapath)}={mac_text(bssid)}"


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class OpenflowParameters:
    """Access points' OpenFlow switches: docs/openflow.md."""

    switches: Annotated[
        tuple[Annotated[str, AfterValidator(_switch)], ...],
        Field(
            max_length=SWITCHES_MAX,
            description="which cell a switch is of, each DATAPATH=BSSID, where neither `airbound openflow` nor the"
            " access point reports it; not in overrides of cells",
        ),
    ] = ()
    meters: Annotated[
        Meters,
        Field(description="on: a switch limits the rates of active senders that have no agent which bounds them"),
    ] = "off"
    headroom: Annotated[
        float, Field(ge=1, le=10, description="what a meter lets pass, over a fair share of the cell's capacity")
    ] = 1.25
    marks: Annotated[
        tuple[Annotated[str, AfterValidator(_mark)], ...],
        Field(
            max_length=MARKS_MAX,
            description="DSCP of what goes to stations, by which Wi-Fi chooses the access category, each"
            " PROTOCOL[:PORT][@ADDRESS]=DSCP of the other end; PROTOCOL is tcp, udp, quic or any",
        ),
    ] = ()
    stale_ms: Annotated[
        int, Field(ge=1_500, le=600_000, description="of a switch that has not reported for longer nothing is known")
    ] = 3_500
