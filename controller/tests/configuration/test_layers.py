# SPDX-License-Identifier: Apache-2.0
"""Command line over environment over file over defaults, and errors that name the source of the wrong value."""

import itertools
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airbound.config import Config, ConfigError, cell_overrides
from airbound.configuration.keys import Key, keys, toml
from airbound.configuration.layers import DEFAULT, Option, Origin, load
from airbound.configuration.values import flat

KEYS = {key.variable: key for key in keys()}
WORDS = {
    "listen": ["127.0.0.1:1", "[::1]:2"],
    "operators": [["unix:/run/x"], []],
    "exempt": [["a"], ["b", "c"]],
    "log": ["json", "text"],
    "mode": ["observe", "control"],
    "policy": ["paper", "bdp"],
    "table": ["gingerbread", "jelly-bean"],
    "user": ["a", "b"],
    "password_file": ["/a", "/b"],
    "ca_file": ["/a", "/b"],
    "prefix": ["a", "b"],
}
TOGETHER = {
    *(("store", key) for key in ("url", "cluster", "file", "certificate_file", "key_file")),
    *(("edca", key) for key in ("on_share", "off_share", "cw_min", "cw_max", "stations_cw_min", "stations_cw_max")),
    *(("capacity", key) for key in ("min_bps", "max_bps")),
}
"""Keys whose values must fit one another's."""


def values(key: Key) -> list[Any]:
    """Two values that a key may have whatever the others have."""
    if key.name in WORDS:
        return WORDS[key.name]
    if key.kind == "true or false":
        return [True, False]
    low, high = (tomllib.loads(f"x = {text}")["x"] for text in key.limits.split(" to "))
    return [low, high]


def has_values(key: Key) -> bool:
    return key.name in WORDS or key.kind == "true or false" or bool(key.limits)


FREE = [key for key in keys() if key.path not in TOGETHER and has_values(key)]
SAID = st.dictionaries(st.sampled_from(range(len(FREE))), st.integers(0, 1), max_size=12)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.toml"


def test_no_two_keys_that_are_combined_rule_each_other_out() -> None:
    """All pairs: few of the combinations below have a certain one."""
    for one, other in itertools.combinations(FREE, 2):
        for of_one, of_other in itertools.product(values(one), values(other)):
            load(options=[Option("--x", one.path, of_one), Option("--y", other.path, of_other)])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SAID, SAID, SAID)
def test_any_combination_has_the_documented_precedence(
    file: Path, in_file: dict[int, int], in_environment: dict[int, int], in_options: dict[int, int]
) -> None:
    text, table = "", ()
    lines = {}
    for number in sorted(in_file):  # plain keys come first among the keys
        key = FREE[number]
        if key.table != table:
            table = key.table
            text += f"[{'.'.join(table)}]\n"
        lines[number] = text.count("\n") + 1
        text += f"{key.name} = {toml(values(key)[in_file[number]])}\n"
    file.write_text(text, encoding="utf-8")
    environment = {FREE[number].variable: toml(values(FREE[number])[index]) for number, index in in_environment.items()}
    options = [Option("--x", FREE[number].path, values(FREE[number])[index]) for number, index in in_options.items()]
    loaded = load(file, environment, options)
    found, defaults = flat(loaded.config), flat(Config())
    for number, key in enumerate(FREE):
        name = ".".join(key.path)
        expected, origin = defaults[name], DEFAULT
        for said, where in (
            (in_file, Origin("file", f"{file}:{lines.get(number)}")),
            (in_environment, Origin("environment", key.variable)),
            (in_options, Origin("command line", "--x")),
        ):
            if number in said:
                expected, origin = values(key)[said[number]], where
        assert found[name] == (tuple(expected) if isinstance(expected, list) else expected)
        assert loaded.origin(name) == origin


def test_without_anything_it_is_the_defaults() -> None:
    loaded = load()
    assert (loaded.config, loaded.file, loaded.origins) == (Config(), None, {})
    assert loaded.origin("bdp.gain") == DEFAULT


def test_a_list_and_overrides_of_cells_are_replaced_as_a_whole(file: Path) -> None:
    file.write_text(
        "exempt = ['a']\n[[cell]]\nssid = 'a'\n[cell.bdp]\ngain = 2\n[[cell]]\nssid = 'b'", encoding="utf-8"
    )
    loaded = load(file, {"AIRBOUND_CELL": "[{ssid = 'c', mode = 'observe'}]", "AIRBOUND_EXEMPT": "['b']"})
    assert [override.ssids for override in cell_overrides(loaded.config)] == [("c",)]
    assert loaded.config.exempt == ("b",)
    assert loaded.origin("cell.0.mode") == Origin("environment", "AIRBOUND_CELL")
    assert loaded.origin("cell.0.bdp.gain") == Origin("environment", "AIRBOUND_CELL")
    assert loaded.origin("exempt") == Origin("environment", "AIRBOUND_EXEMPT")


def test_an_override_of_a_cell_is_on_top_of_what_the_environment_says(file: Path) -> None:
    file.write_text("[[cell]]\nssid = 'a'\n[cell.bdp]\nqueue_segs = 1", encoding="utf-8")
    loaded = load(file, {"AIRBOUND_BDP__GAIN": "3"})
    (override,) = cell_overrides(loaded.config)
    assert (override.parameters.bdp.gain, override.parameters.bdp.queue_segs) == (3, 1)
    assert loaded.origin("cell.0.bdp.queue_segs") == Origin("file", f"{file}:4")


@pytest.mark.parametrize(
    ("text", "environment", "options", "complaint"),
    [
        ("[bdp]\ngain = 0", {}, [], "{file}: bdp.gain = 0: should be greater than or equal to 0.1"),
        ("x = 1", {}, [], "{file}: unknown key x; known keys: "),
        ("x", {}, [], "{file}: not TOML: "),
        ("", {"AIRBOUND_BDP__GAIN": "0"}, [], "AIRBOUND_BDP__GAIN = 0: should be greater than or equal to 0.1"),
        ("[bdp]\ngain = 2", {"AIRBOUND_BDP__GAIN": "x"}, [], "AIRBOUND_BDP__GAIN = 'x': should be a valid number"),
        ("", {"AIRBOUND_MODE": "off"}, [], "AIRBOUND_MODE = 'off': should be 'observe' or 'control'"),
        ("", {"AIRBOUND_LISTEN": "here"}, [], "AIRBOUND_LISTEN = 'here': expected ADDRESS:PORT"),
        ("", {"AIRBOUND_OPERATORS": "['x']"}, [], "AIRBOUND_OPERATORS: operators.0 = 'x': expected ADDRESS:PORT"),
        ("", {"AIRBOUND_EXEMPT": "x"}, [], "AIRBOUND_EXEMPT = 'x': should be a valid array"),
        ("", {"AIRBOUND_EXEMPT": "2026-01-31"}, [], "AIRBOUND_EXEMPT = 2026-01-31: dates and times are not used here"),
        ("", {"AIRBOUND_CELL": "[{ssid = 'a', bdp = {gian = 1}}]"}, [], "AIRBOUND_CELL: unknown key cell.0.bdp.gian; "),
        ("", {"AIRBOUND_CELL": "[{mode = 'observe'}]"}, [], "AIRBOUND_CELL: cell.0: expected bssid or ssid"),
        ("", {"AIRBOUND_CELL": "x"}, [], "AIRBOUND_CELL = 'x': should be a valid array"),
        ("", {}, [Option("--listen", ("listen",), "here")], "--listen = 'here': expected ADDRESS:PORT"),
        ("", {}, [Option("--operators", ("operators",), ["x"])], "--operators = 'x': expected ADDRESS:PORT"),
        (
            "[capacity]\nmax_bps = 2e6",
            {"AIRBOUND_CAPACITY__MIN_BPS": "3e6"},
            [],
            "{file}, AIRBOUND_CAPACITY__MIN_BPS: capacity: min_bps is more than max_bps = 2e+06",
        ),
        ("bdp = 1", {"AIRBOUND_BDP__GAIN": "2"}, [], "{file}: bdp = 1: should be a table, [bdp]"),
        ("", {"AIRBOUND_POLCY": "paper"}, [], "unknown variable AIRBOUND_POLCY; did you mean AIRBOUND_POLICY?"),
    ],
)
def test_what_is_wrong_has_the_name_that_it_has_where_it_is_said(
    file: Path, text: str, environment: dict[str, str], options: list[Option], complaint: str
) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, environment, options)
    assert str(caught.value).startswith(complaint.format(file=file))
    assert "\n" not in str(caught.value)


def test_what_is_wrong_without_a_file() -> None:
    with pytest.raises(ConfigError, match=r"^AIRBOUND_CAPACITY__MIN_BPS: capacity: min_bps is more than max_bps"):
        load(None, {"AIRBOUND_CAPACITY__MIN_BPS": "1e10"})
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read"):
        load(Path("nowhere.toml"))
