# SPDX-License-Identifier: Apache-2.0
"""What faults happen to: controllers and their store, access points and phones. Each has a process or a connection of
its own; with TLS, certificates are real and live as long as a fault needs.

A site is slow by a factor: leases, renewals and the times without news after which something ends are longer by that,
and so are the faults that are to outlast them. The rules between these times are the same, and a busy machine that is
late by seconds ends no lease.
"""

import asyncio
import datetime
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from airbound.pki import files
from airbound.pki.identities import CONTROLLER, CertificateRole
from airbound_testing import processes
from airbound_testing.agents import Secured
from airbound_testing.faults import Fleet
from airbound_testing.pki import HOUR
from airbound_testing.pki import Site as Authority
from airbound_testing.ports import free_port
from airbound_testing.processes import Process
from airbound_testing.redis_servers import RedisCluster
from airbound_testing.small_disk import SmallDisk
from airbound_testing.wire import Wire

SHORT_S = 10.0  # life of a certificate that ends under way, unless connecting with it takes longer
REPLICAS = ("a", "b")


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a fault needs. `tls`: where the controllers' certificates come from."""

    store: Literal["redis", "cluster", "file"] = "redis"
    clock: bool = False
    tls: Literal["", "files", "authority"] = ""


class Certificates:
    """An authority, and the certificates of everybody in a site."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority(directory / "ca")
        self._directory = directory
        self._lives = dict[CertificateRole, datetime.timedelta]()
        self._secured: dict[tuple[CertificateRole, str], Secured] = {}

    def issued(self, role: CertificateRole, name: str) -> Secured:
        """What a client connects with; the same until `renew`."""
        name = name.replace(":", "-")
        if (role, name) not in self._secured:
            self._secured[role, name] = self.authority.client(role, name, self._life(role)).secured()
        return self._secured[role, name]

    def of_controller(self, name: str) -> dict[str, str]:
        """Options of the table [tls] for a controller whose certificate comes from files, which are written."""
        client = self.authority.client(CONTROLLER, name, self._life(CONTROLLER))
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}-key.pem"
        files.write(key, files.key_pem(client.key), 0o600)
        files.write(certificate, files.pem([client.certificate, self.authority.authority.certificate]))
        trusted = self.authority.directory.certificate
        return {"certificate": str(certificate), "key": str(key), "authorities": str(trusted), "enrollment": ""}

    def of_authority(self, name: str) -> dict[str, str]:
        """The same for a controller that signs its own certificate."""
        enrollment = f"127.0.0.1:{free_port()}"
        return {"directory": str(self.authority.directory.path), "name": name, "enrollment": enrollment}

    def renew(self, role: CertificateRole, life: datetime.timedelta = HOUR) -> None:
        """All of a role have other certificates from now on."""
        self._lives[role] = life
        for name in [name for its_role, name in self._secured if its_role == role]:
            del self._secured[role, name]
            self.issued(role, name)
        if role == CONTROLLER:
            for name in REPLICAS:
                self.of_controller(name)

    def _life(self, role: CertificateRole) -> datetime.timedelta:
        return self._lives.get(role, HOUR)


class Site:
    """Controllers that share a store, with a wire to it each where that is one server; a context manager."""

    def __init__(self, directory: Path, equipment: Equipment | None = None, slowness: int = 1) -> None:
        self.directory = directory
        self.slowness = slowness
        self.equipment = equipment or Equipment()
        self.controllers: list[Process] = []
        self.wires: list[Wire] = []
        self.fleet: Fleet
        self.redis: Process
        self.cluster: RedisCluster
        self.disk: SmallDisk
        self.certificates: Certificates
        self._clock = directory / "offset"
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.__aexit__(*error)  # type: ignore[arg-type]

    async def _start(self) -> None:
        equipment, stack = self.equipment, self._stack
        if equipment.tls:
            self.certificates = Certificates(self.directory)
        match equipment.store:
            case "redis":
                self.redis = await stack.enter_async_context(processes.redis(self.directory))
            case "cluster":
                self.cluster = RedisCluster(self.directory, "--cluster-require-full-coverage", "no")
                stack.callback(self.cluster.stop)
                await asyncio.to_thread(self.cluster.start)
            case "file":
                self.disk = stack.enter_context(SmallDisk(self.directory / "disk"))
        for name in REPLICAS if equipment.store != "file" else REPLICAS[:1]:
            self.controllers.append(await stack.enter_async_context(await self._controller(name)))
        fleet = Fleet(self.controllers, secured=self._secured, slowness=self.slowness)
        self.fleet = await stack.enter_async_context(fleet)

    def _secured(self, role: CertificateRole, name: str) -> Secured | None:
        return self.certificates.issued(role, name) if self.equipment.tls else None

    async def _controller(self, name: str) -> Process:
        equipment, store, folder = self.equipment, dict[str, str | bool](), self.directory
        match equipment.store:
            case "redis":
                wire = await self._stack.enter_async_context(Wire(self.redis.port))
                self.wires.append(wire)
                store = {"url": f"redis://{wire.target}"}
            case "cluster":
                store = {"url": self.cluster.url, "cluster": True}
            case "file":
                folder = self.disk.folder
                store = {"file": str(folder / "records.sqlite")}
        tls = dict[str, str]()
        if equipment.tls:
            certificates = self.certificates
            tls = (certificates.of_controller if equipment.tls == "files" else certificates.of_authority)(name)
        environment = self._faked_clock() if equipment.clock and name == REPLICAS[0] else {}
        return processes.controller(folder, name, store, tls=tls, environment=environment, slowness=self.slowness)

    def _faked_clock(self) -> dict[str, str]:
        """Have a process's time of day follow a file, by libfaketime. Its other clocks go on."""
        library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
        if library is None:
            raise RuntimeError("there is no libfaketime")
        self._clock.write_text("+0")
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    async def pass_time(self, seconds: float) -> None:
        """Let so many seconds pass at a site that is not slow, more at one that is: a fault outlasts what it is to."""
        await asyncio.sleep(seconds * self.slowness)

    async def shorten(self, role: CertificateRole) -> None:
        """Everybody of a role connects with a certificate that soon ends, and it has ended half a second ago."""
        life_s = SHORT_S
        while True:
            self.certificates.renew(role, datetime.timedelta(seconds=life_s))
            ends_s = self.certificates.authority.now_s() + life_s
            try:
                await self.fleet.connect_again(role, life_s)
                break
            except TimeoutError:
                life_s *= 2
        await asyncio.sleep(max(0.0, ends_s - self.certificates.authority.now_s()) + 0.5)

    async def step_clock(self) -> None:
        """The first replica's time of day jumps ahead by an hour."""
        self._clock.write_text("+3600")
