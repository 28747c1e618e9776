# SPDX-License-Identifier: Apache-2.0

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from airbound.store.memory.file import RecordFile
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.types import Store
from airbound.testing.stores import Site


@pytest.fixture(params=["memory", "file"])
async def site(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Site[Any]]:
    """Each kind of store in turn."""
    memory = Memory(RecordFile(tmp_path / "records.sqlite") if request.param == "file" else None)

    def make() -> Store:
        return MemoryStore(memory)

    made: Site[Any] = Site(make)
    yield made
    await made.close()
