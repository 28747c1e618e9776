# SPDX-License-Identifier: Apache-2.0
"""The container's health check: `python -m airbound.deployment.health`, exit code 0 if the controller serves.

It asks /healthz of the metrics' address instead of `airbound health`, which needs an operator's certificate, and takes
twenty times the processor time, for gRPC. The address is that of AIRBOUND_METRICS__LISTEN, or the default one.
"""

import http.client
import os
import sys
from collections.abc import Mapping

DEFAULT_ADDRESS = "127.0.0.1:9464"
VARIABLE = "AIRBOUND_METRICS__LISTEN"
TIMEOUT_S = 4.0
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # these are compared with


def address(environment: Mapping[str, str]) -> tuple[str, int]:
    """Host and port to ask.

    Raises:
        ValueError: the variable has no port.
    """
    host, _, port = (environment.get(VARIABLE) or DEFAULT_ADDRESS).rpartition(":")
    host = host.strip("[]")
    return _EVERY_ADDRESS.get(host, host), int(port)


def check(host: str, port: int, timeout_s: float = TIMEOUT_S) -> str:
    """What is wrong; empty if the controller serves."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    try:
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        text = response.read().decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return f"{host}:{port}: {error or type(error).__name__}"
    finally:
        connection.close()
    return "" if response.status == http.client.OK else f"{response.status} {text}"


def main() -> int:
    """Print what is wrong; the exit code."""
    wrong = check(*address(os.environ))
    if wrong:
        sys.stderr.write(f"airbound: {wrong}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
