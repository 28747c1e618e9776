# SPDX-License-Identifier: Apache-2.0
"""A comparison as one self-contained HTML page: what a subject wins and loses, a heat map for each measure; pure."""

from __future__ import annotations

import html as markup
import math
from typing import TYPE_CHECKING

from airbound_lab.compare import ranking, table
from airbound_lab.compare.ranking import JUDGED, MEASURES, VERDICTS
from airbound_lab.report.page_style import STYLE, document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.compare.matrix import Matrix
    from airbound_lab.compare.ranking import Judgement, Measure, Row

STEPS = (0.01, 0.03, 0.10, 0.30, 1.00)
INDEX_STEPS = (0.01, 0.03, 0.06, 0.12, 0.25)
"""Up to here a figure has the colour of this step: how much worse than the best of its row. Of what is smaller the
better, the worst step is "more than twice as much"; a share of a total is compared by its logarithm likewise."""

COLOURS = ("#9ecae8", "#cfe5f2", "#f4f4f1", "#fbe3c2", "#f5bf7d", "#e08f3f")
"""From the best to the worst: blue, grey, orange, told apart by colour-blind readers as well; dark text on all."""

COMPARISON_STYLE = """
.heat td { background: var(--c, transparent); border: 1px solid var(--paper); padding: .22rem .55rem; }
.heat td[class^="s"] { color: #1b2733; }
.heat td.best { font-weight: 700; }
.heat th[scope="row"] { font-weight: 400; text-align: left; }
.heat thead th { vertical-align: bottom; white-space: normal; max-width: 7.5rem; overflow-wrap: break-word; }
.heat tr.group th { text-align: left; font-weight: 600; padding-top: .8rem; border-bottom: 0; }
.heat .range { font-weight: 400; display: block; font-size: .72rem; opacity: .75; }
.key span { display: inline-block; padding: .1rem .6rem; color: #1b2733; font-size: .85rem; }
.split { display: inline-block; min-width: 1.6rem; text-align: right; }
""" + "".join(f".s{step} {{ --c: {colour}; background: {colour}; }}\n" for step, colour in enumerate(COLOURS))

EXPLANATIONS = {
    "total_mbps": "Payload that arrived from and at all phones.",
    "jain": "1: all phones have the same; 1/n: one has everything. Of both directions, the smaller one. Senders with a"
    " rate of their own do not count.",
    "rtt_mean_ms": "Of TCP's smoothed RTT, all senders together.",
    "rtt_p95_ms": ranking.P95_IS_OF,
    "rpm": "60000 / mean RTT in ms; TCP only, without TLS and HTTP. Below 300 is poor, above 1000 good.",
    "agentless_percent": "By how much the mean goodput of phones without an agent differs from that of phones with"
    " one, where there are both.",
    "recovery_s": "From the controller's start until the total, second by second, first reaches 90 % of its later mean."
    " It says nothing about how high that is: see the total.",
}


def html(matrix: Matrix, rows: Sequence[Row], subject: str | None, failed: Sequence[str] = ()) -> str:
    """Write the page; `failed` are runs that failed."""
    names = [variant.name for variant in matrix.variants]
    title = "Airbound compared" if subject is None else f"{subject} compared"
    body = [f"<h1>{markup.escape(title)}</h1>", _introduction(matrix, rows)]
    if failed:
        items = "".join(f"<li>{markup.escape(text)}</li>" for text in failed)
        body.append(f"<h2>Failed runs</h2><ul>{items}</ul>")
    if subject is not None:
        body += [_subject(rows, names, subject), _criterion([ranking.judge(row, subject) for row in rows], subject)]
    body.append("<h2>Who is best</h2>" + _table(table.bests(rows, names)))
    body += [_heat(measure, rows, names) for measure in MEASURES if any(row.known(measure) for row in rows)]
    return document(title, STYLE + COMPARISON_STYLE, body)


def step(measure: Measure, worse_by: float) -> int:
    """The colour of a figure that is so much worse than the best of its row, from 0 to 5."""
    if not measure.is_index and measure.larger_is_better:
        # Half of the best is as bad as twice a best RTT.
        worse_by = 1 / (1 - worse_by) - 1 if worse_by < 1 else math.inf
    return sum(worse_by > limit for limit in (INDEX_STEPS if measure.is_index else STEPS))


def _introduction(matrix: Matrix, rows: Sequence[Row]) -> str:
    runs = sum(sum(row.runs.values()) for row in rows)
    seeds = ", ".join(map(str, matrix.seeds))
    windows = sorted({(row.condition.warmup_seconds, row.condition.seconds) for row in rows})
    measured = " or ".join(f"{end_s - warmup_s} s measured after {warmup_s} s" for warmup_s, end_s in windows)
    return (
        f"<p>{runs} runs of a whole Wi-Fi cell in virtual time: {len(rows)} conditions, {len(matrix.variants)} modes, "
        f"seeds {seeds}; {measured}. Every figure is the median of its seeds, with the range below it.</p>"
        f"<p>{markup.escape(ranking.NOISE_RULE)}</p>"
    )


def _subject(rows: Sequence[Row], names: Sequence[str], subject: str) -> str:
    head = "".join(f"<th>{markup.escape(measure.title)}</th>" for measure in JUDGED)
    lines = []
    for rival in (None, *(name for name in names if name != subject)):
        entries = []
        for measure in JUDGED:
            counts = ranking.against(rows, subject, measure, rival)
            wins, ties, losses = (counts[verdict] for verdict in VERDICTS)
            colour = 0 if wins and not losses else 4 if losses and not wins else 2
            entries.append(f'<td class="s{colour}">{wins} - {ties} - {losses}</td>')
        lines.append(f'<tr><th scope="row">{markup.escape(rival or table.BEST_OF_OTHERS)}</th>{"".join(entries)}</tr>')
    return (
        f"<h2>Wins - ties - losses of {markup.escape(subject)}</h2>"
        f'<div class="scroll"><table class="heat"><thead><tr><th>against</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _criterion(judgements: Sequence[Judgement], subject: str) -> str:
    items = "".join(f"<li>{markup.escape(text)}</li>" for text in table.failures(judgements))
    return (
        f"<h2>Criterion</h2><p>{markup.escape(ranking.CRITERION)}</p>"
        f"<p><strong>{markup.escape(table.verdict_on(judgements, subject))}</strong></p>"
        + (f"<ul>{items}</ul>" if items else "")
    )


def _heat(measure: Measure, rows: Sequence[Row], names: Sequence[str]) -> str:
    head = "".join(f"<th>{_breakable(name)}</th>" for name in names)
    lines, group = [], ""
    for row in rows:
        if not row.known(measure):
            continue
        if row.condition.group() != group:
            group = row.condition.group()
            lines.append(f'<tr class="group"><th colspan="{len(names) + 1}">{markup.escape(group)}</th></tr>')
        entries = "".join(_heat_entry(measure, row, name) for name in names)
        lines.append(f'<tr><th scope="row">{markup.escape(row.condition.row())}</th>{entries}</tr>')
    unit = f", {measure.unit}" if measure.unit else ""
    explanation = EXPLANATIONS.get(measure.key, "")
    return (
        f'<h2>{markup.escape(measure.title)}{unit}</h2><p class="what">{markup.escape(explanation)}</p>{_key(measure)}'
        f'<div class="scroll"><table class="heat"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _heat_entry(measure: Measure, row: Row, name: str) -> str:
    found, worse_by = row.get(name, measure), row.worse_by(name, measure)
    if found is None or worse_by is None:
        return "<td>-</td>"
    best = " best" if name in row.leaders(measure) else ""
    low, high = table.number(measure, found.min), table.number(measure, found.max)
    spread = f'<span class="range">{low} - {high}</span>' if low != high else ""
    return f'<td class="s{step(measure, worse_by)}{best}">{table.figure(measure, found)}{spread}</td>'


def _key(measure: Measure) -> str:
    """Say what the colours mean."""
    if measure.is_index:
        limits = [f"{limit:g}" for limit in INDEX_STEPS]
    elif measure.larger_is_better:
        limits = [f"{100 * limit / (1 + limit):.0f} %" for limit in STEPS]
    else:
        limits = [f"{100 * limit:.0f} %" for limit in STEPS]
    word = "less" if measure.larger_is_better else "more"
    texts = ["best", *(f"up to {limit} {word}" for limit in limits[1:]), f"over {limits[-1]} {word}"]
    texts[0] = f"best, or up to {limits[0]} {word}"
    spans = "".join(f'<span class="s{number}">{text}</span>' for number, text in enumerate(texts))
    return f'<p class="key">{spans}</p>'


def _breakable(name: str) -> str:
    """A heading may break after the separators of a mode's name."""
    text = markup.escape(name)
    for separator in "+@":
        text = text.replace(separator, f"<wbr>{separator}")
    return text


def _table(lines: list[list[str]]) -> str:
    head = "".join(f"<th>{markup.escape(entry)}</th>" for entry in lines[0])
    body = "".join("<tr>" + "".join(f"<td>{markup.escape(e)}</td>" for e in line) + "</tr>" for line in lines[1:])
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
