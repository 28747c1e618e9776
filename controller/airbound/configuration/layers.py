# SPDX-License-Identifier: Apache-2.0
"""The configuration from all that may say something: command line over environment over file over defaults.

Each value keeps where it comes from. What is wrong is reported under the name that it has there: the file and the key,
the variable, or the option.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from airbound.config import Config, ConfigError, InvalidError, document, read, validated
from airbound.configuration import environment as variables
from airbound.configuration.lines import lines

Source = Literal["default", "file", "environment", "command line", "operator"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from. `where` is the file and the line, the variable, the option, or the time."""

    source: Source
    where: str = ""


DEFAULT = Origin("default")


class Option(NamedTuple):
    """What the command line says of a key."""

    name: str
    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration and where its values come from, by their keys as in a file: `bdp.gain`, `cell.0.mode`."""

    config: Config = field(default_factory=Config)
    file: Path | None = None
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def origin(self, key: str) -> Origin:
        """Where a value comes from: the key's own origin, or that of the list or table that it is in."""
        while key:
            found = self.origins.get(key)
            if found is not None:
                return found
            key = key.rpartition(".")[0]
        return DEFAULT


def load(
    file: Path | None = None, environment: Mapping[str, str] | None = None, options: Sequence[Option] = ()
) -> Loaded:
    """Read the file, if there is one, and put the rest on top.

    Raises:
        ConfigError: the file cannot be read, or something said somewhere is wrong; all of it is named.
    """
    raw: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    if file is not None:
        text = read(file)
        try:
            raw = document(text)
        except InvalidError as error:
            raise ConfigError(f"{file}: {error}") from error
        origins = {".".join(path): Origin("file", f"{file}:{line}") for path, line in lines(text).items()}
    overrides, wrong = variables.read(environment or {})
    for name, path, value in overrides:
        _put(raw, origins, path, value, Origin("environment", name))
    for name, path, value in options:
        _put(raw, origins, path, value, Origin("command line", name))
    loaded = Loaded(file=file, origins=origins)
    try:
        config = validated(raw)
    except InvalidError as error:
        raise ConfigError(*wrong, *(_text(each, loaded) for each in (error, *error.others))) from error
    if wrong:
        raise ConfigError(*wrong)
    return Loaded(config, file, origins)


def _put(raw: dict[str, Any], origins: dict[str, Origin], path: tuple[str, ...], value: Any, origin: Origin) -> None:
    """Replace a value, unless a table on the way to it is none: that error is reported."""
    below: Any = raw
    for table in path[:-1]:
        below = below.setdefault(table, {})
        if not isinstance(below, dict):
            return
    below[path[-1]] = value
    key = ".".join(path)
    for inner in [other for other in origins if other.startswith(f"{key}.")]:
        del origins[inner]
    origins[key] = origin


def _text(error: InvalidError, loaded: Loaded) -> str:
    key = ".".join(error.location)
    origin = loaded.origin(key)
    within = [origin for other, origin in loaded.origins.items() if other.startswith(f"{key}.")]
    if within:  # what is wrong is how values of a table go together
        names = dict.fromkeys(str(loaded.file) if origin.source == "file" else origin.where for origin in within)
        return f"{', '.join(names)}: {error}"
    if origin.source == "file" or not origin.where:
        return f"{loaded.file}: {error}"
    if origin.source == "command line" or loaded.origins.get(key) is not None:
        return error.text(origin.where)
    return f"{origin.where}: {error}"
