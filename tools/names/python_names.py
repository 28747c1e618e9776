# SPDX-License-Identifier: Apache-2.0
"""Where Python code binds a name that is a preposition.

`Certificate.of(x)` or `def growth(of: Series)` leave out the noun, so each use has to be solved. The name says what the
object is (`series`), or what a function makes of its argument (`from_x509`). Only places that bind a name count: names
of other libraries may be used.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PREPOSITIONS = frozenset({"of"})


def forbidden(source: str) -> list[tuple[int, str]]:
    """Return line and name of each function, class, parameter, attribute, variable or import that is called so.

    Raises:
        SyntaxError: the source is not Python.
    """
    return sorted((line, name) for line, name in _bound(ast.parse(source)) if name in PREPOSITIONS)


def _bound(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.end_lineno or node.lineno, node.attr
            case ast.alias():
                yield node.lineno, node.asname or node.name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case ast.MatchMapping(rest=str(name)):
                yield node.lineno, name


def main(files: Sequence[str]) -> int:
    """Write FILE:LINE for each such name to standard error.

    Returns:
        Exit code: 1 if there is such a name, or if a file is not Python.
    """
    exit_code = 0
    for file in files:
        try:
            found = forbidden(Path(file).read_text(encoding="utf-8"))
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            sys.stderr.write(f"{file}: not readable as Python: {error}\n")
            exit_code = 1
            continue
        for line, name in found:
            sys.stderr.write(f"{file}:{line}: `{name}` as a name: name what it is\n")
            exit_code = 1
    return exit_code
