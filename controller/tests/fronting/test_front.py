# SPDX-License-Identifier: Apache-2.0
"""A real HAProxy before a real controller, over loopback: what tests/grpc/test_tls.py and test_limits.py do not have,
which run with it as well.
"""

import asyncio
import errno
import os
import resource
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from airbound.core.reasons import Code
from airbound.grpc import front_fields, server
from airbound.grpc.security import Security
from airbound.grpc.session import REASON_KEY
from airbound.pki import files
from airbound.pki.authority import new_key
from airbound.v1 import (
    enrollment_pb2,
    enrollment_pb2_grpc,
    events_pb2,
    events_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    terminal_pb2_grpc,
)
from airbound_testing import processes
from airbound_testing.abuse import PATH, Abuser
from airbound_testing.agents import WAIT_S, FakePhone, channel
from airbound_testing.live import MACS, LiveController, upload
from airbound_testing.pki import LOOPBACK, Client, Site, request
from airbound_testing.processes import haproxy_program

FLOODS_ENDED, GROWTH_MAX_MB = 100, 30


class World:
    def __init__(self, site: Site, security: Security, live: LiveController) -> None:
        self.site, self.security, self.live = site, security, live

    @property
    def front(self) -> Any:
        return self.live.running.front


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    site = Site(tmp_path / "ca", front=haproxy_program())
    async with (
        site.security() as security,
        LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()) as live,
    ):
        yield World(site, security, live)


async def test_a_peer_cannot_say_who_it_is(world: World) -> None:
    """Fields of the names that the front uses are removed from what peers send, whatever their case and number."""
    admin = world.site.client("access-point", "ap")
    forged = (
        (front_fields.CERTIFICATE_FIELD, admin.certificate.public_bytes(Encoding.DER)),
        (front_fields.CERTIFICATE_FIELD, b"x"),
        (front_fields.ADDRESS_FIELD, "192.0.2.99"),
        (front_fields.PORT_FIELD, "1"),
        (front_fields.VERSION_FIELD, "TLSv1.3"),
    )
    async with channel(world.live.target, world.site.client("terminal", "liar").secured()) as opened:
        stub: Any = terminal_pb2_grpc.TerminalServiceStub(opened)
        call = stub.Connect(metadata=forged)
        async with asyncio.timeout(WAIT_S):
            while len(world.live.runner._sessions) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        streams = [session.stream for session in world.live.runner._sessions.values()]
        (liar,) = (stream for stream in streams if stream.principal.role == "terminal")
        assert liar.principal.name == "liar"
        assert liar.address == bytes([127, 0, 0, 1])
        call.cancel()


async def test_who_calls_by_the_controllers_own_socket_without_a_word_of_the_front_is_refused(world: World) -> None:
    async with grpc.aio.insecure_channel(f"unix:{world.front.calls}") as opened:
        stub: Any = terminal_pb2_grpc.TerminalServiceStub(opened)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(stub.Connect().read(), WAIT_S)
    reason = dict(caught.value.trailing_metadata() or ()).get(REASON_KEY)
    assert reason == Code.TLS_VERSION.name


async def test_nobody_else_may_use_its_sockets(world: World) -> None:
    directory = world.front.calls.parent
    assert directory.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in directory.iterdir()) == ["admin", "calls"]  # no key, no configuration


async def test_it_depends_on_no_directory_that_its_user_may_not_enter(world: World) -> None:
    assert _directory(world.front.pid) == Path("/")


async def test_header_blocks_without_an_end_cost_the_controller_nothing(world: World, tmp_path: Path) -> None:
    """Of gRPC's own HTTP/2 each octet of them takes seven."""
    (phone,) = await world.live.uploading(1)
    abuser, before_mb = Abuser(world.live.target, _files_of(world.site.client("terminal", "evil"), tmp_path)), _rss_mb()
    flooding = asyncio.create_task(abuser.floods("continuation", 4, PATH))

    async def ended_often() -> bool:
        return abuser.did["floods ended"] >= FLOODS_ENDED

    await world.live.until(ended_often)
    sets = phone.sets
    for sending in (3, 1):
        for _ in range(2):
            await world.live.report(*MACS[:sending])
    await phone.until(lambda: phone.sets > sets)  # while the flood goes on
    flooding.cancel()
    await asyncio.wait([flooding])
    abuser.close_all()
    assert len(world.security.streams) == 2  # nothing of it has become a call
    assert _rss_mb() - before_mb < GROWTH_MAX_MB


async def test_header_blocks_at_the_operators_port_cost_the_controller_nothing(world: World, tmp_path: Path) -> None:
    """Of a device's certificate, which is refused when a call has begun, and not before."""
    abuser, before_mb = (
        Abuser(world.live.operators, _files_of(world.site.client("terminal", "evil"), tmp_path)),
        _rss_mb(),
    )
    await world.live.cells()
    flooding = asyncio.create_task(abuser.floods("continuation", 4, PATH))

    async def ended_often() -> bool:
        return abuser.did["floods ended"] >= FLOODS_ENDED

    await world.live.until(ended_often)
    await world.live.cells()  # while the flood goes on
    flooding.cancel()
    await asyncio.wait([flooding])
    abuser.close_all()
    assert _rss_mb() - before_mb < GROWTH_MAX_MB
    assert world.live.running.operators_front.pid != world.front.pid  # agents' connections are not touched


async def test_handshakes_at_the_operators_port_are_counted_apart(world: World) -> None:
    await world.live.cells()

    async def counted() -> bool:  # HAProxy is asked every 5 s
        return world.security.connections.handshakes() == {"agents": 1, "operators": 1, "enrollment": 0}

    await world.live.until(counted)
    await world.security.connections.count()
    counts = world.security.connections.counts()["operators"]
    assert (counts.open, counts.without_call, counts.with_call_total) == (1, 0, 1)


async def test_nobody_becomes_an_operator_by_fields(world: World) -> None:
    operator = world.site.client("operator", "admin").certificate.public_bytes(Encoding.DER)
    forged = ((front_fields.CERTIFICATE_FIELD, operator), (front_fields.VERSION_FIELD, "TLSv1.3"))
    request_of = operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE)
    async with channel(world.live.operators, world.site.client("terminal", "liar").secured()) as opened:
        stub: Any = operations_pb2_grpc.OperationsServiceStub(opened)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.SetMode(request_of, metadata=forged, timeout=WAIT_S)
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert "terminal/liar" in (caught.value.details() or "")
    assert world.live.runner.engine.settings.mode == "control"


async def test_operators_of_a_unix_socket_are_those_of_the_file_system(tmp_path: Path) -> None:
    """Beside a port with a front: fields in a call by the Unix socket are those of its caller, and do not count."""
    site = Site(tmp_path / "ca", front=haproxy_program())
    device = site.client("terminal", "x").certificate.public_bytes(Encoding.DER)
    forged = ((front_fields.CERTIFICATE_FIELD, device), (front_fields.VERSION_FIELD, "TLSv1.3"))
    endpoints = (f"unix:{tmp_path}/operators", LOOPBACK, LOOPBACK)
    secured = site.client("operator", "admin").secured()
    async with (
        site.security() as security,
        LiveController(
            security=security, secured=lambda role, name: site.client(role, name).secured(), operators=endpoints
        ) as live,
    ):
        of_socket, *ports = live.running.operator_ports
        assert (of_socket, len(set(ports))) == (1, 2)
        async with grpc.aio.insecure_channel(endpoints[0]) as opened:
            stub: Any = operations_pb2_grpc.OperationsServiceStub(opened)
            await stub.GetController(operations_pb2.GetControllerRequest(), metadata=forged, timeout=WAIT_S)
        for port in ports:
            async with channel(f"127.0.0.1:{port}", secured) as opened:
                stub = operations_pb2_grpc.OperationsServiceStub(opened)
                await stub.GetController(operations_pb2.GetControllerRequest(), timeout=WAIT_S)
        assert security.connections.ports["operators"] == ports
    assert not (tmp_path / "operators").exists()


async def test_a_process_that_dies_is_followed_by_another_and_agents_come_back(world: World) -> None:
    await world.live.uploading(1)
    first = world.front.pid
    os.kill(first, signal.SIGKILL)

    async def again() -> bool:
        return world.front.pid not in {None, first} and world.front.processes_total() == 2

    await world.live.until(again)
    async with FakePhone(world.live.target, MACS[1], world.site.client("terminal", "b").secured()) as phone:
        await phone.report(upload(), monotonic_us=1)
        await phone.until(lambda: phone.reporting.interval_ms != 0)


async def test_a_start_that_fails_is_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a free descriptor, say."""
    real, failed = os.memfd_create, list[str]()

    def without_descriptors(name: str, flags: int) -> int:
        if not failed:
            failed.append(name)
            raise OSError(errno.EMFILE, "Too many open files")
        return real(name, flags)

    monkeypatch.setattr(os, "memfd_create", without_descriptors)
    os.kill(world.front.pid, signal.SIGKILL)

    async def again() -> bool:
        return bool(failed) and world.front.processes_total() == 2

    await world.live.until(again)


async def test_it_ends_with_its_controller(tmp_path: Path) -> None:
    """However that ends: otherwise it would hold the port."""
    site = Site(tmp_path / "ca")
    made = processes.controller_with_tls(tmp_path, site.directory.path, front=True)
    async with made as process:
        async with asyncio.timeout(WAIT_S):  # the port listens before it is there
            while len(children := _children(process.pid)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await process.kill()
        async with asyncio.timeout(WAIT_S):
            while any(map(_is_there, children)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    async with made:  # the ports are free
        pass


def _files_of(client: Client, directory: Path) -> Path:
    files.write(directory / "certificate.pem", files.pem([client.certificate]))
    files.write(directory / "key.pem", files.key_pem(client.key))
    return directory


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def _directory(pid: int) -> Path:
    return Path(f"/proc/{pid}/cwd").readlink()


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _children(pid: int) -> list[int]:
    """Those that are HAProxy by now: what starts it has become it, and ends with its parent from then on."""
    found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    return [child for child in found if Path(f"/proc/{child}/exe").readlink().name == "haproxy"]


async def test_a_certificate_is_renewed_through_it(world: World) -> None:
    client = world.site.client("terminal", "phone")
    async with channel(world.live.target, client.secured()) as opened:
        stub: Any = enrollment_pb2_grpc.CertificateServiceStub(opened)
        answer = await stub.Renew(enrollment_pb2.RenewRequest(request=request(new_key(), SHA256())), timeout=WAIT_S)
    assert answer.credentials.certificate


async def test_a_stream_that_only_reports_is_not_silent(world: World) -> None:
    """HAProxy's time without a word counts both directions: an access point is sent nothing for hours."""
    silent_s = 5  # a busy machine holds a test up for less
    world.front._limits = replace(world.front._limits, silent_s=silent_s, answer_silent_s=silent_s)
    os.kill(world.front.pid, signal.SIGTERM)  # the next one has the new time

    async def again() -> bool:
        return world.front.processes_total() == 2

    await world.live.until(again)
    async with FakePhone(world.live.target, MACS[1], world.site.client("terminal", "b").secured()) as phone:
        began_s, number = time.monotonic(), 0
        while time.monotonic() - began_s < 2 * silent_s:
            number += 1
            await phone.report(upload(), monotonic_us=number)
            await asyncio.sleep(0.1)
        assert phone.error is None
        await asyncio.wait_for(phone.ended.wait(), WAIT_S)  # and one that says nothing is ended


async def test_an_operator_waits_for_events_for_longer_than_others_may_be_silent(world: World) -> None:
    silent_s = 3
    front = world.live.running.operators_front
    front._limits = replace(front._limits, silent_s=silent_s)
    os.kill(front.pid, signal.SIGTERM)  # the next one has the new time

    async def again() -> bool:
        return bool(front.processes_total() == 2)

    await world.live.until(again)
    host, _, port = world.live.operators.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))  # a handshake that stands still
    stub: Any = events_pb2_grpc.EventsServiceStub(world.live.channel_of_operator())
    call = stub.FollowEvents(events_pb2.FollowEventsRequest(filter=events_pb2.EventFilter(kinds=["enrolled"])))
    await asyncio.wait_for(call.read(), WAIT_S)  # that it is served
    following = asyncio.create_task(call.read())
    await asyncio.wait_for(reader.read(), WAIT_S)
    writer.close()
    done, _ = await asyncio.wait([following], timeout=2 * silent_s)
    assert not done
    following.cancel()


async def test_a_program_that_is_none_is_named(tmp_path: Path) -> None:
    site = Site(tmp_path / "ca", front="/nowhere/haproxy")
    async with site.security() as security:
        with pytest.raises(server.ListenError, match=r"\[tls\] front: /nowhere/haproxy is no program"):
            async with LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()):
                pass


async def test_a_program_that_is_another_says_so(tmp_path: Path) -> None:
    site = Site(tmp_path / "ca", front="/bin/false")
    async with site.security() as security:
        with pytest.raises(server.ListenError, match="/bin/false: it ended at once"):
            async with LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()):
                pass
