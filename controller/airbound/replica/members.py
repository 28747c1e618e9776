# SPDX-License-Identifier: Apache-2.0
"""Which replicas there are: each writes a record about itself every two seconds, which lasts for six."""

import asyncio
import contextlib
from collections.abc import Callable

from google.protobuf.message import DecodeError

from airbound.runtime import log
from airbound.store.types import Store, StoreError
from airbound.v1 import replica_pb2

KIND = "replicas"
RECORD_MS = 6_000
PERIOD_S = 2.0


class Members:
    """The replicas by name, this one included. `found` is called for each that comes, `gone` with the name of
    each that ended or fell silent.
    """

    def __init__(
        self,
        store: Store,
        record: Callable[[], replica_pb2.ReplicaRecord],
        gone: Callable[[str], None],
        found: Callable[[], None],
        clock_us: Callable[[], int],
    ) -> None:
        self.answered_at_us = clock_us()  # when the store last did
        self._clock_us = clock_us
        self.by_name: dict[str, replica_pb2.ReplicaRecord] = {}
        self._store = store
        self._record = record
        self._gone, self._found = gone, found
        self._task: asyncio.Task[None] | None = None
        self._missed = set[str]()
        self._failed = ""

    async def start(self) -> None:
        """Write the record and read the others', now and then again and again."""
        own = self._record()
        self.by_name[own.name] = own
        await self._try()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Remove the record."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        with contextlib.suppress(StoreError):  # it ends by itself
            await self._store.remove(KIND, self._record().name)

    async def announce(self) -> None:
        """Write the record as it is now, without waiting for the next time."""
        with contextlib.suppress(StoreError):  # the others know in two seconds
            own = self._record()
            await self._store.put(KIND, own.name, own.SerializeToString(), ttl_ms=RECORD_MS)

    def others(self) -> list[str]:
        """Names of the other replicas."""
        own = self._record().name
        return [name for name in self.by_name if name != own]

    def heard(self, name: str) -> None:
        """A replica sent something; its record may not be read yet."""
        if name not in self.by_name:
            self.by_name[name] = replica_pb2.ReplicaRecord(name=name)

    def is_there(self, name: str) -> bool:
        """Whether a replica was heard of within the last seconds."""
        return name in self.by_name

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            await self._try()

    async def _try(self) -> None:
        try:
            await self._once()
            self._failed, self.answered_at_us = "", self._clock_us()
        except StoreError as error:
            if str(error) != self._failed:
                self._failed = str(error)
                log.event("warning", "store", "replicas", self._failed)

    async def _once(self) -> None:
        own = self._record()
        await self._store.put(KIND, own.name, own.SerializeToString(), ttl_ms=RECORD_MS)
        found = dict[str, replica_pb2.ReplicaRecord]()
        for name, octets in (await self._store.records(KIND)).items():
            try:
                found[name] = replica_pb2.ReplicaRecord.FromString(octets)
            except DecodeError:
                log.event("warning", "store", name, "the record of this replica cannot be read")
        found[own.name] = own
        before = self.by_name
        # A record may be late after the store was busy: it is missed twice before its replica counts as gone.
        missed = before.keys() - found.keys() - self._missed
        self._missed = set(missed)
        found |= {name: before[name] for name in missed}
        self.by_name = found
        for name in found.keys() - before.keys():
            if name != own.name:
                log.event("info", "replica", name, "found")
                self._found()
        for name in before.keys() - found.keys():
            log.event("warning", "replica", name, "ended, or fell silent")
            self._gone(name)
