# SPDX-License-Identifier: Apache-2.0
"""Connections to each of the controller's ports, and which of them have made a call.

What is known of a connection: gRPC asks for the server's certificate when a handshake begins, the kernel lists the
connections that are open, and a call has its connection's address and port. From these three follows how many
connections are without a call (in a handshake, or after it), and how many ended without one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from airbound.core.addresses import IPV4_OCTETS, Address, address_text
from airbound.runtime.sockets import Connection

IPV6_PREFIX_OCTETS = 8
WITHOUT_CALL_WARNED = 500  # an agent makes its call within seconds: so many only where something is wrong

Remote = tuple[Address, int]


class Warned(NamedTuple):
    """Above which numbers a warning is logged; 0: never."""

    per_address: int = 0
    without_call: int = 0
    total: int = 0  # as many as gRPC takes: what comes beyond it is closed, and nobody counts it


class PortCount(NamedTuple):
    """What a count of one port found, and the totals by then."""

    open: int = 0
    without_call: int = 0
    largest_of_address: int = 0
    with_call_total: int = 0
    ended_without_call_total: int = 0


class Connections:
    """Of all ports; belongs to the event loop. `handshakes` returns how many have begun, by port."""

    def __init__(self, handshakes: Callable[[], Mapping[str, int]]) -> None:
        self.handshakes = handshakes
        self.counts: dict[str, PortCount] = {}
        self._with_call: dict[str, set[Remote]] = {}
        self._with_call_total = Counter[str]()
        self._warned: set[tuple[str, str]] = set()

    def called(self, port: str, remote: Remote) -> None:
        """A peer that may has made a call. It is counted once for each connection."""
        known = self._with_call.setdefault(port, set())
        if remote not in known:
            known.add(remote)
            self._with_call_total[port] += 1

    def remembered(self, port: str) -> frozenset[Remote]:
        """The connections of a port that have made a call, for `counted`: to be taken before the kernel is asked."""
        return frozenset(self._with_call.get(port, ()))

    def counted(self, port: str, listed: Sequence[Connection], begun: int, before: Iterable[Remote]) -> PortCount:
        """Take in the kernel's list. `begun` handshakes and the calls of `before` are those before it was made.

        A connection that came while the list was made may be in one of the two and not in the other: the total of those
        that ended without a call is then too small until the next count, and never too large.
        """
        known = self._with_call.setdefault(port, set())
        remotes = {(connection.address, connection.port) for connection in listed}
        known.difference_update(remote for remote in before if remote not in remotes)
        without_call = len(remotes - known)
        with_call_total = self._with_call_total[port]
        addresses = Counter(map(_network, (connection.address for connection in listed)))
        last = self.counts.get(port, PortCount())
        ended = max(last.ended_without_call_total, begun - with_call_total - without_call)
        largest = max(addresses.values(), default=0)
        self.counts[port] = PortCount(len(remotes), without_call, largest, with_call_total, ended)
        return self.counts[port]

    def warnings(self, port: str, listed: Sequence[Connection], limits: Warned) -> list[tuple[str, str]]:
        """What is above its limit since this count: about whom, and what. It comes again only after it was below."""
        count = self.counts[port]
        above: dict[str, str] = {}
        if 0 < limits.without_call < count.without_call:
            above[port] = f"{count.without_call} connections without a call, more than {limits.without_call}"
        if 0 < limits.total <= count.open:
            above[f"{port}: all"] = f"{count.open} connections, as many as are taken: more are closed at once"
        if 0 < limits.per_address < count.largest_of_address:
            for network, number in Counter(map(_network, (connection.address for connection in listed))).items():
                if number > limits.per_address:
                    above[_text(network)] = (
                        f"{number} connections to the port of {port}, more than {limits.per_address}"
                    )
        keys = {(port, subject) for subject in above}
        fresh = keys - self._warned
        self._warned = {key for key in self._warned if key[0] != port} | keys
        return [(subject, above[subject]) for _, subject in sorted(fresh)]


def _network(address: Address) -> Address:
    """An IPv6 host has a prefix of 64 bits to itself: that counts as one address."""
    return address if len(address) <= IPV4_OCTETS else address[:IPV6_PREFIX_OCTETS]


def _text(network: Address) -> str:
    if len(network) == IPV4_OCTETS:
        return address_text(network)
    return f"{address_text(network + bytes(IPV6_PREFIX_OCTETS))}/64"
