# SPDX-License-Identifier: Apache-2.0
"""What holds for every order and every sequence of events."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from airbound.core.effects import SetBounds
from airbound.core.events import Exempted, ModeSet
from airbound.core.parameters import PolicyName
from airbound.testing.scenario import PAPER, Scenario, mac, upload


@settings(max_examples=25)
@given(
    order=st.permutations(range(6)),
    rtts=st.lists(st.tuples(st.integers(60, 5_000), st.integers(60, 600)), min_size=6, max_size=6),
    policy=st.sampled_from(("paper", "bdp")),
)
def test_the_order_of_terminals_and_reports_does_not_matter(
    order: list[int], rtts: list[tuple[int, int]], policy: PolicyName
) -> None:
    def held(numbers: list[int]) -> dict[str, object]:
        scenario = Scenario(replace(PAPER, policy=policy))
        for number in numbers:
            scenario.terminal(mac(number), upload(max(rtts[number]), min(rtts[number])))
        sending = {mac(number): 2.0 for number in numbers}
        scenario.access_point(sending)
        scenario.advance(1)
        scenario.access_point(sending)
        return {address: phone.bounds for address, phone in scenario.phones.items()}

    assert held(order) == held(sorted(order))


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("report", "ap", "wait", "hang up", "mode", "exempt")),
            st.integers(0, 4),
            st.integers(1, 3_000),
        ),
        max_size=40,
    ),
    st.sampled_from(("paper", "bdp")),
)
def test_whatever_happens_ranges_are_ordered_and_silence_frees_everybody(
    steps: list[tuple[str, int, int]], policy: PolicyName
) -> None:
    scenario = Scenario(replace(PAPER, policy=policy))
    for what, number, value in steps:
        match what:
            case "report":
                scenario.terminal(mac(number), upload(value, min(value, 300), connections=value % 4))
            case "ap":
                scenario.access_point({mac(n): value / 100 for n in range(number)}, idle=[mac(4)])
            case "wait":
                scenario.advance(value / 1000)
            case "hang up":
                if mac(number) in scenario.phones and scenario.phones[mac(number)].stream:
                    scenario.hang_up(mac(number))
            case "mode":
                scenario.do(ModeSet("observe" if value % 2 else "control"))
            case _:
                scenario.do(Exempted(mac(number), exempt=bool(value % 2)))
    for phone in scenario.phones.values():
        for sent in phone.sets:
            assert isinstance(sent, SetBounds)
            assert all(1 <= bound.min_segs <= bound.max_segs for bound in sent.bounds)
        generations = [sent.generation for sent in phone.sets]
        assert generations == sorted(set(generations))
    scenario.advance(20)
    assert all(phone.range() is None for phone in scenario.phones.values())
