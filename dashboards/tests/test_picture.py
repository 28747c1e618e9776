# SPDX-License-Identifier: Apache-2.0
"""Pictures of all dashboards from the live site, and how values are written."""

import json
from pathlib import Path

import pytest
from matplotlib.image import imread

from airbound_dashboards.api import Prometheus
from airbound_dashboards.chosen import Span
from airbound_dashboards.generate import BOARDS, texts
from airbound_dashboards.live.site import CONTROLLED
from airbound_dashboards.picture import page, units
from airbound_dashboards.picture.cli import draw_all, main, moment
from airbound_dashboards.picture.content import Content, Shown, content

WANTED = {"bssid": CONTROLLED, "terminal": "phone-3"}
SPAN = Span(1_000_000, 1_000_100, 2, scrape_s=2)


def test_each_dashboard_is_drawn_with_something_in_every_panel(
    prometheus: Prometheus, span: Span, tmp_path: Path
) -> None:
    files = draw_all(prometheus, span, tmp_path, list(BOARDS), WANTED)
    assert [file.name for file in files] == [f"dashboard-{name}.png" for name in BOARDS]
    for name, file in zip(BOARDS, files, strict=True):
        image = imread(file)
        width, columns = image.shape[1], page.COLUMNS
        assert width == pytest.approx(columns * page.COLUMN_INCHES * page.DPI, abs=2)
        for panel in json.loads(texts()[name])["panels"]:
            at = panel["gridPos"]
            top = round((page.HEAD_INCHES + at["y"] * page.ROW_INCHES) * page.DPI)
            bottom, left = top + round(at["h"] * page.ROW_INCHES * page.DPI), round(at["x"] * width / columns)
            part = image[top:bottom, left : round((at["x"] + at["w"]) * width / columns)]
            body = part[round(page.ROW_INCHES * page.DPI) :] if panel["type"] != "row" else part
            assert body.reshape(-1, body.shape[-1]).std(axis=0).max() > 0.01, panel["title"]


def test_decisions_are_marked_when_they_were_made(prometheus: Prometheus, span: Span) -> None:
    shown = content(json.loads(texts()["terminal"]), prometheus, span, {"terminal": "phone-3"})
    assert shown.values["terminal"] == "phone-3"
    assert shown.events_s
    assert all(span.from_s <= at_s <= span.to_s for at_s in shown.events_s)


def test_a_cell_that_there_is_not_is_an_error(prometheus: Prometheus, capsys: pytest.CaptureFixture[str]) -> None:
    url = prometheus._url
    words = ["--prometheus", url, "--from", "-60", "--to", "-0", "--board", "cell", "--set", "bssid=none"]
    assert main(words) == 1
    assert "bssid: none is not among 2 choices" in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--prometheus", "http://127.0.0.1:1", "--from", "-60", "--to", "-0"]) == 1
    assert "airbound-dashboards: " in capsys.readouterr().err


def test_a_panel_without_data_says_so_and_the_page_is_drawn(tmp_path: Path) -> None:
    board = json.loads(texts()["cell"])
    page.draw(Content("x", {}, [(panel, []) for panel in board["panels"]], []), SPAN, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_a_line_with_a_gap_and_a_single_value_are_drawn(tmp_path: Path) -> None:
    board = json.loads(texts()["cell"])
    points = [(SPAN.from_s + 2.0 * number, float(number)) for number in (0, 1, 2, 30, 31)]
    shown = [Shown("a", {"terminal": "a"}, "A", points), Shown("b", {"terminal": "b"}, "B", points[:1])]
    page.draw(Content("x", {}, [(panel, shown) for panel in board["panels"]], [SPAN.from_s]), SPAN, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_times_are_read_as_unix_iso_and_before_now() -> None:
    assert moment("1000.5") == 1000.5
    assert moment("1970-01-01T00:01:00") == moment("1970-01-01T01:01:00+01:00") == 60
    assert moment("-10") < moment("-5")
    with pytest.raises(ValueError, match="yesterday"):
        moment("yesterday")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (24_912_345, "bps", "24.9 Mb/s"),
        (0, "bps", "0 b/s"),
        (0.0123, "s", "12.3 ms"),
        (0.000045, "s", "45 \N{MICRO SIGN}s"),
        (3 * 86_400, "s", "3 days"),
        (0.925, "percentunit", "92.5%"),
        (1500, "short", "1.5 k"),
        (1794.4, "none", "1794"),
        (92.34, "none", "92.3"),
        (-64, "dBm", "-64 dBm"),
        (22.13, "ops", "22.1/s"),
        (2048, "bytes", "2.05 kB"),
        (float("nan"), "short", ""),
    ],
)
def test_values_are_written_with_their_units(value: float, unit: str, text: str) -> None:
    assert units.text(value, unit) == text


def test_decimals_are_kept_if_they_are_given() -> None:
    assert units.text(1.68, "short", 1) == "1.7"
    assert units.text(0.7666, "short", 2) == "0.77"
