# SPDX-License-Identifier: Apache-2.0
"""Where the store is: in this process, or in Redis or Valkey. The table [store] of the configuration file."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

REDIS_PORT = 6379
PORT_MAX = 65_535

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
_SERVER = re.compile(r"(?P<host>[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?")
_WANTED = "expected redis://HOST:PORT or rediss://HOST:PORT, of a Cluster several: redis://HOST:PORT,HOST:PORT"


def _url(value: str) -> str:
    if value:
        servers(value)
    return value


def _file(value: str) -> str:
    if value and not Path(value).is_absolute():
        raise ValueError("expected an absolute path")
    return value


def _prefix(value: str) -> str:
    if re.fullmatch(r"[0-9A-Za-z._-]+", value):
        return value
    raise ValueError("expected letters, digits and . _ -")


def servers(url: str) -> tuple[tuple[str, int], ...]:
    """The addresses and ports that a URL names.

    Raises:
        ValueError: it is no such URL.
    """
    if "@" in url:
        raise ValueError(f"{_WANTED}; user and password are keys of their own")
    parts = re.fullmatch(r"rediss?://([^/]+)/?", url)
    if parts is None:
        raise ValueError(_WANTED)
    found = []
    for server in parts[1].split(","):
        match = _SERVER.fullmatch(server)
        port = int(match["port"] or REDIS_PORT) if match else 0
        if match is None or not 0 < port <= PORT_MAX:
            raise ValueError(_WANTED)
        found.append((match["host"].strip("[]"), port))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class StoreOptions:
    """Where the store is. Without a URL it is in this process."""

    url: Annotated[
        str,
        AfterValidator(_url),
        Field(description="Redis 7 or Valkey; rediss:// with TLS; empty: no server, the store of one controller alone"),
    ] = ""
    cluster: Annotated[bool, Field(description="the servers are a Redis Cluster; one that answers is enough")] = False
    file: Annotated[
        str,
        AfterValidator(_file),
        Field(description="without a server: SQLite file of what survives a restart; empty: nothing survives"),
    ] = ""
    user: Annotated[str, Field(max_length=256, description="user of Redis's ACL; empty: the default user")] = ""
    password_file: Annotated[
        str, AfterValidator(_file), Field(description="file with the password; empty: no password")
    ] = ""
    ca_file: Annotated[
        str, AfterValidator(_file), Field(description="PEM file of the CAs for rediss://; empty: the system's")
    ] = ""
    certificate_file: Annotated[
        str, AfterValidator(_file), Field(description="PEM file of the certificate to show to Redis; empty: none")
    ] = ""
    key_file: Annotated[str, AfterValidator(_file), Field(description="PEM file of its key")] = ""
    prefix: Annotated[
        str,
        AfterValidator(_prefix),
        Field(max_length=64, description="start of every key and channel; another for each installation"),
    ] = "airbound"
    timeout_s: Annotated[float, Field(ge=0.1, le=10, description="a call without an answer has failed by then")] = 1.0

    def __post_init__(self) -> None:
        """Options that contradict one another.

        Raises:
            ValueError: which, and why.
        """
        if self.url and self.file:
            raise ValueError("file: is for a store without a server, and url names one")
        if self.cluster and not self.url:
            raise ValueError("cluster: needs a url")
        if self.url and not self.cluster and len(servers(self.url)) > 1:
            raise ValueError("url: names several servers, which only a Cluster has; set cluster = true")
        if bool(self.certificate_file) != bool(self.key_file):
            raise ValueError("certificate_file and key_file: one needs the other")
