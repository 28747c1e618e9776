# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from airbound_lab.compare import page
from airbound_lab.compare.ranking import JAIN, RTT, TOTAL, Measure

if TYPE_CHECKING:
    from conftest import MakeRows

VOID = {"meta", "wbr"}


class Page(HTMLParser):
    """Checks nesting, gathers tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {name for name, _ in attrs} & {"href", "src", "onclick"}
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text(make_rows: MakeRows) -> str:
    matrix, rows = make_rows(
        {"cubic": [(24, 0.9, 1000), (23, 0.9, 900)], "bdp+vegas": [(24, 1, 20), (24, 1, 20)]},
        {"cubic": [(24, 0.9, 1000)]},
        down_mbps=3.0,
    )
    return page.html(matrix, rows, "bdp+vegas", failed=["<b>2 phones: hung"])


def test_the_page_is_well_formed_and_needs_nothing_from_outside(text: str) -> None:
    found = Page(text)
    assert found.open == []
    assert "script" not in found.tags
    assert "url(" not in text
    assert "@import" not in text


def test_there_is_a_map_for_each_measure_that_has_figures(text: str) -> None:
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    assert headings == [
        "Failed runs",
        "Wins - ties - losses of bdp+vegas",
        "Criterion",
        "Who is best",
        "Total, Mb/s",
        "Jain&#x27;s index",
        "Mean RTT, ms",
        "p95 RTT, ms",
        "Round trips per minute, RPM",
        "Down, Mb/s",
    ]


def test_figures_have_numbers_ranges_and_colours(text: str) -> None:
    total = text.partition("<h2>Total, Mb/s</h2>")[2].partition("<h2>")[0]
    assert '<td class="s1">23.5<span class="range">23.0 - 24.0</span></td>' in total
    assert '<td class="s0 best">24.0</td>' in total
    assert "<td>-</td>" in total
    assert "bdp<wbr>+vegas" in total


def test_names_are_text_and_not_markup(text: str) -> None:
    assert "&lt;b&gt;2 phones: hung" in text


def test_without_a_subject_nothing_is_judged(make_rows: MakeRows) -> None:
    matrix, rows = make_rows({"cubic": [(24, 0.9, 1000)]})
    text = page.html(matrix, rows, None)
    assert Page(text).open == []
    assert "Criterion" not in text


@pytest.mark.parametrize(
    ("measure", "worse_by", "step"),
    [
        (RTT, 0.0, 0),
        (RTT, 0.011, 1),
        (RTT, 1.0, 4),
        (RTT, 1.01, 5),
        # Half of the best total is as bad as twice the best RTT.
        (TOTAL, 0.5, 4),
        (TOTAL, 0.51, 5),
        (TOTAL, 1.0, 5),
        (TOTAL, 0.009, 0),
        (JAIN, 0.009, 0),
        (JAIN, 0.26, 5),
    ],
)
def test_the_colour_is_of_the_distance_from_the_best(measure: Measure, worse_by: float, step: int) -> None:
    assert page.step(measure, worse_by) == step


def test_every_step_has_its_colour_and_its_place_in_the_key(text: str) -> None:
    keys = re.findall(r'<p class="key">(.*?)</p>', text)
    assert all(re.findall(r'class="(s\d)"', key) == [f"s{i}" for i in range(6)] for key in keys)
    assert len({colour for colour in page.COLOURS if colour in text}) == 6
