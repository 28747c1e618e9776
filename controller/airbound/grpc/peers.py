# SPDX-License-Identifier: Apache-2.0
"""Who may call a service, and for how long. In plain text everybody may, and is what the service is for; with TLS see
authentication.py, which only a controller with TLS imports: what it needs takes long to import.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from airbound.core.addresses import Address
from airbound.core.principals import Principal, Role
from airbound.core.reasons import Reason
from airbound.grpc.principals import plain_text
from airbound.runtime.octets import Account

if TYPE_CHECKING:
    from airbound.pki.certificates import Certificate

Close = Callable[[Reason], None]


@dataclass(frozen=True, slots=True)
class Peer:
    """Who it is; its certificate, if it needed one; what its connection's octets are for."""

    principal: Principal
    address: Address
    certificate: "Certificate | None" = None
    account: Account = field(default_factory=Account)


class Peers(Protocol):
    """Who is let in."""

    def identify(self, role: Role, context: Any) -> Peer:
        """Who calls a service that is for a role.

        Raises:
            RefusedError: somebody who may not.
        """

    def name_of(self, context: Any) -> str:
        """As gRPC writes it: "ipv4:192.0.2.1:4711"."""

    def during(self, peer: Peer, close: Close) -> contextlib.AbstractContextManager[None]:
        """Within this, `close` is called if the peer may no longer be served."""


class PlainText:
    """Everybody."""

    def identify(self, role: Role, context: Any) -> Peer:
        """By the peer's address."""
        return Peer(*plain_text(role, context.peer()))

    def name_of(self, context: Any) -> str:
        """That of gRPC."""
        name: str = context.peer()
        return name

    def during(self, _peer: Peer, _close: Close) -> contextlib.AbstractContextManager[None]:
        """Nothing happens meanwhile."""
        return contextlib.nullcontext()
