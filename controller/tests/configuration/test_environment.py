# SPDX-License-Identifier: Apache-2.0
"""Variables of the environment: which are keys, how their values are read, which are others'."""

import re
import subprocess
from pathlib import Path

import pytest

from airbound.config import ConfigError
from airbound.configuration.environment import NOT_OURS, overrides
from airbound.configuration.keys import keys

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("AIRBOUND_MODE", "observe", ("mode",), "observe"),
        ("AIRBOUND_MODE", '"observe"', ("mode",), "observe"),
        ("AIRBOUND_LISTEN", "[::]:50051", ("listen",), "[::]:50051"),
        ("AIRBOUND_LISTEN", "2026-01-31", ("listen",), "2026-01-31"),
        ("AIRBOUND_LISTEN", '""', ("listen",), ""),
        ("AIRBOUND_LIMITS__STREAMS_MAX", "20_000", ("limits", "streams_max"), 20_000),
        ("AIRBOUND_BDP__GAIN", "2 # twice", ("bdp", "gain"), 2),
        ("AIRBOUND_BDP__GAIN", "1.5", ("bdp", "gain"), 1.5),
        ("AIRBOUND_BDP__GAIN", "1,5", ("bdp", "gain"), "1,5"),
        ("AIRBOUND_EDCA__ENABLED", "false", ("edca", "enabled"), False),
        ("AIRBOUND_EDCA__ENABLED", "False", ("edca", "enabled"), "False"),
        ("AIRBOUND_EXEMPT", "['192.0.2.7']", ("exempt",), ["192.0.2.7"]),
        ("AIRBOUND_CELL", "[{ssid = 'a', bdp = {gain = 2}}]", ("cell",), [{"ssid": "a", "bdp": {"gain": 2}}]),
        ("AIRBOUND_POLICY", "1", ("policy",), "1"),
        ("AIRBOUND_BDP__GAIN", "1\nmode = 'observe'", ("bdp", "gain"), "1\nmode = 'observe'"),
        ("AIRBOUND_EXEMPT", "[" * 5_000, ("exempt",), "[" * 5_000),
        ("AIRBOUND_BDP__QUEUE_SEGS", "1" * 5_000, ("bdp", "queue_segs"), "1" * 5_000),
    ],
)
def test_a_value_is_toml_or_bare_text(name: str, text: str, path: tuple[str, ...], value: object) -> None:
    assert overrides({"PATH": "/bin", name: text}) == [(name, path, value)]


def test_an_empty_variable_is_not_set() -> None:
    assert overrides({"AIRBOUND_MODE": "", "AIRBOUND_BDP__GAIN": ""}) == []


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("AIRBOUND_MOED", "unknown variable AIRBOUND_MOED; did you mean AIRBOUND_MODE?"),
        ("AIRBOUND_BDP_GAIN", "unknown variable AIRBOUND_BDP_GAIN; did you mean AIRBOUND_BDP__GAIN?"),
        ("AIRBOUND_LIMITS", "unknown variable AIRBOUND_LIMITS; it is a table: set its keys, such as AIRBOUND_LIMITS__"),
        ("AIRBOUND_LIMITS__PORT", "unknown variable AIRBOUND_LIMITS__PORT; "),
        ("AIRBOUND_CELL__0__MODE", "unknown variable AIRBOUND_CELL__0__MODE; "),
        ("AIRBOUND_", "unknown variable AIRBOUND_; keys are written AIRBOUND_KEY or AIRBOUND_TABLE__KEY"),
        ("AIRBOUND_QWZZ", "unknown variable AIRBOUND_QWZZ; keys are written AIRBOUND_KEY or AIRBOUND_TABLE__KEY"),
        ("AIRBOUND_Mode", "unknown variable AIRBOUND_Mode; "),
    ],
)
@pytest.mark.parametrize("value", ["x", ""])
def test_an_unknown_variable_is_an_error_with_the_nearest_known(name: str, complaint: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        overrides({name: value})
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    "name",
    [
        *sorted(NOT_OURS),
        "AIRBOUND_SERVICE_HOST",
        "AIRBOUND_SERVICE_PORT",
        "AIRBOUND_SERVICE_PORT_GRPC",
        "AIRBOUND_PORT",
        "AIRBOUND_PORT_50051_TCP",
        "AIRBOUND_PORT_50051_TCP_PROTO",
        "AIRBOUND_PORT_50051_TCP_PORT",
        "AIRBOUND_PORT_50051_TCP_ADDR",
        "AIRBOUND_CONTROLLER_SERVICE_HOST",
        "AIRBOUND_CONTROLLER_PORT_50051_TCP_ADDR",
        "MY_AIRBOUND_MODE",
        "airbound_mode",
    ],
)
def test_others_variables_are_left_alone(name: str) -> None:
    assert overrides({name: "tcp://10.0.0.1:50051"}) == []


def test_no_key_has_the_name_of_anothers_variable() -> None:
    names = [key.variable for key in keys()]
    assert len(set(names)) == len(names)
    assert not NOT_OURS & set(names)


def test_every_variable_that_is_read_anywhere_here_is_a_key_or_on_the_list() -> None:
    where = ("*.sh", "*.yml", "*Dockerfile", "lab/*.py", "ap-firmware/*.go", "phone-agent/*.go", "internal/*.go")
    command = ["git", "-C", str(ROOT), "grep", "-hoE", "AIRBOUND_[A-Z0-9_]+", "--", *where]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {name for name in listed.stdout.split() if not re.search(r"_H$", name)}  # guards of C headers
    assert "AIRBOUND_CACHE" in found
    assert found - {key.variable for key in keys()} <= NOT_OURS
