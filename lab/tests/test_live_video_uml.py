# SPDX-License-Identifier: Apache-2.0
"""Live video in a full cell: with its class it has the category for video, and nobody else has; without, it stops."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.live_video_study import measures
from airbound_lab.live_video_study.design import Design
from airbound_lab.run import host

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.live_video_study.measures import Trial

pytestmark = pytest.mark.uml

VIDEO_S = 30


@pytest.fixture(scope="module")
def boot(boot_cell: Callable[..., Cell]) -> Callable[..., Cell]:
    """Boots a cell of the study, of phones of 2013."""
    host.check_tools(applications=True)

    def boot(mode: str, **given: Any) -> Cell:
        design = Design(cells=("2013",), modes=(mode,), seeds=(1,), video_s=VIDEO_S, **given)
        [case] = design.cases()
        parameters = case.parameters
        every = {field.name: getattr(parameters, field.name) for field in fields(parameters)}
        del every["modes"], every["seeds"]
        return boot_cell(mode.partition("@")[0], **every)

    return boot


@pytest.fixture(scope="module")
def with_class(boot: Callable[..., Cell]) -> Cell:
    return boot("airbound")


def trial(cell: Cell) -> Trial:
    return measures.trial(cell.run)


def log(cell: Cell, name: str) -> str:
    return (cell.logs / "log" / f"{name}.log").read_text(encoding="utf-8")


def test_with_its_class_it_never_stops_and_without_it_does(with_class: Cell, boot: Callable[..., Cell]) -> None:
    without = trial(boot("airbound@no-classes"))
    found = trial(with_class)
    assert without.interruptions > 0
    assert all(video.is_whole for video in found.videos)
    assert found.video_mbps > 0.65
    assert found.video_mbps + found.others_mbps >= 0.98 * (without.video_mbps + without.others_mbps)


def test_the_phones_and_the_access_points_agents_did_it(with_class: Cell) -> None:
    controller = log(with_class, "controller")
    assert re.search(r"info flows 10\.0\.0\.11: uid 10001 to 10\.0\.4\.1 as video \d+\.\d % of the air adm", controller)
    assert "stations' video AIFSN 2, CW 7..15, TXOP limit 3008 us, admitted stations only" in controller
    assert "failed" not in controller
    assert "refused" not in log(with_class, "phone1")
    assert "refused" not in log(with_class, "ap")


def test_marks_alone_are_as_good_until_others_mark_as_well(boot: Callable[..., Cell]) -> None:
    alone, beside_marks = (trial(boot("cubic@live-marks", mark=mark)) for mark in (0, 7))
    assert all(video.is_whole for video in alone.videos)
    assert beside_marks.video_mbps < 0.5
    assert not any(video.is_whole for video in beside_marks.videos)


def test_all_others_lie_and_it_is_no_worse_than_without_control(boot: Callable[..., Cell]) -> None:
    """They claim to be live, or mark what they send; marks alone would starve who does not."""
    marked = trial(boot("airbound", mark=7))
    assert marked.video_mbps > 0.65
    assert all(video.is_whole for video in marked.videos)


def test_videos_that_are_refused_a_grant_have_a_larger_window_of_all_stations(boot: Callable[..., Cell]) -> None:
    """Of six beside ten that saturate and have no agent; with the access point's own window they have 1 Mb/s in all."""
    found = boot("airbound", videos=(6,), terminals=(16,), agents=6)
    assert re.search(r"stations' best effort AIFSN \d+, CW 255\.\.1023", log(found, "controller"))
    assert trial(found).video_mbps > 2
