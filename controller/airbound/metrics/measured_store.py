# SPDX-License-Identifier: Apache-2.0
"""A store whose calls are measured."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from airbound.metrics.hooks import StoreCalls
from airbound.store.types import Store, StoreError

CALLS = frozenset({
    "add", "arrive", "claim", "depart", "displace", "get", "place", "put", "read_state", "records", "release", "remove",
    "replace", "send", "write_state",
})  # fmt: skip


def measured(store: Store, calls: StoreCalls) -> Store:
    """The same store; how long its calls take, and which fail, is counted."""
    calls.kind = store.kind
    return cast("Store", _MeasuredStore(store, calls))


class _MeasuredStore:
    def __init__(self, store: Store, calls: StoreCalls) -> None:
        self._store = store
        self._calls = calls
        for name in CALLS:
            setattr(self, name, partial(self._call, name, getattr(store, name)))

    def __getattr__(self, name: str) -> Any:
        """What is not measured: its kind, its start and its end."""
        return getattr(self._store, name)

    async def _call(self, name: str, call: Callable[..., Awaitable[Any]], *values: Any, **named: Any) -> Any:
        start_s = time.perf_counter()
        failed = False
        try:
            return await call(*values, **named)
        except StoreError:
            failed = True
            raise
        finally:
            self._calls.called(name, time.perf_counter() - start_s, failed=failed)
