# SPDX-License-Identifier: Apache-2.0
"""Agents against a real server over the loopback interface; only the controller's clock is the test's."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest

from airbound.core.parameters import Parameters, SafetyParameters
from airbound.core.reasons import Code
from airbound.v1 import access_point_pb2, operations_pb2, terminal_pb2
from airbound_testing.agents import WAIT_S, FakePhone
from airbound_testing.live import BSSID, MACS, QUEUE, SERVER, LiveController, upload
from airbound_testing.ports import free_port

SHORT = Parameters(policy="paper", safety=SafetyParameters(lease_ms=3000))
ONE, TWO, THREE, FOUR = ({SERVER: bounds} for bounds in ((250, 555), (300, 300), (250, 400), (120, 200)))


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController(SHORT) as controller:
        yield controller


async def no_bounds(live: LiveController) -> list[Code]:
    """Why the terminals have none, as operators see it."""
    return [Code(terminal.no_bounds.code) for terminal in await live.terminals()]


async def until_without(live: LiveController, *codes: Code) -> None:
    async def so() -> bool:
        return await no_bounds(live) == list(codes)

    await live.until(so)


async def test_a_change_of_n_reaches_the_other_phones_without_their_reports(live: LiveController) -> None:
    phones = await live.uploading(3)
    assert [phone.bounds for phone in phones] == [THREE] * 3
    await live.report(*MACS[:4])
    await live.report(*MACS[:4])
    for phone in phones:
        await phone.until(lambda phone=phone: phone.bounds == FOUR)  # type: ignore[misc]
        assert (phone.reason.code, phone.reason.before, phone.reason.after) == (Code.ACTIVE_SENDERS, 3, 4)
    await live.report(MACS[0], idle=tuple(MACS[1:]))
    await phones[0].until(lambda: phones[0].bounds == ONE)


async def test_a_phone_is_sent_how_to_report_and_what_its_bounds_follow_from(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    assert phone.reporting == terminal_pb2.SetReporting(
        interval_ms=1000, heartbeat_ms=10_000, rtt_ratio_change_permille=200
    )
    assert (phone.reason.code, phone.reason.subject) == (Code.STARTED_SENDING, "10.0.4.1")
    assert (phone.generation, phone.sets) == (1, 1)


async def test_leases_are_renewed_without_reports(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    for renewals in (1, 2):
        live.now_us += 1_000_000  # a third of the lease
        live.runner._set_timer(live.runner.now_us())
        await phone.until(lambda renewals=renewals: phone.renewals == renewals)  # type: ignore[misc]
    assert (phone.sets, phone.bounds) == (1, ONE)


async def test_a_lease_that_ended_is_reported_and_the_set_is_sent_again(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    phone.expire()
    live.now_us += 2_000_000
    await live.report(MACS[0])
    await phone.report(upload(), monotonic_us=2)
    await phone.until(lambda: phone.bounds == ONE)
    assert (phone.sets, phone.generation) == (2, 2)
    assert (phone.reason.code, phone.reason.before) == (Code.REPEATED, 0)


async def test_an_access_point_that_does_not_report_releases_its_phones(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    live.now_us += 3_500_000
    await phone.report(upload(), monotonic_us=2)
    await phone.until(lambda: phone.bounds == {})
    assert (phone.reason.code, phone.reason.subject, phone.reason.limit) == (Code.CELL_STALE, BSSID, 3)


async def test_a_phone_that_does_not_report_is_released(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    for second in range(6):
        live.now_us += 1_000_000
        await live.report(MACS[0])
        await live.until(lambda second=second: reports(live, 4 + second))  # type: ignore[misc]
    await phone.until(lambda: phone.bounds == {})
    assert (phone.reason.code, phone.reason.limit) == (Code.TERMINAL_STALE, 5)


async def reports(live: LiveController, count: int) -> bool:
    return live.runner.reports_total >= count


async def test_a_station_that_leaves_is_released(live: LiveController) -> None:
    (phone,) = await live.uploading(1)
    await live.report()
    await phone.until(lambda: phone.bounds == {})
    assert (phone.reason.code, phone.reason.subject) == (Code.LEFT_CELL, BSSID)


async def test_a_controller_that_stops_leaves_the_bounds_to_their_lease(live: LiveController) -> None:
    phones = await live.uploading(2)
    await live.running.stop()
    for phone in phones:
        await asyncio.wait_for(phone.ended.wait(), WAIT_S)
        assert phone.bounds == TWO
        assert phone.error is not None
        assert phone.error.code() is grpc.StatusCode.UNAVAILABLE
        assert phone.error.details() == "the controller is stopping"
    assert live.runner.streams == 0


async def test_another_process_goes_on_where_the_first_one_stopped() -> None:
    async with LiveController(SHORT, listen=f"127.0.0.1:{free_port()}") as first:
        (phone,) = await first.uploading(1)
        generation, sets = phone.generation, phone.sets
        target = first.target
        await first.running.stop()
        async with LiveController(SHORT, listen=target) as second:
            await phone.connect_again(target)
            await phone.report(upload(), monotonic_us=10)
            await until_without(second, Code.CELL_UNKNOWN)
            await second.report(MACS[0])
            await until_without(second, Code.CELL_LEARNING)
            # Nothing is known of the cell yet: nothing is sent, and what the phone has stays in force.
            assert (phone.bounds, phone.generation, phone.sets) == (ONE, generation, sets)
            await second.report(MACS[0])
            await phone.until(lambda: phone.sets == sets + 1)
            assert phone.bounds == ONE
            assert phone.generation > generation
            assert phone.reporting.interval_ms == 1000


async def test_a_second_stream_of_a_phone_takes_the_place_of_the_first(live: LiveController) -> None:
    (first,) = await live.uploading(1)
    second = await live.phone(0)
    await second.report(upload(), monotonic_us=5)
    await second.until(lambda: second.bounds == ONE)
    live.now_us += 30_500_000  # the first one is not heard again
    live.runner._set_timer(live.runner.now_us())
    await asyncio.wait_for(first.ended.wait(), WAIT_S)
    assert first.error is not None
    assert first.error.details() == "a newer stream took its place"
    assert second.error is None


async def test_two_streams_that_go_on_claiming_a_mac_are_both_left_without_bounds(live: LiveController) -> None:
    (first,) = await live.uploading(1)
    second = await live.phone(0)
    await second.report(upload(), monotonic_us=5)
    await second.until(lambda: second.bounds == ONE)
    for _ in range(3):  # the agents' clocks stand still, as the controller's does
        await first.report(upload(), monotonic_us=6)
        await second.report(upload(), monotonic_us=6)
    for phone in (first, second):
        await phone.until(lambda phone=phone: phone.bounds == {})  # type: ignore[misc]
        assert (phone.reason.code, phone.reason.subject) == (Code.MAC_CLAIMED_TWICE, "127.0.0.1")
    assert await no_bounds(live) == [Code.MAC_CLAIMED_TWICE] * 2
    await first.done_writing()  # the other one is the station, then
    await second.until(lambda: second.bounds == ONE)


async def test_a_stream_from_another_address_than_its_stations_has_no_bounds(live: LiveController) -> None:
    live.addresses = {
        MACS[0]: [bytes([127, 9, 9, 9])],
        MACS[1]: [bytes([127, 0, 0, 1])],
        MACS[2]: [bytes(15) + b"\x01"],
    }
    await live.senders(3)
    phones = [await live.phone(number) for number in range(3)]
    for phone in phones:
        await phone.report(upload(), monotonic_us=1)
    wrong, right, incomparable = phones
    await right.until(lambda: right.bounds == THREE)
    await incomparable.until(lambda: incomparable.bounds == THREE)
    terminals = {terminal.mac: terminal for terminal in await live.terminals()}
    reason = terminals[MACS[0]].no_bounds
    assert (reason.code, reason.subject) == (Code.ADDRESS_MISMATCH, "127.0.0.1")
    assert (wrong.bounds, wrong.sets, terminals[MACS[0]].bssid) == ({}, 0, "")
    # The station takes the other address.
    live.addresses[MACS[0]] = [bytes([127, 9, 9, 9]), bytes([127, 0, 0, 1])]
    await live.report(*MACS[:3])
    await wrong.until(lambda: wrong.bounds == THREE)
    # And loses it again.
    live.addresses[MACS[0]] = [bytes([127, 9, 9, 9])]
    await live.report(*MACS[:3])
    await wrong.until(lambda: wrong.bounds == {})
    assert wrong.reason.code == Code.ADDRESS_MISMATCH


async def test_addresses_need_not_match_where_that_is_configured() -> None:
    parameters = dataclasses.replace(SHORT, identity=dataclasses.replace(SHORT.identity, match_addresses=False))
    async with LiveController(parameters) as live:
        live.addresses = {MACS[0]: [bytes([127, 9, 9, 9])]}
        (phone,) = await live.uploading(1)
        assert phone.bounds == ONE


async def test_a_phone_that_no_access_point_reports_waits(live: LiveController) -> None:
    phone = await live.phone(3)
    await phone.report(upload(), monotonic_us=1)
    await until_without(live, Code.CELL_UNKNOWN)
    answer = await live.ask().ExplainTerminal(operations_pb2.ExplainTerminalRequest(terminal=MACS[3]))
    assert not answer.HasField("cell")
    assert phone.sets == 0


async def test_what_a_controller_observes_it_computes_and_does_not_send() -> None:
    async with LiveController(SHORT, mode="observe") as live:
        await live.senders(1)
        phone = await live.phone(0)
        await phone.report(upload(), monotonic_us=1)
        await until_without(live, Code.OBSERVE_MODE)
        (terminal,) = await live.terminals()
        assert [(decision.min_segs, decision.max_segs) for decision in terminal.decisions] == [ONE[SERVER]]
        assert (phone.sets, len(terminal.bounds_sent)) == (0, 0)
        ask = live.ask()
        await ask.SetMode(operations_pb2.SetModeRequest(mode=operations_pb2.MODE_CONTROL))
        await phone.until(lambda: phone.bounds == ONE)
        answer = await ask.SetMode(operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE))
        assert answer.previous_mode == operations_pb2.MODE_CONTROL
        await phone.until(lambda: phone.bounds == {})
        assert phone.reason.code == Code.OBSERVE_MODE


async def test_terminals_are_exempt_by_name() -> None:
    async with LiveController(SHORT, listen="[::]:0", exempt=["::1"]) as live:
        port = live.running.port
        await live.senders(2)
        async with FakePhone(f"[::1]:{port}", MACS[0]) as exempt, FakePhone(f"127.0.0.1:{port}", MACS[1]) as other:
            for phone in (exempt, other):
                await phone.report(upload(), monotonic_us=1)
            await other.until(lambda: other.bounds == TWO)
            await until_without(live, Code.EXEMPT, Code.UNSPECIFIED)
            assert exempt.sets == 0
            ask = live.ask()
            answer = await ask.ExemptTerminal(operations_pb2.ExemptTerminalRequest(name="::1", exempt=False))
            assert answer.previously_exempt
            await exempt.until(lambda: exempt.bounds == TWO)
            answer = await ask.ExemptTerminal(operations_pb2.ExemptTerminalRequest(name="127.0.0.1", exempt=True))
            assert not answer.previously_exempt
            await other.until(lambda: other.bounds == {})
            assert other.reason.code == Code.EXEMPT
            assert exempt.bounds == TWO


async def test_garbage_is_refused_counted_and_harms_nobody(live: LiveController) -> None:
    phones = await live.uploading(2)
    for garbage in (
        upload(srtt_us=1),
        upload(min_rtt_us=2**32 - 1),
        terminal_pb2.Destination(address=b"nan"),
        terminal_pb2.Destination(address=bytes([10, 0, 4, 1]), connections_sending=2**32 - 1),
    ):
        await phones[0].report(garbage, monotonic_us=1)
    await live.access_point.report(
        access_point_pb2.AccessPointReport(bssid=bytes.fromhex(BSSID.replace(":", "")), monotonic_us=2**64 - 1)
    )

    async def counted() -> bool:
        terminals, (cell,) = await live.terminals(), await live.cells()
        return [terminal.refused_total for terminal in terminals] == [4, 0] and cell.refused_total == 1

    await live.until(counted)
    assert phones[1].bounds == TWO
    assert (phones[0].error, phones[1].error, live.access_point.error) == (None, None, None)


async def test_a_back_end_without_rules_for_destinations_is_sent_one_for_all(live: LiveController) -> None:
    await live.senders(1)
    phone = await live.phone(0)
    back_end = terminal_pb2.BackEnd(name="x", can_set_max=True)
    report = terminal_pb2.TerminalReport(
        mac=phone.mac, sequence=1, monotonic_us=1, destinations=[upload()], agent=terminal_pb2.Agent(back_end=back_end)
    )
    await phone.write(terminal_pb2.TerminalServiceConnectRequest(report=report))
    await phone.until(lambda: phone.bounds != {})
    assert phone.bounds == {"": (1, 555)}


async def test_a_stock_kernel_is_sent_maxima_only_and_shown_by_its_name(live: LiveController) -> None:
    await live.senders(1)
    phone = await live.phone(0)
    back_end = terminal_pb2.BackEnd(
        name="ebpf", can_set_max=True, can_select_destination=True, can_select_uid=True, rules_max=256
    )
    report = terminal_pb2.TerminalReport(
        mac=phone.mac, sequence=1, monotonic_us=1, destinations=[upload()], agent=terminal_pb2.Agent(back_end=back_end)
    )
    await phone.write(terminal_pb2.TerminalServiceConnectRequest(report=report))
    await phone.until(lambda: phone.bounds != {})
    assert phone.bounds == {SERVER: (1, 555)}
    (shown,) = await live.terminals()
    assert shown.back_end == "ebpf"


async def test_nothing_is_left_when_all_have_gone(live: LiveController) -> None:
    phones = await live.uploading(3)
    for phone in phones:
        await phone.done_writing()
    await live.access_point.done_writing()

    async def gone() -> bool:
        return live.runner.streams == 0

    await live.until(gone)
    assert live.runner.engine.terminals() == []
    assert live.runner.engine._registry.reporters == {}
    assert len(live.runner.engine._registry.claims) == 0


async def test_an_access_points_queues_are_set_renewed_and_released_over_its_stream(live: LiveController) -> None:
    live.sets_edca = True
    await live.senders(2)
    point = live.access_point
    await point.until(lambda: bool(point.queues))
    [queue] = point.queues
    assert (queue.category, queue.aifsn, queue.cw_min, queue.cw_max) == (QUEUE.category, 4, 15, 1023)
    assert (point.generation, point.sets, point.reason.code) == (1, 1, Code.UPLOADS)
    live.now_us += 1_000_000  # a third of the lease
    live.runner._set_timer(live.runner.now_us())
    await point.until(lambda: point.renewals == 1)
    (cell,) = await live.cells()
    assert (list(cell.edca.sent), cell.edca.generation_sent, cell.edca.lease_remaining_ms) == ([queue], 1, 3000)
    await live.report(*MACS[:2])
    await live.ask().SetMode(operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE))
    await point.until(lambda: not point.queues)
    assert (point.sets, point.reason.code) == (2, Code.OBSERVE_MODE)


async def test_an_access_points_queues_go_on_over_a_restart_of_the_controller(live: LiveController) -> None:
    live.sets_edca = True
    await live.senders(2)
    point = live.access_point
    await point.until(lambda: bool(point.queues))
    async with LiveController(SHORT) as next_live:
        await point.connect_again(next_live.target)
        first, next_live.access_point = next_live.access_point, point
        next_live.sets_edca = True
        point.sequence = 0
        await next_live.report(*MACS[:2])
        await next_live.report(*MACS[:2])
        await point.until(lambda: point.sets == 2)
        assert (point.generation, [queue.aifsn for queue in point.queues]) == (2, [4])
        next_live.access_point = first
