# SPDX-License-Identifier: Apache-2.0
"""What a connection's octets are for. What has arrived on it beyond its accepted messages is its excess: handshakes,
headers, and whatever else of HTTP/2 costs the controller something and says nothing to it.

gRPC takes any number of header frames without an end (CONTINUATION) on a connection, holds seven octets of memory for
each octet of them, and ends such a connection by none of its time-outs.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from airbound.core.addresses import Address
from airbound.runtime.received import Received

Remote = tuple[Address, int]

WITHOUT_STREAM_MAX = 16_384  # TLS with a client certificate, HTTP/2's beginning and a call take some 4 kB
WITH_STREAM_MAX = 65_536
OF_MESSAGE = 10  # one more for so many: framing by HTTP/2 and TLS
OF_EACH_MESSAGE = 512  # the same of small ones; pings, and windows for the commands that follow
OF_EACH_CALL = 4_096


class Account:
    """Of one connection: octets that are accounted for, and of them those that are worth nothing any more."""

    __slots__ = ("forfeited", "octets", "streams")

    def __init__(self) -> None:
        self.octets = self.forfeited = 0.0
        self.streams = 0

    def message(self, octets: int) -> None:
        """One was accepted."""
        self.octets += OF_EACH_MESSAGE + octets + octets // OF_MESSAGE


class Excess(NamedTuple):
    """A connection with octets that are not accounted for."""

    connection: Received
    octets: int
    limit: int


class Accounts:
    """Of one port. A connection that has made a call is worth `octets_per_s` in each second: 0 where those that matter
    report, more where clients only listen.
    """

    def __init__(self, octets_per_s: int = 0) -> None:
        self._octets_per_s = octets_per_s
        self._by_remote: dict[Remote, Account] = {}

    def __len__(self) -> int:
        return len(self._by_remote)

    def called(self, remote: Remote) -> Account:
        """A peer that may has made a call."""
        account = self._by_remote.get(remote)
        if account is None:
            account = self._by_remote[remote] = Account()
        account.octets += OF_EACH_CALL
        return account

    def remembered(self) -> frozenset[Remote]:
        """The connections that have accounts: to be taken before the kernel is asked."""
        return frozenset(self._by_remote)

    def forget(self, remotes: Iterable[Remote]) -> None:
        """Nobody knows which of these connections are there: those that call again have accounts again."""
        for remote in remotes:
            self._by_remote.pop(remote, None)

    def excesses(self, listed: Sequence[Received], before: Iterable[Remote], elapsed_s: float) -> list[Excess]:
        """Take in the kernel's list: which connections have too many. What is accounted for and was not sent is worth
        no more than the limit later: nobody saves for a flood.
        """
        found = []
        there = {(connection.address, connection.port) for connection in listed}
        self.forget(remote for remote in before if remote not in there)
        for connection in listed:
            account = self._by_remote.get((connection.address, connection.port))
            limit = WITH_STREAM_MAX if account is not None and account.streams else WITHOUT_STREAM_MAX
            excess: float = connection.octets
            if account is not None:
                excess -= account.octets - account.forfeited + self._octets_per_s * elapsed_s
                account.forfeited += max(0.0, -limit - excess) - self._octets_per_s * elapsed_s
            if excess > limit:
                found.append(Excess(connection, int(excess), limit))
        return found
