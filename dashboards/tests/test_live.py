# SPDX-License-Identifier: Apache-2.0
"""Every query of every dashboard, and every rule, against a real Prometheus that scrapes two real controllers."""

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from airbound_dashboards import fill
from airbound_dashboards.api import Prometheus, QueryError
from airbound_dashboards.chosen import Span, answer, choices
from airbound_dashboards.live.complete import Asked, boards, queries, values
from airbound_dashboards.live.site import COMPARED, CONTROLLED, WATCHED

BOARDS = boards()


def annotations() -> Iterator[Any]:
    for name, board in BOARDS.items():
        for annotation in board.get("annotations", {}).get("list", ()):
            yield pytest.param(name, annotation, id=f"{name}: {annotation['name']}")


def test_there_are_queries() -> None:
    assert len(BOARDS) == 4
    assert len(list(queries())) > 100


@pytest.mark.parametrize("asked", [*queries()], ids=str)
def test_a_query_returns_data_with_the_labels_of_its_legend(asked: Asked, prometheus: Prometheus, span: Span) -> None:
    of_board, target = values(asked.board, prometheus, span), asked.target
    expr = fill.fill(target["expr"], {**of_board, **span.values()})
    found = answer(target, of_board, prometheus, span)
    assert found, expr
    assert any(math.isfinite(value) for one in found for _, value in one.points), expr
    shown = fill.legend_labels(target.get("legendFormat", ""))
    for label in shown:
        assert any(one.labels.get(label) for one in found), f"{label}: {[one.labels for one in found]}"
    legends = [fill.legend(target["legendFormat"], one.labels) for one in found if target.get("legendFormat")]
    assert all(legends), legends
    assert len(set(legends)) == len(legends), legends
    for transformation in asked.panel.get("transformations", ()):
        key = transformation["options"].get("byField")
        assert key is None or all(one.labels.get(key) for one in found), key


def test_of_single_cells_no_more_are_shown_than_were_chosen(prometheus: Prometheus, span: Span) -> None:
    of_cells = [asked for asked in queries() if asked.board == "fleet"]
    of_cells = [asked for asked in of_cells if asked.target.get("legendFormat") == "{{bssid}}"]
    assert len(of_cells) == 5
    top = {**values("fleet", prometheus, span), "top": "1"}
    for asked in of_cells:
        assert len(answer(asked.target, top, prometheus, span)) == 1, asked


@pytest.mark.parametrize(("name", "annotation"), [*annotations()])
def test_an_annotation_returns_events_with_the_labels_of_its_text(
    name: str, annotation: dict[str, Any], prometheus: Prometheus, span: Span
) -> None:
    expr = fill.fill(annotation["expr"], {**values(name, prometheus, span), **span.values()})
    found = prometheus.range(expr, span.from_s, span.to_s, span.step_s)
    assert found, expr
    labels = fill.legend_labels(annotation["titleFormat"] + annotation["textFormat"])
    assert labels
    assert all(series.labels.get(label) for series in found for label in labels)
    if annotation.get("useValueForTime"):
        now_ms = span.to_s * 1000
        assert all(now_ms - 3_600_000 < value <= now_ms for series in found for _, value in series.points)


def panel(title: str) -> dict[str, Any]:
    (found,) = [panel for panel in BOARDS["cell"]["panels"] if panel["title"] == title]
    return found  # type: ignore[no-any-return]


def shown(title: str, bssid: str, prometheus: Prometheus, span: Span) -> dict[str, list[tuple[dict[str, str], float]]]:
    """What the queries of a panel of *Cell* return for a cell: of each, by its letter, labels and value."""
    found = {}
    for target in panel(title)["targets"]:
        series = answer(target, {"bssid": bssid}, prometheus, span)
        found[target["refId"]] = [(one.labels, one.points[-1][1]) for one in series]
    return found


def test_hours_are_compared_where_the_same_number_sent(prometheus: Prometheus, span: Span) -> None:
    """Of `_pasts`: with two and four senders, (30 * 4 + 60 * 3) MB/s today, and (30 * 2 + 60 * 2) MB/s as yesterday."""
    expected = {
        "Carried: since yesterday": 0.67,  # 300 / 180 - 1
        "RTT: since yesterday": (30 * 0.02 + 60 * 0.04) / (30 * 0.1 + 60 * 0.2) - 1,
        "Compared with yesterday": 90 / 120,
    }
    for title, value in expected.items():
        (((_, found),),) = shown(title, COMPARED, prometheus, span).values()
        assert found == pytest.approx(value), title
    hours = shown("The last hour and yesterday", COMPARED, prometheus, span)
    by_hour = {ref: {labels["hour"]: value for labels, value in found} for ref, found in hours.items()}
    assert by_hour == {
        "A": {
            "the last hour": pytest.approx(8e6 * (30 * 4 + 60 * 3 + 30 * 1) / 120),
            "the same of yesterday": pytest.approx(8e6 * (10 * 2 + 50 * 2 + 20 * 9) / 80),
        },
        "B": {
            "the last hour": pytest.approx((30 * 0.02 + 60 * 0.04 + 30 * 0.5) / 120),
            "the same of yesterday": pytest.approx((10 * 0.1 + 50 * 0.2 + 20 * 0.01) / 80),
        },
        "C": {
            "the last hour": pytest.approx((30 * 2 + 60 * 4 + 30 * 9) / 120),
            "the same of yesterday": pytest.approx((10 * 2 + 50 * 4 + 20 * 5) / 80),
        },
        "D": {"the last hour": 1, "the same of yesterday": 20 / 80},
        "E": {"the last hour": 1, "the same of yesterday": 1},
    }
    never_controlled = shown("The last hour and yesterday", CONTROLLED, prometheus, span)["D"]
    assert {labels["hour"]: value for labels, value in never_controlled}["the same of yesterday"] == 0


def test_a_comparison_without_data_says_so(prometheus: Prometheus, span: Span) -> None:
    """`watched` was always in observe, and is of today."""
    for title in ("Carried: control against observe", "RTT: control against observe"):
        assert shown(title, WATCHED, prometheus, span) == {"A": []}
        assert panel(title)["fieldConfig"]["defaults"]["noValue"] == "not known yet"
    for title in ("Carried: since yesterday", "RTT: since yesterday", "Compared with yesterday"):
        assert shown(title, WATCHED, prometheus, span) == {"A": []}
        assert panel(title)["fieldConfig"]["defaults"]["noValue"] == "no data of both hours yet"
    hours = shown("The last hour and yesterday", WATCHED, prometheus, span)
    assert {labels["hour"] for found in hours.values() for labels, _ in found} == {"the last hour"}


def test_a_switch_of_the_mode_is_marked_where_it_was_and_nowhere_else(prometheus: Prometheus, span: Span) -> None:
    (annotation,) = [each for each in BOARDS["cell"]["annotations"]["list"] if each["name"] == "Mode"]

    def marked(bssid: str) -> dict[str, int]:
        expr = fill.fill(annotation["expr"], {"bssid": bssid, **span.values()})
        return {
            one.labels["mode"]: len(one.points) for one in prometheus.range(expr, span.from_s, span.to_s, span.step_s)
        }

    assert set(marked(CONTROLLED)) == {"observe", "control"}
    assert max(marked(CONTROLLED).values()) <= 8 / span.step_s + 1  # for a $__rate_interval
    assert not marked(WATCHED)


@pytest.mark.parametrize("name", BOARDS)
def test_variables_offer_what_there_is(name: str, prometheus: Prometheus, span: Span) -> None:
    expected = {
        "bssid": {CONTROLLED, WATCHED},
        "of_cell": {CONTROLLED, WATCHED},
        "terminal": {f"phone-{number}" for number in range(1, 10)},
        "job": {"airbound"},
        "top": {"5", "10", "20", "50"},
    }
    so_far: dict[str, str] = {}
    for variable in BOARDS[name]["templating"]["list"]:
        if variable["type"] == "datasource":
            assert variable["query"] == "prometheus"
            continue
        found = choices(variable, so_far, prometheus, span)
        if variable["name"] == "instance":
            assert len(found) == 2
        elif variable["name"] == "terminal":  # phone-10 comes and goes
            assert set(found) - {"phone-10"} == expected["terminal"]
        else:
            assert set(found) == expected[variable["name"]]
        so_far[variable["name"]] = variable.get("allValue") or found[0]


def test_a_cell_is_chosen_by_its_names(prometheus: Prometheus, span: Span) -> None:
    (variable,) = [listed for listed in BOARDS["cell"]["templating"]["list"] if listed["name"] == "bssid"]
    expr = fill.query_result(variable["query"]["query"])
    assert expr
    texts = [fill.as_text(series.labels, 1, span.to_s) for series in prometheus.instant(expr, span.to_s)]
    assert sorted(fill.choices(variable["regex"], texts)) == [
        (f"controlled | ap-hall | {CONTROLLED}", CONTROLLED),
        (f"watched | ap-office | {WATCHED}", WATCHED),
    ]


def test_rules_are_evaluated_without_errors_and_each_record_has_samples(prometheus: Prometheus, span: Span) -> None:
    groups = prometheus.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert {rule["health"] for rule in rules} == {"ok"}, [rule.get("lastError") for rule in rules]
    recorded = [rule["name"] for rule in rules if rule["type"] == "recording"]
    assert len(recorded) > 10
    for name in recorded:
        assert prometheus.instant(name, span.to_s), name


def test_the_watched_cell_is_bloated_and_the_controlled_one_has_bounds(prometheus: Prometheus, span: Span) -> None:
    (ratio,) = prometheus.instant(f'bssid:airbound_cell_rtt_ratio:median{{bssid="{WATCHED}"}}', span.to_s)
    assert ratio.points[0][1] > 5
    firing = prometheus.instant('ALERTS{alertname="AirboundCellBloated", alertstate="firing"}', span.to_s)
    assert WATCHED in {series.labels["bssid"] for series in firing}
    bounded = prometheus.instant("airbound_terminal_cwnd_max_segments > 0", span.to_s)
    assert {"phone-1", "phone-2"} <= {series.labels["terminal"] for series in bounded}
    (exempt,) = prometheus.instant('airbound_terminal_exempt{terminal="phone-4"}', span.to_s)
    assert exempt.points[0][1] == 1


def test_no_alert_of_what_is_well_fires(prometheus: Prometheus, span: Span) -> None:
    quiet = "NoController|StoreLost|CellsWithoutOwner|CellOwnedTwice|ConfigurationRefused|DecisionsFail"
    found = prometheus.instant(f'ALERTS{{alertname=~"Airbound({quiet})", alertstate="firing"}}', span.to_s)
    assert not found, [series.labels for series in found]


def test_a_wrong_query_is_an_error_that_names_it(prometheus: Prometheus, span: Span) -> None:
    with pytest.raises(QueryError, match=re.escape("sum by (: ")):
        prometheus.instant("sum by (", span.to_s)
