# SPDX-License-Identifier: Apache-2.0
"""Which connections sent more than their messages account for."""

from hypothesis import given
from hypothesis import strategies as st

from airbound.runtime.octets import (
    OF_EACH_CALL,
    OF_EACH_MESSAGE,
    OF_MESSAGE,
    WITH_STREAM_MAX,
    WITHOUT_STREAM_MAX,
    Accounts,
)
from airbound.runtime.received import Received

REMOTE = (bytes([192, 0, 2, 1]), 4711)


def seen(accounts: Accounts, octets: int, elapsed_s: float = 0.0) -> list[tuple[int, int]]:
    listed = [Received(*REMOTE, 1, octets)]
    found = accounts.excesses(listed, accounts.remembered(), elapsed_s)
    return [(excess.octets, excess.limit) for excess in found]


def test_a_connection_without_a_call_has_little() -> None:
    accounts = Accounts()
    assert seen(accounts, WITHOUT_STREAM_MAX) == []
    assert seen(accounts, WITHOUT_STREAM_MAX + 1) == [(WITHOUT_STREAM_MAX + 1, WITHOUT_STREAM_MAX)]


def test_a_connection_with_a_stream_has_what_its_messages_account_for_and_more() -> None:
    accounts = Accounts()
    account = accounts.called(REMOTE)
    account.streams = 1
    account.message(100_000)
    most = WITH_STREAM_MAX + OF_EACH_CALL + OF_EACH_MESSAGE + 100_000 + 100_000 // OF_MESSAGE
    assert seen(accounts, most) == []
    assert seen(accounts, most + 1) == [(WITH_STREAM_MAX + 1, WITH_STREAM_MAX)]
    account.streams = 0
    assert seen(accounts, most) == [(WITH_STREAM_MAX, WITHOUT_STREAM_MAX)]


@given(st.lists(st.integers(1, 2_000_000), max_size=50))
def test_nobody_saves_for_a_flood(messages: list[int]) -> None:
    """However much was accounted for and not sent before."""
    accounts = Accounts()
    account = accounts.called(REMOTE)
    account.streams = 1
    for octets in messages:
        account.message(octets)
        assert seen(accounts, 1_000) == []
    assert seen(accounts, 1_000 + 2 * WITH_STREAM_MAX + 2) != []


@given(st.lists(st.integers(0, 400_000), min_size=1, max_size=200), st.integers(0, 200))
def test_who_sends_what_messages_account_for_is_never_ended(messages: list[int], pings: int) -> None:
    accounts = Accounts()
    account, sent = accounts.called(REMOTE), 4_000
    account.streams = 1
    for octets in messages:
        sent += octets + 36 * (1 + octets // 16_384) + pings  # frames and records; pings
        account.message(octets)
        assert seen(accounts, sent) == []


def test_who_only_listens_is_worth_some_octets_each_second() -> None:
    accounts = Accounts(octets_per_s=100)
    accounts.called(REMOTE)
    for second in range(1, 1_000):
        assert seen(accounts, 1_000 + 90 * second, 1.0) == []
    assert seen(accounts, 1_000 + 90 * 1_000 + 2 * WITHOUT_STREAM_MAX + 100, 1.0) != []


def test_accounts_end_with_their_connections_and_not_before_these_are_listed() -> None:
    accounts = Accounts()
    before = accounts.remembered()
    accounts.called(REMOTE)
    accounts.excesses([], before, 0)
    assert len(accounts) == 1  # it came while the kernel was asked
    accounts.excesses([], accounts.remembered(), 0)
    assert len(accounts) == 0
