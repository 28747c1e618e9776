# SPDX-License-Identifier: Apache-2.0
"""[metrics]: where metrics are served, and how many objects have series of their own."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from airbound.endpoints import endpoint

DEFAULT_METRICS = "127.0.0.1:9464"

StationLabel = Literal["pseudonym", "mac", "off"]

_OBJECTS_MAX = 1_000_000
_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def metrics_endpoint(value: str) -> str:
    """ADDRESS:PORT, or nothing.

    Raises:
        ValueError: it is something else.
    """
    return endpoint(value) if value else value


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Metrics:
    """What Prometheus is shown. A limit of 0 shows none of that kind."""

    listen: Annotated[
        str, AfterValidator(metrics_endpoint), Field(description='for Prometheus; "": no metrics are served')
    ] = DEFAULT_METRICS
    cells_max: Annotated[int, Field(ge=0, le=_OBJECTS_MAX, description="cells with series of their own")] = 1_000
    stations_max: Annotated[int, Field(ge=0, le=_OBJECTS_MAX, description="stations with series of their own")] = 10_000
    terminals_max: Annotated[int, Field(ge=0, le=_OBJECTS_MAX, description="terminals with series of their own")] = (
        10_000
    )
    stations: Annotated[
        StationLabel, Field(description="label of a station: a pseudonym, its MAC address; off: no series")
    ] = "pseudonym"
    terminals: Annotated[bool, Field(description="whether terminals have series, by name")] = True
    certificate: Annotated[str, Field(description='file of a certificate chain, PEM: serve TLS; "": plain text')] = ""
    key: Annotated[str, Field(description="file of its private key, PEM")] = ""
    client_ca: Annotated[
        str, Field(description='file of CA certificates, PEM, of one of which a client needs a certificate; "": any')
    ] = ""

    @model_validator(mode="after")
    def _tls(self) -> Self:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key belong together")
        if self.client_ca and not self.certificate:
            raise ValueError("client_ca needs a certificate and a key")
        return self
