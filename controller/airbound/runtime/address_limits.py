# SPDX-License-Identifier: Apache-2.0
"""How often one address may ask in a second. An IPv6 host has a prefix of 64 bits to itself: that counts as one."""

from airbound.core.addresses import IPV4_OCTETS, Address
from airbound.runtime.rate_limit import RateLimit

IPV6_PREFIX_OCTETS = 8
ADDRESSES_MAX = 10_000


class AddressLimits:
    """A rate for each of the addresses that asked last."""

    __slots__ = ("_by_address", "per_s")

    def __init__(self, per_s: float) -> None:
        self.per_s = per_s
        self._by_address: dict[Address, RateLimit] = {}

    def take(self, address: Address, now_us: int) -> bool:
        """Whether one more from there is within the limit."""
        key = address if len(address) <= IPV4_OCTETS else address[:IPV6_PREFIX_OCTETS]
        limit = self._by_address.pop(key, None) or RateLimit(self.per_s)
        self._by_address[key] = limit
        if len(self._by_address) > ADDRESSES_MAX:
            del self._by_address[next(iter(self._by_address))]  # asked longest ago
        return limit.take(now_us)
