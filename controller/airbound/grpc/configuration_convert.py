# SPDX-License-Identifier: Apache-2.0
"""From the configuration in force, and what operators chose beside it, to what operators are shown."""

import datetime
from collections.abc import Iterator

from airbound.configuration.keys import toml
from airbound.configuration.layers import Origin, Source
from airbound.configuration.values import config_hash, flat
from airbound.runtime.choices import Choice, Choices
from airbound.runtime.in_force import InForce
from airbound.runtime.runner import Runner
from airbound.v1 import operations_pb2

_SOURCES: dict[Source, operations_pb2.ConfigurationSource] = {
    "default": operations_pb2.CONFIGURATION_SOURCE_DEFAULT,
    "file": operations_pb2.CONFIGURATION_SOURCE_FILE,
    "environment": operations_pb2.CONFIGURATION_SOURCE_ENVIRONMENT,
    "command line": operations_pb2.CONFIGURATION_SOURCE_COMMAND_LINE,
    "operator": operations_pb2.CONFIGURATION_SOURCE_OPERATOR,
}


def configuration(in_force: InForce, runner: Runner) -> operations_pb2.GetConfigurationResponse:
    """Every value in force."""
    config, choices = in_force.config, runner.choices
    file = in_force.loaded.file
    message = operations_pb2.GetConfigurationResponse(
        sha256=config_hash(config),
        file="" if file is None else str(file),
        error=in_force.error,
        choices=_choices(choices),
    )
    at_next_start = flat(in_force.loaded.config)
    settings = runner.engine.settings
    values = flat(config)
    for key in sorted(values, key=lambda key: (key.startswith("cell."), "." in key)):
        value, origin = values[key], in_force.loaded_for(key).origin(key)
        if key == "mode" and choices.mode is not None:
            value, origin = settings.mode, Origin("operator", _time(choices.mode))
        if key == "exempt" and set(value) != settings.exempt and choices.exempt:
            last = max(choices.exempt.values(), key=lambda choice: choice.at_s)
            value, origin = sorted(settings.exempt), Origin("operator", _time(last))
        waits = at_next_start[key] != values[key] if key in at_next_start else False
        message.values.add(
            key=key,
            value=toml(value),
            source=_SOURCES[origin.source],
            origin=origin.where,
            at_next_start=toml(at_next_start[key]) if waits else "",
        )
    return message


def _choices(choices: Choices) -> Iterator[operations_pb2.OperatorChoice]:
    made = [
        *([("mode", "", choices.mode)] if choices.mode else []),
        *(("mode", name, choice) for name, choice in sorted(choices.modes_of_cells.items())),
        *(("exempt", name, choice) for name, choice in sorted(choices.exempt.items())),
        *sorted(
            ("class", name if uid is None else f"{name} uid {uid}", choice)
            for (name, uid), choice in choices.classes.items()
        ),
    ]
    for key, name, choice in made:
        until = _rfc3339(choice.until_s) if choice.until_s else ""
        yield operations_pb2.OperatorChoice(key=key, name=name, value=choice.value, at=_time(choice), until=until)


def _time(choice: Choice) -> str:
    return _rfc3339(choice.at_s)


def _rfc3339(at_s: float) -> str:
    return datetime.datetime.fromtimestamp(at_s, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
