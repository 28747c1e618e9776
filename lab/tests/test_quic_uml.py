# SPDX-License-Identifier: Apache-2.0
"""Uploads by QUIC, and UDP of a phone that also sends TCP, beside uploads by TCP: with a rate for UDP and without."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.quic_study import table
from airbound_lab.quic_study.design import Design
from airbound_lab.run import host

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.quic_study.table import Trial

pytestmark = pytest.mark.uml


@pytest.fixture(scope="module")
def trial(boot_cell: Callable[..., Cell]) -> Callable[..., Trial]:
    """Boots a cell of the study, and has its figures."""

    def trial(mode: str, **given: Any) -> Trial:
        [case] = Design(delays_ms=(4.0,), modes=(mode,), seeds=(1,), **given).cases()
        parameters = case.parameters
        every = {field.name: getattr(parameters, field.name) for field in fields(parameters)}
        del every["seeds"]
        [lab_mode] = every.pop("modes")
        return table.trial(case, boot_cell(lab_mode, **every).run)

    return trial


def test_quic_has_what_tcp_has_and_round_trips_stay_short(trial: Callable[..., Trial]) -> None:
    unpaced, paced = (trial(mode, terminals=5, seconds=22) for mode in ("unpaced", "airbound"))
    print(unpaced, paced)  # noqa: T201  (with -s: for the docs)
    assert 0.8 <= paced.ratio <= 1.2
    assert paced.total_mbps > 1.1 * unpaced.total_mbps
    assert paced.tcp_rtt_ms is not None
    assert unpaced.tcp_rtt_ms is not None
    assert paced.tcp_rtt_ms < 0.6 * unpaced.tcp_rtt_ms
    assert unpaced.quic_lost == 0 < paced.quic_lost


def test_udp_and_tcp_of_one_phone_have_one_share(trial: Callable[..., Trial]) -> None:
    host.check_tools(applications=True)
    cell: dict[str, Any] = {"cells": ("11n-20",), "sends": ("udp",), "file": True, "terminals": 4, "seconds": 26}
    unpaced, paced = (trial(mode, **cell) for mode in ("unpaced", "airbound"))
    print(unpaced, paced)  # noqa: T201  (as above)
    assert unpaced.ratio > 3
    assert 0.85 <= paced.ratio <= 1.2
    # Neither of both has nothing.
    assert min(paced.udp_mbps, paced.file_mbps) > 0.3 * paced.tcp_mbps
