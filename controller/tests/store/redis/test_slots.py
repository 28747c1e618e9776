# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

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
