# SPDX-License-Identifier: Apache-2.0
"""Owners of cells in Redis. For each cell, all in one hash slot:

    PREFIX:cell:{BSSID}:owner   EPOCH:REPLICA, ends with the lease
    PREFIX:cell:{BSSID}:epoch   the last epoch, ends a day after the last lease was extended
    PREFIX:cell:{BSSID}:state   what the next owner needs

An epoch is the server's time in microseconds, or one more than the last. Replication is asynchronous: a replica that
is promoted may have neither the owner nor the epoch of a claim that the old master confirmed. With a counter alone the
same epoch would be given twice; with the time in it, only if the servers' clocks differ by more than the failover took.
For the same reason a write compares the whole token, not the epoch alone.

A value that no replica can have written (an operator's mistake, another program with the same prefix) counts as none
and is written over: an owner that is no token or has no end, an epoch that is no time, a key of another type.
"""

from typing import Any

from airbound.core.addresses import Mac, mac_text
from airbound.store.redis.script import Command, run, script
from airbound.store.types import Claim, Token

EPOCH_KEPT_MS = 24 * 3_600_000
EPOCH_MAX = 9 * 10**15 - 1  # the year 2255; up to 2^53 a number of Lua is exact

_COMMON = """
local function text(key)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'table' then return value end
  if string.find(value.err, 'WRONGTYPE', 1, true) then return false end
  return redis.call('GET', key)
end

local function is_epoch(digits)
  return digits ~= nil and (#digits < 16 or #digits == 16 and string.sub(digits, 1, 1) ~= '9')
end
"""

# A lease that has twice its time or more left was given before the server's clock was set back. It counts as ended.
_CLAIM = script(
    _COMMON,
    """
-- owner, epoch; replica, ms of the lease, ms to keep the epoch -> mine, token
local owner = text(KEYS[1])
local digits, replica
if owner then digits, replica = string.match(owner, '^([1-9]%d*):(.+)$') end
if is_epoch(digits) then
  if replica == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('PEXPIRE', KEYS[2], ARGV[3])
    return {1, owner}
  end
  local left = redis.call('PTTL', KEYS[1])
  if left >= 0 and left < 2 * ARGV[2] then return {0, owner} end
end
local time = redis.call('TIME')
local last = string.match(text(KEYS[2]) or '', '^%d+$')
last = is_epoch(last) and tonumber(last) or 0
local epoch = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
local token = epoch .. ':' .. ARGV[1]
redis.call('SET', KEYS[2], epoch, 'PX', ARGV[3])
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return {1, token}
""",
)

_RELEASE = script(
    _COMMON,
    """
-- owner; token, ms that may be left or -1 -> 1 if it was the owner's
if text(KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] ~= '-1' and redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then return 0 end
return redis.call('DEL', KEYS[1])
""",
)

_WRITE = script(
    _COMMON,
    """
-- owner, state; token, state, ms to live -> 1, or 0 if the token is not the owner's
if text(KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
""",
)

_READ = script(_COMMON, "return text(KEYS[1])")


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
        return run(tag, _READ, (f"{key}:state",))

    def _keys(self, cell: Mac) -> tuple[bytes, str]:
        text = mac_text(cell)
        return text.encode(), f"{self._prefix}:cell:{{{text}}}"


def token_text(token: Token) -> str:
    """EPOCH:REPLICA."""
    return f"{token.epoch}:{token.replica}"


def token_from_text(text: bytes) -> Token:
    """A token from EPOCH:REPLICA.

    Raises:
        ValueError: it is none.
    """
    epoch, _, replica = text.decode().partition(":")
    if not (epoch.isdecimal() and epoch.isascii() and 0 < int(epoch) <= EPOCH_MAX and replica):
        raise ValueError(f"{text!r} is no token")
    return Token(int(epoch), replica)
