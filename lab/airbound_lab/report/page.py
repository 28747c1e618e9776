# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page of several results files: tables, pictures and findings, all computed."""

from __future__ import annotations

import html as markup
import itertools
import json
import re
import shlex
from typing import TYPE_CHECKING

from airbound_lab.report import page_style, plot, style, tables
from airbound_lab.settings import option
from airbound_lab.settings.scenario import is_built_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.figures.results import Results
    from airbound_lab.settings.parameters import Parameters

SVG_COLOURS = {style.INK: "var(--ink)", style.FAINT: "var(--faint)", style.GRID: "var(--rule)"}
"""Colours of the pictures that follow the reader's choice of light or dark."""

ALWAYS_NAMED = ("scenario", "terminals", "wired_delays_ms", "seconds", "warmup_seconds", "modes", "seeds")
"""Parameters that a command names even if they are at their defaults."""


def html(sets: Sequence[tuple[str, Results]], title: str = "Airbound: what the bounds do") -> str:
    """Write the page; each set is (name, results)."""
    pictures = itertools.count(1)
    body = [f"<h1>{markup.escape(title)}</h1>", _introduction(sets)]
    if len(sets) > 1:
        body.append(_overview(sets))
    for name, results in sets:
        body.append(_section(name, results, pictures))
    return page_style.document(title, page_style.STYLE, body)


def command(parameters: Parameters) -> str:
    """The command that makes these runs again; a scenario from a file is named after it."""
    return shlex.join(["airbound-lab", "run", *option.words(parameters, ALWAYS_NAMED)])


def _introduction(sets: Sequence[tuple[str, Results]]) -> str:
    runs = sum(len(results.runs) for _, results in sets)
    wall_s = sum(run.wall_seconds for _, results in sets for run in results.runs)
    return (
        f"<p>{runs} runs of a whole Wi-Fi cell (patched kernel, hostapd, phones, agents, controller) in virtual time, "
        f"{wall_s / 60:.0f} minutes of wall-clock time. Modes named after a congestion control run without Airbound, "
        "the others are policies of its controller. RTT ratio is RTT over the smallest RTT that any phone measured. "
        "Every figure and sentence here is computed from the results.</p>"
    )


def _overview(sets: Sequence[tuple[str, Results]]) -> str:
    modes = list(dict.fromkeys(mode for _, results in sets for mode in results.modes()))
    rows = [["total Mb/s · mean RTT ms", *modes]]
    for name, results in sets:
        row = [name]
        for mode in modes:
            runs = results.of_mode(mode)
            total = tables.cell([run.total_goodput_mbps for run in runs], 1, spread=False)
            rtt_ms = tables.cell([run.rtt_mean_ms for run in runs], 0, spread=False)
            row.append(f"{total} · {rtt_ms}" if runs else "")
        rows.append(row)
    return "<h2>Overview</h2>" + _table(rows)


def _section(name: str, results: Results, pictures: itertools.count[int]) -> str:
    parameters = results.parameters
    findings = "".join(f"<li>{markup.escape(sentence)}</li>" for sentence in tables.findings(results))
    grid = "".join(_picture(plot.svg(plot.phones(results, mode)), pictures, "") for mode in results.modes())
    scenario = ""
    if not is_built_in(parameters.scenario):
        text = json.dumps(parameters.scenario.to_json(), indent=1)
        scenario = f"<pre>{markup.escape(text)}</pre>"
    return "\n".join(
        [
            f"<h2>{markup.escape(name)}</h2>",
            f'<p class="what">{markup.escape(tables.describe(parameters))}</p>',
            f"<ul>{findings}</ul>" if findings else "",
            _table(tables.rows(results)),
            _picture(plot.svg(plot.totals(results)), pictures, "wide"),
            f"<details><summary>Goodput of each phone</summary>{_table(tables.phone_rows(results))}</details>",
            f'<div class="grid">{grid}</div>',
            f"<details><summary>Run this again</summary><pre>{markup.escape(command(parameters))}</pre>{scenario}",
            f"<p>Kernel {markup.escape(results.kernel or 'unknown')}</p></details>",
        ]
    )


def _table(rows: list[list[str]]) -> str:
    head = "".join(f"<th>{markup.escape(entry)}</th>" for entry in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{markup.escape(entry)}</td>" for entry in row) + "</tr>" for row in rows[1:])
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _picture(svg: str, pictures: itertools.count[int], kind: str) -> str:
    """Return a picture for the page: with the page's colours, and with ids that no other picture has."""
    for colour, variable in SVG_COLOURS.items():
        svg = svg.replace(colour, variable)
    prefix = f"p{next(pictures)}-"
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{prefix}", svg)
    # The page scales the picture, which a size of its own would prevent.
    head, rest = svg.split(">", 1)
    svg = re.sub(r' (width|height)="[^"]*"', "", head) + ">" + rest
    return f'<figure class="{kind}">{svg}</figure>'
