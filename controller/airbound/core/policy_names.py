# SPDX-License-Identifier: Apache-2.0
"""Names of policies: those of the controller, and those from outside that are loaded (airbound/own_policies.py)."""

import difflib

BUILT_IN = ("paper", "bdp", "aggregate")
GROUP = "airbound.policies"

_loaded = list[str]()


def add(name: str) -> None:
    """A policy from outside is there from now on."""
    if name not in _loaded:
        _loaded.append(name)


def known(name: str) -> str:
    """The name itself.

    Raises:
        ValueError: there is no such policy.
    """
    every = (*BUILT_IN, *_loaded)
    if name in every:
        return name
    near = difflib.get_close_matches(name, every, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ValueError(
        f"{hint}expected {', '.join(BUILT_IN)}, MODULE:NAME of a policy of your own, or the name of an entry point of"
        f" the group {GROUP}"
    )
