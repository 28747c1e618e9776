# SPDX-License-Identifier: Apache-2.0
"""What is written about the configuration, and the keys that it is made from."""

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from airbound.config import Config, parse
from airbound.configuration.keys import cell_keys, keys, toml
from airbound.configuration.reference import BEGIN, END, example, main, tables, uncommented
from airbound.core.parameters import Parameters

ROOT = Path(__file__).parents[3]
EVERY_KEY = [*keys(), *cell_keys()]
UNSET = {
    "cw_min": 15, "cw_max": 1023,
    "stations_aifsn": 5, "stations_cw_min": 31, "stations_cw_max": 1023, "stations_txop_limit": 0,
}  # fmt: skip


@pytest.mark.parametrize("key", EVERY_KEY, ids=lambda key: ".".join(key.path))
def test_every_key_has_a_text_and_a_number_has_limits(key: Any) -> None:
    assert key.text
    assert key.kind
    assert bool(key.limits) == ("number" in key.kind)


@pytest.mark.parametrize("key", EVERY_KEY, ids=lambda key: ".".join(key.path))
def test_a_secret_is_a_file(key: Any) -> None:
    assert not re.search(r"password|passphrase|secret|token|private|credential", key.name) or key.name.endswith("_file")


def test_the_limits_are_those_that_are_checked() -> None:
    for key in keys():
        if not key.limits:
            continue
        low, high = (tomllib.loads(f"x = {text}")["x"] for text in key.limits.split(" to "))
        for value, right in ((low, True), (high, True), (low - 1, False), (high + 1, False)):
            text = f"[{'.'.join(key.table)}]\n{key.name} = {value!r}"
            error = ""
            try:
                parse(text, "x")
            except ValueError as caught:
                error = str(caught)
            assert (f"{key.name} = {value!r}: should be" in error) is not right, text


def test_there_is_a_key_for_every_field() -> None:
    fields = {field.name for field in (*dataclasses.fields(Config), *dataclasses.fields(Parameters))}
    assert {key.path[0] for key in keys()} == fields - {"parameters", "cell"}


def test_the_example_is_valid_and_is_the_defaults() -> None:
    assert tomllib.loads(example()) == {}
    text = uncommented(example())
    config = parse(text, "example")
    assert len(config.cell) == 2
    own = config.parameters.edca
    assert {name: getattr(own, name) for name in UNSET} == UNSET
    edca = dataclasses.replace(own, **dict.fromkeys(UNSET, None))
    assert (
        dataclasses.replace(config, cell=(), parameters=dataclasses.replace(config.parameters, edca=edca)) == Config()
    )
    document = tomllib.loads(text)
    for key in keys():
        table: Any = document
        for part in key.path:
            table = table[part]


def test_the_documents_table_has_every_key_once() -> None:
    text = tables()
    for key in EVERY_KEY:
        heads = f"[{'.'.join(key.table)}]" if key.table else "At the top of the file"
        block = text.partition(f"{heads}")[2].partition("###")[0]
        assert block.count(f"\n| `{key.name}` |") == 1
    assert '| `mode` | "observe" or "control" |  | `"control"` | at once |' in text
    assert '| `listen` | text |  | `"127.0.0.1:50051"` | from the next start |' in text


def test_only_what_is_between_the_marks_is_replaced(tmp_path: Path) -> None:
    document = tmp_path / "x.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    main(document, tmp_path / "example.toml")
    text = document.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n\n###")
    assert text.endswith(f"|\n\n{END}\nafter\n")
    main(document, tmp_path / "example.toml")
    assert document.read_text(encoding="utf-8") == text
    document.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="expected a line"):
        main(document, tmp_path / "example.toml")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"), (1, "1"), (9_999, "9999"), (10_000, "10_000"), (0.03, "0.03"), (20.0, "20.0"), (5e5, "5e5"),
        (20e6, "2e7"), (123_456.5, "123_456.5"), (10_000.0, "10_000.0"), ('a"b', '"a\\"b"'), ((), "[]"),
        (("a", "b"), '["a", "b"]'), (1e5, "1e5"), (1.5e11, "1.5e11"), (1234567.0, "1_234_567.0"), (0.0, "0.0"),
    ],
)  # fmt: skip
def test_a_value_as_toml_has_it(value: Any, text: str) -> None:
    assert toml(value) == text
    back = tomllib.loads(f"x = {text}")["x"]
    assert (tuple(back) if isinstance(value, tuple) else back) == value


def test_the_documents_examples_are_valid() -> None:
    document = ROOT.joinpath("docs/configuration.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", document, re.DOTALL)
    assert blocks
    for block in blocks:
        assert len(parse(block, "x").cell) == 3
