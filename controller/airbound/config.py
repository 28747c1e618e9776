# SPDX-License-Identifier: Apache-2.0
"""The configuration file: TOML, strict, frozen.

TOML because the interpreter reads it without further packages, and because its texts are texts: YAML 1.1 takes some
MAC addresses for numbers in base 60. The tables are the core's parameter classes; an unknown key is an error with
the nearest known one, a value out of its limits is an error with the limits.
"""

import dataclasses
import difflib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from airbound.core.parameters import Mode, ParameterError, Parameters, PolicyName
from airbound.core.reports import ReportRefusedError, checked_mac

LogStyle = Literal["text", "json"]


class ConfigError(ValueError):
    """What is wrong, in which file, at which key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All that a controller is told at its start. Without a file these defaults hold."""

    listen: str = "127.0.0.1:50051"
    log: LogStyle = "text"
    exempt: tuple[str, ...] = ()
    parameters: Parameters = dataclasses.field(default_factory=Parameters)


_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": get_args(Mode),
    "policy": get_args(PolicyName),
    "log": get_args(LogStyle),
}
_TABLES: dict[str, type[Any]] = {
    field.name: field.default_factory  # type: ignore[misc]  # every one of them is a class
    for field in dataclasses.fields(Parameters)
    if field.default_factory is not dataclasses.MISSING
}
_KEYS = (*_CHOICES, "listen", "exempt", *_TABLES)


def load(path: Path) -> Config:
    """Read a configuration file.

    Raises:
        ConfigError: the file cannot be read or does not hold a valid configuration.
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
    _refuse_unknown(raw, _KEYS, "", origin)
    for key, choices in _CHOICES.items():
        if key in raw and raw[key] not in choices:
            expected = " or ".join(repr(choice) for choice in choices)
            raise ConfigError(f"{origin}: {key} = {raw[key]!r}: expected {expected}")
    tables = {name: _table(name, kind, raw[name], origin) for name, kind in _TABLES.items() if name in raw}
    chosen = {key: raw[key] for key in ("mode", "policy") if key in raw}
    config: dict[str, Any] = {"parameters": Parameters(**chosen, **tables)}
    if "log" in raw:
        config["log"] = raw["log"]
    if "listen" in raw:
        config["listen"] = checked_endpoint(raw["listen"], f"{origin}: listen")
    if "exempt" in raw:
        config["exempt"] = _exempt(raw["exempt"], origin)
    return Config(**config)


def differences(before: Config, after: Config) -> list[str]:
    """What differs, a line each: `bdp.gain 1.25 -> 2.0`."""
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


def checked_endpoint(value: object, name: str) -> str:
    """ADDRESS:PORT, IPv6 addresses in brackets.

    Raises:
        ConfigError: it is something else.
    """
    if isinstance(value, str):
        host, colon, port = value.rpartition(":")
        plain = ":" not in host or (host.startswith("[") and host.endswith("]"))
        if host and colon and plain and re.fullmatch(r"[0-9]{1,5}", port) and int(port) <= 65535:  # noqa: PLR2004
            return value
    raise ConfigError(f"{name} = {value!r}: expected ADDRESS:PORT, such as 127.0.0.1:50051 or [::1]:50051")


def _table(name: str, kind: type[Any], raw: object, origin: str) -> Any:
    if not isinstance(raw, dict):
        raise ConfigError(f"{origin}: {name} = {raw!r}: expected a table, [{name}]")
    _refuse_unknown(raw, [field.name for field in dataclasses.fields(kind)], f"{name}.", origin)
    try:
        return kind(**raw)
    except ParameterError as error:
        raise ConfigError(f"{origin}: {name}.{error}") from error


def _exempt(raw: object, origin: str) -> tuple[str, ...]:
    if not isinstance(raw, list):
        raise ConfigError(f"{origin}: exempt = {raw!r}: expected a list of MAC addresses")
    try:
        return tuple(checked_mac("exempt", mac) for mac in raw)
    except ReportRefusedError as error:
        raise ConfigError(f"{origin}: {error}") from error


def _refuse_unknown(raw: dict[str, Any], known: Any, prefix: str, origin: str) -> None:
    for key in raw:
        if key not in known:
            near = difflib.get_close_matches(key, list(known), n=1)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"known keys: {', '.join(sorted(known))}"
            raise ConfigError(f"{origin}: unknown key {prefix}{key}; {hint}")
