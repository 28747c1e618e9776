# SPDX-License-Identifier: Apache-2.0

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from airbound.store.factory import open_store
from airbound.store.memory.file import RecordFile
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.options import StoreOptions
from airbound.store.types import Store
from airbound_testing.redis_servers import RedisCluster, RedisServer
from airbound_testing.stores import Site

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def the_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def the_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    cluster = RedisCluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture
def server(the_server: RedisServer) -> Iterator[RedisServer]:
    """The server, which runs again after a test that killed or paused it."""
    yield the_server
    the_server.resume()
    the_server.start()


@pytest.fixture
def cluster(the_cluster: RedisCluster) -> Iterator[RedisCluster]:
    """The Cluster, complete again after a test that killed or paused one of its servers."""
    yield the_cluster
    the_cluster.heal()


@pytest.fixture
def prefix() -> str:
    """Keys of this test alone."""
    return f"airbound-{next(_NUMBERS)}-"


@pytest.fixture(params=["memory", "redis", "cluster"])
async def site(request: pytest.FixtureRequest, tmp_path: Path, prefix: str) -> AsyncIterator[Site[Any]]:
    """Each kind of store in turn."""
    memory = Memory(RecordFile(tmp_path / "records.sqlite") if request.param == "file" else None)
    options = StoreOptions(prefix=prefix)
    if request.param == "redis":
        options = StoreOptions(url=request.getfixturevalue("the_server").url, prefix=prefix)
    if request.param == "cluster":
        options = StoreOptions(url=request.getfixturevalue("the_cluster").url, cluster=True, prefix=prefix)

    def make() -> Store:
        return open_store(options) if options.url else MemoryStore(memory)

    made: Site[Any] = Site(make)
    yield made
    await made.close()
