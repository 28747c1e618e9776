# SPDX-License-Identifier: Apache-2.0
"""Records in Redis. All of a kind are in one hash slot, so that one call lists them:

    PREFIX:records:{KIND}:values   a hash: NAME to value
    PREFIX:records:{KIND}:ends     a sorted set: NAME, by the server's time in ms at which the record ends, if it does

Every call first removes what has ended. Where every record has an end, both keys end with the last.
"""

from typing import Any

from airbound.store.redis.script import Command, Script, run, script

_COMMON = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function keep()
  local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
  for _, key in ipairs(KEYS) do
    if last and redis.call('HLEN', KEYS[1]) == redis.call('ZCARD', KEYS[2]) then
      redis.call('PEXPIREAT', key, last)
    else
      redis.call('PERSIST', key)
    end
  end
end

local function write(name, value, ttl)
  redis.call('HSET', KEYS[1], name, value)
  if ttl == '0' then
    redis.call('ZREM', KEYS[2], name)
  else
    redis.call('ZADD', KEYS[2], string.format('%.0f', now + ttl), name)
  end
  keep()
end

repeat
  local ended = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, 1000)
  if #ended > 0 then
    redis.call('HDEL', KEYS[1], unpack(ended))
    redis.call('ZREM', KEYS[2], unpack(ended))
    keep()
  end
until #ended == 0
"""

_GET = script(_COMMON, "return redis.call('HGET', KEYS[1], ARGV[1])")

_PUT = script(
    _COMMON,
    """
-- name, value, ms to live or 0
write(ARGV[1], ARGV[2], ARGV[3])
return 1
""",
)

_ADD = script(
    _COMMON,
    """
-- name, value, ms to live or 0 -> what was there
local was = redis.call('HGET', KEYS[1], ARGV[1])
if not was then write(ARGV[1], ARGV[2], ARGV[3]) end
return was
""",
)

_REPLACE = script(
    _COMMON,
    """
-- name, value, ms to live or 0, what has to be there -> 1 if it was
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[4] then return 0 end
write(ARGV[1], ARGV[2], ARGV[3])
return 1
""",
)

_REMOVE = script(
    _COMMON,
    """
-- name -> 1 if it was there
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
keep()
return removed
""",
)

_LIST = script(_COMMON, "return redis.call('HGETALL', KEYS[1])")


class Records:
    """The commands for records, and what their replies mean."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def get(self, kind: str, name: str) -> Command:
        """A record, or none."""
        return self._run(_GET, kind, name)

    def put(self, kind: str, name: str, value: bytes, ttl_ms: int) -> Command:
        """Write a record."""
        return self._run(_PUT, kind, name, value, ttl_ms)

    def add(self, kind: str, name: str, value: bytes, ttl_ms: int) -> Command:
        """Write a record if there is none; what was there."""
        return self._run(_ADD, kind, name, value, ttl_ms)

    def replace(self, kind: str, name: str, before: bytes, value: bytes, ttl_ms: int) -> Command:
        """Write a record if it still is as it was; 1 if it was."""
        return self._run(_REPLACE, kind, name, value, ttl_ms, before)

    def remove(self, kind: str, name: str) -> Command:
        """Remove a record; 1 if there was one."""
        return self._run(_REMOVE, kind, name)

    def list(self, kind: str) -> Command:
        """All records of a kind."""
        return self._run(_LIST, kind)

    @staticmethod
    def listed(reply: Any) -> dict[str, bytes]:
        """The reply to list. A name that is no text is one that no replica has written: who reads the kind says so."""
        return {
            name.decode(errors="backslashreplace"): value for name, value in zip(reply[::2], reply[1::2], strict=True)
        }

    def _run(self, script: Script, kind: str, *arguments: bytes | str | int) -> Command:
        key = f"{self._prefix}:records:{{{kind}}}"
        return run(kind.encode(), script, (f"{key}:values", f"{key}:ends"), *arguments)
