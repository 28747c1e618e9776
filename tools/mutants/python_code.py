# SPDX-License-Identifier: Apache-2.0
"""Python: which files are mutated, how (cosmic-ray and mutants.removals), and which tests belong to them."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from cosmic_ray.ast import ast_nodes, get_ast, is_number
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from mutants import removals
from mutants.mutant import Mutant, Place
from mutants.python_spans import around, covers, tables, types, without_meaning
from mutants.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

CONTROLLER = (
    "controller/airbound/core",
    "controller/airbound/store",
    "controller/airbound/grpc/convert.py",
    "controller/airbound/grpc/operations_convert.py",
)
LAB = (
    *("lab/airbound_lab/figures/measure.py", "lab/airbound_lab/figures/results.py"),
    *("lab/airbound_lab/medium_theory/bianchi.py", "lab/airbound_lab/records/trace.py"),
    "lab/airbound_lab/report/tables.py",
)

# Of cosmic-ray's replacements, those that could be what was meant. What is left out fails at once whatever is tested
# (`a ** b` for `a | b`), or changes nothing (`is` for `==` between small numbers).
_BINARY = (
    *("Add_Sub", "Sub_Add", "Mul_Div", "Mul_FloorDiv", "Div_Mul", "Div_FloorDiv", "FloorDiv_Mul", "FloorDiv_Div"),
    *("Mod_Mul", "Mod_FloorDiv", "Pow_Mul", "RShift_LShift", "LShift_RShift"),
    *("BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr"),
)
_COMPARISON = (
    *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"),
    *("Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt"),
)
_OPERATORS = (
    *(f"core/ReplaceBinaryOperator_{name}" for name in _BINARY),
    *(f"core/ReplaceComparisonOperator_{name}" for name in _COMPARISON),
    *(f"core/ReplaceUnaryOperator_{name}" for name in ("USub_UAdd", "Invert_USub", "Delete_Not")),
    *("core/AddNot", "core/ReplaceTrueWithFalse", "core/ReplaceFalseWithTrue"),
    *("core/ReplaceAndWithOr", "core/ReplaceOrWithAnd"),
    *("core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak"),
    *("core/ExceptionReplacer", "core/NumberReplacer", "core/ZeroIterationForLoop"),
)


def files(root: Path, roots: Iterable[str]) -> list[str]:
    """The Python files in these folders, and these files."""
    found = []
    for name in roots:
        path = root / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.is_file() else []
    return [str(path.relative_to(root)) for path in found]


def _apply_if_program(source: str, apply: Callable[[str], str | None]) -> str | None:
    """The mutated source; None if it is no program, or the same one."""
    mutated = apply(source)
    try:
        same = mutated is None or ast.dump(ast.parse(mutated)) == ast.dump(ast.parse(source))
    except (SyntaxError, ValueError):
        return None
    return None if same else mutated


def _cosmic_ray(path: str, source: str) -> Iterator[Mutant]:
    module = ast.parse(source)
    skipped = without_meaning(module)
    no_arithmetic = skipped + types(module)
    tabled = tables(module)
    tree = get_ast(source)
    for name in _OPERATORS:
        operator = get_operator(name)()
        kind = name.removeprefix("core/").split("_")[0]
        positions = ((node, start) for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
        for occurrence, (node, start) in enumerate(positions):
            if is_number(node) and isinstance(ast.literal_eval(node.value), float):
                continue  # 1 more is nothing to 8e6: mutants.removals doubles it
            if not covers(no_arithmetic if kind == "ReplaceBinaryOperator" else skipped, start):
                apply = partial(mutate_code, operator=operator, occurrence=occurrence)
                # A table is one place, or a page of figures would be half of the sample.
                yield Mutant(Place(path, around(tabled, start), kind), name.removeprefix("core/"), apply)


def mutants(root: Path, paths: Iterable[str]) -> Iterator[Mutant]:
    """Every mutant of these files."""
    for path in paths:
        source = (root / path).read_text()
        for mutant in chain(_cosmic_ray(path, source), removals.mutants(path, source)):
            yield replace(mutant, apply=partial(_apply_if_program, apply=mutant.apply))


def part(path: str) -> str:
    """What the table adds up: folders of the controller, files of the lab."""
    folder, _, name = path.rpartition("/")
    return path if path in LAB or name.endswith("convert.py") else folder


def _tests(root: Path, path: str) -> list[list[str]]:
    """The tests that belong to a file: first the file of tests named after it, then all of its folder's."""
    half, _, *folders, name = path.split("/")
    stem = name.removesuffix(".py")
    base = root / half / "tests"
    named = sorted(base.joinpath(*folders).glob(f"test_{stem}*.py"))
    return [[str(file.relative_to(root)) for file in found] for found in (named, [base / folders[0]]) if found]


def stages(root: Path, path: str, python: Path) -> list[Stage]:
    """The commands that test a file, the last of which includes the others."""
    options = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-p", "no:randomly"]
    options += ["-p", "mutants.pytest_settings", "-m", "not uml"]
    return [Stage((str(python), "-m", "pytest", *options, *tests)) for tests in _tests(root, path)]
