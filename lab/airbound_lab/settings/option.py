# SPDX-License-Identifier: Apache-2.0
"""How a field of a dataclass is set: its option on the command line, its settings in the name of a mode; pure.

A field has an `Option` in its annotation. The commands' options, their help and what is made of them follow from that,
and so does the command line that makes equal parameters again.
"""

from __future__ import annotations

import argparse
import dataclasses
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """One of the words of `MODE@WORD@WORD=N`."""

    word: str
    whose: str
    """Of what it is a setting, as the help says it."""
    value: Any = None
    """What it sets, if it has no unit."""
    unit: str = ""
    """Of the number that follows the word; empty: none follows."""
    note: str = ""
    read: Callable[[str], Any] = int
    """The value of what follows the word, for whole numbers `int`."""
    lacks: str = ""
    """What modes without agents lack that it is about; empty: it is of all modes."""

    def __str__(self) -> str:
        """Return how it is written."""
        return f"{self.word}={self.unit}" if self.unit else self.word


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """An option; `{default}` in its help is the field's default."""

    help: str
    metavar: str | None = None
    _: dataclasses.KW_ONLY
    name: str = ""
    """Without `--`; empty: the field's."""
    read: Callable[[str], Any] | None = None
    """Reads what follows the option, as argparse's `type`; None: by the field's type."""
    choices: tuple[str, ...] = ()
    """What may follow the option; empty: by the field's type."""
    becomes: Callable[[Any], Any] = lambda value: value
    """The field's value from what was read."""
    write: Callable[[Any], str] | None = None
    """The text that `read` and `becomes` make the value of; None: by the value's type."""
    instead: Option | None = None
    """Another option, which sets the field if this one does not."""
    settings: tuple[Setting, ...] = ()

    @property
    def flag(self) -> str:
        """What is written on the command line."""
        return f"--{self.name}"

    def words(self, value: Any) -> list[str]:
        """The words of the command line that set the value, which is not the default."""
        if self.write is None and isinstance(value, bool):
            return [self.flag]
        return [self.flag, (self.write or _text)(value)]


def declared(owner: type) -> Mapping[str, Option]:
    """The options of a dataclass's fields, by field."""
    return {
        field.name: dataclasses.replace(option, name=option.name or field.name.replace("_", "-"))
        for field in dataclasses.fields(owner)
        for option in getattr(field.type, "__metadata__", ())
        if isinstance(option, Option)
    }


def settings(owner: type) -> dict[str, tuple[str, Setting]]:
    """The settings of modes by their words, each with its field."""
    return {each.word: (field, each) for field, option in declared(owner).items() for each in option.settings}


def add(parser: argparse.ArgumentParser, owner: type) -> None:
    """Add the options of a dataclass's fields, in the fields' order."""
    options = declared(owner)
    for field in dataclasses.fields(owner):
        for option in reversed(_alternatives(options[field.name])):
            _add(parser, option, field)


def given(namespace: argparse.Namespace, owner: type) -> dict[str, Any]:
    """The fields that a command line sets, by name, and their values."""
    found = {}
    for field, option in declared(owner).items():
        for each in _alternatives(option):
            if (dest := each.name.replace("-", "_")) in namespace:
                found[field] = each.becomes(getattr(namespace, dest))
                break
    return found


def words(record: Any, always: tuple[str, ...] = ()) -> list[str]:
    """The words of a command line that set a record's fields: those that are not at their defaults, and `always`."""
    defaults = {field.name: field.default for field in dataclasses.fields(record)}
    return [
        word
        for field, option in declared(type(record)).items()
        if field in always or getattr(record, field) != defaults[field]
        for word in option.words(getattr(record, field))
    ]


def _alternatives(option: Option) -> list[Option]:
    """An option, and the one that counts if it is not there."""
    return [option] if option.instead is None else [option, option.instead]


def _add(parser: argparse.ArgumentParser, option: Option, field: dataclasses.Field[Any]) -> None:
    reading = _reading(option, field)
    if option.metavar is not None:
        reading["metavar"] = option.metavar
    # An option that is left out is not in the namespace, so `given` sees what the command line says and no more.
    text = option.help.replace("{default}", _text(field.default))
    parser.add_argument(option.flag, default=argparse.SUPPRESS, help=text, **reading)


def _reading(option: Option, field: dataclasses.Field[Any]) -> dict[str, Any]:
    """How argparse reads an option of a field."""
    kind = _plain(field.type)
    if option.choices:
        return {"choices": option.choices}
    if option.read is not None:
        return {"type": option.read}
    if kind is bool:
        return {"action": "store_false" if field.default else "store_true"}
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    return {"type": kind}


def _plain(annotation: Any) -> Any:
    """A type without what is annotated, and without None."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        [kind] = (part for part in get_args(annotation) if part is not NoneType)
        return _plain(kind)
    return annotation


def _text(value: Any) -> str:
    """A value as it follows its option."""
    if isinstance(value, tuple):
        return ",".join("-".join(map(str, part)) if isinstance(part, tuple) else _text(part) for part in value)
    return str(value).removesuffix(".0")
