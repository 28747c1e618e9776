# SPDX-License-Identifier: Apache-2.0
"""Every key of the configuration, from the dataclasses that are the configuration: type, limits, default, text."""

import dataclasses
import json
import math
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo

from airbound.config import CellTable, Config
from airbound.core.parameters import Parameters

PREFIX = "AIRBOUND_"
_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text"}


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """One key. `table` is empty for those at the top of the file."""

    table: tuple[str, ...]
    name: str
    kind: str  # for a person
    limits: str  # for a person; empty if there are none but the type's
    default: Any
    text: str
    is_text: bool  # of type str, so that a word need not be quoted
    example: Any  # the default, or a value for what has none

    @property
    def path(self) -> tuple[str, ...]:
        """The tables and the key."""
        return (*self.table, self.name)

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return PREFIX + "__".join(self.path).upper()


def keys() -> list[Key]:
    """All keys but those of overrides of cells, in the order of the file."""
    everything = [*_keys(Config, ()), *_keys(Parameters, ())]
    return sorted(everything, key=lambda key: bool(key.table))  # a file's tables come after its plain keys


def cell_keys() -> list[Key]:
    """The keys of a [[cell]] table that are its own."""
    return list(_keys(CellTable, ("cell",)))


def table_text(table: tuple[str, ...]) -> str:
    """What a table is about: its class's first sentence."""
    dataclass: Any = Config
    for part in table:
        fields = {field.name: field for field in (*dataclasses.fields(Parameters), *dataclasses.fields(dataclass))}
        dataclass = type(fields[part].default)
    return " ".join((dataclass.__doc__ or "").split("\n\n")[0].split())


def toml(value: Any) -> str:
    """A value as TOML has it; nothing if there is none."""
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return _integer(value) if isinstance(value, int) else _float(value)


_GROUPED_FROM = 10_000
_EXPONENT_FROM = 100_000


def _integer(value: int) -> str:
    return f"{value:_}" if abs(value) >= _GROUPED_FROM else str(value)


def _float(value: float) -> str:
    if value < _GROUPED_FROM:
        return repr(value)
    exponent = math.floor(math.log10(value))
    short = f"{value / 10**exponent:g}e{exponent}"
    return short if value >= _EXPONENT_FROM and float(short) == value else f"{value:_}"


def _keys(source: Any, table: tuple[str, ...]) -> Iterator[Key]:
    for field in dataclasses.fields(source):
        if field.name in {"parameters", "cell"}:
            continue
        if dataclasses.is_dataclass(field.default):
            yield from _keys(type(field.default), (*table, field.name))
        else:
            source = _described(field.type)
            default = () if field.default is dataclasses.MISSING else field.default
            is_text = source.kind == _KINDS[str] or source.kind.startswith('"')
            example = source.example if default is None else default
            yield Key(table, field.name, source.kind, source.limits, default, source.text, is_text, example)


class _Described(NamedTuple):
    kind: str
    limits: str = ""
    text: str = ""
    example: Any = None


def _described(annotation: Any) -> _Described:
    """What the annotation of a field says."""
    if get_origin(annotation) is Annotated:
        found = _described(annotation.__origin__)
        for extra in annotation.__metadata__:
            if isinstance(extra, FieldInfo):
                # A field that may be unset has a description of its own, and one of the value that it may have.
                text = "; ".join(filter(None, [found.text, extra.description or ""]))
                example = extra.examples[0] if extra.examples else found.example
                found = _Described(found.kind, _limits(extra) or found.limits, text, example)
        return found
    if get_origin(annotation) in {Union, UnionType}:
        parts = [_described(part) for part in get_args(annotation) if part is not NoneType]
        return parts[0]._replace(kind=" or ".join(part.kind for part in parts))
    if get_origin(annotation) is tuple:
        return _Described(f"list of {_described(get_args(annotation)[0]).kind}")
    if get_origin(annotation) is Literal:
        return _Described(" or ".join(f'"{value}"' for value in get_args(annotation)))
    return _Described(_KINDS[annotation])


def _limits(field: FieldInfo) -> str:
    """Both limits, which are within."""
    low = next((extra.ge for extra in field.metadata if isinstance(extra, annotated_types.Ge)), None)
    high = next((extra.le for extra in field.metadata if isinstance(extra, annotated_types.Le)), None)
    return "" if low is None or high is None else f"{_limit(low)} to {_limit(high)}"


def _limit(value: Any) -> str:
    return toml(value).removesuffix(".0")
