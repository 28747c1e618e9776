# SPDX-License-Identifier: Apache-2.0
"""Who takes the air, and what to do next."""

import pytest

from airbound.core.reasons import Code
from airbound.operator import advice
from airbound.v1 import operations_pb2, reason_pb2

BSSID = "02:00:00:00:00:01"
NO_WINDOWS = (
    "next: start airbound-ap with --window-clamp (OpenWrt: option window_clamp 1) to have stations without an agent"
    " limited"
)


def reason(code: Code) -> reason_pb2.Reason:
    return reason_pb2.Reason(code=code.value)  # type: ignore[arg-type]  # the same numbers: tested


def station(number: int, air: float, **fields: object) -> operations_pb2.StationView:
    mac = f"02:00:00:00:01:{number:02x}"
    return operations_pb2.StationView(mac=mac, air_ratio=air, active_sender=True, **fields)  # type: ignore[arg-type]


LIMIT = operations_pb2.WindowLimitSent(max_bytes=10_000)
STATIONS = [
    station(1, 0.2, terminal="phone-1"),
    station(2, 0.6, ip_addresses=["192.0.2.9"], lack=reason(Code.NO_AGENT)),
    station(3, 0.1, lack=reason(Code.NO_AGENT), limits=[LIMIT]),
    station(4, 0.02, terminal="phone-4"),
    station(5, 0.06, terminal="phone-5"),
]


def test_the_three_who_take_most_of_the_air_are_named_with_what_limits_them() -> None:
    assert advice.air_text(STATIONS) == (
        "takes the air: 192.0.2.9 60% (nothing limits it), phone-1 20%, 02:00:00:00:01:03 10% (limited by the access"
        " point)"
    )
    assert advice.air_text([station(1, 0.01)]) == ""


@pytest.mark.parametrize(
    ("no_limit", "step"),
    [
        (None, NO_WINDOWS),
        (Code.WINDOW_CLAMP_OFF, "next: set [window_clamp] enabled = true"),
        (Code.CANNOT_SET_WINDOWS, "next: start airbound-ap with --window-clamp; on OpenWrt it needs kmod-sched-core"),
        (Code.EXEMPT, "next: `airbound exempt 02:00:00:00:01:02 --off` ends the exemption"),
    ],
)
def test_one_that_nothing_limits_has_a_next_step(no_limit: Code | None, step: str) -> None:
    cell = operations_pb2.Cell(bssid=BSSID)
    taker = station(2, 0.6, lack=reason(Code.NO_AGENT))
    if no_limit is not None:
        cell.windows.state.can_set = False
        taker.no_limit.CopyFrom(reason(no_limit))
    lines = advice.next_steps(operations_pb2.ExplainCellResponse(cell=cell), [taker])
    assert len(lines) == 1
    assert lines[0].startswith(step)


def test_a_step_is_named_once_and_none_where_nothing_is_to_be_done() -> None:
    cell = operations_pb2.Cell(bssid=BSSID)
    cell.edca.reason.CopyFrom(reason(Code.OBSERVE_MODE))
    cell.windows.reason.CopyFrom(reason(Code.OBSERVE_MODE))
    answer = operations_pb2.ExplainCellResponse(cell=cell)
    assert advice.next_steps(answer, ()) == ["next: `airbound mode control` applies what is computed"]
    answer.cell.mode_by_operator = True
    assert advice.next_steps(answer, ()) == [
        f"next: `airbound mode control` applies what is computed; here with --cell {BSSID}"
    ]
    answer.cell.edca.reason.CopyFrom(reason(Code.UPLOADS))
    answer.cell.windows.reason.CopyFrom(reason(Code.STATIONS_LIMITED))
    assert advice.next_steps(answer, ()) == []


def test_a_station_that_its_access_point_does_not_look_at() -> None:
    answer = operations_pb2.ExplainStationResponse(station=station(1, 0.5), cell=operations_pb2.Cell(bssid=BSSID))
    assert advice.next_steps(answer, ()) == [NO_WINDOWS]


@pytest.mark.parametrize("code", [*Code, 1, 999])
def test_a_reason_of_any_version_has_a_step_or_none(code: int) -> None:
    shown = reason_pb2.Reason()
    shown.code = code  # type: ignore[assignment]
    step = advice.next_step(shown, "phone\x1b-1", BSSID)
    assert "{" not in step
    assert "\x1b" not in step
