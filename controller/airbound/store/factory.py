# SPDX-License-Identifier: Apache-2.0
"""The store that the options ask for."""

from pathlib import Path

from airbound.store.memory.file import RecordFile
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.options import StoreOptions
from airbound.store.types import Store


def open_store(options: StoreOptions) -> Store:
    """A store that is still to be started."""
    if options.url:
        from airbound.store.redis.store import RedisStore  # noqa: PLC0415  # who has no server need not load the client

        return RedisStore(options)
    return MemoryStore(Memory(RecordFile(Path(options.file)) if options.file else None))
