# SPDX-License-Identifier: Apache-2.0
"""Policies: from what is known of a sender in its cell, and from parameters, to a range."""

from typing import Any

from airbound.core import policy_names
from airbound.core.parameters import PolicyName
from airbound.core.policy.aggregate import Aggregate
from airbound.core.policy.bdp import Bdp
from airbound.core.policy.outside import outside
from airbound.core.policy.paper import Paper
from airbound.core.policy.types import (
    UNBOUNDED,
    Air,
    CellFacts,
    Decision,
    Policy,
    PolicyInput,
    Range,
    RateSource,
    header_bytes,
)

__all__ = [
    "POLICIES",
    "UNBOUNDED",
    "Air",
    "CellFacts",
    "Decision",
    "Policy",
    "PolicyInput",
    "Range",
    "RateSource",
    "header_bytes",
    "register",
]

POLICIES: dict[PolicyName, type[Policy]] = {policy.name: policy for policy in (Bdp, Paper, Aggregate)}


def register(name: str, given: Any) -> None:
    """Have a policy from outside, a function or a class, under a name.

    Raises:
        TypeError: it is neither.
    """
    POLICIES[name] = outside(name, given)
    policy_names.add(name)
