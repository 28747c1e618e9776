# SPDX-License-Identifier: Apache-2.0
"""Environment variables that override the file: AIRBOUND_MODE, AIRBOUND_LIMITS__STREAMS_MAX.

A value is written as in TOML, and text needs no quotes. An empty variable counts as not set, as it comes from
`${NAME:-}` in a compose file; `""` is the empty text.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from airbound.config import ConfigError
from airbound.configuration.keys import PREFIX, keys

CELLS = f"{PREFIX}CELL"
FILE = f"{PREFIX}CONFIG"

NOT_OURS = frozenset(
    {
        # Of the commands and the agents.
        FILE,
        f"{PREFIX}CA_DIR",
        f"{PREFIX}CONTROLLER",
        f"{PREFIX}PLAIN_TEXT",
        f"{PREFIX}PUBLIC_HOST",
        f"{PREFIX}TLS_DIR",
        f"{PREFIX}TOKEN",
        f"{PREFIX}VERSION",
        # Of scripts, images, packages, tests and the lab.
        f"{PREFIX}ADDRESS",
        f"{PREFIX}AGENTS_PORT",
        f"{PREFIX}AP",
        f"{PREFIX}AP_TEST_CLSACT",
        f"{PREFIX}AP_TEST_KERNEL",
        f"{PREFIX}AP_TEST_NAMESPACE",
        f"{PREFIX}BASE",
        f"{PREFIX}CACHE",
        f"{PREFIX}CREATED",
        f"{PREFIX}DSCP",
        f"{PREFIX}ENROLLMENT_PORT",
        f"{PREFIX}IMAGE",
        f"{PREFIX}KERNEL_TARBALL",
        f"{PREFIX}KERNEL_TARBALL_6_12",
        f"{PREFIX}KEYSTORE_PASSWORD",
        f"{PREFIX}LAB_KERNEL",
        f"{PREFIX}LAB_PYTHON",
        f"{PREFIX}LIVE_IMAGE",
        f"{PREFIX}LOAD_BALANCER_IMAGE",
        f"{PREFIX}LOG_LINES",
        f"{PREFIX}OPENFLOW_ADDRESS",
        f"{PREFIX}OPENFLOW_IMAGE",
        f"{PREFIX}OPENFLOW_PORT",
        f"{PREFIX}OPENWRT_DOWNLOADS",
        f"{PREFIX}OPERATORS_ADDRESS",
        f"{PREFIX}OPERATORS_PORT",
        f"{PREFIX}PACKAGES",
        f"{PREFIX}REVISION",
        f"{PREFIX}TCBPF_PIN",
        f"{PREFIX}TCBPF_TEST",
        f"{PREFIX}TEST_AGENT",
        f"{PREFIX}TEST_GUARD",
        f"{PREFIX}TEST_GUARD_MARK",
        f"{PREFIX}TEST_MOUNTS",
        f"{PREFIX}TEST_SENDER",
        f"{PREFIX}WAIT_MAX",
        f"{PREFIX}WAIT_MIN",
        f"{PREFIX}WIFI_WAIT",
    }
)
"""Variables with our prefix that are no keys of the controller's configuration."""

_SERVICE = re.compile(
    rf"{PREFIX}([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes sets in every container beside a service whose name begins with `airbound`."""


class Variable(NamedTuple):
    """One override."""

    name: str
    path: tuple[str, ...]
    value: Any


def overrides(environment: Mapping[str, str]) -> list[Variable]:
    """What the environment says, by the variables' names.

    Raises:
        ConfigError: variables with our prefix are none of ours.
    """
    found, wrong = read(environment)
    if wrong:
        raise ConfigError(*wrong)
    return found


def read(environment: Mapping[str, str]) -> tuple[list[Variable], list[str]]:
    """What the environment says, by the variables' names; and what is wrong with it."""
    known = {key.variable: key for key in keys()}
    found, wrong = list[Variable](), list[str]()
    for name in sorted(environment):
        text = environment[name]
        if not name.startswith(PREFIX) or name in NOT_OURS:
            continue
        key = known.get(name)
        if key is None and name != CELLS:
            if "__" in name or not _SERVICE.fullmatch(name):
                wrong.append(f"unknown variable {name}; {_hint(name, [*known, CELLS])}")
        elif text:
            path = ("cell",) if key is None else key.path
            found.append(Variable(name, path, _value(text, is_text=key is not None and key.is_text)))
    return found, wrong


def _value(text: str, *, is_text: bool) -> Any:
    """A value from TOML, or the text itself if it is no TOML, or if the key takes only text and it is no text."""
    try:
        document = tomllib.loads(f"x = {text}")
    except (ValueError, RecursionError):
        return text
    value = document.pop("x")
    return text if document or (is_text and not isinstance(value, str)) else value


def _hint(name: str, known: list[str]) -> str:
    tables = [other for other in known if other.startswith(f"{name}__")]
    if tables:
        return f"it is a table: set its keys, such as {tables[0]}"
    near = difflib.get_close_matches(
        name.removeprefix(PREFIX), [variable.removeprefix(PREFIX) for variable in known], n=1
    )
    return f"did you mean {PREFIX}{near[0]}?" if near else f"keys are written {PREFIX}KEY or {PREFIX}TABLE__KEY"
