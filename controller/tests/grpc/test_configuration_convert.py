# SPDX-License-Identifier: Apache-2.0
"""The configuration in force as operators are shown it."""

import asyncio
import re
from pathlib import Path

import pytest

from airbound.config import Config, cell_overrides
from airbound.configuration.layers import Loaded, Option, load
from airbound.configuration.values import config_hash, flat
from airbound.core.engine import Engine
from airbound.grpc.configuration_convert import configuration
from airbound.operator import display
from airbound.runtime.choices import Choices
from airbound.runtime.in_force import InForce
from airbound.runtime.runner import Runner
from airbound.v1 import operations_pb2 as wire

BSSID = "02:00:00:00:00:01"
AT_S = 1_800_000_000.0
AT = "2027-01-15T08:00:00Z"
Shown = dict[str, tuple[str, int, str]]


def runner(config: Config) -> Runner:
    made = Runner(Engine(config.parameters, config.mode, config.exempt, cell_overrides(config)))
    made.choices = Choices(lambda: AT_S)
    return made


def shown(message: wire.GetConfigurationResponse) -> Shown:
    return {value.key: (value.value, value.source, value.origin) for value in message.values}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.toml"
    path.write_text(
        "listen = '127.0.0.1:1'\nexempt = ['a']\n[bdp]\ngain = 2\n"
        f"[[cell]]\nbssid = '{BSSID}'\n[cell.edca]\ncw_min = 15\n",
        encoding="utf-8",
    )
    return path


def loaded(file: Path) -> Loaded:
    environment = {"AIRBOUND_BDP__QUEUE_SEGS": "3", "AIRBOUND_LISTEN": "127.0.0.1:2"}
    return load(file, environment, [Option("--log", ("log",), "json")])


async def test_every_value_and_where_it_comes_from(file: Path) -> None:
    started = loaded(file)
    message = configuration(InForce(started), runner(started.config))
    values = shown(message)
    assert values.keys() == flat(started.config).keys()
    assert list(values)[:3] == ["listen", "operators", "log"]
    assert list(values)[-2:] == ["cell.0.bssid", "cell.0.edca.cw_min"]
    assert values["listen"] == ('"127.0.0.1:2"', wire.CONFIGURATION_SOURCE_ENVIRONMENT, "AIRBOUND_LISTEN")
    assert values["log"] == ('"json"', wire.CONFIGURATION_SOURCE_COMMAND_LINE, "--log")
    assert values["mode"] == ('"control"', wire.CONFIGURATION_SOURCE_DEFAULT, "")
    assert values["exempt"] == ('["a"]', wire.CONFIGURATION_SOURCE_FILE, f"{file}:2")
    assert values["bdp.gain"] == ("2.0", wire.CONFIGURATION_SOURCE_FILE, f"{file}:4")
    assert values["bdp.queue_segs"] == ("3", wire.CONFIGURATION_SOURCE_ENVIRONMENT, "AIRBOUND_BDP__QUEUE_SEGS")
    assert values["bdp.floor_segs"] == ("2", wire.CONFIGURATION_SOURCE_DEFAULT, "")
    assert values["edca.cw_min"] == ("", wire.CONFIGURATION_SOURCE_DEFAULT, "")
    assert values["cell.0.bssid"] == (f'["{BSSID}"]', wire.CONFIGURATION_SOURCE_FILE, f"{file}:6")
    assert values["cell.0.edca.cw_min"] == ("15", wire.CONFIGURATION_SOURCE_FILE, f"{file}:8")
    assert (message.file, message.sha256, message.error) == (str(file), config_hash(started.config), "")
    assert not message.choices
    text = display.configuration(message)
    assert re.search(rf"^bdp.gain +2.0 +{file}:4$", text, re.MULTILINE)
    assert re.search(r"^edca.cw_min +not set +default$", text, re.MULTILINE)
    assert text.endswith(f"\nfile {file}; SHA-256 {message.sha256}")


async def test_what_operators_chose(file: Path) -> None:
    started = loaded(file)
    made = runner(started.config)
    made.set_mode("observe")
    made.set_mode("control", bytes.fromhex(BSSID.replace(":", "")))
    made.set_exempt("b", exempt=True)
    made.set_exempt("a", exempt=False)
    made.set_class("phone-17", None, 4)
    made.set_class("phone-17", 10073, 1)
    made.set_class("phone-17", 10074, 1)
    made.set_class("phone-17", 10074, None)
    message = configuration(InForce(started), made)
    values = shown(message)
    assert values["mode"] == ('"observe"', wire.CONFIGURATION_SOURCE_OPERATOR, AT)
    assert values["exempt"] == ('["b"]', wire.CONFIGURATION_SOURCE_OPERATOR, AT)
    assert [(choice.key, choice.name, choice.value, choice.at) for choice in message.choices] == [
        ("mode", "", "observe", AT),
        ("mode", BSSID, "control", AT),
        ("exempt", "a", "false", AT),
        ("exempt", "b", "true", AT),
        ("class", "phone-17", "background", AT),
        ("class", "phone-17 uid 10073", "live", AT),
    ]
    assert message.sha256 == config_hash(started.config)
    text = display.configuration(message)
    assert re.search(rf'^mode +"observe" +operator at {AT}$', text, re.MULTILINE)
    assert f"\noperator at {AT}: mode of {BSSID} control\n" in text
    assert f"\noperator at {AT}: exempt of b true\n" in text
    made.set_exempt("a", exempt=True)
    made.set_exempt("b", exempt=False)
    assert shown(configuration(InForce(started), made))["exempt"] == (
        '["a"]',
        wire.CONFIGURATION_SOURCE_FILE,
        f"{file}:2",
    )


async def test_what_waits_for_the_next_start_and_what_was_wrong(file: Path) -> None:
    started = loaded(file)
    in_force = InForce(started)
    text = "[limits]\nstreams_max = 5\n[bdp]\n\ngain = 3\n"
    await asyncio.to_thread(file.write_text, text, encoding="utf-8")
    in_force.reloaded(loaded(file))
    in_force.failed("x.toml: not TOML\x1b")
    message = configuration(in_force, runner(started.config))
    values = {value.key: value for value in message.values}
    limit = values["limits.streams_max"]
    assert (limit.value, limit.at_next_start, limit.source) == ("20_000", "5", wire.CONFIGURATION_SOURCE_DEFAULT)
    assert (values["bdp.gain"].value, values["bdp.gain"].origin) == ("3.0", f"{file}:5")
    assert (values["listen"].value, values["listen"].at_next_start) == ('"127.0.0.1:2"', "")
    assert {value.key for value in message.values if value.at_next_start} == {"limits.streams_max"}
    assert message.sha256 == config_hash(in_force.config) != config_hash(in_force.loaded.config)
    text = display.configuration(message)
    assert re.search(r"^limits.streams_max +20_000 +default; 5 at the next start$", text, re.MULTILINE)
    assert "\nnot in force, for an error: x.toml: not TOML?\n" in text


async def test_without_a_file() -> None:
    message = configuration(InForce(Loaded()), runner(Config()))
    assert message.file == ""
    assert {value.source for value in message.values} == {wire.CONFIGURATION_SOURCE_DEFAULT}
    assert display.configuration(message).endswith(f"\nfile none; SHA-256 {config_hash(Config())}")
