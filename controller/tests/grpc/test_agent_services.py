# SPDX-License-Identifier: Apache-2.0
"""Each limit of an agent's stream, over real gRPC, and the counter of what was refused."""

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any, Self

import grpc
import grpc.aio
import pytest

from airbound.core.addresses import mac_from_text
from airbound.core.effects import Bound, SetBounds
from airbound.core.engine import Engine
from airbound.core.parameters import Mode
from airbound.core.principals import Role
from airbound.core.reasons import Code, Reason
from airbound.core.reports import (
    DESTINATIONS_MAX,
    LINKS_MAX,
    REPORT_DESTINATIONS_MAX,
    SSID_MAX_BYTES,
    STATION_ADDRESSES_MAX,
    STATIONS_MAX,
)
from airbound.core.switch_reports import DESCRIPTION_MAX_CHARACTERS, TRAFFIC_MAX
from airbound.grpc import session
from airbound.grpc.agent_services import ACCESS_POINT_SERVICE, ANSWERS, SWITCH_SERVICE, TERMINAL_SERVICE
from airbound.grpc.checks import ID_MAX_CHARACTERS, Checks
from airbound.grpc.convert import NAME_MAX_CHARACTERS, REFUSAL_MAX_CHARACTERS, VERSION_MAX_CHARACTERS
from airbound.grpc.session import REPORT_BYTES_MAX, Session
from airbound.v1 import access_point_pb2, operations_pb2, switch_pb2, terminal_pb2
from airbound_testing.agents import WAIT_S, FakeAccessPoint, FakePhone
from airbound_testing.live import BSSID, MACS, LiveController, upload

UNKNOWN_FIELD = 1000  # of the contract's future
SERVICES: dict[Role, str] = {
    "terminal": TERMINAL_SERVICE,
    "access-point": ACCESS_POINT_SERVICE,
    "switch": SWITCH_SERVICE,
}


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController(reports_per_s=10, streams_max=3) as controller:
        yield controller


class Raw:
    """A stream of octets, for what no agent of ours sends."""

    def __init__(self, live: LiveController, service: str = TERMINAL_SERVICE, target: str = "") -> None:
        self.channel = grpc.aio.insecure_channel(target or live.target)
        self.call: Any = self.channel.stream_stream(
            f"/{service}/Connect", request_serializer=bytes, response_deserializer=bytes
        )()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.call.cancel()
        await self.channel.close()

    async def end(self) -> tuple[grpc.StatusCode, str]:
        async with asyncio.timeout(WAIT_S):
            return await self.call.code(), await self.call.details()


def refused(live: LiveController, code: Code) -> int:
    return live.runner.counts.totals["refused_total", code]


async def until_refused(live: LiveController, code: Code, count: int) -> None:
    async def counted() -> bool:
        return refused(live, code) >= count

    await live.until(counted)
    assert refused(live, code) == count


def report(sequence: int = 1) -> terminal_pb2.TerminalServiceConnectRequest:
    return terminal_pb2.TerminalServiceConnectRequest(
        report=terminal_pb2.TerminalReport(
            mac=mac_from_text(MACS[0]), sequence=sequence, monotonic_us=sequence, destinations=[upload()]
        )
    )


def switch_report(sequence: int = 1) -> switch_pb2.SwitchServiceConnectRequest:
    return switch_pb2.SwitchServiceConnectRequest(
        report=switch_pb2.SwitchReport(datapath_id=1, sequence=sequence, monotonic_us=sequence)
    )


def cell_report(sequence: int = 1) -> access_point_pb2.AccessPointServiceConnectRequest:
    return access_point_pb2.AccessPointServiceConnectRequest(
        report=access_point_pb2.AccessPointReport(bssid=mac_from_text(BSSID), sequence=sequence, monotonic_us=sequence)
    )


def padded(role: Role, octets: int) -> bytes:
    """A report of exactly so many octets; the padding is a field that this version does not know."""
    message = {"terminal": report, "access-point": cell_report, "switch": switch_report}[role]()
    right = message.SerializeToString()
    tag = bytes([0xC2, 0x3E])  # field 1000, octets follow
    length = octets - len(right) - len(tag) - 3
    head = bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14])
    made = right + tag + head + bytes(length)
    assert len(made) == octets
    assert type(message).FromString(made).report == message.report
    return made


def largest(message: Any, octets: dict[str, int], entries: dict[str, int]) -> Any:
    """The message with every number as large as can be; octets and texts have their real limits."""
    for field in message.DESCRIPTOR.fields:
        name = field.name
        if field.message_type is not None:
            whole = f"{message.DESCRIPTOR.name}.{name}"
            is_list = name in entries or whole in entries
            for _ in range(entries.get(whole, entries.get(name, 1))):
                largest(getattr(message, name).add() if is_list else getattr(message, name), octets, entries)
        elif name in entries:
            value = bytes(octets[name]) if name in octets else MOST[field.type]
            getattr(message, name).extend([value] * entries[name])
        elif name in octets:
            setattr(message, name, bytes(octets[name]) if field.type == field.TYPE_BYTES else "x" * octets[name])
        else:
            setattr(message, name, MOST[field.type])
    return message


FIELD = terminal_pb2.TerminalReport.DESCRIPTOR.fields[0]
MOST = {
    FIELD.TYPE_BOOL: True,
    FIELD.TYPE_ENUM: 2**31 - 1,
    FIELD.TYPE_SINT32: -(2**31),
    FIELD.TYPE_UINT32: 2**32 - 1,
    FIELD.TYPE_UINT64: 2**64 - 1,
}
IFNAME_MAX_BYTES = 15
SURVEY_REFUSAL_MAX_BYTES = 100  # a sentence with two numbers of 20 digits
MESSAGES: dict[Role, tuple[Any, dict[str, int], dict[str, int]]] = {
    "terminal": (
        terminal_pb2.TerminalServiceConnectRequest,
        {
            "mac": 6,
            "address": 16,
            "name": 4 * NAME_MAX_CHARACTERS,
            "version": 4 * VERSION_MAX_CHARACTERS,
            "flows_refusal": 4 * REFUSAL_MAX_CHARACTERS,
            "failure": 4 * REFUSAL_MAX_CHARACTERS,
        },
        {"destinations": DESTINATIONS_MAX, "uids": 32, "classes": len(terminal_pb2.ApplicationClass.values()) - 1},
    ),
    "access-point": (
        access_point_pb2.AccessPointServiceConnectRequest,
        {
            "mac": 6,
            "bssid": 6,
            "ssid": SSID_MAX_BYTES,
            "interface": IFNAME_MAX_BYTES,
            "vlan_interface": IFNAME_MAX_BYTES,
            "survey_refusal": SURVEY_REFUSAL_MAX_BYTES,
            "ip_addresses": 16,
            "address": 16,
            "agent_version": 4 * VERSION_MAX_CHARACTERS,
            "refusal": 4 * REFUSAL_MAX_CHARACTERS,
            "stations_refusal": 4 * REFUSAL_MAX_CHARACTERS,
            "id": ID_MAX_CHARACTERS,
        },
        {
            "stations": STATIONS_MAX,
            "ip_addresses": STATION_ADDRESSES_MAX,
            "own": 4,
            "destinations": REPORT_DESTINATIONS_MAX // STATIONS_MAX,
            "EdcaState.stations": 4,
            "AccessPointReport.links": LINKS_MAX,
        },
    ),
    "switch": (
        switch_pb2.SwitchServiceConnectRequest,
        {
            "mac": 6,
            "bssid": 6,
            "address": 16,
            "description": 4 * DESCRIPTION_MAX_CHARACTERS,
            "peer": 4 * DESCRIPTION_MAX_CHARACTERS,
            "agent_version": 4 * VERSION_MAX_CHARACTERS,
            "stations": 6,
        },
        {"traffic": TRAFFIC_MAX, "stations": STATIONS_MAX},
    ),
}


@pytest.mark.parametrize("role", REPORT_BYTES_MAX)
def test_the_largest_report_of_an_agent_is_within_its_limit_and_the_limit_is_near(role: Role) -> None:
    kind, octets, entries = MESSAGES[role]
    size_bytes = largest(kind(), octets, entries).ByteSize()
    assert size_bytes <= REPORT_BYTES_MAX[role] < 2 * size_bytes


@pytest.mark.parametrize("role", REPORT_BYTES_MAX)
async def test_a_report_of_the_greatest_size_is_used(live: LiveController, role: Role) -> None:
    async with Raw(live, SERVICES[role]) as raw:
        await raw.call.write(padded(role, REPORT_BYTES_MAX[role]))

        async def used() -> bool:
            engine = live.runner.engine
            return len(engine.terminals()) + len(engine.cells) + len(engine.switches.all()) == 1

        await live.until(used)
    assert refused(live, Code.TOO_LARGE) == 0


@pytest.mark.parametrize(
    ("role", "refusal"),
    [
        ("terminal", "a message of 393217 bytes, at most 393216"),
        ("access-point", "a message of 1572865 bytes, at most 1572864"),
        ("switch", "a message of 2097153 bytes, at most 2097152"),
    ],
)
async def test_one_octet_more_ends_its_stream_alone(live: LiveController, role: Role, refusal: str) -> None:
    (phone,) = await live.uploading(1)
    async with Raw(live, SERVICES[role]) as raw:
        await raw.call.write(padded(role, REPORT_BYTES_MAX[role] + 1))
        code, text = await raw.end()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert text == refusal
    assert refused(live, Code.TOO_LARGE) == 1
    assert (phone.error, live.access_point.error) == (None, None)
    assert phone.bounds != {}


@pytest.mark.parametrize("service", [TERMINAL_SERVICE, ACCESS_POINT_SERVICE, SWITCH_SERVICE])
@pytest.mark.parametrize("octets", [b"\xff\xff\xff", b"\x0a\xff"], ids=["no tag", "cut off"])
async def test_what_is_no_message_ends_its_stream_and_is_counted(
    live: LiveController, service: str, octets: bytes
) -> None:
    async with Raw(live, service) as raw:
        await raw.call.write(octets)
        assert await raw.end() == (grpc.StatusCode.INVALID_ARGUMENT, "message: not what it must be")
    assert refused(live, Code.MALFORMED) == 1
    assert live.access_point.error is None


async def test_what_is_refused_is_charged_to_the_stream_that_sent_it(live: LiveController) -> None:
    async with Raw(live) as raw:
        await raw.call.write(report().SerializeToString())
        wrong = report(2)
        wrong.report.destinations.add(address=b"10.0.4.1")
        await raw.call.write(wrong.SerializeToString())
        await until_refused(live, Code.MALFORMED, 1)
        (terminal,) = live.runner.engine.terminals()
        assert terminal.refused_total == 1
        assert len(terminal.destinations) == 1


@pytest.mark.parametrize("wrong", ["sequence", "mac"])
async def test_a_report_that_was_refused_is_neither_kept_nor_shown(live: LiveController, wrong: str) -> None:
    async with Raw(live) as raw, Raw(live, ACCESS_POINT_SERVICE) as point:
        await raw.call.write(report(2).SerializeToString())
        await point.call.write(cell_report(2).SerializeToString())
        other, other_cell = report(3), cell_report(3)
        if wrong == "sequence":
            other.report.sequence = other_cell.report.sequence = 1
        else:
            other.report.mac = other_cell.report.bssid = bytes(6)
        other.report.destinations[0].cwnd_segs = 99
        await raw.call.write(other.SerializeToString())
        await point.call.write(other_cell.SerializeToString())
        await until_refused(live, Code.OUT_OF_ORDER if wrong == "sequence" else Code.MALFORMED, 2)
        (terminal,) = live.runner.engine.terminals()
        assert terminal.last_report == report(2).SerializeToString()
        access_point = live.runner.engine.cells[mac_from_text(BSSID)].access_point
        assert access_point is not None
        assert access_point.last_report == cell_report(2).SerializeToString()
        answer = await live.ask().ExplainTerminal(operations_pb2.ExplainTerminalRequest(terminal=MACS[0]))
        assert [view.cwnd_segs for view in answer.destinations] == [0]


async def test_an_empty_message_is_a_report_of_nobody(live: LiveController) -> None:
    async with Raw(live) as phone, Raw(live, ACCESS_POINT_SERVICE) as access_point:
        await phone.call.write(b"")
        await access_point.call.write(b"")
        await until_refused(live, Code.MALFORMED, 2)
    assert live.runner.engine.terminals() == []
    assert not live.runner.engine.cells


@pytest.mark.parametrize("is_phone", [True, False])
async def test_more_reports_than_a_stream_may_send(live: LiveController, is_phone: bool) -> None:  # noqa: FBT001
    async def send(sequence: int) -> None:
        if is_phone:
            await raw.call.write(report(sequence).SerializeToString())
        else:
            message = access_point_pb2.AccessPointReport(bssid=mac_from_text(BSSID), sequence=sequence)
            request = access_point_pb2.AccessPointServiceConnectRequest(report=message)
            await raw.call.write(request.SerializeToString())

    async with Raw(live, TERMINAL_SERVICE if is_phone else ACCESS_POINT_SERVICE) as raw:
        for sequence in range(1, 24):  # twice the rate at once, and three more
            await send(sequence)
        await until_refused(live, Code.RATE_LIMITED, 3)
        assert live.runner.reports_total == 23  # all that arrived
        live.now_us += 1_000_000
        for sequence in range(24, 36):
            await send(sequence)
        await until_refused(live, Code.RATE_LIMITED, 5)
        assert live.runner.reports_total == 35
        assert not raw.call.done()


async def test_each_stream_has_a_rate_of_its_own(live: LiveController) -> None:
    async with Raw(live) as greedy, Raw(live) as modest:
        for sequence in range(1, 26):
            await greedy.call.write(report(sequence).SerializeToString())
        await until_refused(live, Code.RATE_LIMITED, 5)
        await modest.call.write(report().SerializeToString())

        async def used() -> bool:
            return live.runner.reports_total == 26

        await live.until(used)


class AnsweredAccessPoint(FakeAccessPoint):
    """One that has its reports answered."""

    metadata = (ANSWERS,)


async def test_each_response_to_an_access_point_has_the_mode_of_its_cell(
    live: LiveController, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session.ANSWERED_AFTER_S, "access-point", 0.0)
    other = "02:00:00:00:00:02"

    async def mode_of(bssid: str, access_point: FakeAccessPoint, second: int) -> int:
        answers = access_point.answers
        report = access_point_pb2.AccessPointReport(bssid=mac_from_text(bssid), monotonic_us=second * 1_000_000)
        await access_point.report(report)
        await access_point.until(lambda: access_point.answers > answers)
        return access_point.mode

    async with AnsweredAccessPoint(live.target) as first, AnsweredAccessPoint(live.target) as second:
        assert await mode_of(BSSID, first, 1) == access_point_pb2.CELL_MODE_CONTROL
        live.runner.set_mode("observe", mac_from_text(BSSID))
        assert await mode_of(BSSID, first, 2) == access_point_pb2.CELL_MODE_OBSERVE
        assert await mode_of(other, second, 1) == access_point_pb2.CELL_MODE_CONTROL
        live.runner.set_mode("observe")
        assert await mode_of(other, second, 2) == access_point_pb2.CELL_MODE_OBSERVE
        live.runner.set_mode(None, mac_from_text(BSSID))
        live.runner.set_mode("control")
        assert await mode_of(BSSID, first, 3) == access_point_pb2.CELL_MODE_CONTROL
        monkeypatch.setattr(Engine, "cells", {})  # as of another replica's cells
        assert await mode_of(BSSID, first, 4) == access_point_pb2.CELL_MODE_UNSPECIFIED


class NoModes:
    """Of checks that do not begin."""

    async def set_mode(self, mode: Mode | None, bssid: bytes = b"", *, for_s: float = 0.0) -> Mode:
        raise AssertionError(mode, bssid, for_s)


async def test_an_access_point_that_asks_for_a_check_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session.ANSWERED_AFTER_S, "access-point", 0.0)
    live = LiveController()
    live.checks = Checks(live.runner, NoModes())
    async with live, AnsweredAccessPoint(live.target) as access_point:
        asks = access_point_pb2.CheckRequest(id="1")
        report = access_point_pb2.AccessPointReport(bssid=mac_from_text(BSSID), monotonic_us=1_000_000, check=asks)
        await access_point.report(report)
        await access_point.until(lambda: access_point.check.id == "1")
        assert access_point.check.refusal.code == Code.CHECK_NO_SENDERS.value
        assert access_point.mode == access_point_pb2.CELL_MODE_CONTROL


async def test_more_streams_than_the_controller_takes(live: LiveController) -> None:
    phones = [await live.phone(number) for number in range(2)]  # the access point's is the third

    async def open_streams() -> bool:
        return live.runner.streams == 3

    await live.until(open_streams)
    async with Raw(live) as raw:
        assert await raw.end() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "more than 3 streams")
    assert refused(live, Code.TOO_MANY_STREAMS) == 1
    assert live.runner.streams == 3
    await phones[0].done_writing()
    await asyncio.wait_for(phones[0].ended.wait(), WAIT_S)

    async def place() -> bool:
        return live.runner.streams == 2

    await live.until(place)
    again = await live.phone(0)
    await again.report(upload(), monotonic_us=1)
    await again.until(lambda: again.reporting.interval_ms != 0)


async def test_more_streams_than_the_controller_takes_from_one_address() -> None:
    """The others' streams are taken, and the next of that address once one of it has ended."""
    async with LiveController(listen="[::]:0", streams_per_address_max=2) as live:
        by_ipv4, by_ipv6 = (f"{host}:{live.running.port}" for host in ("127.0.0.1", "[::1]"))

        async def are_open(streams: int) -> None:
            async def counted() -> bool:
                return live.runner.streams == 1 + streams  # the access point's is one

            await live.until(counted)

        await are_open(0)
        async with FakePhone(by_ipv6, MACS[3]) as other:
            async with Raw(live, target=by_ipv4), Raw(live, ACCESS_POINT_SERVICE, by_ipv4):
                await are_open(3)
                async with Raw(live, target=by_ipv4) as raw:
                    end = await raw.end()
                assert end == (grpc.StatusCode.RESOURCE_EXHAUSTED, "more than 2 streams from 127.0.0.1")
                assert refused(live, Code.TOO_MANY_STREAMS) == 1
                await other.report(upload(), monotonic_us=1)
                await other.until(lambda: other.reporting.interval_ms != 0)
            await are_open(1)
            async with FakePhone(by_ipv4, MACS[0]) as again:
                await again.report(upload(), monotonic_us=1)
                await again.until(lambda: again.reporting.interval_ms != 0)
        await are_open(0)
        assert refused(live, Code.TOO_MANY_STREAMS) == 1
        assert live.runner._limits.peers() == 2  # the access point's address and name


async def test_nothing_is_left_of_a_stream_that_ended(live: LiveController) -> None:
    await live.senders(1)

    async def quiet() -> bool:
        return live.runner.streams == 1

    before = len(asyncio.all_tasks())
    for round_trip in range(4):
        async with Raw(live) as raw:
            await raw.call.write(report().SerializeToString())
            await raw.call.read()
            if round_trip % 2:
                await raw.call.done_writing()
                await raw.end()
            else:
                raw.call.cancel()
        await live.until(quiet)
    assert live.runner.engine.terminals() == []
    assert live.runner._sessions.keys() == {1}

    async def settled() -> bool:
        gc.collect()
        return len(asyncio.all_tasks()) <= before

    await live.until(settled)


async def test_a_stream_that_was_refused_leaves_nothing() -> None:
    async with LiveController(streams_max=1) as live:
        await live.report()
        for _ in range(3):
            async with Raw(live) as raw:
                await raw.end()
        assert live.runner.streams == 1


async def stuck(live: LiveController, raw: Raw) -> tuple[Session, int]:
    """A session whose peer's window is full, and how many sets it was sent."""
    await raw.call.write(report().SerializeToString())

    async def reported() -> bool:
        return live.runner.reports_total == 1

    await live.until(reported)
    (terminal,) = live.runner.engine.terminals()
    session = live.runner._sessions[terminal.stream.number]
    assert isinstance(session, Session)
    many = tuple(Bound(bytes([32, 1, *divmod(number, 256), *bytes(12)]), 1, 2) for number in range(10_000))
    generation = 0
    while session._writer is None or generation < 40:
        generation += 1
        session.send(SetBounds(session.stream, generation, many, 6000, (Reason(Code.POLICY),), 1, 1.0))
        for _ in range(30):
            await asyncio.sleep(0.001)
    return session, generation


async def test_a_peer_that_reads_late_learns_why_its_stream_ended(live: LiveController) -> None:
    async with Raw(live) as raw:
        session, generation = await stuck(live, raw)
        session.close(Reason(Code.REPLACED))
        await raw.call.write(report(2).SerializeToString())
        received = 0
        with pytest.raises(grpc.aio.AioRpcError):  # noqa: PT012  # how many are read before that, counts
            async with asyncio.timeout(WAIT_S):
                while True:
                    await raw.call.read()
                    received += 1
        assert await raw.end() == (grpc.StatusCode.UNAVAILABLE, "a newer stream took its place")
        assert received < generation
        assert live.runner.reports_total == 1  # what came after the end was asked for is not used


async def test_a_peer_that_does_not_read_does_not_keep_the_controller_from_stopping(live: LiveController) -> None:
    async with Raw(live) as raw:
        session, _ = await stuck(live, raw)
        async with asyncio.timeout(WAIT_S):
            await live.running.stop()
        assert live.runner.streams == 0

        async def ended() -> bool:
            return session._writer is None

        await live.until(ended)  # its write has failed by then, which it may find out after the server has stopped


async def test_a_peer_that_does_not_read_and_goes_away_leaves_nothing(live: LiveController) -> None:
    async with Raw(live) as raw:
        session, _ = await stuck(live, raw)
        raw.call.cancel()

        async def gone() -> bool:
            return live.runner.streams == 1 and session._writer is None

        await live.report()
        await live.until(gone)
