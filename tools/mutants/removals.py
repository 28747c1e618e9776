# SPDX-License-Identifier: Apache-2.0
"""What cosmic-ray does not do to Python: leave something out. Also: return None, min for max, 1.0 for 0.5; pure.

A removed statement becomes `pass`. Left out are also keyword arguments (a field that a conversion does not take over),
an operand of `and` and `or`, and the condition of a comprehension.
"""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mutants.mutant import Mutant, Place
from mutants.python_spans import covers, without_meaning

if TYPE_CHECKING:
    from collections.abc import Iterator

SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Edit(NamedTuple):
    """Replace the characters from start to end."""

    operator: str
    start: int
    end: int
    text: str


class _Offsets:
    """From the line and column of the syntax tree, which counts bytes, to the index of a character."""

    def __init__(self, source: str) -> None:
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Start and end of a node."""
        end = self.at(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return self.at(node.lineno, node.col_offset), end


def _has_effect(statement: ast.stmt) -> bool:
    """Whether the program is still one without this statement, and another one: no bound name goes missing."""
    match statement:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            return True
        case ast.Assign(targets=targets):
            return all(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
        case ast.Return(value=None):
            return True
        case _:
            return False


def _of_statement(node: ast.stmt, offsets: _Offsets) -> Iterator[Edit]:
    if _has_effect(node):
        yield Edit("remove statement", *offsets.span(node), "pass")
    match node:
        case ast.Return(value=ast.Constant(value=None)):
            return
        case ast.Return(value=ast.expr() as value):
            yield Edit("return None", *offsets.span(value), "None")


def _of_call(node: ast.Call, source: str, offsets: _Offsets) -> Iterator[Edit]:
    if isinstance(node.func, ast.Name) and node.func.id in SWAPPED:
        yield Edit("swap min and max", *offsets.span(node.func), SWAPPED[node.func.id])
    for keyword in node.keywords:
        if keyword.arg:
            start, end = offsets.span(keyword)
            comma = re.match(r"\s*,", source[end:])
            yield Edit("remove keyword argument", start, end + (comma.end() if comma else 0), "")


def _of_expression(node: ast.AST, offsets: _Offsets) -> Iterator[Edit]:
    match node:
        case ast.BoolOp(values=values):
            yield Edit("remove first operand", offsets.span(values[0])[0], offsets.span(values[1])[0], "")
            yield Edit("remove last operand", offsets.span(values[-2])[1], offsets.span(values[-1])[1], "")
        case ast.Constant(value=float() as value):
            yield Edit("double number" if value else "0.0 to 1.0", *offsets.span(node), repr(value * 2 or 1.0))
        case ast.comprehension(ifs=conditions):
            for condition in conditions:
                yield Edit("remove comprehension's condition", *offsets.span(condition), "True")


def _edits(tree: ast.Module, source: str, offsets: _Offsets) -> Iterator[Edit]:
    for node in ast.walk(tree):
        match node:
            case ast.stmt():
                yield from _of_statement(node, offsets)
            case ast.Call():
                yield from _of_call(node, source, offsets)
            case _:
                yield from _of_expression(node, offsets)


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of this kind of one file."""
    tree = ast.parse(source)
    skipped = without_meaning(tree)
    for edit in _edits(tree, source, _Offsets(source)):
        start = (source.count("\n", 0, edit.start) + 1, edit.start - source.rfind("\n", 0, edit.start) - 1)
        if not covers(skipped, start):
            yield Mutant(Place(path, start, edit.operator), edit.operator, partial(_apply, edit=edit))


def _apply(source: str, edit: Edit) -> str:
    return source[: edit.start] + edit.text + source[edit.end :]
