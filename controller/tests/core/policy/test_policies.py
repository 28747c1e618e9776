# SPDX-License-Identifier: Apache-2.0


import pytest

from airbound.core.parameters import BdpParameters, PaperParameters, Parameters
from airbound.core.policy import PolicyInput, bdp, formula, paper, policy

OF = PolicyInput(
    active_senders=3,
    connections=1,
    srtt_us=300_000,
    min_rtt_us=256_500,
    segment_bytes=1500,
    capacity_bps=20e6,
)


def test_the_parameters_name_the_policy_and_its_numbers() -> None:
    assert policy(Parameters())(OF) == bdp.decide(OF, BdpParameters())
    wide = BdpParameters(gain=9.0)
    assert policy(Parameters(bdp=wide))(OF) == bdp.decide(OF, wide)
    assert policy(Parameters(policy="paper"))(OF) == paper.decide(OF, "jelly-bean")
    gingerbread = Parameters(policy="paper", paper=PaperParameters(table="gingerbread"))
    assert policy(gingerbread)(OF) == paper.decide(OF, "gingerbread")


def test_the_formula_is_that_of_the_policy() -> None:
    assert formula(OF, Parameters()) == bdp.formula(OF, BdpParameters())
    assert formula(OF, Parameters(policy="paper")) == paper.formula(OF, "jelly-bean")


@pytest.mark.parametrize(
    ("srtt_us", "ratio"), [(0, 1.0), (100, 1.0), (256_500, 1.0), (513_000, 2.0), (2_565_000, 10.0)]
)
def test_the_ratio_of_rtts_is_never_below_one(srtt_us: int, ratio: float) -> None:
    assert OF._replace(srtt_us=srtt_us).rtt_ratio == ratio
