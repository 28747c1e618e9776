# SPDX-License-Identifier: Apache-2.0
"""Where something listens, as the configuration has it."""

import re

PORT_MAX = 65_535


def endpoint(value: str) -> str:
    """ADDRESS:PORT, IPv6 addresses in brackets, as it is.

    Raises:
        ValueError: it is something else.
    """
    host, colon, port = value.rpartition(":")
    plain = ":" not in host or (host.startswith("[") and host.endswith("]"))
    if host and colon and plain and re.fullmatch(r"[0-9]{1,5}", port) and int(port) <= PORT_MAX:
        return value
    raise ValueError("expected ADDRESS:PORT, such as 127.0.0.1:50051 or [::1]:50051")


def host_and_port(value: str) -> tuple[str, int]:
    """The two parts of an end point; an IPv6 address without its brackets."""
    host, _, port = value.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)
