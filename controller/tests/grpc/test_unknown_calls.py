# SPDX-License-Identifier: Apache-2.0
"""Calls that a port does not serve, whatever their path is: each is ended, and the port serves as before."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from cryptography.hazmat.primitives import hashes

from airbound.pki import files
from airbound.pki.authority import new_key
from airbound.v1 import enrollment_pb2, enrollment_pb2_grpc, operations_pb2, operations_pb2_grpc
from airbound_testing.abuse import END_HEADERS, FRAME_HEADER_OCTETS, HEADERS, PREFACE, Abuser, call, frame, settings
from airbound_testing.agents import WAIT_S, channel
from airbound_testing.live import MACS, LiveController
from airbound_testing.pki import Site, nobody, request
from airbound_testing.processes import haproxy_program

NO_UTF8 = b"/airbound\xaev1.TerminalService/Connect"
PLACEHOLDER = "x" * len(NO_UTF8)
PORTS = ("agents", "operators", "enrollment")


class World:
    def __init__(self, site: Site, live: LiveController, directory: Path) -> None:
        self.site, self.live, self.directory = site, live, directory

    def target(self, port: str) -> str:
        where = {"agents": self.live.target, "operators": self.live.operators}
        return where.get(port) or self.live.running.enrollment

    def abuser(self, port: str) -> Abuser:
        """A terminal, and at enrolment's port who has no certificate."""
        if port == "enrollment":
            return Abuser(self.target(port))
        client = self.site.client("terminal", "evil")
        files.write(self.directory / "certificate.pem", files.pem([client.certificate]))
        files.write(self.directory / "key.pem", files.key_pem(client.key))
        return Abuser(self.target(port), self.directory)

    def channel(self, port: str) -> grpc.aio.Channel:
        client = nobody(self.site.authority) if port == "enrollment" else self.site.client("terminal", "x").secured()
        return channel(self.target(port), client)

    async def is_served(self, port: str) -> None:
        """Who connects anew is served at a port."""
        if port == "agents":
            phone = await self.live.phone(1)
            for _ in range(2):
                await self.live.report(*MACS[:2])
            await phone.report(monotonic_us=1)
            await phone.until(lambda: phone.reporting.interval_ms != 0)
        elif port == "operators":
            async with channel(self.target(port), self.site.client("operator", "me").secured()) as to:
                stub: Any = operations_pb2_grpc.OperationsServiceStub(to)
                await stub.GetController(operations_pb2.GetControllerRequest())
        else:
            async with self.channel(port) as to:
                enrolling: Any = enrollment_pb2_grpc.EnrollmentServiceStub(to)
                message = enrollment_pb2.EnrollRequest(request=request(new_key(), hashes.SHA256()))
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await enrolling.Enroll(message, timeout=WAIT_S, wait_for_ready=True)
                assert error.value.code() is grpc.StatusCode.PERMISSION_DENIED


@pytest.fixture(params=["grpc", "haproxy"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    site = Site(tmp_path / "ca", front=haproxy_program() if request.param == "haproxy" else "")
    async with (
        site.security() as security,
        LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()) as live,
    ):
        yield World(site, live, tmp_path)


@pytest.mark.parametrize("port", PORTS)
async def test_a_path_that_is_no_utf_8_stops_no_port(world: World, port: str) -> None:
    await world.is_served("enrollment")  # starts its process
    block = call(PLACEHOLDER)[FRAME_HEADER_OCTETS:].replace(PLACEHOLDER.encode(), NO_UTF8)
    abuser = world.abuser(port)
    for _ in range(3):
        octets = PREFACE + settings() + frame(HEADERS, block, END_HEADERS, 1)
        reader, _ = await abuser.secured(octets, certificate=port != "enrollment")
        while (
            (answer := await reader.read(65_536)) and b"CANCELLED" not in answer and b"\x00\x00\x04\x03" not in answer
        ):
            pass  # until the call is ended: trailers with a status, or RST_STREAM
    abuser.close_all()
    for one in PORTS:
        await world.is_served(one)


@pytest.mark.parametrize("port", PORTS)
async def test_calls_of_other_ports_are_not_implemented(world: World, port: str) -> None:
    """By that agents and operators recognise a wrong port."""
    other = {
        "agents": "/airbound.v1.OperationsService/GetController",
        "operators": "/airbound.v1.TerminalService/Connect",
        "enrollment": "/airbound.v1.TerminalService/Connect",
    }[port]
    async with world.channel(port) as to:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await to.unary_unary(other)(b"", timeout=WAIT_S, wait_for_ready=True)
        assert (error.value.code(), error.value.details()) == (grpc.StatusCode.UNIMPLEMENTED, "Method not found!")


@pytest.mark.parametrize("port", PORTS)
async def test_calls_that_nobody_knows_are_ended_at_once(world: World, port: str) -> None:
    async with world.channel(port) as to:
        for number in range(20):
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await to.unary_unary(f"/no.such.Service/Call{number}")(b"", timeout=WAIT_S, wait_for_ready=True)
            assert error.value.code() is grpc.StatusCode.CANCELLED
    await world.is_served(port)
