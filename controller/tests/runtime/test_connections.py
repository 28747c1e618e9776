# SPDX-License-Identifier: Apache-2.0
"""Which connections have made a call, and how many ended without one."""

from hypothesis import given
from hypothesis import strategies as st

from airbound.runtime.connections import Connections, PortCount, Warned
from airbound.runtime.sockets import Connection

HOST = bytes([192, 0, 2, 1])


def connections_from(*ports: int, address: bytes = HOST) -> list[Connection]:
    return [Connection(address, port, port) for port in ports]


def count(connections: Connections, listed: list[Connection], begun: int) -> PortCount:
    return connections.counted("agents", listed, begun, connections.remembered("agents"))


def test_calls_and_connections() -> None:
    connections = Connections(dict)
    for _ in range(3):
        connections.called("agents", (HOST, 1))  # each counts once
    assert count(connections, connections_from(1, 2, 3), 3) == (3, 2, 3, 1, 0)
    assert count(connections, connections_from(1, 3), 3) == (2, 1, 2, 1, 1)
    connections.called("agents", (HOST, 3))
    assert count(connections, connections_from(), 4) == (0, 0, 0, 2, 2)
    connections.called("agents", (HOST, 1))  # another connection from the same port
    assert count(connections, connections_from(1), 5) == (1, 0, 1, 3, 2)
    assert connections.remembered("agents") == {(HOST, 1)}
    assert connections.remembered("operators") == frozenset()


def test_a_connection_that_came_while_the_list_was_made() -> None:
    connections = Connections(dict)
    before = connections.remembered("agents")
    connections.called("agents", (HOST, 1))  # after the kernel made its list
    assert connections.counted("agents", connections_from(), 0, before) == (0, 0, 0, 1, 0)
    assert connections.remembered("agents") == {(HOST, 1)}
    assert count(connections, connections_from(1), 1) == (1, 0, 1, 1, 0)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=60))
def test_totals_are_never_too_large_and_right_when_nothing_happens(steps: list[tuple[int, int]]) -> None:
    """0: opened, 1: a call, 2: ended, 3: counted; of a connection with that port."""
    connections, begun, ended = Connections(dict), 0, 0
    live: dict[int, bool] = {}
    for step, port in steps:
        if step == 0 and port not in live:
            live[port] = False
            begun += 1
        elif step == 1 and port in live:
            live[port] = True
            connections.called("agents", (HOST, port))
        elif step == 2 and port in live:
            ended += not live.pop(port)
            count(connections, connections_from(*live), begun)  # a port is used again after more than a count
        found = count(connections, connections_from(*live), begun)
        assert found.ended_without_call_total == ended
        assert (found.open, found.without_call) == (len(live), sum(not called for called in live.values()))


def test_warnings_come_once_and_again_after_it_was_below() -> None:
    connections, limits = Connections(dict), Warned(per_address=2, without_call=2, total=4)
    count(connections, connections_from(1, 2), 2)
    assert connections.warnings("agents", connections_from(1, 2), limits) == []
    many = connections_from(1, 2, 3) + connections_from(4, address=bytes([192, 0, 2, 2]))
    count(connections, many, 4)
    assert [subject for subject, _ in connections.warnings("agents", many, limits)] == [
        "192.0.2.1", "agents", "agents: all",
    ]  # fmt: skip
    assert connections.warnings("agents", many, limits) == []
    count(connections, [], 4)
    assert connections.warnings("agents", [], limits) == []
    count(connections, many, 8)
    assert len(connections.warnings("agents", many, limits)) == 3
    assert connections.warnings("agents", many, Warned()) == []


def test_the_addresses_of_an_ipv6_host_count_as_one() -> None:
    connections = Connections(dict)
    prefix = bytes.fromhex("20010db800000001")
    listed = [Connection(prefix + bytes([number] * 8), number, 0) for number in range(1, 6)]
    assert count(connections, listed, 5).largest_of_address == 5
    assert connections.warnings("agents", listed, Warned(per_address=4)) == [
        ("2001:db8:0:1::/64", "5 connections to the port of agents, more than 4")
    ]
