# SPDX-License-Identifier: Apache-2.0
"""Policies: functions of what is known of a terminal in its cell, and of parameters; the answer is a range."""

from collections.abc import Callable

from airbound.core.parameters import Parameters, PolicyName
from airbound.core.policy import bdp, paper
from airbound.core.policy.types import Decision, PolicyInput, Range, header_bytes

__all__ = ["Decision", "Policy", "PolicyInput", "Range", "formula", "header_bytes", "policy", "uses_srtt"]

Policy = Callable[[PolicyInput], Range]


def policy(parameters: Parameters) -> Policy:
    """The policy that the parameters name."""
    policies: dict[PolicyName, Policy] = {
        "paper": lambda given: paper.decide(given, parameters.paper.table),
        "bdp": lambda given: bdp.decide(given, parameters.bdp),
    }
    return policies[parameters.policy]


def uses_srtt(parameters: Parameters) -> bool:
    """Whether the policy's ranges follow from the smoothed RTT as well, which is another in each report."""
    return parameters.policy == "paper"


def formula(given: PolicyInput, parameters: Parameters) -> str:
    """How the policy gets from its input to its range: one line for a person, made only when one asks."""
    if parameters.policy == "paper":
        return paper.formula(given, parameters.paper.table)
    return bdp.formula(given, parameters.bdp)
