# SPDX-License-Identifier: Apache-2.0
"""On which line of a TOML file a key stands; the interpreter's TOML reader says nothing of that.

A file is a row of statements: a table's head, or a key and its value. Each is one line, or some if its value is a list
or a text of several lines. So a line that is not yet TOML is read with those after it until it is, and whatever that
has for keys stands on its first line.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any

ARRAYS_OF_TABLES = frozenset({"cell"})
_ENDS = ("]", "}", '"""', "'''")  # without one of these a statement of several lines does not end


def lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each key, from 1 on; heads of tables are none. `text` must be TOML."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    numbers = Counter[tuple[str, ...]]()
    for first, statement in _statements(text):
        document = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = _head(document)
            if statement.lstrip().startswith("[["):
                table = (*table, str(numbers[table]))
                numbers[table[:-1]] += 1
            else:
                table = _numbered(table, numbers)
        else:
            found |= {(*table, *key): first for key in _keys(document)}
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement with the number of its first line."""
    begun: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):  # which is all that TOML takes for the end of a line
        if begun and not any(end in line for end in _ENDS):
            begun.append(line)
            continue
        begun.append(line)
        statement = "\n".join([*begun, ""])
        try:
            empty = not tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if not empty:
            yield number - len(begun) + 1, statement
        begun = []


def _head(document: dict[str, Any]) -> tuple[str, ...]:
    """The names in a table's head, which is all that the document has."""
    names = []
    inner: Any = document
    while inner:
        ((name, inner),) = inner.items()
        names.append(name)
        inner = inner[0] if isinstance(inner, list) else inner
    return tuple(names)


def _numbered(table: tuple[str, ...], numbers: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    """[cell.bdp] belongs to the last [[cell]] above it."""
    count = numbers[table[:1]]
    return (table[0], str(count - 1), *table[1:]) if count else table


def _keys(value: Any, key: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every value that is no table, by its key; a list of tables is also each of them."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _keys(inner, (*key, name))
        return
    yield key
    if isinstance(value, list) and key[:1] and key[0] in ARRAYS_OF_TABLES:
        for number, inner in enumerate(value):
            yield from _keys(inner, (*key, str(number)))
