# SPDX-License-Identifier: Apache-2.0
"""`python -m airbound.edges.health`: asks a controller for its health, over gRPC's standard health service.

For supervisors (a container's health check, a monitor's probe); the exit code is the answer.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from airbound.cli import DEFAULT_CONTROLLER, FAILED, OK, UNREACHABLE, USAGE
from airbound.config import ConfigError, checked_endpoint
from airbound.edges.client import UnreachableError

LONGEST_S = 3600
EPILOG = f"""examples:
  python -m airbound.edges.health                        {DEFAULT_CONTROLLER}
  python -m airbound.edges.health 192.0.2.1:50051 --timeout 1

exit codes: 0 it serves; 1 it answers, and does not serve; 2 wrong usage; 3 no controller answers
"""


def status(endpoint: str, timeout_s: float) -> str:
    """The controller's own word: SERVING, NOT_SERVING, or why it cannot tell.

    Raises:
        UnreachableError: nobody answers, or not in time.
    """
    # A proxy, which containers often have in their environment, would be asked for its own loopback.
    with grpc.insecure_channel(endpoint, options=(("grpc.enable_http_proxy", 0),)) as channel:
        try:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=timeout_s)
        except grpc.RpcError as error:
            if error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}:
                raise UnreachableError(f"no controller answers at {endpoint}: {error.details()}") from error
            return f"{error.details()} ({error.code().name.lower()})"
    name: str = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return name


def main(argv: Sequence[str] | None = None) -> int:
    """Ask once; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m airbound.edges.health",
        description="Asks a controller for its health.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("endpoint", nargs="?", metavar="ADDR:PORT", default=DEFAULT_CONTROLLER)
    parser.add_argument("--timeout", type=float, default=3.0, metavar="S", help="seconds to wait; default 3")
    arguments = parser.parse_args(argv)
    if not 0 < arguments.timeout <= LONGEST_S:  # refuses nan as well
        parser.error(f"--timeout {arguments.timeout}: expected seconds, above 0, at most {LONGEST_S}")
    try:
        said = status(checked_endpoint(arguments.endpoint, "ADDR:PORT"), arguments.timeout)
    except ConfigError as error:
        return _say(str(error), USAGE)
    except UnreachableError as error:
        return _say(str(error), UNREACHABLE)
    return _say(f"{arguments.endpoint}: {said}", OK if said == "SERVING" else FAILED)


def _say(text: str, code: int) -> int:
    (sys.stdout if code == OK else sys.stderr).write(f"airbound: {text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
