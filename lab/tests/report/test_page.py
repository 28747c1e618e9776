# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab import cli
from airbound_lab.report import page as report
from airbound_lab.report import plot
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import EachPhone

    from airbound_lab.figures.results import PhoneResult, Results, Run

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks nesting, gathers ids and everything that would be fetched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: Counter[str] = Counter()
        self.references: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids[value or ""] += 1
            if name in ("href", "src", "xlink:href"):
                self.references.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text(make_results: Callable[..., Results]) -> str:
    odd = Scenario("<kill> & start", (Action(0, "start-traffic"), Action(2, "kill", component="controller")))
    sets = [
        ("4 ms", make_results(modes=("cubic", "bdp"), seeds=(1, 2))),
        ("<b>several", make_results(modes=("cubic", "paper-jb"), wired_delays_ms=(4.0, 64.0), scenario=odd)),
    ]
    return report.html(sets)


def test_the_page_is_well_formed_and_needs_nothing_from_outside(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert page.tags["svg"] == 6
    assert page.tags["table"] == 5
    assert all(reference.startswith("#") for reference in page.references)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert page.tags["script"] == 0


def test_every_id_is_there_once_and_every_reference_has_its_target(text: str) -> None:
    page = Page(text)
    assert max(page.ids.values()) == 1
    targets = {reference[1:] for reference in page.references} | set(re.findall(r"url\(#([^)]*)\)", text))
    assert targets <= set(page.ids)


def test_names_are_text_and_not_markup(text: str) -> None:
    assert "&lt;b&gt;several" in text
    assert "&lt;kill&gt; &amp; start" in text


def test_pictures_follow_the_readers_choice_of_light_or_dark(text: str) -> None:
    assert "var(--ink)" in text
    for colour in report.SVG_COLOURS:
        # Only the style sheet names them.
        assert colour not in text.split("</style>", 1)[1]


def test_pictures_are_the_same_every_time(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic", "bdp"))
    first, second = (plot.svg(plot.totals(results)) + plot.svg(plot.phones(results, "bdp")) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("modes", "total_goodput_mbps", "rtt_mean_ms"),
    [
        (("cubic@txop=0", "airbound"), 529.5, 482.0),
        (("cubic@txop=0@aifsn=4@cwmin=31", "airbound"), 1234567.8, 123456.0),
        (("cubic", "bdp"), 0.0, None),
    ],
)
def test_the_labels_of_bars_end_within_their_axis(
    make_results: Callable[..., Results],
    modes: tuple[str, ...],
    total_goodput_mbps: float,
    rtt_mean_ms: float | None,
) -> None:
    results = make_results(modes=modes)
    shown = {"total_goodput_mbps": total_goodput_mbps, "rtt_mean_ms": rtt_mean_ms}
    figure = plot.totals(replace(results, runs=tuple(replace(run, **shown) for run in results.runs)))
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert len(axes.texts) == len(modes)
        box = axes.get_window_extent()
        for label in axes.texts:
            assert label.get_window_extent().x1 <= box.x1 + 0.5


def test_a_run_without_any_rtt_can_be_drawn(
    make_results: Callable[..., Results], each_phone: Callable[[Run, EachPhone], Run]
) -> None:
    results = make_results(modes=("cubic",))
    nothing = (None,) * results.parameters.seconds

    def without_rtt(_: int, phone: PhoneResult) -> PhoneResult:
        return replace(phone, series=replace(phone.series, srtt_ms=nothing, rtt_ratio=nothing, cwnd_segs=nothing))

    run = replace(each_phone(results.runs[0], without_rtt), rtt_mean_ms=None, rtt_p95_ms=None, rtt_ratio=None)
    results = replace(results, runs=(run,))
    assert "<svg" in report.html([("udp", results)])


PHONES_WITHOUT_AGENT = {"switch": "meters", "agents": 2, "watch_senders_ms": 100}


@pytest.mark.parametrize(
    "changes",
    [
        {"tls": True},
        {**PHONES_WITHOUT_AGENT, "window_clamp": True, "window_scale": 7},
        {**PHONES_WITHOUT_AGENT, "ap_agent": False},
        {"access_points": 2, "ap_agents": 1},
        {**PHONES_WITHOUT_AGENT, "ap_edca": False},
        {"kernel_line": "6.12"},
        {"kernel_line": "6.12", "aql": False},
        {"power_save": True, "hidden": ((1, 2), (1, 3)), "interference_us": (100, 200), "distances_m": (3.0, 7.25)},
        {"access_points": 2, "ap_channels": "different", "deaf_ms": 1500},
    ],
)
def test_the_command_makes_the_same_parameters_again(changes: dict[str, Any]) -> None:
    parameters = Parameters(
        terminals=4, wired_delays_ms=(4.0, 64.5), seconds=12, warmup_seconds=3, modes=("bbr", "bdp"), seeds=(3, 5),
        rate_control="aarf", ap_rate_control="fixed", qdisc="fq", queue_packets=70, ap_qdisc="fq_codel",
        ap_queue_packets=80, driver_queue_frames=16, ap_driver_queue_frames=17, orphan=True, retry_limit=7,
        cwnd_clamp_segs=63, loss_percent=0.5, bounds_interval_ms=100, **changes,
    )  # fmt: skip
    words = shlex.split(report.command(parameters))
    options = cli._parser().parse_args(words[1:])
    assert cli._parameters(options) == parameters
