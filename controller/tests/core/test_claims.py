# SPDX-License-Identifier: Apache-2.0

import itertools

from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.terminal import Terminal
from airbound.core.claims import HEARD_AGAIN, Claims, is_live
from airbound.core.principals import Principal, Stream
from airbound.core.reports import TerminalReport
from airbound_testing.scenario import mac

MAC, OTHER_MAC = mac(0), mac(1)
_numbers = itertools.count(1)


def terminal(station: bytes = MAC) -> Terminal:
    number = next(_numbers)
    return Terminal(Stream(number, Principal("terminal", f"phone {number}")), mac=station)


def report(reporter: Terminal, times: int = 1) -> None:
    for _ in range(times):
        reporter.accept(TerminalReport(mac=reporter.mac, sequence=1, monotonic_us=1), 1, 0)


def live(claims: Claims, station: bytes = MAC) -> list[Terminal]:
    """The claims that count, the newest last."""
    return [claimant for claimant in claims.claimants(station) if is_live(claimant)]


def test_the_only_claim_counts() -> None:
    claims, only = Claims(), terminal()
    assert claims.add(only, 1) == []
    assert live(claims) == [only]
    assert claims.claimants(MAC) == (only,)
    assert claims.claimants(OTHER_MAC) == ()


def test_the_newest_claim_supersedes_the_older() -> None:
    claims, old, new = Claims(), terminal(), terminal()
    claims.add(old, 1)
    assert claims.add(new, 2) == [old]
    assert old.superseded_at_us == 2
    assert live(claims) == [new]


def test_one_late_report_is_no_rival_and_two_are() -> None:
    claims, old, new = Claims(), terminal(), terminal()
    claims.add(old, 1)
    report(old, 10)  # before it is superseded
    claims.add(new, 2)
    report(old, HEARD_AGAIN - 1)
    assert live(claims) == [new]
    report(old)
    assert live(claims) == [old, new]


def test_when_one_of_two_leaves_the_other_counts_again() -> None:
    for leaves in (0, 1):
        claims, both = Claims(), (terminal(), terminal())
        for claimant in both:
            claims.add(claimant, 1)
        report(both[0], HEARD_AGAIN)
        claims.remove(both[leaves])
        rest = both[1 - leaves]
        assert live(claims) == [rest]
        assert (rest.superseded_at_us, rest.reports_since_superseded) == (0, 0)


def test_when_the_newest_leaves_the_one_before_counts() -> None:
    claims, three = Claims(), [terminal() for _ in range(3)]
    for claimant in three:
        claims.add(claimant, 1)
    claims.remove(three[2])
    assert live(claims) == [three[1]]


def test_when_the_newest_leaves_one_that_was_heard_again_counts() -> None:
    claims, three = Claims(), [terminal() for _ in range(3)]
    for claimant in three:
        claims.add(claimant, 1)
    report(three[0], HEARD_AGAIN)
    claims.remove(three[2])
    assert live(claims) == [three[0]]


def test_a_claim_that_is_superseded_twice_starts_from_no_report() -> None:
    claims, old, new, newest = Claims(), terminal(), terminal(), terminal()
    claims.add(old, 1)
    claims.add(new, 2)
    report(old, HEARD_AGAIN)
    claims.remove(new)
    claims.add(newest, 3)
    assert not is_live(old)
    assert live(claims) == [newest]


def test_a_claim_on_another_mac_starts_anew() -> None:
    """A terminal that a newer stream superseded may well be the only one with its next MAC."""
    claims, old, new = Claims(), terminal(), terminal()
    claims.add(old, 1)
    claims.add(new, 2)
    claims.remove(old)
    old.mac = OTHER_MAC
    claims.add(old, 3)
    assert is_live(old)
    assert live(claims, OTHER_MAC) == [old]
    assert live(claims) == [new]


def test_what_was_not_claimed_can_be_removed() -> None:
    claims, one, other = Claims(), terminal(), terminal()
    claims.add(one, 1)
    claims.remove(other)
    assert live(claims) == [one]
    claims.remove(one)
    claims.remove(one)
    assert len(claims) == 0


@given(st.lists(st.tuples(st.sampled_from(("claim", "leave", "report")), st.integers(0, 4)), max_size=40))
def test_while_anybody_claims_a_mac_a_claim_counts(steps: list[tuple[str, int]]) -> None:
    claims, all_of_them, claiming = Claims(), [terminal() for _ in range(5)], list[Terminal]()
    for at_us, (what, number) in enumerate(steps, 1):
        one = all_of_them[number]
        if what == "claim" and one not in claiming:
            claims.add(one, at_us)
            claiming.append(one)
        elif what == "leave" and one in claiming:
            claims.remove(one)
            claiming.remove(one)
        elif what == "report" and one in claiming:
            report(one)
        assert claims.claimants(MAC) == tuple(claiming)
        assert bool(live(claims)) is bool(claiming)
        for older in claiming[:-1]:
            assert is_live(older) is (older.reports_since_superseded >= HEARD_AGAIN)
    assert len(claims) == (1 if claiming else 0)
