# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from airbound_lab.applications_study.design import CELLS, CLAMP_SEGS, SEND_BUFFER_BYTES, Design
from airbound_lab.errors import UsageError
from airbound_lab.settings.application import Live


def test_the_paper_is_repeated_by_default() -> None:
    cases = Design().cases()
    assert Counter(case.part for case in cases) == {"alone": 4, "throughput": 15, "video": 20}
    assert all(case.parameters.cwnd_clamp_segs == CLAMP_SEGS for case in cases)
    video = next(case for case in cases if case.part == "video")
    [live] = video.parameters.scenario.live()
    assert live == Live(rate_kbps=700, length_s=90, sender="drop", send_buffer_bytes=SEND_BUFFER_BYTES)
    assert (video.parameters.terminals, video.parameters.wired_delays_ms) == (8, (256.0,))
    assert video.parameters.rate_control == "aarf"
    others = [action for action in video.parameters.scenario.actions if action.do == "start-traffic"]
    assert [(action.phone, action.protocol) for action in others] == [(phone, "udp") for phone in range(2, 9)]


def test_phones_of_today_have_neither_a_clamp_nor_a_small_buffer() -> None:
    cases = Design(cells=CELLS[1:], seeds=(1,)).cases()
    assert {(case.cell, case.parameters.phy) for case in cases} == {("11n", "11n-20"), ("11ac", "11ac-80")}
    for case in cases:
        assert case.parameters.cwnd_clamp_segs is None
        assert case.parameters.ap == "openwrt"
        assert all(live.send_buffer_bytes is None for live in case.parameters.scenario.live())


def test_a_trial_lasts_until_the_player_has_shown_what_it_has() -> None:
    design = Design(parts=("video",), video_s=10, seeds=(3,), video_terminals=(1, 4))
    cases = design.cases()
    assert [(case.what, case.terminals, case.seed) for case in cases] == [
        ("drop", 1, 3),
        ("drop", 4, 3),
        ("wait", 1, 3),
        ("wait", 4, 3),
    ]
    assert all(case.parameters.seconds > 12 for case in cases)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cells": ("paper", "11be")}, "--cells: '11be' is none of paper, 11n, 11ac"),
        ({"parts": ("all",)}, "--parts: 'all' is none of alone, throughput, video"),
        ({"senders": ("dropp",)}, "--senders: 'dropp' is none of drop, wait"),
        ({"seeds": (1, 1)}, "--seeds: at least one, and each only once"),
        ({"terminals": ()}, "--terminals: at least one"),
    ],
)
def test_a_wrong_request_is_refused(changes: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        replace(Design(), **changes).check()
    assert message in str(raised.value)
