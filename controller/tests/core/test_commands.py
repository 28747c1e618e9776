# SPDX-License-Identifier: Apache-2.0

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.addresses import address_from_text
from airbound.core.cell.terminal import Terminal
from airbound.core.commands import bounds_command, fit_to_back_end
from airbound.core.effects import Bound, Effect, Note, RenewLease, SetBounds
from airbound.core.leases import SentSet
from airbound.core.parameters import Parameters, SafetyParameters
from airbound.core.policy import Decision, PolicyInput, Range
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import BackEnd
from airbound.core.settings import Settings
from airbound_testing.scenario import SECOND_US, SERVER, mac

STREAM = Stream(1, Principal("terminal", "phone"))
OF = PolicyInput(
    active_senders=10, connections=1, srtt_us=300_000, min_rtt_us=256_500, segment_bytes=1500, capacity_bps=20e6
)


def decision(low: int, high: int, address: bytes = SERVER, policy_input: PolicyInput = OF) -> Decision:
    return Decision(address, Range(low, high), policy_input, policy_input.min_rtt_us)


DECISIONS = (decision(20, 35),)
BOUNDS = (Bound(SERVER, 20, 35),)
EXEMPT = Reason(Code.EXEMPT)
STARTED = (Reason(Code.STARTED_SENDING, "10.0.4.1"),)
SENT = SentSet(3, BOUNDS, STARTED, lease_us=6 * SECOND_US, set_at_us=0, renewed_at_us=0)
RELEASED = replace(SENT, entries=())


def terminal(sent: SentSet[Bound] | None = None, *, in_force: int = 0, at_us: int = 0) -> Terminal:
    return Terminal(
        STREAM,
        mac=mac(0),
        back_end=BackEnd(),
        sent=replace(sent) if sent else None,  # a renewal changes it
        sent_decisions=DECISIONS if sent and sent.entries else (),
        generation_in_force=in_force,
        reported_at_us=at_us,
    )


def send(phone: Terminal, wanted: tuple[Decision, ...], now_us: int = 0, lease_ms: int = 6_000) -> list[Effect]:
    settings = Settings(Parameters(safety=SafetyParameters(lease_ms=lease_ms)))
    return bounds_command(phone, wanted, None if wanted else EXEMPT, settings, now_us)


def kind(effects: list[Effect]) -> str:
    [effect] = [effect for effect in effects if not isinstance(effect, Note)] or [None]
    return {SetBounds: "set", RenewLease: "renew", type(None): "nothing"}[type(effect)]


@pytest.mark.parametrize(
    ("sent", "wanted", "in_force", "now_s", "expected"),
    [
        (None, (), 0, 0, "nothing"),
        (None, DECISIONS, 0, 0, "set"),
        (None, (), 7, 0, "set"),  # an earlier process of the controller set it
        (None, DECISIONS, 7, 0, "set"),
        (SENT, DECISIONS, 3, 1.9, "nothing"),
        (SENT, DECISIONS, 3, 2, "renew"),
        (SENT, (), 3, 0, "set"),
        (SENT, (decision(20, 36),), 3, 0, "set"),
        (SENT, DECISIONS, 0, 2.9, "renew"),  # it had no time yet to apply the set
        (SENT, DECISIONS, 0, 3, "set"),
        (RELEASED, (), 0, 100, "nothing"),
        (RELEASED, (), 3, 3, "set"),
        (RELEASED, DECISIONS, 0, 0, "set"),
    ],
)
def test_what_must_be_sent(
    sent: SentSet[Bound] | None, wanted: tuple[Decision, ...], in_force: int, now_s: float, expected: str
) -> None:
    now_us = round(now_s * SECOND_US)
    assert kind(send(terminal(sent, in_force=in_force, at_us=now_us), wanted, now_us)) == expected


def test_a_report_of_before_the_set_says_nothing_about_it() -> None:
    phone = terminal(SENT, in_force=0, at_us=SECOND_US)
    assert kind(send(phone, DECISIONS, 4 * SECOND_US)) == "renew"


def test_a_set_is_remembered_as_it_was_sent() -> None:
    phone = terminal(in_force=41)
    [effect, note] = send(phone, DECISIONS, 5, lease_ms=9_000)
    assert effect == SetBounds(STREAM, 42, BOUNDS, 9_000, STARTED, 10, 20e6)
    assert note == Note("info", "bounds", "phone", STARTED, BOUNDS, terminal="phone")
    early_us = 1_854_102  # 3 s times the golden ratio
    assert phone.sent == SentSet(42, BOUNDS, STARTED, 9 * SECOND_US, 5, 5 - early_us, 0)
    assert phone.sent_decisions == DECISIONS
    assert phone.sent.renew_at_us == 5 + 3 * SECOND_US - early_us
    [_] = send(phone, DECISIONS, phone.sent.renew_at_us, lease_ms=9_000)
    assert phone.sent.renew_at_us == 5 - early_us + 6 * SECOND_US


def test_a_release_is_an_empty_set_with_its_reason() -> None:
    phone = terminal(SENT, in_force=3)
    [effect, note] = send(phone, (), 5)
    assert effect == SetBounds(STREAM, 4, (), 6_000, (EXEMPT,), 0, 0.0)
    assert note == Note("info", "bounds", "phone", (EXEMPT,), (), terminal="phone")
    assert replace(phone.sent, renewed_at_us=0) == SentSet(4, (), (EXEMPT,), 6 * SECOND_US, 5, 0, 0)
    assert phone.sent_decisions == ()


@given(first=st.integers(1, 10**9), count=st.integers(1, 100), lease_ms=st.integers(1_000, 60_000))
def test_renewals_of_phones_that_are_bounded_together_are_spread(*, first: int, count: int, lease_ms: int) -> None:
    """Over a third of the lease, without large gaps or crowds, whatever numbers their streams begin with."""
    period_us = lease_ms * 1000 / 3
    shares = []
    for number in range(first, first + count):
        phone = Terminal(Stream(number, STREAM.principal), mac=mac(0), back_end=BackEnd())
        send(phone, DECISIONS, 1_000 * SECOND_US, lease_ms)
        assert phone.sent is not None
        assert phone.sent.set_at_us == 1_000 * SECOND_US
        shares.append((phone.sent.renew_at_us - phone.sent.set_at_us) / period_us)
    assert all(0 <= share <= 1 for share in shares)
    at = sorted(shares)
    gaps = [after - before for before, after in itertools.pairwise([*at, at[0] + 1])]
    assert max(gaps) <= 2.7 / count
    assert count == 1 or min(gaps) >= 0.35 / count


def test_what_pauses_is_not_released_of_what_an_earlier_process_set() -> None:
    settings, pause = Settings(Parameters()), Reason(Code.NOT_SENDING)
    phone = terminal(in_force=7)
    assert bounds_command(phone, (), pause, settings, 0) == []
    assert phone.sent is None
    assert kind(send(phone, DECISIONS, 1)) == "set"
    assert kind(bounds_command(phone, (), pause, settings, 2)) == "set"  # what this process set, it releases
    assert phone.sent is not None
    assert phone.sent.entries == ()


def test_a_renewal_gives_the_lease_that_is_configured_now() -> None:
    phone = terminal(SENT, in_force=3)
    assert send(phone, DECISIONS, 2 * SECOND_US, lease_ms=9_000) == [RenewLease(STREAM, 3, 9_000)]
    assert phone.sent == replace(SENT, lease_us=9 * SECOND_US, renewed_at_us=2 * SECOND_US)


def test_a_repeated_set_says_so_and_waits_for_longer() -> None:
    phone = terminal(replace(SENT, repeats=1), in_force=2, at_us=6 * SECOND_US)
    [effect, _] = send(phone, DECISIONS, 6 * SECOND_US)
    assert isinstance(effect, SetBounds)
    assert effect.reasons == (Reason(Code.REPEATED, before=2),)
    assert effect.generation == 4
    assert phone.sent is not None
    assert phone.sent.repeats == 2
    phone.generation_in_force = 4
    [effect, _] = send(phone, (decision(20, 36),), 7 * SECOND_US)
    assert phone.sent.repeats == 0


ADDRESSES = [address_from_text(f"10.0.0.{number}") for number in range(1, 6)]


def test_a_capable_back_end_gets_all() -> None:
    made = tuple(decision(2, 10 + number, address) for number, address in enumerate(ADDRESSES))
    bounds, omitted = fit_to_back_end(made, BackEnd())
    assert bounds == tuple(Bound(entry.destination, *entry.range) for entry in made)
    assert omitted == []


def test_a_back_end_without_minima_gets_one_segment() -> None:
    made = (decision(20, 35), decision(4, 9, ADDRESSES[0]))
    bounds, omitted = fit_to_back_end(made, BackEnd(can_set_min=False))
    assert bounds == (Bound(SERVER, 1, 35), Bound(ADDRESSES[0], 1, 9))
    assert omitted == []


def test_a_back_end_without_destinations_gets_the_smallest_of_each_end() -> None:
    made = (decision(20, 35), decision(4, 50, ADDRESSES[0]), decision(15, 16, ADDRESSES[1]))
    assert fit_to_back_end(made, BackEnd(can_select_destination=False)) == ((Bound(b"", 4, 16),), [])
    both = BackEnd(can_select_destination=False, can_set_min=False)
    assert fit_to_back_end(made, both) == ((Bound(b"", 1, 16),), [])
    assert fit_to_back_end((), both) == ((), [])


def test_the_smallest_maxima_survive_a_back_end_with_few_rules() -> None:
    made = tuple(decision(2, high, address) for high, address in zip((9, 3, 9, 9, 4), ADDRESSES, strict=True))
    bounds, omitted = fit_to_back_end(made, BackEnd(rules_max=3))
    assert [bound.address for bound in bounds] == [ADDRESSES[0], ADDRESSES[1], ADDRESSES[4]]
    assert omitted == [Reason(Code.OMITTED_RULES_MAX, subject, limit=3) for subject in ("10.0.0.3", "10.0.0.4")]
    assert fit_to_back_end(made, BackEnd(rules_max=5))[1] == []


RANGES = st.tuples(st.integers(1, 100), st.integers(0, 100)).map(lambda pair: Range(pair[0], sum(pair)))


@given(
    st.lists(RANGES, max_size=5),
    st.builds(BackEnd, can_set_min=st.booleans(), can_select_destination=st.booleans(), rules_max=st.integers(0, 6)),
)
def test_whatever_a_back_end_gets_is_a_range_and_no_wider(ranges: list[Range], back_end: BackEnd) -> None:
    made = tuple(Decision(address, range_, OF, 0) for address, range_ in zip(ADDRESSES, ranges, strict=False))
    bounds, omitted = fit_to_back_end(made, back_end)
    assert bool(bounds) is bool(made)
    for bound in bounds:
        assert 1 <= bound.min_segs <= bound.max_segs
        assert bound.min_segs == 1 or back_end.can_set_min
        assert all(
            bound.max_segs <= entry.range.max_segs for entry in made if bound.address in {b"", entry.destination}
        )
    if back_end.can_select_destination:
        assert len(bounds) + len(omitted) == len(made)
        assert not back_end.rules_max or len(bounds) <= back_end.rules_max
