# SPDX-License-Identifier: Apache-2.0
"""Changes the code in small ways and looks whether a test notices: a sample, a table, the survivors."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mutants import equivalent, report
from mutants.sample import Result, Sample, Target
from mutants.stage import Copies, Outcome, UnmutatedFailsError

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGETS = ("python", "lab", "go")
EQUIVALENT = "tools/equivalent-mutants.txt"


def _target(name: str, tree: Path, python: Path) -> Target:
    if name == "go":
        from mutants import go_code

        module = go_code.Module(tree)
        return Target(name, module.files(), module.mutants, module.stages, go_code.part)
    from mutants import python_code

    return Target(
        name,
        python_code.files(tree, python_code.LAB if name == "lab" else python_code.CONTROLLER),
        lambda paths: python_code.mutants(tree, paths),
        lambda path: python_code.stages(tree, path, python),
        python_code.part,
    )


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutants.sh", description=__doc__)
    add = parser.add_argument
    environment = os.environ
    add("target", nargs="?", choices=("all", *TARGETS), default="all", help="python is the controller")
    add("paths", nargs="*", metavar="path", help="only files whose path begins so")
    add("--min", type=float, default=90, metavar="PERCENT", help="exit with 1 below this (default: %(default)s)")
    add("--mutants", type=int, default=environment.get("MUTANTS", "120"), help="of each target ($MUTANTS, else 120)")
    add("--seed", default=environment.get("SEED", "1"), help="which sample ($SEED, else 1)")
    add("--jobs", type=int, default=environment.get("JOBS", str(os.cpu_count() or 1)), help="workers ($JOBS)")
    add("--json", type=Path, metavar="FILE", help="write all results to this file")
    add("--list", action="store_true", help="print the sample and test nothing")
    options = parser.parse_args(arguments)
    if options.mutants < 1 or options.jobs < 1:
        parser.error("--mutants and --jobs are positive numbers")
    return options


def _test(sample: Sample, copies: Copies, options: argparse.Namespace, name: str) -> list[Result]:
    results: list[Result] = []
    for result in sample.run(copies, options.jobs, options.mutants):
        results.append(result)
        print(report.progress(len(results), options.mutants, result), flush=True)
    by_limit = sum(result.outcome is Outcome.TIMED_OUT for result in results)
    print(f"\n{name}, seed {options.seed}:\n\n{report.table(results)}\n")
    print(f"{by_limit} of the noticed ones by the time limit. Not counted: {sample.no_programs} that did not compile,")
    print(f"{sample.equivalent} that {EQUIVALENT} lists. Noticed by no test:")
    print(report.survivors(results) or "none")
    for output in copies.flaky:
        print(f"\nmutants: failed without any mutant, and then did not; some may count as noticed for that:\n{output}")
    return results


def _run(options: argparse.Namespace, root: Path) -> int:
    equivalents = equivalent.parse((root / EQUIVALENT).read_text())
    for entry in equivalent.stale(equivalents, root):
        print(f"{EQUIVALENT}: the file has no such lines any more:\n{entry}", file=sys.stderr)
    results: dict[str, list[Result]] = {}
    for name in TARGETS if options.target == "all" else [options.target]:
        with Copies(root, options.jobs) as copies:
            target = _target(name, copies.unmutated, root / ".venv" / "bin" / "python")
            wanted = tuple(options.paths) or ("",)
            target = target._replace(files=[path for path in target.files if path.startswith(wanted)])
            sample = Sample(copies.unmutated, target, options.seed, equivalents)
            print(f"\n{name}: {sample.possible} possible mutants of {len(target.files)} files", flush=True)
            if not sample.possible:
                raise ValueError(f"{name}: nothing to mutate in {' '.join(wanted)}")
            if options.list:
                _list(sample, options.mutants)
            else:
                results[name] = _test(sample, copies, options, name)
    if options.json:
        options.json.write_text(report.as_json(results))
    low = {name: share for name, of_target in results.items() if (share := report.share(of_target)) < options.min}
    for name, share in low.items():
        print(f"\nmutants: {name}: {share:.0f} % noticed is less than {options.min:g} %", file=sys.stderr)
    return 1 if low else 0


def _list(sample: Sample, count: int) -> None:
    for _ in range(count):
        if drawn := sample.draw():
            print(f"\n# line {drawn.line}: {drawn.mutant.operator}\n{drawn.mutant.place.path}\n{drawn.change.diff}")


def _interrupted(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command in the repository's root; 0, 1 if too few are noticed, 2 for what keeps it from finding out."""
    options = _arguments(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        return _run(options, Path.cwd())
    except (UnmutatedFailsError, ValueError, OSError, subprocess.CalledProcessError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
