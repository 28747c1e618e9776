# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from airbound_lab.compare import ranking, table

if TYPE_CHECKING:
    from conftest import MakeRows

THREE = (
    {"cubic": [(24, 0.9, 1000)], "bdp": [(24.2, 1, 20)], "vegas": [(24, 0.5, 15)]},
    {"cubic": [(24, 0.9, 1000)], "bdp": [(18, 1, 20)]},
)
NAMES = ["cubic", "bdp", "vegas"]


def test_a_row_per_condition_with_a_star_at_what_is_best(make_rows: MakeRows) -> None:
    _, rows = make_rows(*THREE)
    assert table.rows(rows, NAMES) == [
        ["Mb/s / Jain / RTT ms / p95 ms", *NAMES],
        ["uplink, 802.11g, minstrel (today)", "", "", ""],
        ["  1 phone, 4 ms", "24.0 / 0.900 / 1000 / 2000", "24.2* / 1.000* / 20 / 40", "24.0 / 0.500 / 15* / 30*"],
        ["  2 phones, 4 ms", "24.0* / 0.900 / 1000 / 2000", "18.0 / 1.000* / 20* / 40*", "-"],
    ]


def test_wins_ties_losses_against_each_and_against_the_best(make_rows: MakeRows) -> None:
    _, rows = make_rows(*THREE)
    assert table.verdicts(rows, NAMES, "bdp") == [
        ["bdp: wins-ties-losses against", "Total", "Jain's index", "Mean RTT", "p95 RTT"],
        ["best of the others", "0-1-1", "2-0-0", "1-0-1", "1-0-1"],
        ["cubic", "0-1-1", "2-0-0", "2-0-0", "2-0-0"],
        ["vegas", "0-1-0", "1-0-0", "0-0-1", "0-0-1"],
    ]


def test_who_is_best_how_often(make_rows: MakeRows) -> None:
    _, rows = make_rows(*THREE)
    assert table.bests(rows, NAMES)[1:] == [
        ["cubic", "1", "0", "0", "0"],
        ["bdp", "1", "2", "1", "1"],
        ["vegas", "0", "0", "1", "1"],
    ]


def test_where_the_criterion_fails_is_a_sentence(make_rows: MakeRows) -> None:
    _, rows = make_rows(*THREE, {"cubic": [(1, 1, 1)]})
    judgements = [ranking.judge(row, "bdp") for row in rows]
    assert table.failures(judgements) == [
        "uplink, 802.11g, minstrel (today), 1 phone, 4 ms: RTT 20 ms, vegas's 15 ms, 33.3 % more",
        "uplink, 802.11g, minstrel (today), 2 phones, 4 ms: total 18.0 of cubic's 24.0 Mb/s, 25.0 % less",
        "uplink, 802.11g, minstrel (today), 3 phones, 4 ms: no result",
    ]
    assert table.verdict_on(judgements, "bdp") == "bdp meets the criterion under 0 of 3 conditions."


def test_what_falls_short_in_the_jain_index_and_what_does_not_count(make_rows: MakeRows) -> None:
    _, [plain] = make_rows({"bdp": [(90, 0.9, 10)], "cubic": [(100, 0.95, 60)]})
    row = replace(plain, condition=replace(plain.condition, rts_bytes=1000))
    judgements = [ranking.judge(row, "bdp")]
    [line] = table.failures(judgements)
    assert line == (
        "uplink, 802.11g, minstrel (today), RTS above 1000 bytes, 1 phone, 4 ms: total 90.0 of cubic's 100.0 Mb/s, "
        "10.0 % less, does not count; Jain's index 0.900, cubic's 0.950"
    )
    assert table.verdict_on(judgements, "bdp") == "bdp meets the criterion under 0 of 1 conditions."


def test_a_condition_where_nothing_counts_that_falls_short_is_met(make_rows: MakeRows) -> None:
    matrix, [plain] = make_rows({"bdp": [(90, 1, 10)], "cubic": [(100, 1, 60)]})
    row = replace(plain, condition=replace(plain.condition, rts_bytes=1000))
    assert table.verdict_on([ranking.judge(row, "bdp")], "bdp") == "bdp meets the criterion under 1 of 1 conditions."
    subject = json.loads(json.dumps(table.document(matrix, [row], "bdp")))["subject"]
    assert (subject["met"], [found["counts"] for found in subject["failed"][0]["shortfalls"]]) == (1, [False])


def test_the_document_has_everything(make_rows: MakeRows) -> None:
    matrix, rows = make_rows(*THREE)
    document = json.loads(json.dumps(table.document(matrix, rows, "bdp"), allow_nan=False))
    assert (document["schema"], document["modes"], document["seeds"]) == (1, NAMES, [1])
    first, second = document["conditions"]
    assert (first["terminals"], first["wired_delays_ms"], first["rate_control"]) == (1, "4", "minstrel")
    assert first["modes"]["bdp"]["total_mbps"] == {"median": 24.2, "min": 24.2, "max": 24.2, "worse_by": 0}
    assert first["modes"]["bdp"]["rpm"]["median"] == 3000
    assert second["modes"]["vegas"] == {"runs": 0}
    assert first["best"] == {"total_mbps": ["bdp"], "jain": ["bdp"], "rtt_mean_ms": ["vegas"], "rtt_p95_ms": ["vegas"]}
    subject = document["subject"]
    assert subject["verdicts"]["vegas"]["rtt_mean_ms"] == {"win": 0, "tie": 0, "loss": 1}
    assert subject["met"] == 0
    assert [failed["terminals"] for failed in subject["failed"]] == [1, 2]
    assert subject["failed"][1]["shortfalls"][0]["worse_by"] == 0.25
    assert "subject" not in table.document(matrix, rows, None)


def test_the_csv_has_a_line_for_each_condition_and_mode(make_rows: MakeRows) -> None:
    _, rows = make_rows(*THREE)
    lines = list(csv.DictReader(io.StringIO(table.csv_text(rows, NAMES))))
    assert [(line["terminals"], line["mode"], line["runs"]) for line in lines] == [
        *(("1", name, "1") for name in NAMES),
        *(("2", name, runs) for name, runs in zip(NAMES, "110", strict=True)),
    ]
    assert (lines[0]["total_mbps"], lines[0]["rtt_mean_ms_worse_by"]) == ("24.0", "65.666667")
    assert (lines[5]["total_mbps"], lines[0]["down_mbps"]) == ("", "")
