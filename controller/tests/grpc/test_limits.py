# SPDX-License-Identifier: Apache-2.0
"""Peers that take more than their share, over real TLS: each is refused and counted, and the others' streams go on.

`make bench ARGS=abuse` does the same with a thousand connections and more, and measures what others notice.
"""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from airbound.config import Limits
from airbound.core.effects import Bound, SetBounds
from airbound.core.reasons import Code, Reason
from airbound.grpc import session as sessions
from airbound.grpc.security import Security
from airbound.pki import files
from airbound.runtime.connections import PortCount
from airbound.runtime.octets import WITHOUT_STREAM_MAX
from airbound.runtime.received import received
from airbound.runtime.stream_limits import TERMINAL_STREAMS_MAX
from airbound_testing.abuse import FLOODS, PATH, Abuser
from airbound_testing.agents import FakePhone
from airbound_testing.live import MACS, LiveController, upload
from airbound_testing.pki import Site
from airbound_testing.processes import haproxy_program

PATIENT = Limits(handshake_s=600, idle_connection_s=600, first_report_s=600)
SHORT = Limits(handshake_s=3.0, idle_connection_s=3.0)  # a busy machine takes a second for a handshake


class World:
    """A controller with a phone that is served, and one who has a certificate and means harm."""

    def __init__(self, path: Path, security: Security, live: LiveController, phone: FakePhone, site: Site) -> None:
        self.security, self.live, self.phone, self.site = security, live, phone, site
        self._path = path
        self.abuser = self.as_("evil")

    def as_(self, name: str) -> Abuser:
        """With a certificate of that name."""
        client, directory = self.site.client("terminal", name), self._path / name
        directory.mkdir()
        files.write(directory / "certificate.pem", files.pem([client.certificate]))
        files.write(directory / "key.pem", files.key_pem(client.key))
        return Abuser(self.live.target, directory)

    def refused(self, code: Code) -> int:
        return self.live.runner.counts.totals["refused_total", code]

    async def count(self) -> PortCount:
        """The connections of the agents' port now."""
        await self.security.connections.count()
        return self.security.connections.counts()["agents"]

    async def counted(self, **expected: int) -> None:
        """Wait until a count has these values."""

        async def so() -> bool:
            count = (await self.count())._asdict()
            return expected.items() <= count.items()

        await self.live.until(so)

    async def others_are_served(self) -> None:
        """The phone's and the access point's streams go on, and what they report has effects."""
        sets = self.phone.sets
        for sending in (3, 1):
            for _ in range(2):
                await self.live.report(*MACS[:sending])
        await self.phone.until(lambda: self.phone.sets > sets)
        assert self.phone.error is None
        assert self.live.access_point.error is None


@asynccontextmanager
async def world_of(tmp_path: Path, limits: Limits, front: str = "") -> AsyncIterator[World]:
    site = Site(tmp_path / "ca", front=front)
    async with (
        site.security() as security,
        LiveController(
            security=security, secured=lambda role, name: site.client(role, name).secured(), limits=limits
        ) as live,
    ):
        (phone,) = await live.uploading(1)
        made = World(tmp_path, security, live, phone, site)
        try:
            yield made
        finally:
            made.abuser.close_all()


@pytest.fixture(params=["grpc", "haproxy"])
def front(request: pytest.FixtureRequest) -> str:
    """Where agents' connections end: at gRPC, or at HAProxy before it (tests/fronting has what differs)."""
    return haproxy_program() if request.param == "haproxy" else ""


@pytest.fixture
async def world(tmp_path: Path, front: str) -> AsyncIterator[World]:
    async with world_of(tmp_path, SHORT, front) as made:
        yield made


@pytest.fixture
async def patient(tmp_path: Path, front: str) -> AsyncIterator[World]:
    """With limits in time that no test waits for."""
    (tmp_path / "patient").mkdir()
    async with world_of(tmp_path / "patient", PATIENT, front) as made:
        yield made


@pytest.mark.parametrize("front", ["grpc"], indirect=True)
async def test_a_hundred_half_open_connections_are_counted_and_ended(world: World, patient: World) -> None:
    for peer in (patient, world):
        await peer.abuser.many(peer.abuser.half_open, 100)
    count = await patient.count()
    assert (count.open, count.without_call, count.largest_of_address) == (102, 100, 102)
    assert (count.with_call_total, count.ended_without_call_total) == (2, 0)
    assert patient.security.connections.handshakes()["agents"] == 102
    await patient.others_are_served()

    await world.counted(open=2, without_call=0, ended_without_call_total=100)  # ended by time alone
    assert world.abuser.did["opened"] == 100
    await world.others_are_served()
    patient.abuser.close_all()
    await patient.counted(open=2, without_call=0, ended_without_call_total=100)


async def test_three_hundred_handshakes_without_a_certificate(world: World) -> None:
    await world.abuser.many(world.abuser.handshake, 300)
    await world.counted(open=2, with_call_total=2, ended_without_call_total=300)
    assert world.security.connections.handshakes()["agents"] == 302
    assert world.live.runner.streams == 2
    await world.others_are_served()


async def test_garbage_before_within_and_after_tls(tmp_path: Path, front: str) -> None:
    """The abuser waits for the end of each connection, but for those with garbage within TLS."""
    async with world_of(tmp_path, replace(PATIENT, streams_per_name_max=0), front) as world:
        await world.abuser.many(world.abuser.garbage, 90)
        await world.counted(open=2, with_call_total=32, ended_without_call_total=60)
        assert world.refused(Code.MALFORMED) == 30
        assert world.live.runner.streams == 2
        await world.others_are_served()


async def test_streams_of_one_name_are_limited(patient: World) -> None:
    """A hundred streams without a report, with one certificate."""
    await patient.abuser.many(patient.abuser.stream, 100)

    async def refused() -> bool:
        return patient.refused(Code.TOO_MANY_STREAMS) == 100 - TERMINAL_STREAMS_MAX

    await patient.live.until(refused)
    assert patient.live.runner.streams == 2 + TERMINAL_STREAMS_MAX
    async with FakePhone(patient.live.target, MACS[1], patient.site.client("terminal", "b").secured()) as other:
        await other.report(upload(), monotonic_us=1)
        await other.until(lambda: other.reporting.interval_ms != 0)
    await patient.others_are_served()
    patient.abuser.close_all()

    async def gone() -> bool:
        return patient.live.runner.streams == 2

    await patient.live.until(gone)
    assert len(patient.live.runner._limits._by_principal) == 2


async def test_a_stream_without_a_report_is_ended(tmp_path: Path, front: str) -> None:
    async with world_of(tmp_path, Limits(first_report_s=1.0, streams_per_name_max=0), front) as world:
        await world.abuser.many(world.abuser.stream, 20)

        async def refused() -> bool:
            return world.refused(Code.NO_REPORT) == 20 and world.live.runner.streams == 2

        await world.live.until(refused)
        await world.others_are_served()


async def test_a_slow_reader_is_ended_and_what_waits_for_it_is_bounded(
    tmp_path: Path, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "END_WITHIN_S", 0.5)
    async with world_of(tmp_path, Limits(slow_reader_s=0.5), front) as world:
        await world.abuser.slow_reader()
        session = await _session(world, "evil")
        bounds = tuple(Bound(bytes([32, 1, *divmod(number, 256), *bytes(12)]), 1, 2) for number in range(5_000))
        sent = written = 0

        async def ended() -> bool:
            nonlocal sent, written
            if world.live.runner.streams == 2:
                return True
            sent += 1
            writer = session._writer
            session.send(SetBounds(session.stream, sent, bounds, 6000, (Reason(Code.POLICY),), 1, 1.0))
            written += writer is None
            return False

        await world.live.until(ended)
        assert world.refused(Code.SLOW_READER) == 1
        assert written < sent  # the others were replaced by newer ones: one waits at most
        assert session._writer is None

        async def hung_up() -> bool:
            return world.abuser.ended() == 1

        if not front:  # HAProxy ends the stream, and the connection when it was without one for long enough
            await world.live.until(hung_up)
        await world.others_are_served()


async def test_memory_does_not_grow_with_what_a_slow_reader_is_sent(tmp_path: Path, front: str) -> None:
    async with world_of(tmp_path, Limits(slow_reader_s=600), front) as world:
        await world.abuser.slow_reader()
        session = await _session(world, "evil")
        bounds = tuple(Bound(bytes([32, 1, *divmod(number, 256), *bytes(12)]), 1, 2) for number in range(5_000))

        async def send(count: int, first: int) -> None:
            for generation in range(first, first + count):
                session.send(SetBounds(session.stream, generation, bounds, 6000, (Reason(Code.POLICY),), 1, 1.0))
                await asyncio.sleep(0.001)

        await send(20, 1)
        before_mb = _rss_mb()
        await send(1_000, 21)  # each of 100 kB and more
        assert _rss_mb() - before_mb < 30
        assert world.live.runner.streams == 3
        await world.others_are_served()


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


async def test_a_revoked_stream_ends_though_its_peer_does_not_read(
    tmp_path: Path, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "END_WITHIN_S", 0.2)
    async with world_of(tmp_path, Limits(), front) as world:
        await world.abuser.slow_reader()
        session = await _session(world, "evil")
        bounds = tuple(Bound(bytes([32, 1, *divmod(number, 256), *bytes(12)]), 1, 2) for number in range(5_000))

        async def stuck() -> bool:
            session.send(SetBounds(session.stream, 1, bounds, 6000, (Reason(Code.POLICY),), 1, 1.0))
            return session._waiting is not None and session._writer is not None and session._writing_since_s > 0

        await world.live.until(stuck)
        session.close(Reason(Code.CERTIFICATE_REVOKED))

        async def gone() -> bool:
            return world.live.runner.streams == 2

        await world.live.until(gone)
        await world.others_are_served()


async def _session(world: World, name: str) -> sessions.Session:
    found: list[sessions.Session] = []

    async def there() -> bool:
        live = world.live.runner._sessions.values()
        found[:] = [
            session
            for session in live
            if isinstance(session, sessions.Session) and session.stream.principal.name == name
        ]
        return len(found) == 1

    await world.live.until(there)
    return found[0]


@pytest.mark.parametrize("front", ["grpc"], indirect=True)
async def test_what_is_above_a_limit_is_logged_once(
    tmp_path: Path, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(handshake_s=600, connections_per_address_warned=8, connections_max=12)
    events: list[str] = []
    monkeypatch.setattr("airbound.grpc.server.WITHOUT_CALL_WARNED", 5)
    monkeypatch.setattr("airbound.grpc.connection_watch.log.event", lambda *text: events.append(" ".join(text[1:])))
    async with world_of(tmp_path, limits, front) as world:
        await world.abuser.many(lambda _: world.abuser.plain(), 30)

        async def full() -> bool:
            return (await world.count()).open == 12  # the rest gRPC closes at once

        await world.live.until(full)
        await world.count()
        assert sorted(events) == [
            "connections 127.0.0.1 12 connections to the port of agents, more than 8",
            "connections agents 10 connections without a call, more than 5",
            "connections agents: all 12 connections, as many as are taken: more are closed at once",
        ]
        assert world.security.connections.handshakes()["agents"] == 12
        await world.others_are_served()


async def test_entries_of_one_name_are_limited_over_all_of_its_streams(tmp_path: Path, front: str) -> None:
    """256 entries at once; the controller's clock stands still."""
    async with world_of(tmp_path, Limits(entries_per_s=256.0), front) as world:
        evil = world.site.client("terminal", "evil")
        destinations = [upload(address=bytes([10, 0, 5, number])) for number in range(200)]
        async with (
            FakePhone(world.live.target, MACS[1], evil.secured()) as one,
            FakePhone(world.live.target, MACS[1], evil.secured()) as other,
        ):
            for phone in (one, other):
                for sequence in (1, 2):
                    await phone.report(*destinations, monotonic_us=sequence)

            async def refused() -> bool:
                return world.refused(Code.TOO_MANY_ENTRIES) == 2  # the third report and the fourth

            await world.live.until(refused)
            assert (one.error, other.error) == (None, None)
        await world.others_are_served()


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_flood_of_frames_with_a_certificate_is_counted(patient: World, kind: str) -> None:
    """It is not ended by us (docs/limits.md); gRPC ends some kinds itself, and the abuser begins again."""
    flooding = asyncio.create_task(patient.abuser.floods(kind, 1, PATH))

    async def counted() -> bool:
        await patient.security.connections.octets.look()
        return patient.security.connections.octets.excessive["agents"] > 0

    await patient.live.until(counted)
    flooding.cancel()
    await asyncio.wait([flooding])
    patient.abuser.close_all()
    await patient.others_are_served()


async def test_reports_of_any_size_and_number_are_accounted_for(patient: World) -> None:
    """A phone that reports all it may for a long time keeps its connection."""
    destinations = [upload(address=bytes([10, 0, 5, number])) for number in range(200)]
    for sequence in range(2, 40):
        await patient.phone.report(*destinations, monotonic_us=sequence)
    for sequence in range(40, 400):
        await patient.phone.report(monotonic_us=sequence)

    async def taken() -> bool:
        return patient.live.runner.measures.reports["terminal"] >= 399

    await patient.live.until(taken)
    assert max(_excesses(patient)) < WITHOUT_STREAM_MAX
    await patient.others_are_served()


def _excesses(world: World) -> list[float]:
    """Octets of each connection of an agent beyond what is accounted for."""
    accounts = world.security.connections.octets.accounts["agents"]
    found = []
    for connection in received(world.live.running.port):
        account = accounts._by_remote[connection.address, connection.port]
        found.append(connection.octets + account.forfeited - account.octets)
    return found
