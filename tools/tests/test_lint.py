# SPDX-License-Identifier: Apache-2.0
"""scripts/lint.sh: scripts that shellcheck read before, and found good, are not read again."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = '#!/bin/bash\n# shellcheck source=SCRIPTDIR/common.sh\n. "$(dirname "$0")/common.sh"\necho "$greeting"\n'
COMMON = "# shellcheck shell=bash\n# shellcheck disable=SC2034\ngreeting=hello\n"
COMPLAINT = "# shellcheck shell=bash\ngreeting=hello\nls $HOME/*\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a script, a file that it sources, and this checkout's linters."""
    root = tmp_path / "tree"
    (root / "scripts").mkdir(parents=True)
    for name in ("lint.sh", "lib.sh"):
        shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
    for name in (".venv", "go.mod", "tools"):
        (root / name).symlink_to(ROOT / name)
    (root / ".gitignore").write_text("/.venv\n/tools\n", encoding="utf-8")
    (root / "hello.sh").write_text(SCRIPT, encoding="utf-8")
    (root / "common.sh").write_text(COMMON, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    return root


def shellcheck(tree: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the check; the tools are those of this machine's cache, which scripts/lib.sh would look for in the tree's."""
    kept = {name: value for name, value in os.environ.items() if name not in {"KEEP", "CHECK_KEPT"}}
    environment = {**kept, "AIRBOUND_CACHE": str(tree.parent / "cache"), **settings}
    command = [tree / "scripts" / "lint.sh", "shellcheck"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_scripts_that_were_read_are_not_read_again(tree: Path) -> None:
    note = tree.parent / "note"
    first = shellcheck(tree, CHECK_KEPT=str(note))
    assert first.returncode == 0, first.stdout + first.stderr
    assert "kept" not in first.stdout
    assert not note.exists()
    assert "PASS: 2 scripts; passed at " in shellcheck(tree, CHECK_KEPT=str(note)).stdout
    assert note.exists()
    assert "kept" not in shellcheck(tree, KEEP="no").stdout


@pytest.mark.parametrize(("file", "text"), [("common.sh", COMPLAINT), ("hello.sh", f"{SCRIPT}ls $HOME/*\n")])
def test_a_script_with_a_complaint_is_read_each_time(tree: Path, file: str, text: str) -> None:
    assert shellcheck(tree).returncode == 0
    (tree / file).write_text(text, encoding="utf-8")
    for _ in range(2):
        done = shellcheck(tree)
        assert done.returncode == 1
        assert "SC2086" in done.stdout
