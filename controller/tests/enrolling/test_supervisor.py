# SPDX-License-Identifier: Apache-2.0
"""Enrolment's process: started when the first device connects, watched, and started again; the controller goes on."""

import asyncio
import os
import re
import resource
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from cryptography.hazmat.primitives import hashes

from airbound.core.reasons import Code
from airbound.enrolling import messages, process, supervisor
from airbound.enrolling.supervisor import Supervisor
from airbound.grpc.security import Security
from airbound.pki.authority import new_key
from airbound.v1 import enrollment_pb2, enrollment_pb2_grpc, pki_pb2, pki_pb2_grpc
from airbound_testing.abuse import ENROLL_PATH, FLOODS, Abuser
from airbound_testing.agents import WAIT_S, channel
from airbound_testing.live import MACS, LiveController
from airbound_testing.pki import Site, nobody, request


class World:
    def __init__(self, site: Site, security: Security, live: LiveController) -> None:
        self.site, self.security, self.live = site, security, live

    @property
    def supervisor(self) -> Supervisor:
        found = self.live.running.enrolling
        assert found is not None
        return found

    async def enrols(self) -> None:
        """A device gets a certificate; it waits for a process."""
        admin: Any = pki_pb2_grpc.EnrollmentAdminServiceStub(self.live.channel_of_operator())
        token = (await admin.IssueToken(pki_pb2.IssueTokenRequest(role="terminal", name="x"))).token
        async with channel(self.live.running.enrollment, nobody(self.site.authority)) as to:
            stub: Any = enrollment_pb2_grpc.EnrollmentServiceStub(to)
            message = enrollment_pb2.EnrollRequest(token=token, request=request(new_key(), hashes.SHA256()))
            answer = await stub.Enroll(message, timeout=WAIT_S, wait_for_ready=True)
            assert answer.credentials.certificate

    async def others_are_served(self, phone: Any) -> None:
        sets = phone.sets
        for sending in (3, 1):
            for _ in range(2):
                await self.live.report(*MACS[:sending])
        await phone.until(lambda: phone.sets > sets)
        assert phone.error is None
        assert self.live.access_point.error is None

    async def until_closed(self, cause: str) -> None:
        async def so() -> bool:
            return self.security.connections.closed()["enrollment", cause] > 0

        await self.live.until(so)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    site = Site(tmp_path / "ca")
    async with (
        site.security() as security,
        LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()) as live,
    ):
        yield World(site, security, live)


async def test_there_is_no_process_before_somebody_connects(world: World) -> None:
    assert (world.supervisor.pid, world.supervisor.processes_total()) == (None, 0)
    await world.enrols()
    assert world.supervisor.processes_total() == 1


async def test_the_process_has_less_than_the_controller(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRBOUND_STORE__URL", "redis://:secret@x")
    await world.enrols()
    pid = world.supervisor.pid
    assert pid is not None
    assert resource.prlimit(pid, resource.RLIMIT_DATA) == (process.MEMORY_OCTETS_MAX,) * 2
    assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + process.NICENESS)
    assert _of(pid, "oom_score_adj").strip() == process.OOM_SCORE.encode()
    assert b"secret" not in _of(pid, "environ")


def _of(pid: int, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


async def test_a_process_that_dies_is_followed_by_another(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "AGAIN_FIRST_S", 0.1)
    (phone,) = await world.live.uploading(1)
    await world.enrols()
    first = world.supervisor.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)

    async def gone() -> bool:
        return world.supervisor.pid != first

    await world.live.until(gone)
    await world.enrols()
    assert world.supervisor.processes_total() == 2
    await world.others_are_served(phone)


async def test_a_process_that_stands_still_is_killed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "END_WITHIN_S", 0.1)
    await world.enrols()
    pid = world.supervisor.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    await world.supervisor.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_process_that_is_silent_is_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "SILENT_S", 0.01)
    assert await world.supervisor._talk(asyncio.StreamReader()) == "silent for 0.01 s"


@pytest.mark.parametrize("octets", [b"{}\n", b"\xff\n", b"x" * 2 * messages.LINE_OCTETS_MAX, b'{"kind": "counts"}\n'])
async def test_what_is_no_message_ends_the_process(octets: bytes, world: World) -> None:
    reader = asyncio.StreamReader(limit=messages.LINE_OCTETS_MAX)
    reader.feed_data(octets)
    assert await world.supervisor._talk(reader) == "it wrote what is no message"


async def test_octets_that_are_no_request_are_refused_and_counted(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    async with channel(world.live.running.enrollment, nobody(world.site.authority)) as to:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await to.unary_unary(ENROLL_PATH)(b"\x0a\xff", timeout=WAIT_S, wait_for_ready=True)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert world.live.runner.counts.totals["refused_total", Code.REQUEST_INVALID] == 1
    assert "Traceback" not in capfd.readouterr().err


async def test_floods_end_with_their_connection_and_are_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    (phone,) = await world.live.uploading(1)
    await world.enrols()
    monkeypatch.setattr("airbound.runtime.log.event", lambda *text: events.append(" ".join(text[1:])))
    for kind in FLOODS:
        abuser = Abuser(world.live.running.enrollment)
        async with asyncio.timeout(WAIT_S):
            await abuser.flood(kind, ENROLL_PATH)  # returns when the connection was ended
        assert abuser.did["floods ended"] == 1
    await world.until_closed("octets")
    (event,) = [event for event in events if event.startswith("connections")]
    expected = r"connections enrollment [1-9]\d* connections closed: more than 65536 octets, most of them of 127.0.0.1"
    assert re.fullmatch(expected, event)
    await world.enrols()
    assert world.supervisor.processes_total() == 1
    await world.others_are_served(phone)


async def test_connections_that_stand_still_keep_nobody_out(world: World) -> None:
    abuser = Abuser(world.live.running.enrollment)
    await abuser.many(lambda _: abuser.plain(), 300)
    await world.enrols()
    await world.until_closed("displaced")
    abuser.close_all()


async def test_a_process_without_memory_ends_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "AGAIN_FIRST_S", 0.1)
    (phone,) = await world.live.uploading(1)
    await world.enrols()
    first = world.supervisor.pid
    assert first is not None
    resource.prlimit(first, resource.RLIMIT_DATA, (1 << 20, 1 << 20))
    abuser = Abuser(world.live.running.enrollment)

    async def gone() -> bool:
        await abuser.many(lambda _: abuser.plain(b"\x16\x03\x01" + bytes(2000)), 20)
        return world.supervisor.pid != first

    await world.live.until(gone)
    abuser.close_all()
    await world.enrols()
    await world.others_are_served(phone)


async def test_a_call_beyond_the_number_at_once_is_refused() -> None:
    """Also of a process that does not keep to the number."""
    answered: list[str] = []

    class Writer:
        def write(self, octets: bytes) -> None:
            answered.append(octets.decode())

        async def drain(self) -> None:
            await asyncio.sleep(0)

    never: Any = asyncio.Event()
    made = Supervisor(lambda: (b"", b""), lambda _: never.wait(), 2, lambda _: None)
    made._writer = Writer()  # type: ignore[assignment]
    reader = asyncio.StreamReader()
    for number in range(3):
        reader.feed_data(
            messages.line(
                {
                    "kind": "call", "call": number, "address": "c0000201", "port": 1, "tls": "TLSv1.3",
                    "token": "", "role": "", "request": "",
                }
            )
        )  # fmt: skip
    reader.feed_eof()
    assert await made._talk(reader) == ""
    async with asyncio.timeout(WAIT_S):
        while not answered:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert [("RESOURCE_EXHAUSTED" in line, '"call": 2' in line) for line in answered] == [(True, True)]
    for task in made._calls:
        task.cancel()


async def test_a_port_that_is_taken(world: World) -> None:
    made = Supervisor(lambda: (b"", b""), lambda _: asyncio.sleep(0, {}), 1, lambda _: None)
    with pytest.raises(OSError, match="in use"):
        made.listen(world.live.running.enrollment)


async def test_the_port_of_a_channel_is_that_of_grpc(world: World) -> None:
    """A peer that sends plain text there gets no answer."""
    async with grpc.aio.insecure_channel(world.live.running.enrollment) as to:
        stub: Any = enrollment_pb2_grpc.EnrollmentServiceStub(to)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Enroll(enrollment_pb2.EnrollRequest(), timeout=WAIT_S)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
