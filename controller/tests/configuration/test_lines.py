# SPDX-License-Identifier: Apache-2.0
"""On which line a key stands."""

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from airbound.configuration.keys import toml
from airbound.configuration.lines import lines

TEXT = '''# a comment
mode = "observe" # another

operators = [
    "127.0.0.1:1", # with ] and " in it
    "unix:/x",
]
[bdp]
gain = 2
"queue_segs" = 3
limits.streams_max = 4
paper = { table = """
gingerbread""" }

[[cell]]
ssid = "[a]"
[cell.bdp] # of the first
gain = 1

[[cell]]
bdp.gain = 3
[cell.edca]
enabled = false
'''


def test_every_way_to_write_a_key() -> None:
    assert lines(TEXT) == {
        ("mode",): 2,
        ("operators",): 4,
        ("bdp", "gain"): 9,
        ("bdp", "queue_segs"): 10,
        ("bdp", "limits", "streams_max"): 11,
        ("bdp", "paper", "table"): 12,
        ("cell", "0", "ssid"): 16,
        ("cell", "0", "bdp", "gain"): 18,
        ("cell", "1", "bdp", "gain"): 21,
        ("cell", "1", "edca", "enabled"): 23,
    }


def test_tables_in_one_line_and_lines_of_other_systems() -> None:
    text = "cell = [{ssid = 'a', bdp = {gain = 1}},\r\n{ssid = 'b'}]\r\nmode = 'observe'"
    assert lines(text) == {
        ("cell",): 1,
        ("cell", "0", "ssid"): 1,
        ("cell", "0", "bdp", "gain"): 1,
        ("cell", "1", "ssid"): 1,
        ("mode",): 3,
    }
    assert lines("x = 'a\u2028b'\ny = 1") == {("x",): 1, ("y",): 2}
    assert lines("") == lines("# nothing\n\n") == {}
    assert lines("[cell]\nmode = 1") == {("cell", "mode"): 2}


NAMES = st.sampled_from(("a", "b", "c", "bdp", "x-y"))
VALUES = st.recursive(
    st.integers(-9, 9) | st.text("ab[]{}'\"#=\n\\\u2028", max_size=6) | st.booleans(),
    lambda tables: st.lists(tables, max_size=3),
)
TABLES = st.dictionaries(NAMES, VALUES, max_size=3)


@given(st.lists(st.tuples(NAMES, TABLES), unique_by=lambda pair: pair[0]), st.lists(TABLES, max_size=3), st.booleans())
def test_a_files_keys_are_those_that_the_reader_finds_and_stand_where_they_are_found(
    tables: list[tuple[str, dict[str, Any]]],
    cells: list[dict[str, Any]],
    spread: bool,  # noqa: FBT001
) -> None:
    text = ""
    expected: dict[tuple[str, ...], int] = {}
    heads = [(f"[{name}]", (name,), values) for name, values in tables]
    heads += [("[[cell]]", ("cell", str(number)), values) for number, values in enumerate(cells)]
    for head, table, values in heads:
        text += f"{head}\n"
        for name, value in values.items():
            expected[(*table, name)] = text.count("\n") + 1
            written = toml(value)
            text += f"{name} = {written.replace(', ', ', # x]' + chr(10)) if spread and _plain(value) else written}\n"
    document = tomllib.loads(text)
    assert lines(text) == expected
    assert set(_leaves(document)) == expected.keys()


def _plain(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(element, int) for element in value)


def _leaves(document: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in document.items():
        tables = (
            {(name, str(number)): inner for number, inner in enumerate(value)} if name == "cell" else {(name,): value}
        )
        for table, inner in tables.items():
            yield from ((*table, key) for key in inner)
