# SPDX-License-Identifier: Apache-2.0
"""Policies: from what is known of a sender in its cell, and from parameters, to a range."""

from airbound.core.parameters import PolicyName
from airbound.core.policy.aggregate import Aggregate
from airbound.core.policy.bdp import Bdp
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
]

POLICIES: dict[PolicyName, type[Policy]] = {policy.name: policy for policy in (Bdp, Paper, Aggregate)}
