# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from airbound_lab.errors import UsageError
from airbound_lab.figures import results as module
from airbound_lab.records import trace
from airbound_lab.settings.scenario import built_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import EachPhone, TraceLines

    from airbound_lab.figures.results import Results, Run


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


@pytest.fixture(scope="session")
def traced(
    make_results: Callable[..., Results], trace_lines: TraceLines, each_phone: Callable[[Run, EachPhone], Run]
) -> Results:
    results = make_results(modes=("cubic",))
    history = trace.parse(trace_lines((1, "window", {}), (2, "timeout", {"cwnd_segs": 1})), 5_000_000, 6)
    run = each_phone(results.runs[0], lambda _, phone: replace(phone, trace=history))
    return replace(results, runs=(run,))


def test_a_trace_is_read_back_and_only_there_if_asked_for(
    make_results: Callable[..., Results], traced: Results, tmp_path: Path
) -> None:
    module.save(traced, tmp_path / "traced.json")
    module.save(make_results(modes=("cubic",)), tmp_path / "plain.json")
    assert module.load(tmp_path / "traced.json") == traced
    plain, data = (json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in ("plain.json", "traced.json"))
    assert all("trace" not in phone for phone in plain["runs"][0]["phones"])
    for phone in data["runs"][0]["phones"]:
        del phone["trace"]
    assert data == plain


def test_one_number_a_line_but_for_a_trace(
    make_results: Callable[..., Results], traced: Results, tmp_path: Path
) -> None:
    module.save(make_results(modes=("cubic",)), tmp_path / "plain.json")
    module.save(traced, tmp_path / "traced.json")
    plain, one_line = ((tmp_path / name).read_text(encoding="utf-8") for name in ("plain.json", "traced.json"))
    assert len(plain.splitlines()) > 100
    assert len(one_line.splitlines()) == 1


def test_a_traced_run_compares_as_an_untraced_one(make_results: Callable[..., Results], traced: Results) -> None:
    plain = make_results(modes=("cubic",)).runs[0]
    assert traced.runs[0].comparable() == plain.comparable()


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
    ("path", "value", "message"),
    [
        ("schema", 2, "schema: 2: input should be 1"),
        ("schema", ..., "'schema' is missing"),
        ("parameters.terminals", 4, "runs[0].phones: 3, but parameters.terminals is 4"),
        ("parameters.terminals", 0, "parameters.terminals: 0: input should be greater"),
        ("parameters.terminals", 3.0, "parameters.terminals: 3.0: input should be a valid integer"),
        ("parameters.colour", "red", "parameters: unknown key 'colour'"),
        ("parameters.loss_percent", float("nan"), "parameters.loss_percent: nan: input should be a finite number"),
        ("parameters.scenario.actions.0.do", "dance", "parameters.scenario.actions[0].do: 'dance': "),
        ("runs", {}, "runs: input should be a valid"),
        ("runs.1.mode", "newreno", "runs[1].mode: 'newreno': none of cubic, reno, bbr"),
        ("runs.1.jain", "high", "runs[1].jain: 'high': input should be a valid number"),
        ("runs.1.jain", float("nan"), "runs[1].jain: nan: input should be a finite number"),
        ("runs.1.jain", True, "runs[1].jain: True: input should be a valid number"),
        ("runs.1.seed", ..., "runs[1]: 'seed' is missing"),
        ("runs.1.total_goodput_mbps", None, "runs[1].total_goodput_mbps: None: input"),
        ("runs.0.phones.2.series", [], "runs[0].phones[2].series: input should be an object"),
        ("runs.0.phones.2.series.srtt_ms", [1.0], "runs[0].phones[2].series: srtt_ms: 1 values for 6"),
        ("runs.0.phones.2.series.srtt_ms.3", float("inf"), "runs[0].phones[2].series.srtt_ms[3]: inf: input"),
        ("runs.0.phones.2.series.t_s.5", None, "runs[0].phones[2].series.t_s[5]: None: input"),
        ("runs.0.phones.2.extra", 1, "runs[0].phones[2]: unknown key 'extra'"),
        ("runs.0.phones.0.rules", [{"t_s": 1}], "runs[0].phones[0].rules[0]: 'rules' is missing"),
        ("runs.0.phones.0.trace", {"lost": 0}, "runs[0].phones[0].trace: 'connections' is missing"),
        ("more", 1, "unknown key 'more'"),
    ],
)
def test_a_wrong_field_is_named_with_file_key_and_value(
    document: dict[str, Any], tmp_path: Path, path: str, value: object, message: str
) -> None:
    change(document, path, value)
    (tmp_path / "bad.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        module.load(tmp_path / "bad.json")
    assert str(raised.value).startswith(f"{tmp_path / 'bad.json'}: {message}")


def test_a_series_of_another_length_than_the_run_is_named(document: dict[str, Any], tmp_path: Path) -> None:
    for values in document["runs"][1]["phones"][2]["series"].values():
        values.pop()
    (tmp_path / "short.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UsageError, match=r"runs\[1\].phones\[2\].series: 5 samples for 6 seconds"):
        module.load(tmp_path / "short.json")


@pytest.mark.parametrize(
    ("text", "message"), [(b"", "not JSON"), (b"{", "not JSON"), (b'{"\xff": 1}', "not JSON"), (b"[1]", "an object")]
)
def test_a_file_without_results_is_named(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "bad.json").write_bytes(text)
    with pytest.raises(UsageError, match=f"bad.json: .*{message}"):
        module.load(tmp_path / "bad.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.json"):
        module.load(tmp_path / "gone.json")


def test_a_file_that_cannot_be_written_is_named(make_results: Callable[..., Results], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"^cannot write {tmp_path}: Is a directory$"):
        module.save(make_results(modes=("cubic",)), tmp_path)


SCALARS = st.none() | st.booleans() | st.integers(-9, 99) | st.floats() | st.text(max_size=3)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
LEAVES = (
    *("kernel", "parameters.loss_percent", "parameters.wired_delays_ms.0", "parameters.controller_config"),
    *("runs.0.jain", "runs.0.wall_seconds", "runs.0.retransmits", "runs.0.phones.0.series.srtt_ms.0"),
    *("runs.0.phones.0.trace.connections.0.events.timeout.t_s.0", "runs.0.phones.0.trace.connections.0.local"),
)
PLACES = (
    *("schema", "parameters", "parameters.scenario", "parameters.modes", "parameters.seeds", "parameters.orphan"),
    *("runs", "runs.0", "runs.0.peak_memory_kib", "runs.0.phones", "runs.0.phones.0", "runs.0.phones.0.series"),
    *("runs.0.phones.0.trace", "runs.0.phones.0.trace.connections", *LEAVES),
)


def test_the_document_that_the_next_test_changes_is_read_as_it_is(traced: Results, tmp_path: Path) -> None:
    """Were it refused unchanged, the next test would show nothing; were a place missing, neither."""
    path = tmp_path / "traced.json"
    module.save(traced, path)
    assert module.load(path) == traced
    for place in PLACES:
        change(json.loads(path.read_text(encoding="utf-8")), place, ...)


@example(("runs.0.jain", float("nan")))
@given(st.tuples(st.sampled_from(LEAVES), SCALARS) | st.tuples(st.sampled_from(PLACES), JSON_VALUES))
def test_any_value_anywhere_is_refused_or_can_be_written_again(
    traced: Results, tmp_path_factory: pytest.TempPathFactory, changed: tuple[str, object]
) -> None:
    place, value = changed
    path = tmp_path_factory.getbasetemp() / "any-value.json"
    module.save(traced, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document, place, value)
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        results = module.load(path)
    except UsageError:
        event("refused")
        return
    event("read")
    assert not has_number_that_is_not_finite(value)
    module.save(results, path)
    assert module.load(path) == results


def has_number_that_is_not_finite(value: object) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case list():
            return any(map(has_number_that_is_not_finite, value))
        case dict():
            return any(map(has_number_that_is_not_finite, value.values()))
        case _:
            return False


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_neither_made_nor_written(
    make_results: Callable[..., Results], tmp_path: Path, value: float
) -> None:
    results = make_results(modes=("cubic",))
    with pytest.raises(ValidationError, match="finite number"):
        replace(results.runs[0], jain=value)
    with pytest.raises(ValidationError, match="finite number"):
        replace(results.runs[0].phones[0].series, srtt_ms=(value,) * 6)
    object.__setattr__(results.runs[0], "jain", value)
    with pytest.raises(ValueError, match="Out of range float"):
        module.save(results, tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


def test_a_run_compares_by_what_the_seed_decides(make_results: Callable[..., Results]) -> None:
    first = make_results(modes=("cubic",)).runs[0]
    assert replace(first, wall_seconds=99.0, peak_memory_kib={"phone1": 3}).comparable() == first.comparable()
    series = replace(first.phones[0].series, srtt_ms=(5.0,) * 6)
    other = replace(first, phones=(replace(first.phones[0], series=series), *first.phones[1:]))
    assert other.comparable() != first.comparable()


def test_a_download_is_read_back_and_only_there_if_there_is_one(
    make_results: Callable[..., Results], tmp_path: Path
) -> None:
    for name in ("uplink", "both-ways"):
        results = make_results(modes=("cubic",), terminals=4, scenario=built_in(name))
        module.save(results, tmp_path / f"{name}.json")
        assert module.load(tmp_path / f"{name}.json") == results
    up, both = (
        json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))["runs"][0]
        for name in ("uplink", "both-ways")
    )
    assert set(both) - set(up) == {"uplink", "downlink"}
    assert not {"uplink", "downlink", "recovery_s"} & set(up)
    assert ["download" in phone for phone in both["phones"]] == [True, True, True, False]
    assert not any("download" in phone for phone in up["phones"])
