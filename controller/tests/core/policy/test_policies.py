# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.core.parameters import BdpParameters, PaperParameters, Parameters, PolicyName
from airbound.core.policy import POLICIES, CellFacts, Policy, PolicyInput
from airbound.core.policy_names import BUILT_IN

OF = PolicyInput(
    active_senders=3,
    connections=1,
    srtt_us=300_000,
    min_rtt_us=256_500,
    segment_bytes=1500,
    capacity_bps=20e6,
)


def policy(parameters: Parameters) -> Policy:
    return POLICIES[parameters.policy](parameters)


def test_each_name_that_can_be_configured_has_its_policy() -> None:
    assert set(POLICIES) == set(BUILT_IN)
    assert {name: policy.name for name, policy in POLICIES.items()} == {name: name for name in POLICIES}


def test_a_policy_goes_by_its_own_parameters() -> None:
    plain = policy(Parameters(policy="bdp")).decide(OF)
    assert policy(Parameters()).decide(OF) == plain  # its frames are not aggregated
    for name in ("bdp", "aggregate"):
        assert policy(Parameters(policy=name, bdp=BdpParameters(gain=9.0))).decide(OF) != plain
        assert policy(Parameters(policy=name, paper=PaperParameters(table="gingerbread"))).decide(OF) == plain
    paper = Parameters(policy="paper")
    gingerbread = Parameters(policy="paper", paper=PaperParameters(table="gingerbread"))
    assert policy(paper).decide(OF) != policy(gingerbread).decide(OF)
    assert [policy(parameters).title for parameters in (Parameters(), paper, gingerbread)] == [
        "aggregate",
        "paper, table jelly-bean",
        "paper, table gingerbread",
    ]


@pytest.mark.parametrize("name", ["bdp", "paper"])
def test_policies_without_memory_learn_nothing_from_a_report(name: PolicyName) -> None:
    made, facts = policy(Parameters(policy=name)), CellFacts(3, 20e6, 10e6, 0.0, 50_000.0, 54e6)
    assert not any(made.observe(facts, second * 1_000_000) for second in range(100))
    assert (made.found, made.trials_total) == (1.0, 0)


@pytest.mark.parametrize(
    ("srtt_us", "ratio"), [(0, 1.0), (100, 1.0), (256_500, 1.0), (513_000, 2.0), (2_565_000, 10.0)]
)
def test_the_ratio_of_rtts_is_never_below_one(srtt_us: int, ratio: float) -> None:
    assert OF._replace(srtt_us=srtt_us).rtt_ratio == ratio
