# SPDX-License-Identifier: Apache-2.0
"""Every store against a model, in any order of calls: two replicas, a few names, a few cells."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from airbound.core.addresses import Mac
from airbound.store.factory import open_store
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.options import StoreOptions
from airbound.store.types import Claim, FencedError, Place, Store, Token

MS = st.integers(1, 100)
TTLS = st.one_of(st.just(0), MS)
KINDS, NAMES = st.sampled_from(["choice", "pin"]), st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from([b"", b"1", b"2"])
CELLS = st.sampled_from([b"cell-1", b"cell-2"])
MACS = st.sampled_from([b"mac--1", b"mac--2"])
WHO = st.sampled_from([0, 1])
NAMES_OF_REPLICAS = ("one", "two")
FOR_EVER_MS = 1 << 40


class Model(RuleBasedStateMachine):
    """The store, and beside it what should be in it, with ends in ms of a clock that only a rule moves."""

    moves = True  # the clock

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.now_ms = 0
        self.records: dict[tuple[str, str], tuple[bytes, int]] = {}
        self.owners: dict[Mac, tuple[Token, int]] = {}
        self.states: dict[Mac, tuple[bytes, int]] = {}
        self.epochs: dict[Mac, int] = {}
        self.tokens: dict[Mac, list[Token]] = {}
        self.cells_of: dict[tuple[Mac, Mac], tuple[Token, int, int]] = {}
        self.replicas_of: dict[tuple[Mac, str], int] = {}
        self.stores = self.runner.run(self.open())

    async def open(self) -> list[Store]:
        memory = Memory(None, lambda: self.now_ms, lambda: 1_000 + self.now_ms)
        stores: list[Store] = [MemoryStore(memory) for _ in NAMES_OF_REPLICAS]
        for store, name in zip(stores, NAMES_OF_REPLICAS, strict=True):
            await store.start(name, lambda _: None, lambda: None)
        return stores

    def teardown(self) -> None:
        for store in self.stores:
            self.runner.run(store.close())
        self.runner.close()

    def ends_ms(self, ttl_ms: int) -> int:
        return self.now_ms + (ttl_ms or FOR_EVER_MS)

    def alive(self, entries: dict[Any, Any]) -> dict[Any, Any]:
        return {key: entry[:-1] for key, entry in entries.items() if self.now_ms < entry[-1]}

    @precondition(lambda self: self.moves)
    @rule(ms=MS)
    def time_passes(self, ms: int) -> None:
        self.now_ms += ms

    def record(self, kind: str, name: str) -> bytes | None:
        (value,) = self.alive(self.records).get((kind, name), (None,))
        return value

    @rule(who=WHO, kind=KINDS, name=NAMES)
    def get(self, who: int, kind: str, name: str) -> None:
        assert self.runner.run(self.stores[who].get(kind, name)) == self.record(kind, name)

    @rule(who=WHO, kind=KINDS, name=NAMES, value=VALUES, ttl_ms=TTLS)
    def put(self, who: int, kind: str, name: str, value: bytes, ttl_ms: int) -> None:
        self.runner.run(self.stores[who].put(kind, name, value, ttl_ms=self.ttl(ttl_ms)))
        self.records[kind, name] = value, self.ends_ms(ttl_ms)

    @rule(who=WHO, kind=KINDS, name=NAMES, value=VALUES, ttl_ms=TTLS)
    def add(self, who: int, kind: str, name: str, value: bytes, ttl_ms: int) -> None:
        was = self.record(kind, name)
        answer = self.runner.run(self.stores[who].add(kind, name, value, ttl_ms=self.ttl(ttl_ms)))
        assert answer == (value if was is None else was)
        if was is None:
            self.records[kind, name] = value, self.ends_ms(ttl_ms)

    @rule(who=WHO, kind=KINDS, name=NAMES, before=VALUES, value=VALUES, ttl_ms=TTLS)
    def replace(self, who: int, kind: str, name: str, before: bytes, value: bytes, ttl_ms: int) -> None:
        same = self.record(kind, name) == before
        assert self.runner.run(self.stores[who].replace(kind, name, before, value, ttl_ms=self.ttl(ttl_ms))) == same
        if same:
            self.records[kind, name] = value, self.ends_ms(ttl_ms)

    @rule(who=WHO, kind=KINDS, name=NAMES)
    def remove(self, who: int, kind: str, name: str) -> None:
        was = self.record(kind, name)
        assert self.runner.run(self.stores[who].remove(kind, name)) == (was is not None)
        self.records.pop((kind, name), None)

    @rule(who=WHO, kind=KINDS)
    def listed(self, who: int, kind: str) -> None:
        expected = {
            name: value for (record_kind, name), (value,) in self.alive(self.records).items() if record_kind == kind
        }
        assert self.runner.run(self.stores[who].records(kind)) == expected

    @rule(who=WHO, cell=CELLS, ttl_ms=MS)
    def claim(self, who: int, cell: Mac, ttl_ms: int) -> None:
        (claim,) = self.runner.run(self.stores[who].claim([cell], ttl_ms=self.ttl(ttl_ms)))
        assert isinstance(claim, Claim)
        (owner,) = self.alive(self.owners).get(cell, (None,))
        if owner is None:
            assert claim.mine
            assert claim.token.epoch > self.epochs.get(cell, 0)
            assert claim.token.replica == NAMES_OF_REPLICAS[who]
            self.epochs[cell] = claim.token.epoch
            self.tokens.setdefault(cell, []).append(claim.token)
        else:
            assert claim == Claim(owner, mine=owner.replica == NAMES_OF_REPLICAS[who])
        if claim.mine:
            self.owners[cell] = claim.token, self.ends_ms(ttl_ms)

    @rule(who=WHO, cell=CELLS, data=st.data())
    def release(self, who: int, cell: Mac, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(self.tokens.get(cell, [Token(1, "one")])))
        mine = self.alive(self.owners).get(cell) == (token,)
        assert self.runner.run(self.stores[who].release(cell, token)) == mine
        if mine:
            del self.owners[cell]

    @rule(who=WHO, cell=CELLS, state=VALUES, ttl_ms=MS, data=st.data())
    def write_state(self, who: int, cell: Mac, state: bytes, ttl_ms: int, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(self.tokens.get(cell, [Token(1, "one")])))
        writing = self.stores[who].write_state(cell, token, state, ttl_ms=self.ttl(ttl_ms))
        if self.alive(self.owners).get(cell) == (token,):
            self.runner.run(writing)
            self.states[cell] = state, self.ends_ms(ttl_ms)
        else:
            with pytest.raises(FencedError):
                self.runner.run(writing)

    @rule(who=WHO, cell=CELLS)
    def read_state(self, who: int, cell: Mac) -> None:
        (state,) = self.alive(self.states).get(cell, (None,))
        assert self.runner.run(self.stores[who].read_state(cell)) == state

    @rule(mac=MACS, bssid=CELLS, epoch=st.integers(1, 3), age_ms=st.integers(0, 1_000), ttl_ms=MS)
    def place(self, mac: Mac, bssid: Mac, epoch: int, age_ms: int, ttl_ms: int) -> None:
        token = Token(epoch, f"owner {epoch}")
        place = Place(bssid, token, age_ms)
        (found,) = self.runner.run(self.stores[0].place([(mac, place)], ttl_ms=self.ttl(ttl_ms)))
        assert found == {
            name for (at, name), ends_ms in self.replicas_of.items() if at == mac and self.now_ms < ends_ms
        }
        later = self.alive(self.cells_of).get((mac, bssid))
        if later is None or later[0].epoch <= epoch:
            self.cells_of[mac, bssid] = token, self.now_ms - age_ms, self.ends_ms(ttl_ms)

    @rule(macs=st.lists(MACS, unique=True), bssid=CELLS, epoch=st.integers(1, 3))
    def displace(self, macs: list[Mac], bssid: Mac, epoch: int) -> None:
        token = Token(epoch, f"owner {epoch}")
        self.runner.run(self.stores[0].displace(macs, bssid, token))
        for mac in macs:
            if (mac, bssid) in self.cells_of and self.cells_of[mac, bssid][0] == token:
                del self.cells_of[mac, bssid]

    @rule(who=WHO, macs=st.lists(MACS, unique=True), ttl_ms=MS)
    def arrive(self, who: int, macs: list[Mac], ttl_ms: int) -> None:
        answers = self.runner.run(self.stores[who].arrive(macs, ttl_ms=self.ttl(ttl_ms)))
        for mac, places in zip(macs, answers, strict=True):
            assert places is not None
            expected = {
                (bssid, token): self.now_ms - associated_ms
                for (claimed, bssid), (token, associated_ms) in self.alive(self.cells_of).items()
                if claimed == mac
            }
            assert {(place.bssid, place.token) for place in places} == set(expected)
            ages_ms = [place.age_ms for place in places]
            assert ages_ms == sorted(ages_ms)
            if self.moves:
                assert {(place.bssid, place.token): place.age_ms for place in places} == expected
            self.replicas_of[mac, NAMES_OF_REPLICAS[who]] = self.ends_ms(ttl_ms)

    @rule(who=WHO, macs=st.lists(MACS, unique=True))
    def depart(self, who: int, macs: list[Mac]) -> None:
        self.runner.run(self.stores[who].depart(macs))
        for mac in macs:
            self.replicas_of.pop((mac, NAMES_OF_REPLICAS[who]), None)

    def ttl(self, ttl_ms: int) -> int:
        """The time to live that the store is given."""
        return ttl_ms


def test_the_embedded_store_is_as_the_model() -> None:
    run_state_machine_as_test(Model, settings=settings(max_examples=50, stateful_step_count=40, deadline=None))


@pytest.mark.parametrize("where", ["server", "cluster"])
def test_redis_is_as_the_model(request: pytest.FixtureRequest, prefix: str, where: str) -> None:
    url = request.getfixturevalue(f"the_{where}").url
    numbers = itertools.count()

    class RedisModel(Model):
        """Time does not pass: what has a time to live has a long one."""

        moves = False

        async def open(self) -> list[Store]:
            options = StoreOptions(url=url, cluster=where == "cluster", prefix=f"{prefix}{next(numbers)}")
            stores: list[Store] = [open_store(options) for _ in NAMES_OF_REPLICAS]
            for store, name in zip(stores, NAMES_OF_REPLICAS, strict=True):
                await store.start(name, lambda _: None, lambda: None)
            return stores

        def ttl(self, ttl_ms: int) -> int:
            return ttl_ms and 60_000

    run_state_machine_as_test(RedisModel, settings=settings(max_examples=15, stateful_step_count=40, deadline=None))
