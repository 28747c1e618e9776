# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import UsageError
from airbound_lab.parameters import MODES, QDISCS, RATE_CONTROLS, Parameters
from airbound_lab.scenario import built_in

VALID = st.builds(
    Parameters,
    terminals=st.integers(1, 100),
    wired_delays_ms=st.lists(st.floats(0, 10_000), min_size=1, max_size=5).map(tuple),
    seconds=st.integers(6, 3600),
    warmup_seconds=st.integers(0, 5),
    modes=st.lists(st.sampled_from(sorted(MODES)), min_size=1, unique=True).map(tuple),
    seeds=st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True).map(tuple),
    rate_control=st.sampled_from(RATE_CONTROLS),
    qdisc=st.none() | st.sampled_from(QDISCS),
    loss_percent=st.floats(0, 99),
    controller_config=st.none() | st.text(),
)


@given(VALID)
def test_parameters_survive_a_round_trip_through_json(parameters: Parameters) -> None:
    assert Parameters.from_json(json.loads(json.dumps(parameters.to_json()))) == parameters


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"terminals": 0}, "terminals"),
        ({"terminals": 101}, "terminals"),
        ({"terminals": True}, "terminals"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": 5, "warmup_seconds": 5}, "warmup-seconds"),
        ({"wired_delays_ms": ()}, "wired-delays"),
        ({"wired_delays_ms": (float("nan"),)}, "wired-delays"),
        ({"wired_delays_ms": (-1.0,)}, "wired-delays"),
        ({"loss_percent": 100.0}, "loss"),
        ({"loss_percent": float("inf")}, "loss"),
        ({"modes": ()}, "modes"),
        ({"modes": ("reno",)}, "reno"),
        ({"modes": ("bdp", "bdp")}, "modes"),
        ({"seeds": ()}, "seeds"),
        ({"seeds": (1, 1)}, "seeds"),
        ({"seeds": (-1,)}, "seed"),
        ({"rate_control": "arf"}, "arf"),
        ({"ap_rate_control": "arf"}, "ap-rate-control"),
        ({"qdisc": "red"}, "qdisc"),
        ({"ap_qdisc": "red"}, "ap-qdisc"),
        ({"ap_queue_packets": 0}, "ap-queue"),
        ({"driver_queue_frames": 1}, "driver-queue"),
        ({"bounds_interval_ms": 1}, "bounds-interval-ms"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(changes: dict[str, object], names: str) -> None:
    with pytest.raises(UsageError, match=names):
        Parameters(**changes)  # type: ignore[arg-type]


def test_saturating_udp_without_back_pressure_is_refused() -> None:
    with pytest.raises(UsageError, match="orphan"):
        Parameters(scenario=built_in("saturation"), orphan=True)


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(UsageError, match="'colour'"):
        Parameters.from_json({"colour": 3})


def test_phones_take_the_delays_in_turn() -> None:
    parameters = Parameters(terminals=5, wired_delays_ms=(4.0, 64.0))
    assert [parameters.wired_delay_ms(i) for i in range(1, 6)] == [4, 64, 4, 64, 4]
