# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound_dashboards import fill


def test_variables_are_filled_in_however_they_are_written() -> None:
    values = {"bssid": "02:00", "top": "5"}
    assert fill.fill('topk($top, x{bssid="$bssid", y="${bssid}"})', values) == 'topk(5, x{bssid="02:00", y="02:00"})'
    assert fill.fill("${bssid:regex}", values) == "02:00"


def test_a_variable_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="cell"):
        fill.fill("x[$cell]", {})


def test_durations_are_those_of_grafanas_data_source() -> None:
    assert fill.durations(0, 1800, 5, 15) == {"__interval": "5s", "__rate_interval": "60s", "__range": "1800s"}
    assert fill.durations(0, 86400, 120, 15)["__rate_interval"] == "135s"


def test_legends_have_the_values_of_their_labels() -> None:
    assert fill.legend_labels("{{a}} at {{ b }}") == ["a", "b"]
    assert fill.legend("{{a}} at {{b}}", {"a": "1"}) == "1 at"
    assert fill.legend("", {"__name__": "up", "job": "x"}) == 'up{job="x"}'


def test_queries_of_variables_are_taken_apart() -> None:
    assert fill.label_values('label_values(x{a="b, c"}, d)') == ('x{a="b, c"}', "d")
    assert fill.label_values("query_result(x)") is None
    assert fill.query_result("query_result(max by (a) (x))") == "max by (a) (x)"
    assert fill.query_result("label_values(x, y)") is None


def test_a_regular_expression_gives_text_and_value_of_those_that_match() -> None:
    texts = [fill.as_text({"bssid": "02:00", "name": "hall | 02:00"}, 1, 2), "other{} 1 2"]
    assert texts[0] == '{bssid="02:00",name="hall | 02:00"} 1 2000'
    assert fill.choices('/bssid="(?<value>[^"]+)".*name="(?<text>[^"]*)"/', texts) == [("hall | 02:00", "02:00")]
