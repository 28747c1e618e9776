#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The cost of the series for a sender, from the instructions counted by cost.sh.

    report.py [--json] FOLDER

FOLDER has `base`, `again` (the unpatched kernel, twice) and `patched`, each with `console` (output of guest_work.py),
`counts` (output of count_insns.c) and `System.map`. Status 1 if a limit is exceeded, or if the two counts of the
unpatched kernel differ too much for a comparison.
"""

from __future__ import annotations

import argparse
import bisect
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

BASE_CASE = "none"
AGAIN = "unpatched again"
NOISE = 0.004  # of the mean of a case's uploads
# Ratio to the unpatched kernel that must not be exceeded.
LIMITS = {"none": 1.01, "one": 1.03, "full-no-match": 1.03, "full": 1.03, "full-limits": 1.03, "full-changes": 1.03}
# Copying the payload and clearing pages: one instruction on a current processor, some hundred in the emulator.
COPIES = re.compile(r"^_*(copy_user|copy_from_user|memcpy|memmove|memset|clear_page|csum_partial|rep_)")
WORK = re.compile(
    r"^work (?P<phase>\d+) (?P<cc>\S+) (?P<path>\S+) (?P<case>\S+) (?P<repeat>\d+)"
    r" segs (?P<segs>\d+) acks (?P<acks>\d+) retransmits (?P<retransmits>\d+) cwnd (?P<cwnd>\d+)\s*$"
)


@dataclass(frozen=True, slots=True)
class Upload:
    """One counted upload; `instructions` by function, executed for the sender in the kernel."""

    cc: str
    path: str
    case: str
    acked_segs: int
    acks: int
    retransmits: int
    instructions: Counter[str]

    def per_seg(self) -> float:
        return self.instructions.total() / self.acked_segs

    def per_seg_without_copies(self) -> float:
        return sum(n for name, n in self.instructions.items() if not COPIES.match(name)) / self.acked_segs


@dataclass(frozen=True, slots=True)
class Row:
    """A state of the patched kernel, compared with the unpatched kernel without rules."""

    cc: str
    path: str
    case: str
    uploads: int
    per_seg: float
    ratio: float
    ratio_without_copies: float
    spread: float  # of the uploads: (largest - smallest) / mean
    acks_per_seg: float
    retransmits: float
    limit: float | None

    @property
    def within_limit(self) -> bool:
        if self.case == AGAIN:
            return max(abs(self.ratio - 1), abs(self.ratio_without_copies - 1)) <= NOISE
        return self.limit is None or max(self.ratio, self.ratio_without_copies) <= self.limit


class Symbols:
    """Addresses to names of functions."""

    def __init__(self, lines: Iterable[str]) -> None:
        pairs = sorted(
            (int(address, 16), name) for address, kind, name in (line.split() for line in lines) if kind in "tTwW"
        )
        self._addresses = [address for address, _ in pairs]
        self._names = [name for _, name in pairs]

    def name(self, address: int) -> str:
        index = bisect.bisect_right(self._addresses, address) - 1
        if index < 0:
            raise ValueError(f"no function at {address:#x}")
        return self._names[index]


def read_counts(lines: Iterable[str], symbols: Symbols) -> dict[int, Counter[str]]:
    """The sender's instructions by function for each phase; ValueError if a phase is truncated."""
    phases: dict[int, Counter[str]] = {}
    phase = None
    for line in lines:
        match line.split():
            case ["phase", number]:
                phase = int(number)
                phases[phase] = Counter()
            case ["kernel", address, instructions, sender, _] if phase is not None:
                phases[phase][symbols.name(int(address, 16))] += int(instructions) * int(sender)
            case ["end"]:
                phase = None
            case _:
                raise ValueError(f"counts: {line!r}")
    if phase is not None:
        raise ValueError(f"counts: phase {phase} has no end")
    return phases


def read_uploads(folder: Path) -> list[Upload]:
    """All uploads of one kernel; ValueError if the guest did not finish."""
    console = (folder / "console").read_text(errors="replace").splitlines()
    if "work done" not in (line.strip() for line in console):
        raise ValueError(
            f"{folder / 'console'}: the guest did not finish; its last lines:\n" + "\n".join(console[-15:])
        )
    with (folder / "System.map").open() as file:
        symbols = Symbols(file)
    with (folder / "counts").open() as file:
        phases = read_counts(file, symbols)
    uploads = []
    for found in filter(None, map(WORK.match, console)):
        retransmits = int(found["retransmits"])
        uploads.append(
            Upload(
                cc=found["cc"],
                path=found["path"],
                case=found["case"],
                acked_segs=int(found["segs"]) - retransmits,
                acks=int(found["acks"]),
                retransmits=retransmits,
                instructions=phases[int(found["phase"])],
            )
        )
    return uploads


def by_case(uploads: Iterable[Upload]) -> dict[tuple[str, str, str], list[Upload]]:
    groups: dict[tuple[str, str, str], list[Upload]] = {}
    for upload in uploads:
        groups.setdefault((upload.cc, upload.path, upload.case), []).append(upload)
    return groups


def compare(base: list[Upload], patched: list[Upload]) -> Iterator[Row]:
    base_groups = by_case(base)
    for (cc, path, case), group in by_case(patched).items():
        reference = base_groups[cc, path, BASE_CASE]
        yield row(cc, path, case, group, reference, LIMITS.get(case))


def row(cc: str, path: str, case: str, group: list[Upload], reference: list[Upload], limit: float | None) -> Row:
    each = [upload.per_seg() for upload in group]
    mean = statistics.fmean(each)
    return Row(
        cc=cc,
        path=path,
        case=case,
        uploads=len(group),
        per_seg=mean,
        ratio=mean / statistics.fmean(upload.per_seg() for upload in reference),
        ratio_without_copies=statistics.fmean(upload.per_seg_without_copies() for upload in group)
        / statistics.fmean(upload.per_seg_without_copies() for upload in reference),
        spread=(max(each) - min(each)) / mean,
        acks_per_seg=statistics.fmean(upload.acks / upload.acked_segs for upload in group),
        retransmits=statistics.fmean(upload.retransmits for upload in group),
        limit=limit,
    )


def differences(base: list[Upload], patched: list[Upload]) -> list[tuple[str, float]]:
    """Differences to the unpatched kernel in instructions per segment of each function, largest first."""

    def per_seg(group: list[Upload]) -> Counter[str]:
        total: Counter[str] = Counter()
        for upload in group:
            total.update(upload.instructions)
        segs = sum(upload.acked_segs for upload in group)
        return Counter({name: n * 1000 // segs for name, n in total.items()})

    before, after = per_seg(base), per_seg(patched)
    changed = {name: (after[name] - before[name]) / 1000 for name in before.keys() | after.keys()}
    return sorted(changed.items(), key=lambda item: -abs(item[1]))


def table(rows: list[Row]) -> Iterator[str]:
    yield (
        f"{'':<32}{'insns per':>10}{'ratio':>9}{'ratio without':>15}{'spread of':>11}{'ACKs per':>10}{'retrans-':>10}"
    )
    yield f"{'':<32}{'segment':>10}{'':>9}{'copying':>15}{'uploads':>11}{'segment':>10}{'mits':>10}"
    for r in rows:
        name = f"{r.cc} {r.path} {r.case}"
        yield (
            f"{name:<32}{r.per_seg:>10.1f}{r.ratio:>9.4f}{r.ratio_without_copies:>15.4f}{r.spread:>10.2%} "
            f"{r.acks_per_seg:>9.3f}{r.retransmits:>10.1f}"
            + ("" if r.within_limit else f"  exceeds {r.limit}" if r.limit else "  too noisy")
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the rows and the functions as JSON")
    parser.add_argument("--functions", type=int, default=12, help="how many functions to name per case (default 12)")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    try:
        base, again, patched = (read_uploads(args.folder / name) for name in ("base", "again", "patched"))
    except (OSError, ValueError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 2
    references = by_case(base)
    unpatched = [
        row(cc, path, name, group, references[cc, path, case], None)
        for name, uploads in (("unpatched", base), (AGAIN, again))
        for (cc, path, case), group in by_case(uploads).items()
    ]
    rows = list(compare(base, patched))
    where = {
        f"{cc} {path} {case}": differences(references[cc, path, BASE_CASE], group)[: args.functions]
        for (cc, path, case), group in by_case(patched).items()
    }
    if args.json:
        print(
            json.dumps(
                {"rows": [asdict(r) | {"within_limit": r.within_limit} for r in unpatched + rows], "functions": where},
                indent=1,
            )
        )
    else:
        print("\n".join(table(unpatched + rows)))
        print("\nfunctions with the largest differences, in instructions per segment:")
        for name, functions in where.items():
            print(f"{name}: " + ", ".join(f"{function} {change:+.1f}" for function, change in functions))
    return 0 if all(r.within_limit for r in unpatched + rows) else 1


if __name__ == "__main__":
    sys.exit(main())
