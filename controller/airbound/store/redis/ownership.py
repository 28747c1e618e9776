# SPDX-License-Identifier: Apache-2.0
"""Owners of cells in Redis. For each cell, all in one hash slot:

    PREFIX:cell:{BSSID}:owner   EPOCH:REPLICA, ends with the lease
    PREFIX:cell:{BSSID}:epoch   the last epoch, ends a day after the last lease was extended
    PREFIX:cell:{BSSID}:state   what the next owner needs

An epoch is the server's time in microseconds, or one more than the last. Replication is asynchronous: a replica that
is promoted may have neither the owner nor the epoch of a claim that the old master confirmed. With a counter alone the
same epoch would be given twice; with the time in it, only if the servers' clocks differ by more than the failover took.
For the same reason a write compares the whole token, not the epoch alone.
"""

from typing import Any

from airbound.core.addresses import Mac, mac_text
from airbound.store.redis.script import Command, run, script
from airbound.store.types import Claim, Token

EPOCH_KEPT_MS = 24 * 3_600_000

# A lease that has twice its time or more left was given before the server's clock was set back. It counts as ended.
_CLAIM = script("""
-- owner, epoch; replica, ms of the lease, ms to keep the epoch -> mine, token
local owner = redis.call('GET', KEYS[1])
if owner and string.match(owner, '^%d+:(.*)$') == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
  return {1, owner}
end
if owner and redis.call('PTTL', KEYS[1]) < 2 * ARGV[2] then return {0, owner} end
local time = redis.call('TIME')
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local epoch = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
local token = epoch .. ':' .. ARGV[1]
redis.call('SET', KEYS[2], epoch, 'PX', ARGV[3])
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return {1, token}
""")

_RELEASE = script("""
-- owner; token, ms that may be left or -1 -> 1 if it was the owner's
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] ~= '-1' and redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then return 0 end
return redis.call('DEL', KEYS[1])
""")

_WRITE = script("""
-- owner, state; token, state, ms to live -> 1, or 0 if the token is not the owner's
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
""")


class Ownership:
    """The commands for owners of cells, and what their replies mean."""

    def __init__(self, prefix: str, epoch_kept_ms: int) -> None:
        self._prefix = prefix
        self._epoch_kept_ms = epoch_kept_ms

    def claim(self, cell: Mac, replica: str, ttl_ms: int) -> Command:
        """Take a cell that nobody owns, or extend the lease of our own."""
        tag, key = self._keys(cell)
        kept_ms = max(ttl_ms, self._epoch_kept_ms)
        return run(tag, _CLAIM, (f"{key}:owner", f"{key}:epoch"), replica, ttl_ms, kept_ms)

    @staticmethod
    def claimed(reply: Any) -> Claim:
        """The reply to a claim."""
        mine, token = reply
        return Claim(token_from_text(token), bool(mine))

    def release(self, cell: Mac, token: Token, if_left_ms: int | None) -> Command:
        """End the ownership of a token; 1 if it was in force and had no more than that left."""
        tag, key = self._keys(cell)
        return run(tag, _RELEASE, (f"{key}:owner",), token_text(token), -1 if if_left_ms is None else if_left_ms)

    def write_state(self, cell: Mac, token: Token, state: bytes, ttl_ms: int) -> Command:
        """Keep what the next owner needs; 0 if the token is not the one in force."""
        tag, key = self._keys(cell)
        return run(tag, _WRITE, (f"{key}:owner", f"{key}:state"), token_text(token), state, ttl_ms)

    def read_state(self, cell: Mac) -> Command:
        """What was kept last, or none."""
        tag, key = self._keys(cell)
        return Command(tag, ("GET", f"{key}:state"))

    def _keys(self, cell: Mac) -> tuple[bytes, str]:
        text = mac_text(cell)
        return text.encode(), f"{self._prefix}:cell:{{{text}}}"


def token_text(token: Token) -> str:
    """EPOCH:REPLICA."""
    return f"{token.epoch}:{token.replica}"


def token_from_text(text: bytes) -> Token:
    """A token from EPOCH:REPLICA."""
    epoch, _, replica = text.decode().partition(":")
    return Token(int(epoch), replica)
