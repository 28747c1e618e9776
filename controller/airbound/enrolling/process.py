# SPDX-License-Identifier: Apache-2.0
"""Enrolment's process. The controller starts it when the first device connects, and again if it ends:

    python -m airbound.enrolling.process --control FD --listen FD[,FD] --at-once N

It ends TLS and HTTP/2 for peers without a certificate and passes on what they ask for (messages.py). What such a peer
can take is this process's: so much memory, and processor time that nobody else wants. It ends when the controller does.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import resource
import secrets
import socket
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from airbound import grpc_log, grpc_server
from airbound.enrolling import messages
from airbound.enrolling.front import Front, remote_of
from airbound.v1 import enrollment_pb2

MEMORY_OCTETS_MAX = 256 << 20  # of data (setrlimit(2), RLIMIT_DATA); idle it has some 75 MB, of which 60 are stacks
FILES_MAX = 2_048  # three for each connection
NICENESS = 10  # a tenth of the weight that the controller has
OOM_SCORE = "900"  # where memory is short, this process ends and not the controller
COUNTED_EVERY_S = 1.0
STOP_GRACE_S = 1.0
CHAIN_OCTETS_MAX = 1 << 20
OPTIONS = (
    ("grpc.max_receive_message_length", messages.REQUEST_OCTETS_MAX),
    ("grpc.max_concurrent_streams", 2),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
)
SERVICE = enrollment_pb2.DESCRIPTOR.services_by_name["EnrollmentService"].full_name


class Relay:
    """Calls that wait for the controller's answer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}

    def write(self, kind: str, **values: Any) -> None:
        """Write a message to the controller."""
        self._writer.write(messages.line({"kind": kind, **values}))

    def answered(self, message: dict[str, Any]) -> None:
        """The controller has answered a call; its peer may be gone."""
        waiting = self._waiting.pop(message["call"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    async def enroll(self, octets: bytes, context: Any) -> bytes:
        """One call, whose answer is an EnrollResponse in octets. What is no EnrollRequest is passed on as an empty one,
        which the controller refuses and counts.
        """
        try:
            request = enrollment_pb2.EnrollRequest.FromString(octets)
        except DecodeError:
            request = enrollment_pb2.EnrollRequest()
        address, port = remote_of(context.peer())
        tls = b"".join(context.auth_context().get("ssl_tls_version", ())).decode(errors="replace")
        number, waiting = next(self._numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            self.write(
                "call", call=number, address=address.hex(), port=port, tls=tls[:32],
                token=request.token, role=request.role, request=request.request.hex(),
            )  # fmt: skip
            message = await waiting
        finally:
            self._waiting.pop(number, None)
        if message["kind"] == "refusal":
            trailing = (("airbound-reason", message["code"]),) if message["code"] else ()
            await context.abort(grpc.StatusCode[message["status"]], message["text"], trailing_metadata=trailing)
        return bytes.fromhex(message["octets"])


class Identity:
    """What connections are shown: gRPC asks at each handshake, in a thread of its own."""

    def __init__(self, message: dict[str, Any]) -> None:
        self._current = self._fresh = self._configuration(message)

    def replace(self, message: dict[str, Any]) -> None:
        """Another one from now on."""
        self._fresh = self._configuration(message)

    def credentials(self) -> grpc.ServerCredentials:
        """For the port; clients have no certificate."""
        make: Any = grpc.dynamic_ssl_server_credentials
        credentials: grpc.ServerCredentials = make(self._current, self._changed, require_client_authentication=False)
        return credentials

    def _changed(self) -> Any:
        if self._current is self._fresh:
            return None  # a new configuration is a new TLS context, which is slow to make
        self._current = self._fresh
        return self._current

    @staticmethod
    def _configuration(message: dict[str, Any]) -> Any:
        make: Any = grpc.ssl_server_certificate_configuration
        return make([(message["key"].encode(), message["chain"].encode())])


async def serve(control: socket.socket, listening: list[socket.socket], at_once: int) -> None:
    """Until the controller closes its end of the socket."""
    reader, writer = await asyncio.open_unix_connection(sock=control, limit=CHAIN_OCTETS_MAX)
    identity = Identity(json.loads(await reader.readline()))
    relay = Relay(writer)
    server = grpc_server.make(OPTIONS, maximum_concurrent_rpcs=at_once)
    enroll: Any = grpc.unary_unary_rpc_method_handler(relay.enroll)
    grpc_server.serve(server, SERVICE, {"Enroll": enroll})
    name = f"airbound-enrolling-{secrets.token_hex(16)}"
    server.add_secure_port(f"unix-abstract:{name}", identity.credentials())
    await server.start()
    front = Front(name)
    for one in listening:
        await front.listen(one)
    counting = asyncio.create_task(_count(front, relay))
    while line := await reader.readline():
        message = json.loads(line)
        if message["kind"] == "identity":
            identity.replace(message)
            relay.write("identity")
        else:
            relay.answered(message)
    counting.cancel()
    await server.stop(STOP_GRACE_S)


async def _count(front: Front, relay: Relay) -> None:
    """Report now and then, also when nothing has changed: the controller ends a process that is silent."""
    while True:
        relay.write("counts", taken=front.taken, closed=front.closed, most=front.most())
        await asyncio.sleep(COUNTED_EVERY_S)


def restrict() -> None:
    """Take no more than is meant for this process."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_OCTETS_MAX, MEMORY_OCTETS_MAX))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = FILES_MAX if hard == resource.RLIM_INFINITY else min(FILES_MAX, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the key is in memory
    os.nice(NICENESS)
    with contextlib.suppress(OSError):  # no /proc in some sandboxes
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE, encoding="ascii")


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(prog="airbound.enrolling.process")
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--listen", type=lambda text: [int(part) for part in text.split(",")], required=True)
    parser.add_argument("--at-once", type=int, required=True)
    arguments = parser.parse_args()
    restrict()
    grpc_log.without_gone_peers()
    listening = [socket.socket(fileno=number) for number in arguments.listen]
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(socket.socket(fileno=arguments.control), listening, arguments.at_once))


if __name__ == "__main__":
    main()
