# SPDX-License-Identifier: Apache-2.0
"""The parts of the mutation tests that need neither cosmic-ray nor Go."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from mutants import equivalent, removals, report
from mutants.mutant import Change, Mutant, Place, change, draw
from mutants.sample import Sample, Target
from mutants.stage import Copies, Outcome, Stage, UnmutatedFailsError


@pytest.mark.parametrize(
    ("source", "mutated"),
    [
        ("f(x)\n", {"pass\n"}),
        ("a.b = 1\na = 1\na += 1\n", {"pass\na = 1\na += 1\n", "a.b = 1\na = 1\npass\n"}),
        ("def f():\n    return 1\n", {"def f():\n    return None\n"}),
        ("def f():\n    return None\n", set()),
        ("y = f(a=1, é=2)\n", {"y = f( é=2)\n", "y = f(a=1, )\n"}),
        ("y = a and b or c\n", {"y = b or c\n", "y = a or c\n", "y = c\n", "y = a and b\n"}),
        ("y = [x for x in z if x]\n", {"y = [x for x in z if True]\n"}),
        ("y = 8e6 + 1\nz = 0.0\n", {"y = 16000000.0 + 1\nz = 0.0\n", "y = 8e6 + 1\nz = 1.0\n"}),
        ("y = min(z)\n", {"y = max(z)\n"}),
        ("@dataclass(frozen=True)\nclass A: ...\n", set()),
        ("if TYPE_CHECKING:\n    f()\n", set()),
        ("y = zip(a, b, strict=True)\n", set()),
    ],
)
def test_what_is_left_out_of_python(source: str, mutated: set[str]) -> None:
    assert {mutant.apply(source) for mutant in removals.mutants("a.py", source)} == mutated


def test_a_change_is_whole_lines() -> None:
    assert change("a\n  b\nc\n", "a\n  B\nc\n") == (2, Change("b", "B"))
    assert change("a\nb\nc\n", "a\nc\n") == (2, Change("b", ""))
    assert change("a\na\n", "a\na\na\n")[1] == Change("", "a")


def _mutants() -> list[Mutant]:
    places = [Place("a.py", (line, 0), "number") for line in range(1, 40)]
    return [Mutant(place, operator, str) for place in places for operator in ("+ 1", "- 1")]


def test_the_seed_gives_the_order_and_each_place_comes_once_before_any_comes_twice() -> None:
    order = draw(_mutants(), "1")
    assert [m.place for m in order] == [m.place for m in draw(reversed(_mutants()), "1")]
    assert [m.place for m in order] != [m.place for m in draw(_mutants(), "2")]
    half = len(order) // 2
    assert len({m.place for m in order[:half]}) == half
    assert sorted(m.place for m in order[:half]) == sorted(m.place for m in order[half:])


def test_a_listed_mutant_is_read_as_the_report_prints_it() -> None:
    lines = Change("a = 1\nb = 2", "a = 1\n")
    entries = equivalent.parse(f"# comment\n\nx.py\n{lines.diff}\n= why\n\ny.py\n- c\n= why not\n")
    assert entries == {("x.py", Change("a = 1\nb = 2", "a = 1")): "why", ("y.py", Change("c", "")): "why not"}


@pytest.mark.parametrize(
    "text", ["x.py\n- a\n+ b\n", "- a\n+ b\n= why\n", "x.py\n= why\n", "x.py\ny.py\n", "x.py\n- a\n= \n"]
)
def test_an_entry_that_is_not_whole_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="entry"):
        equivalent.parse(text)


def test_an_entry_whose_lines_are_gone_is_stale(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("if a:\n    b = 1\n")
    reasons = {
        ("x.py", Change("b = 1", "b = 2")): "",
        ("x.py", Change("b =", "c =")): "",
        ("z.py", Change("a", "b")): "",
    }
    assert [entry.split("\n")[:2] for entry in equivalent.stale(reasons, tmp_path)] == [
        ["x.py", "- b ="],
        ["z.py", "- a"],
    ]


def test_no_entry_of_the_repository_is_stale() -> None:
    root = Path(__file__).parents[2]
    listed = equivalent.parse((root / "tools" / "equivalent-mutants.txt").read_text(encoding="utf-8"))
    assert listed
    assert equivalent.stale(listed, root) == []


TESTED = "def double(x):\n    return x + x\n\n\ndef unused():\n    return 1\n"
TEST = "from tested import double\nassert double(3) == 6\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "controller").mkdir(parents=True)
    (root / "controller" / "tested.py").write_text(TESTED)
    (root / "test.py").write_text(TEST)
    (root / "ignored.txt").write_text("")
    (root / ".gitignore").write_text("ignored.txt\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


def _target(changes: list[tuple[str, str]]) -> Target:
    path = "controller/tested.py"
    mutants = [
        Mutant(Place(path, (number, 0), "x"), old, partial(_replace, old=old, new=new))
        for number, (old, new) in enumerate(changes)
    ]
    stage = Stage((sys.executable, "test.py"))
    return Target("t", [path], lambda _: mutants, lambda _: [stage], lambda _: "part")


def test_mutants_are_tested_in_a_copy(tree: Path) -> None:
    changes = [("x + x", "x - x"), ("return 1", "return 2"), ("return x", "while True: x")]
    with Copies(tree, 1) as copies:
        assert not (copies.unmutated / "ignored.txt").exists()
        listed = {("controller/tested.py", Change("def unused():", "def other():")): "it is not used"}
        sample = Sample(copies.unmutated, _target([*changes, ("unused", "other")]), "1", listed)
        results = list(sample.run(copies, 1, 10))
        left = copies.unmutated
    assert {(result.operator, result.outcome) for result in results} == {
        ("x + x", Outcome.NOTICED),
        ("return 1", Outcome.SURVIVED),
        ("return x", Outcome.TIMED_OUT),
    }
    assert sample.equivalent == 1
    assert (tree / "controller" / "tested.py").read_text() == TESTED
    assert not left.exists()
    assert report.table(results).splitlines()[-1].split() == ["all", "2", "3", "67"]
    assert "controller/tested.py\n- return 1\n+ return 2" in report.survivors(results)


def test_tests_that_fail_once_are_told_of(tree: Path) -> None:
    mark = tree / "mark"
    (tree / "test.py").write_text(
        f"import pathlib\np = pathlib.Path({str(mark)!r})\nif not p.exists():\n    p.touch()\n    1 / 0\n"
    )
    with Copies(tree, 1) as copies:
        results = list(Sample(copies.unmutated, _target([("1", "2")]), "1", {}).run(copies, 1, 10))
        assert [result.outcome for result in results] == [Outcome.SURVIVED]
        assert "ZeroDivisionError" in copies.flaky[0]


def test_tests_that_fail_anyway_notice_nothing(tree: Path) -> None:
    (tree / "test.py").write_text("raise SystemExit(1)\n")
    with Copies(tree, 1) as copies, pytest.raises(UnmutatedFailsError, match=r"without any mutant"):
        list(Sample(copies.unmutated, _target([("1", "2")]), "1", {}).run(copies, 1, 10))
