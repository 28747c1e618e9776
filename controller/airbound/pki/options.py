# SPDX-License-Identifier: Apache-2.0
"""The table [tls] of the configuration file."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from airbound.pki.identities import NAME_MAX_CHARACTERS

DEFAULT_ENROLLMENT = ":50053"
PORT_MAX = 65_535

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def _path(value: str) -> str:
    if value and not Path(value).is_absolute():
        raise ValueError("expected an absolute path")
    return value


def _endpoint(value: str) -> str:
    host, colon, port = value.rpartition(":")
    plain = ":" not in host or (host.startswith("[") and host.endswith("]"))
    if not value or (colon and plain and re.fullmatch(r"[0-9]{1,5}", port) and int(port) <= PORT_MAX):
        return value
    raise ValueError("expected ADDRESS:PORT or :PORT, such as 0.0.0.0:50053 or :50053, or nothing")


def enrollment_endpoint(enrollment: str, listen: str) -> str:
    """Where enrolment listens, ADDRESS:PORT; empty: nowhere. Without an address it is that of `listen`, so that a
    controller that agents reach on loopback alone makes no certificates for other machines either.
    """
    return f"{listen.rpartition(':')[0]}{enrollment}" if enrollment.startswith(":") else enrollment


def _name(value: str) -> str:
    if not value or (re.fullmatch(rf"[A-Za-z0-9._-]{{1,{NAME_MAX_CHARACTERS}}}", value) and value not in {".", ".."}):
        return value
    raise ValueError(f"expected 1 to {NAME_MAX_CHARACTERS} of the letters, digits and . - _ of ASCII")


File = Annotated[str, AfterValidator(_path)]


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class TlsOptions:
    """How peers prove who they are. The trust domain is in the authority's certificate."""

    plain_text: Annotated[
        bool,
        Field(description="no TLS at all: peers are not authenticated, their names are taken as they are; for a lab"),
    ] = False
    directory: Annotated[
        File, Field(description="of the authority; empty: $AIRBOUND_CA_DIR, or where `airbound ca init` puts it")
    ] = ""
    passphrase_file: Annotated[File, Field(description="whose line opens the authority's key")] = ""
    certificate: Annotated[
        File,
        Field(description="PEM file: the server's certificate and its issuers; empty: signed by the authority here"),
    ] = ""
    key: Annotated[File, Field(description="PEM file: its key")] = ""
    authorities: Annotated[
        File, Field(description="PEM file: whose clients are accepted; empty: the directory's authority.pem")
    ] = ""
    name: Annotated[
        str, AfterValidator(_name), Field(description="of this controller in its certificate; empty: the host's")
    ] = ""
    front: Annotated[
        File,
        Field(
            description="program of HAProxy, whose processes then end TLS for agents and operators; empty: gRPC does"
        ),
    ] = ""
    enrollment: Annotated[
        str,
        AfterValidator(_endpoint),
        Field(description="where devices use their tokens; :PORT: at the address of `listen`; empty: nowhere"),
    ] = DEFAULT_ENROLLMENT
    agent_days: Annotated[float, Field(ge=0.01, le=397, description="life of the certificates of agents")] = 30.0
    operator_days: Annotated[float, Field(ge=0.01, le=397, description="life of the certificates of operators")] = 30.0
    controller_days: Annotated[float, Field(ge=0.01, le=90, description="life of the certificates of controllers")] = (
        7.0
    )
    enrollments_per_address_per_s: Annotated[
        float, Field(ge=0.1, le=10_000, description="twice as many at once; behind a load balancer all share one")
    ] = 5.0
    enrollments_at_once: Annotated[int, Field(ge=1, le=10_000, description="in total; more are turned away")] = 32

    def __post_init__(self) -> None:
        """Options that contradict one another.

        Raises:
            ValueError: which.
        """
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key: one needs the other")
        if self.authorities and not self.certificate:
            raise ValueError("authorities: needs certificate and key as well")
