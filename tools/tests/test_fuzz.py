# SPDX-License-Identifier: Apache-2.0
"""scripts/fuzz.sh: targets that passed are fuzzed again only if something changed that they are made of."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GO_MOD = f"module example.com/tree\n\n{(ROOT / 'go.mod').read_text(encoding='utf-8').splitlines()[2]}\n"
TARGET = """package target

import (
	"testing"

	"example.com/tree/limit"
)

func FuzzTarget(f *testing.F) {
	f.Fuzz(func(t *testing.T, length uint8) {
		if int(length) > limit.Largest {
			t.Fatal("too long")
		}
	})
}
"""


def limit(largest: int) -> str:
    return f"package limit\n\nconst Largest = {largest}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A module with a fuzz target and a package that it imports."""
    root = tmp_path / "tree"
    for path, text in {
        "go.mod": GO_MOD,
        "go.sum": "",
        "target/target_test.go": TARGET,
        "target/testdata/input": "1\n",
        "limit/limit.go": limit(255),
        "other/other.go": "package other\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / "scripts").mkdir()
    for name in ("fuzz.sh", "lib.sh"):
        shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
    return root


def fuzz(tree: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"KEEP", "CHECK_KEPT", "SEED"}}
    environment = {**kept, "AIRBOUND_CACHE": str(tree.parent / "cache"), "FUZZ_INPUTS": "500", **settings}
    command = [tree / "scripts" / "fuzz.sh", "./target"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def was_kept(done: subprocess.CompletedProcess[str]) -> bool:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS: 1 fuzz targets, " in done.stdout
    return "; passed at " in done.stdout


def test_targets_that_passed_are_not_fuzzed_again(tree: Path) -> None:
    note = tree.parent / "note"
    assert not was_kept(fuzz(tree, CHECK_KEPT=str(note)))
    assert not note.exists()
    assert was_kept(fuzz(tree, CHECK_KEPT=str(note)))
    assert note.exists()
    assert not was_kept(fuzz(tree, KEEP="no"))
    assert not was_kept(fuzz(tree, SEED="2"))
    assert not was_kept(fuzz(tree, FUZZ_INPUTS="501"))


def test_what_targets_import_and_their_data_matter_and_nothing_else(tree: Path) -> None:
    assert not was_kept(fuzz(tree))
    (tree / "other" / "other.go").write_text("package other\n\nconst Number = 1\n", encoding="utf-8")
    assert was_kept(fuzz(tree))
    (tree / "target" / "testdata" / "input").write_text("2\n", encoding="utf-8")
    assert not was_kept(fuzz(tree))
    (tree / "limit" / "limit.go").write_text(limit(256), encoding="utf-8")
    assert not was_kept(fuzz(tree))


def test_a_failure_is_not_kept(tree: Path) -> None:
    (tree / "limit" / "limit.go").write_text(limit(3), encoding="utf-8")
    for _ in range(2):
        done = fuzz(tree)
        assert done.returncode != 0
        assert "too long" in done.stdout + done.stderr
