# SPDX-License-Identifier: Apache-2.0
"""Each file and function that docs/tour.md names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOUR = (ROOT / "docs/tour.md").read_text(encoding="utf-8")
FOLDERS = "ap-firmware|controller|dashboards|docs|internal|kernel|lab|phone-agent|proto|scripts"
STOP = re.compile(rf"`((?:{FOLDERS})/[\w./-]*?)(?:::([\w.]+))?`")
STOPS = sorted(set(STOP.findall(TOUR)))


def python_names(text: str) -> set[str]:
    """Functions, classes, constants and methods (`Class.method`) of a module."""
    names = set[str]()
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                methods = (part.name for part in body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
                names |= {name, *(f"{name}.{method}" for method in methods)}
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def has(file: Path, name: str) -> bool:
    """Whether a source defines a name; a patch is asked for the C function that it adds."""
    text = file.read_text(encoding="utf-8")
    match file.suffix:
        case ".py":
            return name in python_names(text)
        case ".go":
            receiver, _, function = name.rpartition(".")
            method = rf"\(\w+ \*?{receiver}(?:\[\w+\])?\) " if receiver else ""
            return re.search(rf"^func {method}{function}[\[(]", text, re.MULTILINE) is not None
        case ".patch":
            return re.search(rf"^\+(?!.*;$)[a-z].*\b{name}\(", text, re.MULTILINE) is not None
    raise AssertionError(f"{file}: no rule for names of such a file")


def test_the_tour_has_stops_in_every_part() -> None:
    assert len(STOPS) > 30
    assert {file.split("/")[0] for file, name in STOPS if name} >= {
        "ap-firmware", "controller", "dashboards", "internal", "kernel", "lab", "phone-agent"
    }  # fmt: skip


@pytest.mark.parametrize(("file", "name"), STOPS)
def test_a_stop_exists(file: str, name: str) -> None:
    path = ROOT / file
    if path.stem == "NAME":  # the reader's
        path = path.parent
    assert path.exists()
    assert not name or has(path, name)


def test_a_name_that_is_not_there_is_found() -> None:
    here = Path(__file__)
    assert has(here, "has")
    assert not has(here, "had")
    assert not has(ROOT / "internal/controllerclient/client.go", "Client.Run")
    assert not has(ROOT / "kernel/patches/6.1/0001-tcp-add-rules-that-bound-the-congestion-window.patch", "tcp_v4_rcv")
