# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from airbound_lab.errors import UsageError
from airbound_lab.figures.application_results import ApplicationResult, Connections
from airbound_lab.quic_study import table
from airbound_lab.quic_study.design import Case, Design

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.results import Results, Run


def test_by_default_one_phone_of_ten_uploads_by_quic() -> None:
    cases = Design().cases()
    assert len(cases) == 2 * 3 * 3
    for case in cases:
        quic, *others = case.parameters.scenario.actions
        assert (quic.phone, quic.protocol) == (1, "quic")
        assert [(each.phone, each.protocol) for each in others] == [(phone, "tcp") for phone in range(2, 11)]
        assert (case.parameters.phy, case.parameters.ap) == ("11ac-80", "openwrt")


def test_only_the_mode_without_a_rate_changes_the_controllers_configuration() -> None:
    cases = Design(delays_ms=(4.0,), seeds=(1,)).cases()
    assert [(case.mode, case.parameters.modes, case.parameters.controller_config) for case in cases] == [
        ("cubic", ("cubic",), None),
        ("unpaced", ("airbound",), "[pacing]\nenabled = false\n"),
        ("airbound", ("airbound",), None),
    ]


def test_a_file_goes_beside_it() -> None:
    [case] = Design(cells=("11g",), delays_ms=(16.0,), sends=("udp",), file=True, modes=("cubic",), seeds=(7,)).cases()
    udp, file, *_ = case.parameters.scenario.actions
    assert (udp.protocol, file.do, file.phone, file.class_name()) == ("udp", "start-application", 1, "")
    assert case.parameters.ap == "plain"
    assert str(case) == "11g, 16 ms, udp and a file: cubic, seed 7"


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(cells=("11z",)), "--cells: '11z' is none of"),
        (Design(sends=("tcp",)), "--sends: 'tcp' is none of"),  # type: ignore[arg-type]
        (Design(modes=("bbr",)), "--modes: 'bbr' is none of"),
        (Design(delays_ms=()), "--delays: at least one"),
        (Design(terminals=1), "--terminals: 1"),
    ],
)
def test_a_wrong_request_is_refused(design: Design, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        design.check()


def made(make_results: Callable[..., Results]) -> tuple[Case, Run]:
    [case] = Design(delays_ms=(4.0,), modes=("cubic",), seeds=(1,)).cases()
    case = replace(case, parameters=replace(case.parameters, seconds=10, warmup_seconds=4))
    return case, make_results(modes=("cubic",), seconds=10, warmup_seconds=4).runs[0]


def test_the_table_compares_phone_1_with_the_others(make_results: Callable[..., Results]) -> None:
    case, run = made(make_results)
    heading, row = table.rows(table.gather([(case, run)]))
    shown = dict(zip(heading, row, strict=True))
    first, *others = [phone.goodput_mbps for phone in run.phones]
    mean_mbps = sum(others) / len(others)
    assert row[:4] == ["11ac-80", "4", "quic", "cubic"]
    assert shown["by UDP Mb/s"] == f"{first:.1f}"
    assert shown["by TCP Mb/s"] == "0.0"
    assert shown["others Mb/s"] == f"{mean_mbps:.1f} ({min(others):.1f} to {max(others):.1f})"
    assert shown["ratio"] == f"{first / mean_mbps:.2f}"
    assert shown["total"] == f"{sum([first, *others]):.1f}"
    assert "-" not in (shown["TCP RTT ms"], shown["QUIC RTT ms"])


def test_of_a_file_counts_what_was_acknowledged_in_the_window(make_results: Callable[..., Results]) -> None:
    case, run = made(make_results)
    acked = (0, 9_000_000, 10_000_000, 12_000_000)
    sent = Connections((0.1, 3.9, 5.0, 9.0), acked, (10,) * 4, (4.0,) * 4, (0,) * 4, (1,) * 4)
    run = replace(run, applications=(ApplicationResult(1, "file", 0.0, "running", sent),))
    found = table.trial(case, run)
    assert found.file_mbps == pytest.approx(2e6 * 8 / 4 / 1e6)
    assert found.total_mbps == pytest.approx(run.total_goodput_mbps + found.file_mbps)
    assert found.ratio == pytest.approx((found.udp_mbps + found.file_mbps) / found.tcp_mbps)


def test_the_document_has_every_figure(make_results: Callable[..., Results]) -> None:
    document = json.loads(json.dumps(table.document(table.gather([made(make_results)]))))
    [found] = document["found"]
    assert found["trials"][0]["quic_lost"] == made(make_results)[1].phones[0].retransmits
