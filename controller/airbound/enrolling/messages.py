# SPDX-License-Identifier: Apache-2.0
"""What the controller and enrolment's process write to one another: lines of JSON over a socket that both have from the
start. The process has neither the authority's key nor the store: it passes on who asks for what, and the answer.

To the process, as objects with a member `kind`:

    identity    key, chain (PEM)         what connections are shown from now on; the process repeats it without these
    answer      call, octets             an EnrollResponse, in hexadecimal digits
    refusal     call, status, text, code the name of a gRPC status, its text, and the reason's code (may be empty)

From it: the classes below. What it writes is checked here, as what came from the network.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from airbound.enrolling.front import Cause

LINE_OCTETS_MAX = 65_536
REQUEST_OCTETS_MAX = 8_192
_STRICT = ConfigDict(strict=True, extra="forbid")
_Count = Annotated[int, Field(ge=0)]
_Text = Annotated[str, Field(max_length=REQUEST_OCTETS_MAX)]


@dataclass(frozen=True, slots=True, config=_STRICT)
class Call:
    """A peer asks for a certificate. `tls` is the version as gRPC names it."""

    kind: Literal["call"]
    call: _Count
    address: Annotated[str, Field(pattern=r"^([0-9a-f]{8}|[0-9a-f]{32})$")]
    port: Annotated[int, Field(ge=0, le=65_535)]
    tls: Annotated[str, Field(max_length=32)]
    token: _Text
    role: _Text
    request: Annotated[str, Field(max_length=2 * REQUEST_OCTETS_MAX, pattern=r"^([0-9a-f]{2})*$")]


@dataclass(frozen=True, slots=True, config=_STRICT)
class Counts:
    """Totals since the process started. `most` is the address of which most connections were closed since the last
    counts, and how many.
    """

    kind: Literal["counts"]
    taken: _Count
    closed: dict[Cause, _Count]
    most: dict[Cause, tuple[Annotated[str, Field(max_length=64)], _Count]]


@dataclass(frozen=True, slots=True, config=_STRICT)
class Using:
    """The identity that came last is the one that connections are shown."""

    kind: Literal["identity"]


_FROM_PROCESS: TypeAdapter[Call | Counts | Using] = TypeAdapter(
    Annotated[Call | Counts | Using, Field(discriminator="kind")]
)


def line(message: Mapping[str, Any]) -> bytes:
    """To be written."""
    return json.dumps(message).encode() + b"\n"


def parsed(octets: bytes) -> Call | Counts | Using:
    """What the process wrote.

    Raises:
        ValueError: it is none of its messages.
    """
    return _FROM_PROCESS.validate_json(octets)
