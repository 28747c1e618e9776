# SPDX-License-Identifier: Apache-2.0
"""A configuration's values by their keys, what differs between two of them, and its hash."""

import dataclasses
import hashlib
import json
from typing import Any

from airbound.config import CellTable, Config

_CELL_NAMES = tuple(field.name for field in dataclasses.fields(CellTable) if field.name != "parameters")


def config_hash(config: Config) -> str:
    """SHA-256 of a configuration with all of its defaults, in hexadecimal: equal for equal ones, however written."""
    canonical = json.dumps(dataclasses.asdict(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def differences(before: Config, after: Config) -> list[str]:
    """What differs, a line each: `bdp.gain 1.0 -> 2.0`."""
    old, new = flat(before), flat(after)
    return [f"{key} {old.get(key)} -> {new.get(key)}" for key in old | new if old.get(key) != new.get(key)]


def flat(config: Config) -> dict[str, Any]:
    """Every value by its key as it stands in a file; of overrides of cells, what they have."""
    values = dataclasses.asdict(config)
    cells = values.pop("cell")
    flat = _flat(values)
    for number, cell in enumerate(cells):
        prefix = f"cell.{number}."
        unset = {f"{prefix}{key}" for key in _CELL_NAMES if not cell[key]}
        flat |= {key: value for key, value in _flat(cell, prefix).items() if key not in unset}
    return flat


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, prefix if key == "parameters" else f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
