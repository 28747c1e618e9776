# SPDX-License-Identifier: Apache-2.0
"""Where a change of Python code says nothing about the tests; pure."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Span(NamedTuple):
    """From a line and column (from 1, from 0) up to another."""

    start: tuple[int, int]
    end: tuple[int, int]


def around(spans: Iterable[Span], at: tuple[int, int]) -> tuple[int, int]:
    """The start of the span that covers this place; the place itself if none does."""
    return next((span.start for span in spans if span.start <= at < span.end), at)


def covers(spans: Iterable[Span], at: tuple[int, int]) -> bool:
    """Whether one of the spans covers this place."""
    return any(span.start <= at < span.end for span in spans)


def _span(node: ast.expr | ast.stmt | ast.keyword) -> Span:
    return Span((node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0))


def _without_meaning(node: ast.AST) -> Iterator[ast.expr | ast.stmt | ast.keyword]:
    match node:
        case ast.ClassDef(decorator_list=decorators) | ast.FunctionDef(decorator_list=decorators):
            yield from decorators  # frozen and slots: what mypy checks, or what a program that is right never meets
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            yield node
        case ast.keyword(arg="strict"):
            yield node  # of zip, where both are of one length


def without_meaning(tree: ast.Module) -> list[Span]:
    """Options of decorators, what is under TYPE_CHECKING, and `strict=`."""
    return [_span(found) for node in ast.walk(tree) for found in _without_meaning(node)]


def _types(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.arg(annotation=ast.expr() as found) | ast.AnnAssign(annotation=found):
            yield found
        case ast.FunctionDef(returns=ast.expr() as found) | ast.AsyncFunctionDef(returns=ast.expr() as found):
            yield found
        case ast.Module(body=body):  # a name for a type: `Effect = Command | Closed`
            for statement in body:
                match statement:
                    case ast.Assign(value=ast.BinOp(op=ast.BitOr()) as found):
                        yield found


def types(tree: ast.Module) -> list[Span]:
    """Annotations and names for types, where `|` is no arithmetic. A number in them may be a limit that is checked."""
    return [_span(found) for node in ast.walk(tree) for found in _types(node)]


def tables(tree: ast.Module) -> list[Span]:
    """Values of the module's names that are tuples, lists, dictionaries: tables of figures."""
    values = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return [_span(value) for value in values if isinstance(value, ast.Tuple | ast.List | ast.Dict)]
