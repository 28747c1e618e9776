# SPDX-License-Identifier: Apache-2.0
"""Where stations and terminals are, in Redis: a hash for each MAC.

    PREFIX:station:{MAC}   c:BSSID    ENDS TTL ASSOCIATED EPOCH:REPLICA    a cell reports the station
                           h:REPLICA  ENDS TTL                             a replica has a stream of the terminal

ENDS and ASSOCIATED are the server's time in ms, TTL is ms. Every entry has an end of its own; the key's is the last of
them. An entry that has more than twice its TTL left was written before the server's clock was set back: it has ended.
So has one that no replica can have written; a key that is no hash is removed.
"""

import contextlib
from typing import Any

from airbound.core.addresses import Mac, mac_text
from airbound.store.places import latest_first
from airbound.store.redis.ownership import token_from_text, token_text
from airbound.store.redis.script import Command, run, script
from airbound.store.types import Place, Token

_COMMON = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

do
  local is = redis.pcall('HLEN', KEYS[1])
  if type(is) == 'table' and string.find(is.err, 'WRONGTYPE', 1, true) then redis.call('DEL', KEYS[1]) end
end

local function alive(value)
  local ends, ttl = string.match(value, '^(%d+) (%d+)')
  if not ends or #ends > 15 or #ttl > 10 then return false end
  local left = ends - now
  return left > 0 and left <= 2 * ttl, left
end

local function write(field, ttl, more)
  redis.call('HSET', KEYS[1], field, string.format('%.0f %d', now + ttl, ttl) .. more)
end

-- Calls back for each entry that has not ended, and removes the others.
local function each(callback)
  local entries = redis.call('HGETALL', KEYS[1])
  local last = 0
  for i = 1, #entries, 2 do
    local is_alive, left = alive(entries[i + 1])
    if is_alive then
      last = math.max(last, left)
      callback(entries[i], entries[i + 1])
    else
      redis.call('HDEL', KEYS[1], entries[i])
    end
  end
  redis.call('PEXPIRE', KEYS[1], last)
end
"""

_PLACE = script(
    _COMMON,
    """
-- station; field of the cell, token, ms since the association, ms to live -> replicas that have a stream
local was = redis.call('HGET', KEYS[1], ARGV[1])
local epoch = was and alive(was) and string.match(was, '^%d+ %d+ %d+ ([1-9]%d*):')
if not (epoch and tonumber(epoch) > tonumber(string.match(ARGV[2], '^%d+'))) then
  write(ARGV[1], ARGV[4], string.format(' %.0f ', now - ARGV[3]) .. ARGV[2])
end
local replicas = {}
each(function(field)
  if string.sub(field, 1, 2) == 'h:' then replicas[#replicas + 1] = string.sub(field, 3) end
end)
return replicas
""",
)

_ARRIVE = script(
    _COMMON,
    """
-- station; field of the replica, ms to live -> of each cell: field, token, ms since the association
write(ARGV[1], ARGV[2], '')
local cells = {}
each(function(field, value)
  if string.sub(field, 1, 2) == 'c:' then
    local associated, token = string.match(value, '^%d+ %d+ (%d+) (.*)$')
    if associated and #associated <= 15 then
      cells[#cells + 1] = field
      cells[#cells + 1] = token
      cells[#cells + 1] = math.max(0, now - associated)
    end
  end
end)
return cells
""",
)

_DISPLACE = script(
    _COMMON,
    """
-- station; field of the cell, token
local was = redis.call('HGET', KEYS[1], ARGV[1])
if was and string.match(was, '^%d+ %d+ %d+ (.*)$') == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 0
""",
)

_DEPART = script(_COMMON, "return redis.call('HDEL', KEYS[1], ARGV[1])")


class Directory:
    """The commands for stations and terminals, and what their replies mean."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def place(self, mac: Mac, place: Place, ttl_ms: int) -> Command:
        """Write that a cell reports a station."""
        tag, key = self._key(mac)
        return run(tag, _PLACE, (key,), _cell(place.bssid), token_text(place.token), place.age_ms, ttl_ms)

    @staticmethod
    def replicas(reply: Any) -> frozenset[str]:
        """The reply to place: the replicas that have a stream of the terminal."""
        found = set[str]()
        for name in reply:
            with contextlib.suppress(UnicodeDecodeError):  # no replica can have written it
                found.add(name.decode())
        return frozenset(found)

    def displace(self, mac: Mac, bssid: Mac, token: Token) -> Command:
        """A cell no longer reports a station."""
        tag, key = self._key(mac)
        return run(tag, _DISPLACE, (key,), _cell(bssid), token_text(token))

    def arrive(self, mac: Mac, replica: str, ttl_ms: int) -> Command:
        """Write that a replica has a stream of a terminal."""
        tag, key = self._key(mac)
        return run(tag, _ARRIVE, (key,), f"h:{replica}", ttl_ms)

    @staticmethod
    def places(reply: Any) -> tuple[Place, ...]:
        """The reply to arrive: where the station is, the latest association first."""
        found = list[Place]()
        for field, token, age_ms in zip(reply[::3], reply[1::3], reply[2::3], strict=True):
            with contextlib.suppress(ValueError):  # no replica can have written it
                found.append(Place(bytes.fromhex(field[2:].decode().replace(":", "")), token_from_text(token), age_ms))
        return latest_first(found)

    def depart(self, mac: Mac, replica: str) -> Command:
        """A replica has no stream of a terminal any more."""
        tag, key = self._key(mac)
        return run(tag, _DEPART, (key,), f"h:{replica}")

    def _key(self, mac: Mac) -> tuple[bytes, str]:
        text = mac_text(mac)
        return text.encode(), f"{self._prefix}:station:{{{text}}}"


def _cell(bssid: Mac) -> str:
    return f"c:{mac_text(bssid)}"
