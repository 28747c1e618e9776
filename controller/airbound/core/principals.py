# SPDX-License-Identifier: Apache-2.0
"""Who speaks. A MAC is what a terminal reports and an access point confirms, never an identity."""

from dataclasses import dataclass
from typing import Literal

from airbound.core.addresses import Address

Role = Literal["access-point", "terminal", "operator", "switch"]


@dataclass(frozen=True, slots=True)
class Principal:
    """A role and a stable name. In plain text the name is the address that the stream comes from."""

    role: Role
    name: str


@dataclass(frozen=True, slots=True)
class Stream:
    """One connection of a principal; a later one has a greater number. `address` is empty if it cannot be compared with
    a station's, as on a Unix socket. One that `moved` concerned another replica of the controller before; `generation`
    is that of the last set of bounds sent on it there.
    """

    number: int
    principal: Principal
    address: Address = b""
    generation: int = 0
    moved: bool = False
