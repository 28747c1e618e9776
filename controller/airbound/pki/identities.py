# SPDX-License-Identifier: Apache-2.0
"""Who a certificate is for: exactly one URI, spiffe://TRUST-DOMAIN/ROLE/NAME (the SPIFFE ID of an X.509-SVID).

Names have the characters that a path segment of a SPIFFE ID may have, so that gRPC and SPIFFE's libraries take the URI
for one: letters, digits, point, hyphen, underscore. A MAC address is written with hyphens.
"""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from airbound.core.principals import Role

CertificateRole = Role | Literal["controller"]

CLIENT_ROLES: tuple[Role, ...] = get_args(Role)
CONTROLLER: CertificateRole = "controller"
NAME_MAX_CHARACTERS = 64
# A trust domain is also the end of a controller's DNS name: labels of letters, digits and hyphens (RFC 1123).
TRUST_DOMAIN_MAX_CHARACTERS = 200
DEFAULT_TRUST_DOMAIN = "airbound.internal"

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_TRUST_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME = re.compile(rf"[A-Za-z0-9._-]{{1,{NAME_MAX_CHARACTERS}}}")
_SCHEME = "spiffe://"


class IdentityError(ValueError):
    """Not an identity; the text says why."""


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """A role and a name.

    Raises:
        IdentityError: no such role, or not a name.
    """

    role: CertificateRole
    name: str

    def __post_init__(self) -> None:
        if self.role not in (*CLIENT_ROLES, CONTROLLER):
            raise IdentityError(f"{self.role!r} is no role: expected {', '.join((*CLIENT_ROLES, CONTROLLER))}")
        if not _NAME.fullmatch(self.name) or self.name in {".", ".."}:
            raise IdentityError(
                f"{self.name[: 2 * NAME_MAX_CHARACTERS]!r} is no name: expected 1 to {NAME_MAX_CHARACTERS} of the"
                " letters, digits and . - _ of ASCII (a MAC address with hyphens)"
            )

    def __str__(self) -> str:
        return f"{self.role}/{self.name}"

    def uri(self, trust_domain: str) -> str:
        """As a certificate has it."""
        return f"{_SCHEME}{trust_domain}/{self.role}/{self.name}"


def identity_of_text(text: str) -> Identity:
    """ROLE/NAME.

    Raises:
        IdentityError: it is something else.
    """
    role, slash, name = text.partition("/")
    if not slash:
        raise IdentityError(f"{text!r} is no identity: expected ROLE/NAME")
    return Identity(role, name)  # type: ignore[arg-type]  # checked there


def identity_of_uri(uri: str, trust_domain: str) -> Identity:
    """The identity that a URI names in a trust domain.

    Raises:
        IdentityError: it names none there.
    """
    prefix = f"{_SCHEME}{trust_domain}/"
    if not uri.startswith(prefix):
        raise IdentityError(f"{uri[:300]!r} is not of the trust domain {trust_domain}")
    return identity_of_text(uri.removeprefix(prefix))


def trust_domain_uri(trust_domain: str) -> str:
    """As the authority's certificate has it: an ID without a path."""
    return f"{_SCHEME}{checked_trust_domain(trust_domain)}"


def trust_domain_of_uri(uri: str) -> str:
    """The trust domain that an authority's URI names.

    Raises:
        IdentityError: it is no such URI.
    """
    if not uri.startswith(_SCHEME):
        raise IdentityError(f"{uri[:300]!r} is no {_SCHEME}TRUST-DOMAIN")
    return checked_trust_domain(uri.removeprefix(_SCHEME))


def checked_trust_domain(text: str) -> str:
    """A trust domain.

    Raises:
        IdentityError: it is none.
    """
    if len(text) <= TRUST_DOMAIN_MAX_CHARACTERS and _TRUST_DOMAIN.fullmatch(text):
        return text
    raise IdentityError(f"{text[:300]!r} is no trust domain: expected a name such as {DEFAULT_TRUST_DOMAIN}")


def server_name(trust_domain: str) -> str:
    """The DNS name of every controller of a trust domain. Clients in gRPC's Python and C++ check a server's DNS names
    only, never a URI: its name for them is this one, which the authority gives to nobody but controllers.
    """
    return f"{CONTROLLER}.{trust_domain}"
