# SPDX-License-Identifier: Apache-2.0
"""The yardstick of `airbound-lab load`: a grpc.aio server with the controller's services and nothing behind them.

Reports stay bytes. Every stream of a terminal is answered with a fixed message of a renewal's size, so often that it
sends as many commands per report as the controller did. What this server costs is what grpc.aio costs.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from airbound.grpc.server import AGENT_OPTIONS
from airbound.grpc.server_certificates import ServerCertificates
from airbound.pki.server_identity import Issued
from airbound.v1 import operations_pb2, terminal_pb2
from airbound_testing.identities import LIFETIME, Identities

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

ANSWER = terminal_pb2.TerminalServiceConnectResponse(
    command=terminal_pb2.TerminalCommand(renew_lease=terminal_pb2.RenewLease(generation=1 << 20, lease_ms=6_000))
).SerializeToString()
SPREAD = 0.618_034  # of the golden ratio: streams begin at different points between two answers


class RawServer:
    """Counts reports and answers a share of them."""

    def __init__(self, answers_per_report: float) -> None:
        self.answers_per_report = answers_per_report
        self.reports_total = 0
        self._streams_total = 0

    async def access_point(self, requests: AsyncIterator[bytes], _context: Any) -> None:
        """Read reports until the access point ends its stream."""
        async for _ in requests:
            self.reports_total += 1

    async def terminal(self, requests: AsyncIterator[bytes], context: Any) -> None:
        """Read reports until the terminal ends its stream; answer some."""
        self._streams_total += 1
        due = self._streams_total * SPREAD % 1
        async for _ in requests:
            self.reports_total += 1
            due += self.answers_per_report
            if due >= 1:
                due -= 1
                await context.write(ANSWER)

    async def controller(self, _request: bytes, _context: Any) -> bytes:
        """What the controller's counters are to the load generator."""
        counter = operations_pb2.Counter(name="reports_total", value=self.reports_total)
        return operations_pb2.GetControllerResponse(version="raw", counters=[counter]).SerializeToString()


async def serve(listen: str, operators: str, answers_per_report: float, identities: Path | None = None) -> None:
    """Serve until SIGTERM or SIGINT; with a directory of identities by mutual TLS."""
    raw = RawServer(answers_per_report)
    people = _server(
        operators,
        {"/airbound.v1.OperationsService/GetController": grpc.unary_unary_rpc_method_handler(raw.controller)},
        identities,
    )
    agents = _server(
        listen,
        {
            "/airbound.v1.AccessPointService/Connect": grpc.stream_stream_rpc_method_handler(raw.access_point),
            "/airbound.v1.TerminalService/Connect": grpc.stream_stream_rpc_method_handler(raw.terminal),
        },
        identities,
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await people.start()
    await agents.start()
    await stop.wait()
    await agents.stop(0)
    await people.stop(0)


class _Methods(grpc.GenericRpcHandler):
    def __init__(self, methods: dict[str, Any]) -> None:
        self._methods = methods

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return self._methods.get(handler_call_details.method)


def _credentials(identities: Path) -> grpc.ServerCredentials:
    """For one port; as a controller has them, made in the same way."""

    def now() -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    directory = Identities(identities).authority
    certificates = ServerCertificates(Issued(directory, directory.load(now()), "raw", LIFETIME, now))
    return certificates.credentials("agents", clients=True)


def _server(address: str, methods: dict[str, Any], identities: Path | None) -> grpc.aio.Server:
    server = grpc.aio.server(options=AGENT_OPTIONS)  # the controller's: both sides of the comparison pay for the same
    server.add_generic_rpc_handlers((_Methods(methods),))
    if identities is None:
        server.add_insecure_port(address)
    else:
        server.add_secure_port(address, _credentials(identities))
    return server


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the yardstick by itself: `python -m airbound_lab.load.rawserver`."""
    parser = argparse.ArgumentParser(prog="airbound_lab.load.rawserver", description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:50051", metavar="ADDR:PORT", help="for agents")
    parser.add_argument("--operators", default="127.0.0.1:50052", metavar="ADDR:PORT", help="for GetController")
    parser.add_argument("--answers-per-report", type=float, default=0.5, metavar="X", help="default: %(default)s")
    parser.add_argument("--tls-dir", default="", metavar="DIR", help="of airbound-lab certificates; empty: plain text")
    options = parser.parse_args(arguments)
    identities = Path(options.tls_dir) if options.tls_dir else None
    asyncio.run(serve(options.listen, options.operators, options.answers_per_report, identities))
    os._exit(0)  # closing thousands of streams one by one is of no use


if __name__ == "__main__":
    main()
