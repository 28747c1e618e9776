# SPDX-License-Identifier: Apache-2.0
"""The store within one process: the default, without a server. A file keeps the records if there is one."""

from airbound.store.memory.store import Memory, MemoryStore

__all__ = ["Memory", "MemoryStore"]
