# SPDX-License-Identifier: Apache-2.0
"""Which access point may report which cell: the first to report its BSSID, until an operator moves the cell. So with a
certificate that was stolen from an access point no other cells can be reported.
"""

from airbound.core.addresses import Mac, mac_text
from airbound.store.types import Store

KIND = "cell"


class Pins:
    """Names of access points by BSSID, in the store; what was read is remembered."""

    def __init__(self, store: Store) -> None:
        self.known: dict[Mac, str] = {}
        self._store = store

    async def claim(self, bssid: Mac, access_point: str) -> str:
        """The access point that has the cell: this one, if nobody has it.

        Raises:
            StoreError: the store does not answer.
        """
        held = await self._store.add(KIND, mac_text(bssid), access_point.encode())
        name = self.known[bssid] = held.decode(errors="replace")
        return name

    async def move(self, bssid: Mac, access_point: str) -> str:
        """Have another access point report a cell, or, if the name is empty, the next that reports it; the name
        before, empty if there was none.

        Raises:
            StoreError: the store does not answer.
        """
        before = await self._store.get(KIND, mac_text(bssid))
        if access_point:
            await self._store.put(KIND, mac_text(bssid), access_point.encode())
        else:
            await self._store.remove(KIND, mac_text(bssid))
        self.known.pop(bssid, None)
        return "" if before is None else before.decode(errors="replace")
