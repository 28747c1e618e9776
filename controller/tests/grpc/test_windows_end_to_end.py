# SPDX-License-Identifier: Apache-2.0
"""An access point that limits the windows of stations without an agent, against a real server."""

from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest

from airbound.core.parameters import Parameters, SafetyParameters
from airbound.core.reasons import Code
from airbound.operator import display, explanation
from airbound.v1 import operations_pb2
from airbound_testing.live import BSSID, MACS, SERVER, LiveController, seen_upload, upload

SHORT = Parameters(policy="paper", safety=SafetyParameters(lease_ms=3000))
MSS, ADDRESS = 1448, "10.0.4.1"
ONE, TWO, THREE = 555 * MSS, 300 * MSS, 400 * MSS  # the paper's maxima for so many senders, as of test_end_to_end


@pytest.fixture
async def live() -> AsyncIterator[LiveController]:
    async with LiveController(SHORT) as controller:
        controller.seen = {mac: [seen_upload()] for mac in MACS}
        yield controller


def limits(live: LiveController) -> dict[str, int]:
    """By station; all are for the one server."""
    assert {destination for _, destination in live.access_point.limits} <= {ADDRESS}
    return {station: max_bytes for (station, _), max_bytes in live.access_point.limits.items()}


async def until_limits(live: LiveController, **expected: int) -> None:
    wanted = {MACS[int(number.removeprefix("phone"))]: max_bytes for number, max_bytes in expected.items()}
    await live.access_point.until(lambda: limits(live) == wanted)


async def explain(live: LiveController, mac: str) -> operations_pb2.ExplainStationResponse:
    return await live.ask().ExplainStation(operations_pb2.ExplainStationRequest(station=mac))  # type: ignore[no-any-return]


async def test_stations_without_an_agent_have_the_maxima_of_phones(live: LiveController) -> None:
    await live.senders(2)
    await until_limits(live, phone0=TWO, phone1=TWO)
    reason = live.access_point.windows_reason
    assert (reason.code, reason.before, reason.after) == (Code.STATIONS_LIMITED, 0, 2)
    await live.report(*MACS[:3])
    await live.report(*MACS[:3])
    await until_limits(live, phone0=THREE, phone1=THREE, phone2=THREE)


async def test_an_agent_takes_over(live: LiveController) -> None:
    await live.senders(2)
    await until_limits(live, phone0=TWO, phone1=TWO)
    phone = await live.phone(0)
    await phone.report(upload(), monotonic_us=1)
    await phone.until(lambda: phone.bounds != {})
    await live.report(*MACS[:2])
    await phone.report(upload(), monotonic_us=2)  # with the generation in force
    await until_limits(live, phone1=TWO)
    assert phone.bounds == {SERVER: (300, 300)}
    assert live.access_point.window_releases == 0


async def test_the_lease_is_renewed_without_reports(live: LiveController) -> None:
    await live.senders(1)
    await until_limits(live, phone0=ONE)
    for renewals in (1, 2):
        live.now_us += 1_000_000  # a third of the lease
        live.runner._set_timer(live.runner.now_us())
        await live.access_point.until(lambda renewals=renewals: live.access_point.window_renewals == renewals)  # type: ignore[misc]
    assert (live.access_point.window_sets, limits(live)) == (1, {MACS[0]: ONE})


async def test_a_lease_that_ended_is_reported_and_the_set_is_sent_again(live: LiveController) -> None:
    await live.senders(1)
    await until_limits(live, phone0=ONE)
    live.access_point.expire_windows()
    live.now_us += 2_000_000
    await live.report(MACS[0])
    await until_limits(live, phone0=ONE)
    assert live.access_point.windows_reason.code == Code.REPEATED


async def test_windows_and_queues_are_set_side_by_side(live: LiveController) -> None:
    live.sets_edca = True
    await live.senders(2)
    await until_limits(live, phone0=TWO, phone1=TWO)
    await live.access_point.until(lambda: bool(live.access_point.queues))


async def test_observe_mode_and_exemptions(live: LiveController) -> None:
    await live.senders(2)
    await until_limits(live, phone0=TWO, phone1=TWO)
    exempt = operations_pb2.ExemptTerminalRequest(name=MACS[0].upper(), exempt=True)
    assert not (await live.ask().ExemptTerminal(exempt)).previously_exempt
    await until_limits(live, phone1=TWO)
    assert (await live.ask().ExemptTerminal(exempt)).previously_exempt
    answer = await explain(live, MACS[0])
    assert (answer.station.exempt, answer.station.no_limit.code) == (True, Code.EXEMPT)
    await live.ask().SetMode(operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE))
    await until_limits(live)
    assert live.access_point.windows_reason.code == Code.OBSERVE_MODE


async def test_limits_go_on_over_a_restart_of_the_controller(live: LiveController) -> None:
    await live.senders(1)
    point = live.access_point
    await until_limits(live, phone0=ONE)
    async with LiveController(SHORT) as next_live:
        await point.connect_again(next_live.target)
        first, next_live.access_point = next_live.access_point, point
        next_live.seen, point.sequence = live.seen, 0
        await next_live.report(MACS[0])
        await next_live.report(MACS[0])
        await point.until(lambda: point.window_sets == 2)
        assert (point.windows_generation, limits(next_live), point.window_releases) == (2, {MACS[0]: ONE}, 0)
        next_live.access_point = first


async def test_operators_are_shown_what_a_limit_follows_from(live: LiveController) -> None:
    await live.senders(1)
    await until_limits(live, phone0=ONE)
    await live.report(MACS[0])

    async def in_force() -> bool:
        (cell,) = await live.cells()
        return cell.windows.state.generation == cell.windows.generation_sent == 1

    await live.until(in_force)
    answer = await explain(live, MACS[0])
    view, (decision,) = answer.station, answer.station.decisions
    assert (view.lack.code, view.HasField("no_limit")) == (Code.NO_AGENT, False)
    assert [(limit.destination, limit.max_bytes) for limit in view.limits] == [(ADDRESS, ONE)]
    assert (decision.max_segs, decision.policy, decision.active_senders) == (555, "paper", 1)
    assert (view.destinations[0].connections_sending, view.destinations[0].sent_bytes) == (1, 1_000_000)
    assert answer.cell.windows.stations_limited == 1
    text = explanation.explanation(answer)
    assert f"10.0.4.1 555 segments, policy paper, n=1, {ONE} bytes a connection" in text
    assert "generation sent 1, in force 1" in text
    stations = await live.ask().ListStations(operations_pb2.ListStationsRequest(bssid=BSSID))
    assert f"10.0.4.1 {ONE} B" in display.stations(stations)


async def test_a_station_that_nobody_reports(live: LiveController) -> None:
    await live.senders(1)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await explain(live, MACS[3])
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await explain(live, "phone")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
