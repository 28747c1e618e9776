# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab import results as module
from airbound_lab import trace
from airbound_lab.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import TraceLines

    from airbound_lab.results import Results


@pytest.fixture
def document(make_results: Callable[..., Results], tmp_path: Path) -> dict[str, Any]:
    module.save(make_results(seeds=(1, 2)), tmp_path / "out.json")
    data: dict[str, Any] = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    return data


def test_a_file_is_read_back_as_it_was_written(make_results: Callable[..., Results], tmp_path: Path) -> None:
    results = make_results(wired_delays_ms=(4.0, 64.0), seeds=(1, 2))
    module.save(results, tmp_path / "out.json")
    assert module.load(tmp_path / "out.json") == results


def test_the_file_has_the_documented_shape(document: dict[str, Any]) -> None:
    assert document["schema"] == 1
    run = document["runs"][0]
    figures = {"mode", "seed", "total_goodput_mbps", "jain", "rtt_mean_ms", "rtt_p95_ms", "rtt_ratio", "retransmits"}
    assert figures | {"wall_seconds", "phones"} <= set(run)
    assert set(run["phones"][0]["series"]) == {
        *("t_s", "goodput_mbps", "cwnd_segs", "bound_min_segs", "bound_max_segs", "srtt_ms", "min_rtt_ms", "rtt_ratio"),
    }


def traced(make_results: Callable[..., Results], trace_lines: TraceLines) -> Results:
    results = make_results(modes=("cubic",))
    for phone in results.runs[0].phones:
        phone.trace = trace.parse(trace_lines((1, "window", {}), (2, "timeout", {"cwnd_segs": 1})), 5_000_000, 6)
    return results


def test_a_trace_is_read_back_and_only_there_if_asked_for(
    make_results: Callable[..., Results], trace_lines: TraceLines, tmp_path: Path
) -> None:
    with_trace = traced(make_results, trace_lines)
    module.save(with_trace, tmp_path / "traced.json")
    module.save(make_results(modes=("cubic",)), tmp_path / "plain.json")
    assert module.load(tmp_path / "traced.json") == with_trace
    plain, data = (json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in ("plain.json", "traced.json"))
    assert all("trace" not in phone for phone in plain["runs"][0]["phones"])
    for phone in data["runs"][0]["phones"]:
        del phone["trace"]
    assert data == plain


def test_a_traced_run_compares_as_if_it_were_not(make_results: Callable[..., Results], trace_lines: TraceLines) -> None:
    plain = make_results(modes=("cubic",)).runs[0]
    assert traced(make_results, trace_lines).runs[0].comparable() == plain.comparable()


def change(document: dict[str, Any], path: str, value: object) -> None:
    *places, last = path.split(".")
    at: Any = document
    for place in places:
        at = at[int(place)] if place.isdigit() else at[place]
    key = int(last) if last.isdigit() else last
    if value is ...:
        del at[key]
    else:
        at[key] = value


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("schema", 2, "schema is 2"),
        ("schema", ..., "schema is None"),
        ("parameters.terminals", 4, "runs\\[0\\].phones: 3"),
        ("parameters.terminals", 0, "terminals"),
        ("parameters.colour", "red", "'colour'"),
        ("runs", {}, "runs: not a list"),
        ("runs.1.mode", "reno", "runs\\[1\\].mode: 'reno'"),
        ("runs.1.jain", "high", "runs\\[1\\].jain: 'high'"),
        ("runs.1.seed", ..., "runs\\[1\\]: 'seed' is missing"),
        ("runs.1.total_goodput_mbps", None, "runs\\[1\\].total_goodput_mbps"),
        ("runs.0.phones.2.series", [], "runs\\[0\\].phones\\[2\\].series: not an object"),
        ("runs.0.phones.2.series.srtt_ms", [1.0], "srtt_ms: 1 values for 6"),
        ("runs.0.phones.2.series.t_s", [1, 2, 3, 4, 5, None], "t_s: None"),
        ("runs.0.phones.2.extra", 1, "unknown key 'extra'"),
        ("runs.0.phones.0.rules", [{"t_s": 1}], "rules\\[0\\]: 'rules' is missing"),
        ("runs.0.phones.0.trace", {}, "runs\\[0\\].phones\\[0\\].trace: 'connections' is missing"),
        ("more", 1, "unknown key 'more'"),
    ],
)
def test_a_wrong_field_is_named(document: dict[str, Any], path: str, value: object, says: str) -> None:
    change(document, path, value)
    with pytest.raises(UsageError, match=says):
        module.from_json(document)


@pytest.mark.parametrize(("text", "says"), [("", "not JSON"), ("{", "not JSON"), ("[1]", "schema is None")])
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=f"bad.json.*{says}"):
        module.load(tmp_path / "bad.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.json"):
        module.load(tmp_path / "gone.json")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PLACES = (
    *("parameters", "parameters.scenario", "parameters.modes", "parameters.seeds", "parameters.wired_delays_ms"),
    *(
        "parameters.orphan",
        "parameters.controller_config",
        "runs",
        "runs.0",
        "runs.0.phones",
        "runs.0.phones.0",
        "runs.0.phones.0.series",
        "runs.0.jain",
    ),
)


@given(place=st.sampled_from(PLACES), value=JSON_VALUES)
def test_garbage_anywhere_is_refused_or_harmless(
    make_results: Callable[..., Results], place: str, value: object
) -> None:
    results = make_results(modes=("cubic",))

    document = {"schema": 1, "parameters": results.parameters.to_json(), "runs": [asdict(run) for run in results.runs]}
    document = copy.deepcopy(document)
    change(document, place, value)
    try:
        results = module.from_json(document)
    except UsageError:
        return
    # What got through is sound: it can be written, which no NaN and no infinity can.
    json.dumps([results.parameters.to_json(), [asdict(run) for run in results.runs]], allow_nan=False)


def test_a_run_compares_by_what_the_seed_decides(make_results: Callable[..., Results]) -> None:
    first, second = (make_results(modes=("cubic",)).runs[0] for _ in range(2))
    second.wall_seconds, second.peak_memory_kib = 99, {"phone1": 3}
    assert first.comparable() == second.comparable()
    second.phones[0].series.srtt_ms[3] = 5
    assert first.comparable() != second.comparable()
