# SPDX-License-Identifier: Apache-2.0
"""The configuration file: TOML, strict, frozen.

TOML because the interpreter reads it without further packages, and because a TOML string is always a string: YAML 1.1
takes some MAC addresses for numbers in base 60. The tables are the core's parameter classes; pydantic checks them. An
unknown key is an error with the nearest known one, a value out of its limits is an error with the limits.
"""

import dataclasses
import datetime
import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from airbound.core.addresses import exempt_name
from airbound.core.parameters import Mode, Parameters

LogStyle = Literal["text", "json"]

DEFAULT_LISTEN = "127.0.0.1:50051"
DEFAULT_OPERATORS = "127.0.0.1:50052"
PORT_MAX = 65_535
UNIX = "unix:"

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ConfigError(ValueError):
    """What is wrong, in which file, at which key."""


def _endpoint(value: str) -> str:
    host, colon, port = value.rpartition(":")
    plain = ":" not in host or (host.startswith("[") and host.endswith("]"))
    if host and colon and plain and re.fullmatch(r"[0-9]{1,5}", port) and int(port) <= PORT_MAX:
        return value
    raise ValueError("expected ADDRESS:PORT, such as 127.0.0.1:50051 or [::1]:50051")


def _operator_endpoint(value: str) -> str:
    if value.startswith(UNIX):
        if value.startswith(f"{UNIX}/"):
            return value
        raise ValueError("expected unix:/PATH, an absolute path")
    return _endpoint(value)


def _name(value: str) -> str:
    if value.isprintable():
        return exempt_name(value)
    raise ValueError("expected a printable name")


def checked_endpoint(value: str, name: str) -> str:
    """ADDRESS:PORT (IPv6 addresses in brackets) or, where operators' tools connect to, unix:/PATH.

    Raises:
        ConfigError: it is something else.
    """
    try:
        return _operator_endpoint(value)
    except ValueError as error:
        raise ConfigError(f"{name} = {value!r}: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Limits:
    """What peers may take of the controller."""

    streams_max: Annotated[int, Field(ge=1, le=1_000_000, description="open streams of agents")] = 20_000
    streams_per_address_max: Annotated[
        int, Field(ge=0, le=1_000_000, description="of them, those that come from one address; 0: no such limit")
    ] = 1_000
    reports_per_s: Annotated[float, Field(ge=0.1, le=10_000, description="reports of one stream")] = 20.0
    log_lines_per_s: Annotated[
        float,
        Field(ge=1, le=1_000_000, description="lines of the log, and as many warnings; more are counted and left out"),
    ] = 100.0
    log_lines_waiting: Annotated[
        int, Field(ge=1, le=1_000_000, description="lines that wait for a reader of the log; more are counted, dropped")
    ] = 10_000


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Events:
    """How much is kept of what happened, for `airbound events`."""

    kept: Annotated[int, Field(ge=0, le=1_000_000, description="events; older ones are forgotten")] = 10_000
    bytes_max: Annotated[
        int, Field(ge=0, le=1 << 32, description="memory that they may take; older ones are forgotten")
    ] = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Config:
    """All that a controller is given at its start; without a file, these defaults."""

    listen: Annotated[str, AfterValidator(_endpoint)] = DEFAULT_LISTEN
    operators: tuple[Annotated[str, AfterValidator(_operator_endpoint)], ...] = (DEFAULT_OPERATORS,)
    log: LogStyle = "text"
    mode: Mode = "control"
    exempt: tuple[Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_name)], ...] = ()
    limits: Limits = Limits()
    events: Events = Events()
    parameters: Parameters = Parameters()


_CONFIG = TypeAdapter(Config)
_PARAMETERS = tuple(field.name for field in dataclasses.fields(Parameters))


def load(path: Path) -> Config:
    """Read a configuration file.

    Raises:
        ConfigError: the file cannot be read or is not a valid configuration.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    return parse(text, str(path))


def parse(text: str, origin: str) -> Config:
    """A configuration from TOML; `origin` names it in errors.

    Raises:
        ConfigError: the text is not TOML or not a valid configuration.
    """
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5000 digits is a plain ValueError
        raise ConfigError(f"{origin}: not TOML: {error}") from error
    if "parameters" in raw:
        raise ConfigError(f"{origin}: unknown key parameters; its tables stand at the top of the file")
    parameters = {key: raw.pop(key) for key in _PARAMETERS if key in raw}
    for key, value in _leaves(raw | parameters):
        if isinstance(value, datetime.date | datetime.time):  # JSON has none
            raise ConfigError(f"{origin}: {key} = {value}: dates and times are not used here")
    # In JSON's strict mode a table may become a dataclass and a list a tuple, and nothing else changes its type.
    document = json.dumps({**raw, "parameters": parameters})
    try:
        return _CONFIG.validate_json(document)
    except ValidationError as error:
        raise ConfigError(f"{origin}: {_first(error)}") from error


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is neither a table nor a list, with its key."""
    if not isinstance(value, dict | list):
        yield key, value
        return
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(inner, f"{key}.{name}" if key else str(name))


def _first(error: ValidationError) -> str:
    """The first thing that is wrong: its key, its value and what would be right."""
    found = error.errors()[0]
    location = [str(part) for part in found["loc"]]
    if location[:1] == ["parameters"]:
        location = location[1:]
    key = ".".join(location)
    if found["type"] == "unexpected_keyword_argument":
        return f"unknown key {key}; {_hint(location)}"
    shown = "" if isinstance(found["input"], dict) else f" = {found['input']!r}"
    message = found["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if found["type"] == "dataclass_type":
        message = f"should be a table, [{key}]"
    return f"{key}{shown}: {message}" if key else message


def _hint(location: list[str]) -> str:
    *table, unknown = location
    known = [*_PARAMETERS, *_names(Config)] if not table else list(_names(_table(table[0])))
    known = [name for name in known if name != "parameters"]
    prefix = "".join(f"{part}." for part in table)
    near = difflib.get_close_matches(unknown, known, n=1)
    return f"did you mean {prefix}{near[0]}?" if near else f"known keys: {', '.join(sorted(known))}"


def _table(name: str) -> Any:
    of = Config if name in {"limits", "events"} else Parameters
    return next(field.default for field in dataclasses.fields(of) if field.name == name)


def _names(of: Any) -> Iterable[str]:
    return (field.name for field in dataclasses.fields(of))


def differences(before: Config, after: Config) -> list[str]:
    """What differs, a line each: `bdp.gain 1.0 -> 2.0`."""
    old, new = _flat(dataclasses.asdict(before)), _flat(dataclasses.asdict(after))
    return [f"{key} {old[key]} -> {new[key]}" for key in old if old[key] != new[key]]


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, "" if key == "parameters" else f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
