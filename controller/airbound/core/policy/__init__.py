# SPDX-License-Identifier: Apache-2.0
"""Policies: plain functions of a situation and parameters; out come a range and the reason for it."""

from airbound.core.parameters import Parameters
from airbound.core.policy import bdp, paper
from airbound.core.policy.situation import Situation, Verdict

__all__ = ["Situation", "Verdict", "decide", "within_tolerance"]


def decide(situation: Situation, parameters: Parameters) -> Verdict:
    """The range for one destination of one terminal by the policy that `parameters` names."""
    if parameters.policy == "paper":
        return paper.decide(situation, parameters.paper.generation)
    return bdp.decide(situation, parameters.bdp)


def within_tolerance(held_max_segs: int, fresh_max_segs: int, parameters: Parameters) -> bool:
    """Whether a fresh maximum is so near the one in force that sending it would be chatter."""
    if parameters.policy == "paper":
        return False
    return bdp.within_tolerance(held_max_segs, fresh_max_segs, parameters.bdp)
