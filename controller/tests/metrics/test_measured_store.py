# SPDX-License-Identifier: Apache-2.0

import inspect

import pytest

from airbound.metrics.hooks import StoreCalls
from airbound.metrics.measured_store import CALLS, measured
from airbound.store.factory import open_store
from airbound.store.options import StoreOptions
from airbound.store.types import FencedError, Store, Token

CELL = bytes([2, 0, 0, 0, 0, 1])


def test_every_call_of_a_store_is_measured() -> None:
    calls = {name for name, _ in inspect.getmembers(Store, inspect.iscoroutinefunction)}
    assert calls - CALLS == {"start", "close"}
    assert calls >= CALLS


async def test_calls_do_what_they_did_and_are_counted() -> None:
    calls = StoreCalls()
    store = measured(open_store(StoreOptions()), calls)
    assert (store.kind, calls.kind) == ("memory", "memory")
    await store.start("a", lambda _: None, lambda: None)
    await store.put("choice", "x", b"1", ttl_ms=60_000)
    assert await store.get("choice", "x") == b"1"
    assert await store.get("choice", "y") is None
    with pytest.raises(FencedError):
        await store.write_state(CELL, Token(1, "b"), b"", ttl_ms=1000)
    await store.close()
    counted = {name: histogram.distribution().cumulative[-1] for name, histogram in calls.durations.items()}
    assert counted == {"put": 1, "get": 2, "write_state": 1}
    assert calls.errors == {"write_state": 1}
