# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.errors import LabError
from airbound_lab.handover_study import observed, plot, statements, table
from airbound_lab.handover_study.design import Design
from airbound_lab.handover_study.lanes import Lane
from airbound_lab.report import plot as pictures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from airbound_lab.handover_study.design import Case
    from airbound_lab.handover_study.observed import Observed

    Observe = Callable[..., Observed]
    Found = dict[Lane, Observed]

DESIGN = Design(rtts_ms=(50,), lost_s=(5,), before_s=(0,), held_s=(2,), rivals=("udp", "tcp"), seeds=(1,))


@pytest.fixture
def found(case: Case, observe: Observe) -> Found:
    loss_s, complete_s = case.handover.loss_at_s(1), case.handover.complete_s(1)
    udp = observe(lambda due_s: None if loss_s <= due_s < loss_s + 5 else max(0.025, complete_s + 0.025 - due_s))
    # What was sent before the losses has arrived as it was sent.
    udp = replace(
        udp, lane=replace(udp.lane, records=tuple(
            replace(each, arrived_us=each.due_us + 25_000) if each.due_s < loss_s else each for each in udp.lane.records
        ))
    )  # fmt: skip
    tcp = observe(lambda due_s: 0.025 if due_s < loss_s else max(0.025, complete_s + 4 - due_s))
    return {Lane(case, "udp"): udp, Lane(case, "tcp"): tcp}


def test_a_row_for_each_handover(found: Found) -> None:
    by_case = table.all_figures(DESIGN, found)
    _, figure = table.TABLES["later"]
    # 5 s lost is always shown, 2 s held because it is not zero.
    assert table.rows(DESIGN, by_case, figure) == [
        ["RTT ms", "lost s", "held s", "udp", "tcp"],
        ["50", "5", "2", "0.00 (0.00)", "3.97 (3.97)"],
    ]


def test_what_is_missing_is_the_longest() -> None:
    assert table.spread([1.0, None, 2.0]) == "2.00 (never)"
    assert table.spread([None]) == "never (never)"
    assert table.spread([]) == "-"


def test_cost_is_by_record(found: Found, case: Case) -> None:
    rows = table.cost_rows(DESIGN, table.all_figures(DESIGN, found))
    records = case.handover.records()
    assert rows[1] == ["udp", f"{900 / records:.2f}", f"{620_000 / records:.2f}", "50", "0", "0"]
    assert rows[2][0] == "tcp"
    assert rows[2][3] == "0"


def test_statements_say_what_is_not_so(found: Found, case: Case, observe: Observe) -> None:
    good = statements.all_of(DESIGN, table.all_figures(DESIGN, found))
    assert [each.agrees for each in good] == [True, True]
    impossible = found | {Lane(case, "tcp"): observe(lambda due_s: 0.0 if due_s < 30 else None)}
    bad = statements.all_of(DESIGN, table.all_figures(DESIGN, impossible))
    assert [each.agrees for each in bad] == [False, False]
    assert [row[-1] for row in statements.rows(bad)] == ["agrees", "NO", "NO"]


def test_document_is_json_with_every_figure(found: Found) -> None:
    by_case = table.all_figures(DESIGN, found)
    checked = [statements.document(each) for each in statements.all_of(DESIGN, by_case)]
    read = json.loads(json.dumps(table.document(by_case, checked), allow_nan=False))
    assert read["schema"] == 1
    [one] = read["cases"]
    assert (one["lost_s"], one["seed"], one["rivals"]["udp"]["lost"]) == (5, 1, 50)
    assert one["complete_s"] == pytest.approx(one["loss_at_s"] + 7)
    assert read["statements"][0]["agrees"] is True


def test_csv_has_a_line_for_each_record(found: Found, case: Case) -> None:
    lines = list(csv.DictReader(io.StringIO(table.records_csv(found))))
    assert len(lines) == 2 * case.handover.records()
    assert tuple(lines[0]) == table.CSV_COLUMNS
    lost = [line for line in lines if not line["arrived_s"]]
    assert len(lost) == 50
    assert {line["rival"] for line in lost} == {"udp"}
    last = lines[-1]
    assert float(last["arrived_s"]) - float(last["due_s"]) == pytest.approx(0.025)


def test_pictures_are_drawn(found: Found, tmp_path: Path) -> None:
    drawn = plot.all_of(DESIGN, found, table.all_figures(DESIGN, found))
    assert list(drawn) == ["handover-silence", "handover-delays-50ms-queue0-lost5-held2-after0"]
    paths = pictures.save_all(drawn, tmp_path, "svg")
    assert all("tcp" in path.read_text(encoding="utf-8") for path in paths)


def guest(**changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    exchange = {
        "name": "lane0", "again": 0, "late": 0, "garbage": 0, "notes": [{"at_us": 5, "text": "x"}],
        "records": [
            {"due_us": 0, "written_us": 1, "arrived_us": 25_000}, {"due_us": 1, "written_us": -1, "arrived_us": None},
        ],
    }  # fmt: skip
    count = {"packets": 1, "bytes": 2, "lost": 0}
    return exchange | changes, {"name": "lane0", "up": count, "down": count}


def test_reads_what_a_guest_writes() -> None:
    exchange, forward = guest()
    [one] = observed.parse([exchange], [forward], ["lane0"])
    assert one.lane.records[0].delay_s == 0.025
    assert one.lane.records[1].delay_s is None
    assert one.traffic.up.packets == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"garbage": 3}, "3 records with wrong content"), ({"name": "lane1"}, "other lanes"), ({"again": "x"}, "again")],
)
def test_refuses_what_cannot_be(changes: dict[str, Any], said: str) -> None:
    exchange, forward = guest(**changes)
    with pytest.raises(LabError, match=said):
        observed.parse([exchange], [forward], ["lane0"])
