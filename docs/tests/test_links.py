# SPDX-License-Identifier: Apache-2.0
"""Every link between the documents leads to a file and a heading, and every document that any source names exists, as
does every test in docs/real-time-tests.md.
"""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"(?<![\w./-])docs/[\w./-]+\.md\b")
TEST_FILE = re.compile(r"`([\w./*-]*(?:test_[\w*]+\.py|\w+_test\.go))`")
OF_OTHERS = {"docs/guides.md"}
"""Magisk's."""


def sources(*patterns: str) -> list[Path]:
    """The files that git knows or would add."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    return sorted(file for name in filter(None, names) if (file := ROOT / name).is_file())


@cache
def anchors(document: Path) -> frozenset[str]:
    """As GitHub makes them: lower case, without punctuation, spaces as hyphens, numbered if they repeat."""
    found: list[str] = []
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"\]\([^)]*\)", "", heading)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        repeated = sum(other == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", other) is not None for other in found)
        found.append(f"{slug}-{repeated}" if repeated else slug)
    return frozenset(found)


def broken(document: Path) -> list[str]:
    """The links of a document that lead nowhere."""
    found = []
    for link in LINK.findall(CODE.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    documents = sources("*.md")
    assert len(documents) > 40
    assert {str(document): links for document in documents if (links := broken(document))} == {}


def test_every_document_that_a_source_names_exists() -> None:
    named: dict[str, list[str]] = {}
    for source in sources(":!CHANGELOG.md"):  # which names those that were
        if source.suffix not in {".svg", ".png"} and b"\0" not in (octets := source.read_bytes()):
            for document in NAMED.findall(octets.decode("utf-8", errors="replace")):
                named.setdefault(document, []).append(str(source.relative_to(ROOT)))
    assert len(named) > 15
    assert {document: where for document, where in named.items() if not (ROOT / document).is_file()}.keys() == OF_OTHERS


def test_every_test_that_depends_on_real_time_exists() -> None:
    named = set(TEST_FILE.findall((ROOT / "docs/real-time-tests.md").read_text(encoding="utf-8")))
    files = [f"/{source.relative_to(ROOT)}" for source in sources("*.py", "*.go")]
    assert len(named) > 50
    assert [name for name in sorted(named) if not any(fnmatch(file, f"*/{name}") for file in files)] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Two words, `code`\n", encoding="utf-8")
    text = "[a](other.md#two-words-code) [b](other.md#none) [c](gone.md) [d](https://example.org) `[e](code.md)`\n"
    document = tmp_path / "page.md"
    document.write_text(text, encoding="utf-8")
    assert broken(document) == ["other.md#none", "gone.md"]
