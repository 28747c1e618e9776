# SPDX-License-Identifier: Apache-2.0
"""Which cells report a station, and which replicas have a stream of its terminal."""

from collections.abc import Callable
from dataclasses import dataclass

from airbound.core.addresses import Mac
from airbound.store.memory.expiring import Expiring
from airbound.store.places import latest_first
from airbound.store.types import Place, Token


@dataclass(frozen=True, slots=True)
class _Reported:
    token: Token
    associated_ms: int
    ends_ms: int


class Directory:
    """Both sides of each MAC. An entry of a MAC ends with the last of what it has."""

    __slots__ = ("_now_ms", "_stations")

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._stations: Expiring[Mac, tuple[dict[Mac, _Reported], dict[str, int]]] = Expiring(now_ms)

    def place(self, mac: Mac, place: Place, ttl_ms: int) -> frozenset[str]:
        """Write that a cell reports a station; the replicas that have a stream of its terminal."""
        now_ms = self._now_ms()
        cells, replicas = self._of(mac, now_ms)
        later = cells.get(place.bssid)
        if later is None or later.token.epoch <= place.token.epoch:
            cells[place.bssid] = _Reported(place.token, now_ms - place.age_ms, now_ms + ttl_ms)
        self._write(mac, cells, replicas)
        return frozenset(replicas)

    def displace(self, mac: Mac, bssid: Mac, token: Token) -> None:
        """A cell no longer reports a station."""
        cells, replicas = self._of(mac, self._now_ms())
        found = cells.get(bssid)
        if found is not None and found.token == token:
            del cells[bssid]
        self._write(mac, cells, replicas)

    def arrive(self, mac: Mac, replica: str, ttl_ms: int) -> tuple[Place, ...]:
        """Write that a replica has a stream of a terminal; where its station is, the latest association first."""
        now_ms = self._now_ms()
        cells, replicas = self._of(mac, now_ms)
        replicas[replica] = now_ms + ttl_ms
        self._write(mac, cells, replicas)
        places = [Place(bssid, entry.token, now_ms - entry.associated_ms) for bssid, entry in cells.items()]
        return latest_first(places)

    def depart(self, mac: Mac, replica: str) -> None:
        """A replica has no stream of a terminal any more."""
        cells, replicas = self._of(mac, self._now_ms())
        replicas.pop(replica, None)
        self._write(mac, cells, replicas)

    def purge(self) -> int:
        """Remove what has ended; how many MACs are left."""
        return self._stations.purge()

    def _of(self, mac: Mac, now_ms: int) -> tuple[dict[Mac, _Reported], dict[str, int]]:
        cells, replicas = self._stations.get(mac) or ({}, {})
        return (
            {bssid: entry for bssid, entry in cells.items() if now_ms < entry.ends_ms},
            {replica: ends_ms for replica, ends_ms in replicas.items() if now_ms < ends_ms},
        )

    def _write(self, mac: Mac, cells: dict[Mac, _Reported], replicas: dict[str, int]) -> None:
        if cells or replicas:
            ends = [entry.ends_ms for entry in cells.values()] + list(replicas.values())
            self._stations.set(mac, (cells, replicas), max(ends))
        else:
            self._stations.remove(mac)
