# SPDX-License-Identifier: Apache-2.0

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airbound.store.redis.connections import UNREADABLE
from airbound.store.redis.slots import SLOTS, Range, Server, ranges, slot
from airbound_testing.redis_servers import RedisCluster

ASKED = Server("192.0.2.1", 6379)


def test_a_slot_is_what_the_servers_compute(the_cluster: RedisCluster) -> None:
    assert slot(b"123456789") == 0x31C3 % SLOTS  # the Cluster specification's own example

    @given(st.binary(min_size=1, max_size=40).filter(lambda tag: b"}" not in tag))
    def check(tag: bytes) -> None:
        assert the_cluster.servers[0].command("CLUSTER", "KEYSLOT", b"prefix:{%b}:suffix" % tag) == slot(tag)

    check()


def test_the_servers_of_a_cluster() -> None:
    reply = [
        [0, 5460, [b"192.0.2.1", 6379, b"id", []], [b"192.0.2.2", 6380, b"id", []]],
        [5461, 5461, [b"", 7000, b"id", []]],
        [5462, 9000, [None, 7001, b"id", []], [b"?", 7002, b"id", []]],
        [9001, 16383, [b"?", 7003, b"id", []], [b"192.0.2.3", 6379, b"id", []]],
    ]
    assert ranges(reply, ASKED) == [
        Range(0, 5460, Server("192.0.2.1", 6379), (Server("192.0.2.2", 6380),)),
        Range(5461, 5461, Server("192.0.2.1", 7000), ()),
        Range(5462, 9000, Server("192.0.2.1", 7001), ()),
    ]


VALUES = st.recursive(
    st.none() | st.integers() | st.binary(max_size=8) | st.just(b"OK"), lambda inner: st.lists(inner, max_size=4)
)


@given(VALUES)
@example([[0, 10**9, [b"192.0.2.1", 6379]]])  # a table of so many slots would take all memory
@example([[-1, 5, [b"192.0.2.1", 6379]]])
@example([[5, 4, [b"192.0.2.1", 6379]]])
def test_whatever_else_a_server_replies_is_refused(reply: object) -> None:
    try:
        found = ranges(reply, ASKED)  # type: ignore[arg-type]
    except UNREADABLE:
        return
    assert all(0 <= each.first <= each.last < SLOTS for each in found)


def test_slots_that_there_are_not_are_refused() -> None:
    with pytest.raises(ValueError, match="slots 0 to 16384"):
        ranges([[0, SLOTS, [b"192.0.2.1", 6379]]], ASKED)
