# SPDX-License-Identifier: Apache-2.0
"""Each kind of place that binds a name, and places that only use one."""

from pathlib import Path

import pytest
from names.python_names import forbidden, main


@pytest.mark.parametrize(
    "source",
    [
        "def of(): ...",
        "async def of(): ...",
        "class of: ...",
        "def f(of): ...",
        "def f(*, of=1): ...",
        "def f(*of): ...",
        "def f(**of): ...",
        "f = lambda of: 1",
        "of = 1",
        "of: int = 1",
        "of += 1",
        "class A:\n    of: int",
        "self.of = 1",
        "for of in (): ...",
        "f = [1 for of in ()]",
        "with open(f) as of: ...",
        "if of := f(): ...",
        "import of",
        "from a import b as of",
        "try: ...\nexcept OSError as of: ...",
        "match f:\n    case A(of): ...",
        "match f:\n    case [*of]: ...",
        "match f:\n    case {**of}: ...",
    ],
)
def test_each_binding_is_found_in_its_line(source: str) -> None:
    line = 1 + source[: source.index("of")].count("\n") if "OSError" not in source else 2
    assert forbidden(f"\n{source}") == [(line + 1, "of")]


@pytest.mark.parametrize(
    "source",
    ["def share_of(cell): ...", "offset = 1", "# of", '"""of"""', "f(of=1)", "f = a.of(1)", "print(of)", "OF = 1"],
)
def test_uses_and_longer_names_are_none(source: str) -> None:
    assert forbidden(source) == []


def test_file_and_line_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, broken = (tmp_path / name for name in ("good.py", "bad.py", "broken.py"))
    good.write_text("share = 1\n", encoding="utf-8")
    bad.write_text("\n\ndef f(of): ...\n", encoding="utf-8")
    broken.write_text("def f(:\n", encoding="utf-8")
    assert main([str(good)]) == 0
    assert main([str(good), str(bad)]) == 1
    assert capsys.readouterr().err == f"{bad}:3: `of` as a name: name what it is\n"
    assert main([str(broken), str(bad), str(tmp_path / "missing.py")]) == 1
    assert [line.partition(": ")[0] for line in capsys.readouterr().err.splitlines()] == [
        str(broken),
        f"{bad}:3",
        str(tmp_path / "missing.py"),
    ]
