# SPDX-License-Identifier: Apache-2.0
"""Loads policies from outside of the controller: by MODULE:NAME, or by the name of an entry point of the group
`airbound.policies` ([decision 0048]). The module is one that Python finds: installed, or on PYTHONPATH.

A policy runs in the controller's process with all of its rights, and is loaded once: a new version needs a new start.
"""

import importlib
import importlib.metadata
from typing import Any

from airbound.core.policy import POLICIES, register
from airbound.core.policy_names import GROUP, known


class PolicyError(ValueError):
    """There is no such policy, or it cannot be loaded."""


def load(name: str) -> None:
    """Have a policy of this name, if there is none yet.

    Raises:
        PolicyError: it is none, or cannot be loaded; the text says what to do.
    """
    if name in POLICIES:
        return
    found = _found(name)
    try:
        register(name, found)
    except TypeError as error:
        raise PolicyError(str(error)) from error


def _found(name: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not colon:
        module, _, attribute = _entry_point(name).partition(":")
    if not (module and attribute):
        raise PolicyError("MODULE:NAME is expected")
    found = _imported(module)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise PolicyError(f"module {module} has no {attribute}")
        found = getattr(found, part)
    return found


def _entry_point(name: str) -> str:
    """MODULE:NAME of an entry point."""
    values = {point.value for point in importlib.metadata.entry_points(group=GROUP, name=name)}
    if len(values) > 1:
        raise PolicyError(f"several entry points of {GROUP} have this name: write MODULE:NAME")
    if not values:
        try:
            known(name)
        except ValueError as error:
            raise PolicyError(str(error)) from None
    return values.pop()


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if f"{module}.".startswith(f"{missing}."):
            text = f"there is no module {missing} where Python looks: install it, or put its folder on PYTHONPATH"
            raise PolicyError(text) from None
        raise PolicyError(f"module {module} needs {missing}, which is not installed") from error
    except Exception as error:
        raise PolicyError(f"importing {module} failed: {type(error).__name__}: {error}") from error
