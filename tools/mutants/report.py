# SPDX-License-Identifier: Apache-2.0
"""What is printed: progress, the table, the survivors; and the same as JSON. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mutants.stage import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mutants.sample import Result

PROGRESS_CHARACTERS = 150
OUTPUT_CHARACTERS = 2000
"""Of the tests' output, the end goes into the JSON."""


def share(results: Sequence[Result]) -> float:
    """How many of the mutants were noticed, in per cent."""
    return 100 * sum(result.outcome is not Outcome.SURVIVED for result in results) / max(len(results), 1)


def progress(count: int, wanted: int, result: Result) -> str:
    """A line about one mutant."""
    shown = " ".join(result.change.diff.splitlines())
    return f"[{count:3}/{wanted}] {result.outcome.value:9} {result.path}:{result.line} {shown}"[:PROGRESS_CHARACTERS]


def table(results: Sequence[Result]) -> str:
    """Noticed, mutants, per cent: a row for each part and one for all."""
    rows = [(part, [r for r in results if r.part == part]) for part in sorted({r.part for r in results})]
    rows.append(("all", list(results)))
    width = max(len(part) for part, _ in rows)
    lines = [f"{'part':{width}}  noticed  mutants  per cent"]
    for part, of_part in rows:
        noticed = sum(result.outcome is not Outcome.SURVIVED for result in of_part)
        lines.append(f"{part:{width}}  {noticed:7}  {len(of_part):7}  {share(of_part):8.0f}")
    return "\n".join(lines)


def survivors(results: Sequence[Result]) -> str:
    """Each survivor as the list of equivalent mutants would have it, but for the reason."""
    found = sorted((r for r in results if r.outcome is Outcome.SURVIVED), key=lambda r: (r.path, r.line))
    return "\n".join(f"\n# line {r.line}: {r.operator}\n{r.path}\n{r.change.diff}" for r in found)


def as_json(results: Mapping[str, Sequence[Result]]) -> str:
    """All results by target."""
    document = {
        target: [
            {
                "file": result.path,
                "line": result.line,
                "part": result.part,
                "operator": result.operator,
                "before": result.change.before,
                "after": result.change.after,
                "outcome": result.outcome.value,
                "output": result.output[-OUTPUT_CHARACTERS:],
            }
            for result in of_target
        ]
        for target, of_target in results.items()
    }
    return json.dumps(document, indent=1) + "\n"
