# SPDX-License-Identifier: Apache-2.0
"""What faults happen to: controllers and their store, access points and phones. Each has a process or a connection of
its own; with TLS, certificates are real and live as long as a fault needs.
"""

import asyncio
import datetime
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from airbound.pki import files
from airbound.pki.identities import CONTROLLER, CertificateRole
from airbound.testing import processes
from airbound.testing.agents import Secured
from airbound.testing.faults import Fleet
from airbound.testing.pki import HOUR
from airbound.testing.pki import Site as Authority
from airbound.testing.ports import free_port
from airbound.testing.processes import Process
from airbound.testing.redis_servers import RedisCluster
from airbound.testing.small_disk import SmallDisk
from airbound.testing.wire import Wire

SHORT_S = 30.0  # life of a certificate that ends under way; the site has settled by then
REPLICAS = ("a", "b")


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a fault needs. `tls`: where the controllers' certificates come from. `short`: whose live for `SHORT_S`."""

    store: Literal["redis", "cluster", "file"] = "redis"
    clock: bool = False
    tls: Literal["", "files", "authority"] = ""
    short: CertificateRole | None = None


class Certificates:
    """An authority, and the certificates of everybody in a site."""

    def __init__(self, directory: Path, short: CertificateRole | None) -> None:
        self.authority = Authority(directory / "ca")
        self._directory = directory
        self._short = short
        self._secured: dict[tuple[CertificateRole, str], Secured] = {}
        self.ends_s = 0.0  # the last of the short ones, seconds since 1970

    def of(self, role: CertificateRole, name: str) -> Secured:
        """What a client connects with; the same until `renew`."""
        name = name.replace(":", "-")
        if (role, name) not in self._secured:
            client = self.authority.client(role, name, self._life(role))
            self._note(role, client.certificate.not_valid_after_utc)
            self._secured[role, name] = client.secured()
        return self._secured[role, name]

    def of_controller(self, name: str) -> dict[str, str]:
        """Options of the table [tls] for a controller whose certificate comes from files, which are written."""
        client = self.authority.client(CONTROLLER, name, self._life(CONTROLLER))
        self._note(CONTROLLER, client.certificate.not_valid_after_utc)
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}-key.pem"
        files.write(key, files.key_pem(client.key), 0o600)
        files.write(certificate, files.pem([client.certificate, self.authority.authority.certificate]))
        trusted = self.authority.directory.certificate
        return {"certificate": str(certificate), "key": str(key), "authorities": str(trusted), "enrollment": ""}

    def of_authority(self, name: str) -> dict[str, str]:
        """The same for a controller that signs its own certificate."""
        enrollment = f"127.0.0.1:{free_port()}"
        return {"directory": str(self.authority.directory.path), "name": name, "enrollment": enrollment}

    async def until_ended(self) -> None:
        """Wait until the short ones have ended, and their streams with them."""
        await asyncio.sleep(max(0.0, self.ends_s - self.authority.now_s() + 0.5))

    def renew(self) -> None:
        """Whose certificates were short gets others that live for an hour."""
        short, self._short = self._short, None
        self._secured = {of: secured for of, secured in self._secured.items() if of[0] != short}
        if short == CONTROLLER:
            for name in REPLICAS:
                self.of_controller(name)

    def _life(self, role: CertificateRole) -> datetime.timedelta:
        return datetime.timedelta(seconds=SHORT_S) if role == self._short else HOUR

    def _note(self, role: CertificateRole, ends: datetime.datetime) -> None:
        if role == self._short:
            self.ends_s = max(self.ends_s, ends.timestamp())


class Site:
    """Controllers that share a store, with a wire to it each where that is one server; a context manager."""

    def __init__(self, directory: Path, equipment: Equipment | None = None) -> None:
        self.directory = directory
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
            self.certificates = Certificates(self.directory, equipment.short)
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
        self.fleet = await stack.enter_async_context(Fleet(self.controllers, secured=self._secured))

    def _secured(self, role: CertificateRole, name: str) -> Secured | None:
        return self.certificates.of(role, name) if self.equipment.tls else None

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
        return processes.controller(folder, name, store, tls=tls, environment=environment)

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

    async def step_clock(self) -> None:
        """The first replica's time of day jumps ahead by an hour."""
        self._clock.write_text("+3600")
