# SPDX-License-Identifier: Apache-2.0
"""A comparison as text, JSON and CSV; pure."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airbound_lab.compare import ranking
from airbound_lab.compare.matrix import delays_name
from airbound_lab.compare.ranking import AGENTLESS, JAIN, JUDGED, MEASURES, RTT, RTT_P95, TOTAL, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.compare.matrix import Condition, Matrix
    from airbound_lab.compare.ranking import Judgement, Measure, Row, Shortfall, Spread

SCHEMA = 1
BEST_OF_OTHERS = "best of the others"


def number(measure: Measure, value: float) -> str:
    """Write a figure without its unit."""
    return f"{value:.{measure.decimals}f}"


def figure(measure: Measure, found: Spread | None) -> str:
    """Write the median; - if there is none."""
    return "-" if found is None else number(measure, found.median)


def rows(table: Sequence[Row], variants: Sequence[str]) -> list[list[str]]:
    """Total / Jain / mean RTT / p95 RTT of each variant, a row per condition; * after what is best.

    Where only some phones have an agent, also by how much the others' mean goodput differs from theirs.
    """
    mixed = any(row.known(AGENTLESS) for row in table)
    lines = [["Mb/s / Jain / RTT ms / p95 ms" + (" / % apart" if mixed else ""), *variants]]
    group = ""
    for row in table:
        if row.condition.group() != group:
            group = row.condition.group()
            lines.append([group, *[""] * len(variants)])
        lines.append([f"  {row.condition.row()}", *(_entry(row, variant) for variant in variants)])
    return lines


def _entry(row: Row, variant: str) -> str:
    if not row.runs[variant]:
        return "-"
    parts = []
    for measure in (TOTAL, JAIN, RTT, RTT_P95, *((AGENTLESS,) if row.get(variant, AGENTLESS) else ())):
        best = "*" if variant in row.leaders(measure) else ""
        parts.append(figure(measure, row.get(variant, measure)) + best)
    return " / ".join(parts)


def verdicts(table: Sequence[Row], variants: Sequence[str], subject: str) -> list[list[str]]:
    """Wins-ties-losses of a subject by measure: against the best of the others, and against each of them."""
    lines = [[f"{subject}: wins-ties-losses against", *(measure.title for measure in JUDGED)]]
    for rival in (None, *(variant for variant in variants if variant != subject)):
        counts = [ranking.against(table, subject, measure, rival) for measure in JUDGED]
        entries = ["-".join(str(count[verdict]) for verdict in VERDICTS) for count in counts]
        lines.append([rival or BEST_OF_OTHERS, *entries])
    return lines


def bests(table: Sequence[Row], variants: Sequence[str]) -> list[list[str]]:
    """Under how many conditions each variant is best, by measure."""
    lines = [["best under so many conditions", *(measure.title for measure in JUDGED)]]
    for variant in variants:
        counts = [sum(variant in row.leaders(measure) for row in table) for measure in JUDGED]
        lines.append([variant, *map(str, counts)])
    return lines


def shortfall(found: Shortfall) -> str:
    """Write in what a condition fails the criterion."""
    if found.what == "missing" or found.mine is None or found.rivals is None or found.worse_by is None:
        return "no result"
    noise = (", within noise" if found.within_noise else "") + ("" if found.counts else ", does not count")
    if found.what == "total":
        return (
            f"total {number(TOTAL, found.mine)} of {found.rival}'s {number(TOTAL, found.rivals)} Mb/s, "
            f"{100 * found.worse_by:.1f} % less{noise}"
        )
    if found.what == "jain":
        return f"Jain's index {number(JAIN, found.mine)}, {found.rival}'s {number(JAIN, found.rivals)}{noise}"
    return (
        f"RTT {number(RTT, found.mine)} ms, {found.rival}'s {number(RTT, found.rivals)} ms, "
        f"{100 * found.worse_by:.1f} % more{noise}"
    )


def failures(judgements: Sequence[Judgement]) -> list[str]:
    """One line per condition where something falls short."""
    return [
        f"{judgement.condition}: {'; '.join(map(shortfall, judgement.shortfalls))}"
        for judgement in judgements
        if judgement.shortfalls
    ]


def verdict_on(judgements: Sequence[Judgement], subject: str) -> str:
    """One sentence: under how many conditions a subject meets the criterion."""
    met = sum(judgement.met for judgement in judgements)
    return f"{subject} meets the criterion under {met} of {len(judgements)} conditions."


def document(matrix: Matrix, table: Sequence[Row], subject: str | None) -> dict[str, Any]:
    """All of it, as JSON."""
    names = [variant.name for variant in matrix.variants]
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "seeds": list(matrix.seeds),
        "modes": names,
        "noise_rule": ranking.NOISE_RULE,
        "p95": ranking.P95_IS_OF,
        "conditions": [_condition(row, names) for row in table],
    }
    if subject is not None:
        judgements = [ranking.judge(row, subject) for row in table]
        data["subject"] = {
            "mode": subject,
            "verdicts": {
                rival or BEST_OF_OTHERS: {
                    measure.key: dict(ranking.against(table, subject, measure, rival)) for measure in JUDGED
                }
                for rival in (None, *(name for name in names if name != subject))
            },
            "criterion": ranking.CRITERION,
            "met": sum(judgement.met for judgement in judgements),
            "failed": [
                {**_describe(judgement.condition), "shortfalls": [asdict(found) for found in judgement.shortfalls]}
                for judgement in judgements
                if judgement.shortfalls
            ],
        }
    return data


def _describe(condition: Condition) -> dict[str, Any]:
    return {
        "scenario": condition.scenario.name,
        "rate_control": condition.rate_control,
        "loss_percent": condition.loss_percent,
        "tls": condition.tls,
        "terminals": condition.terminals,
        "agents": condition.terminals if condition.agents is None else condition.agents,
        "wired_delays_ms": delays_name(condition.wired_delays_ms),
        "seconds": condition.seconds,
        "warmup_seconds": condition.warmup_seconds,
        "kernel_line": condition.kernel_line,
        "phy": condition.phy,
        "ap": condition.ap,
        "distances_m": condition.distances_m,
        "rts_bytes": condition.rts_bytes,
        "orphan": condition.orphan,
        "gro": condition.gro,
        "report_interval_ms": condition.report_interval_ms,
        "controller_delay_ms": condition.controller_delay_ms,
        "controller_loss_percent": condition.controller_loss_percent,
        "station_rates": condition.station_rates,
    }


def _condition(row: Row, names: Sequence[str]) -> dict[str, Any]:
    modes = {}
    for name in names:
        measures: dict[str, Any] = {}
        for measure in MEASURES:
            if (found := row.get(name, measure)) is not None:
                measures[measure.key] = {**asdict(found), "worse_by": row.worse_by(name, measure)}
        modes[name] = {"runs": row.runs[name], **measures}
    best = {measure.key: row.leaders(measure) for measure in JUDGED}
    return {**_describe(row.condition), "best": best, "modes": modes}


def csv_text(table: Sequence[Row], variants: Sequence[str]) -> str:
    """One line per condition and variant; of each measure median, smallest, largest, and how much worse than best."""
    out = io.StringIO()
    columns = [f"{measure.key}{end}" for measure in MEASURES for end in ("", "_min", "_max", "_worse_by")]
    writer: csv.DictWriter[str] | None = None
    for row in table:
        for variant in variants:
            line: dict[str, Any] = {**_describe(row.condition), "mode": variant, "runs": row.runs[variant]}
            line |= {**dict.fromkeys(columns, ""), **_csv_figures(row, variant)}
            if writer is None:
                writer = csv.DictWriter(out, list(line), lineterminator="\n")
                writer.writeheader()
            writer.writerow(line)
    return out.getvalue()


def _csv_figures(row: Row, variant: str) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for measure in MEASURES:
        found, worse_by = row.get(variant, measure), row.worse_by(variant, measure)
        if found is not None and worse_by is not None:
            values = {"": found.median, "_min": found.min, "_max": found.max, "_worse_by": worse_by}
            figures |= {f"{measure.key}{end}": round(value, 6) for end, value in values.items()}
    return figures
