# SPDX-License-Identifier: Apache-2.0
from airbound.core.principals import Principal, Role, Stream
from airbound.core.reasons import Code, Reason
from airbound.runtime.stream_limits import TERMINAL_STREAMS_MAX, StreamLimits

BALANCER, OTHER = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])


def stream(number: int, name: str, address: bytes = BALANCER, role: Role = "terminal") -> Stream:
    return Stream(number, Principal(role, name), address)


def test_streams_of_one_name_are_limited_whatever_their_address_is() -> None:
    limits = StreamLimits(per_name_max=2)
    first, second = stream(1, "phone"), stream(2, "phone", OTHER)
    limits.opened(first)
    assert limits.refusal(first.principal, BALANCER) is None
    limits.opened(second)
    assert limits.refusal(first.principal, b"") == Reason(Code.TOO_MANY_STREAMS, "terminal/phone", limit=2)
    assert limits.refusal(Principal("access-point", "phone"), BALANCER) is None
    assert limits.refusal(Principal("terminal", "other"), BALANCER) is None
    limits.closed(first)
    assert limits.refusal(first.principal, BALANCER) is None


def test_streams_of_one_address_are_limited_and_those_without_one_are_not() -> None:
    limits = StreamLimits(per_address_max=1)
    limits.opened(stream(1, "one"))
    limits.opened(stream(2, "two", b""))
    assert limits.refusal(Principal("terminal", "x"), BALANCER) == Reason(
        Code.TOO_MANY_STREAMS, "192.0.2.1", limit=1
    )  # fmt: skip
    assert limits.refusal(Principal("terminal", "x"), OTHER) is None
    assert limits.refusal(Principal("terminal", "x"), b"") is None


def test_nothing_is_kept_of_those_who_have_gone() -> None:
    limits = StreamLimits(all_max=5, per_address_max=9, per_name_max=9)
    streams = [stream(number, f"phone{number % 3}") for number in range(5)]
    for one in streams:
        limits.opened(one)
    assert limits.peers() == 1 + 3
    assert limits.refusal(Principal("terminal", "x"), OTHER) == Reason(Code.TOO_MANY_STREAMS, limit=5)
    for one in streams:
        limits.closed(one)
    assert limits.peers() == 0
    assert limits.refusal(Principal("terminal", "x"), OTHER) is None


def test_a_terminal_has_few_streams_unless_names_have_no_limit() -> None:
    for per_name_max, most in ((64, TERMINAL_STREAMS_MAX), (2, 2), (0, 0)):
        limits = StreamLimits(per_name_max=per_name_max)
        for number in range(TERMINAL_STREAMS_MAX):
            limits.opened(stream(number, "phone"))
            limits.opened(stream(number, "roof", role="access-point"))
        refusal = limits.refusal(Principal("terminal", "phone"), b"")
        assert (refusal.limit if refusal else 0) == most
        assert (limits.refusal(Principal("access-point", "roof"), b"") is None) is (per_name_max != 2)
