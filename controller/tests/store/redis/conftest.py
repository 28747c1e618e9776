# SPDX-License-Identifier: Apache-2.0

from collections.abc import AsyncIterator

import pytest

from airbound.store.options import StoreOptions
from airbound.store.redis.store import RedisStore
from airbound_testing.redis_servers import RedisCluster, RedisServer
from airbound_testing.stores import Site


@pytest.fixture
async def on_server(server: RedisServer, prefix: str) -> AsyncIterator[Site[RedisStore]]:
    """Replicas at one server."""
    site = Site(lambda: RedisStore(StoreOptions(url=server.url, prefix=prefix), epoch_kept_ms=300))
    yield site
    await site.close()


@pytest.fixture
async def on_cluster(cluster: RedisCluster, prefix: str) -> AsyncIterator[Site[RedisStore]]:
    """Replicas at a Cluster."""
    site = Site(lambda: RedisStore(StoreOptions(url=cluster.url, cluster=True, prefix=prefix), epoch_kept_ms=300))
    yield site
    await site.close()
