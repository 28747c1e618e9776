# SPDX-License-Identifier: Apache-2.0
"""Two cells at two controllers that share a Redis, with mutual TLS, scraped by a Prometheus that has our rules.

`controlled`: five phones, of which one is exempt, one begins and stops again and again, and one sends nothing; and two
stations without an agent, of which the access point limits one; an operator switches it to observe for a while.
`watched`: four phones under `mode = "observe"`. And a terminal whose reports are refused.

Prometheus has samples of the hours before as well: of `controlled` yesterday, without bounds, and of `compared`, a cell
that is there no more, both hours that the dashboards compare.
"""

import asyncio
import contextlib
import random
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from airbound.pki import files
from airbound.pki.authority import new_key
from airbound.pki.enrollment import Enrollment, Lifetimes
from airbound.pki.identities import CertificateRole, Identity, server_name
from airbound.pki.revocation import Revocations
from airbound.store.factory import open_store
from airbound.store.options import StoreOptions
from airbound.v1 import operations_pb2, operations_pb2_grpc
from airbound_dashboards.api import Prometheus
from airbound_dashboards.live.cell import FAR_SERVER, Cell, Connection, Phone
from airbound_dashboards.live.history import DAY_S, Past, Stretch
from airbound_dashboards.live.medium import Medium, Sender
from airbound_dashboards.live.prometheus import prometheus
from airbound_testing import processes
from airbound_testing.agents import FakePhone, Secured, channel
from airbound_testing.pki import Site as Authority
from airbound_testing.pki import request
from airbound_testing.ports import free_port
from airbound_testing.processes import Process

CONTROLLED, WATCHED, COMPARED = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"
CYCLE_S = (8.0, 8.0)
WRONG_EVERY_S = 8.0


SCRAPES_LEAST = 3  # of a mode, before the next


class Observed(NamedTuple):
    """When `controlled` is switched to observe, after the start, and for how long: at least, since Prometheus has to
    see each mode.
    """

    after_s: float = 6.0
    for_s: float = 12.0


OBSERVED = Observed()


@dataclass(frozen=True, slots=True)
class Running:
    """What runs."""

    prometheus: str  # URL
    controllers: tuple[Process, ...]
    cells: tuple[Cell, ...]


@contextlib.asynccontextmanager
async def site(
    directory: Path, rules: Sequence[Path], cycle_s: tuple[float, float] = CYCLE_S, observed: Observed = OBSERVED
) -> AsyncIterator[Running]:
    """All of it, within this.

    Raises:
        RuntimeError: a program did not start.
    """
    authority = Authority(directory / "ca")
    async with contextlib.AsyncExitStack() as stack:
        redis = await stack.enter_async_context(processes.redis(directory))
        enrolling = _Enrolling(authority, f"redis://{redis.target}")
        async with enrolling.open():
            names = [f"phone-{number}" for number in range(1, 10)]
            erratic = await enrolling.client("terminal", "phone-10")
            phones = {name: await enrolling.client("terminal", name) for name in names}
            access_points = [await enrolling.client("access-point", name) for name in ("ap-hall", "ap-office")]
            operator = await enrolling.client("operator", "operator")
        controllers = [_controller(directory, name, redis.target) for name in ("a", "b")]
        metrics = []
        for process in controllers:
            stack.push_async_exit(process)
            metrics.append(f"127.0.0.1:{process.metrics}")
        await asyncio.gather(*(process.start() for process in controllers))
        at = [process.target for process in controllers]
        connections = [Connection(at[number % 2], phones[name]) for number, name in enumerate(names)]
        controlled, watched = _controlled(connections[:5], cycle_s), _watched(connections[5:])
        cells = (
            Cell(CONTROLLED, "controlled", 2437, Connection(at[0], access_points[0]), controlled),
            Cell(WATCHED, "watched", 5180, Connection(at[1], access_points[1]), watched,
                 Medium(4e6, 2e6, random.Random(2))),  # noqa: S311  # a model
        )  # fmt: skip
        for cell in cells:
            await stack.enter_async_context(cell.running())
        running = await stack.enter_async_context(prometheus(directory, metrics, rules, pasts=_pasts(time.time())))
        await stack.enter_async_context(
            _observing(Connection(controllers[0].operators, operator), observed, f"http://{running.target}")
        )
        await stack.enter_async_context(_sending_wrong(Connection(at[0], erratic)))
        yield Running(f"http://{running.target}", tuple(controllers), cells)


@contextlib.asynccontextmanager
async def _sending_wrong(connection: Connection) -> AsyncIterator[None]:
    """Within this, a terminal's reports are out of order, until the controller ends its stream; and again."""

    async def run() -> None:
        while True:
            async with FakePhone(connection.target, "02:00:00:00:09:01", connection.secured) as phone:
                for number in range(20):
                    phone.sequence = 100 - number
                    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                        await phone.report(monotonic_us=1_000_000)
                await phone.ended.wait()
            await asyncio.sleep(WRONG_EVERY_S)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run())
        try:
            yield
        finally:
            task.cancel()


@contextlib.asynccontextmanager
async def _observing(operator: Connection, observed: Observed, prometheus_url: str) -> AsyncIterator[None]:
    """Within this, an operator switches `controlled` to observe for a while, once."""
    server = Prometheus(prometheus_url)

    async def scraped(mode: str) -> None:
        info = f'airbound_cell_control_info{{bssid="{CONTROLLED}", mode="{mode}"}}'
        seen = f"count_over_time({info}[10m]) >= {SCRAPES_LEAST}"
        while not await asyncio.to_thread(server.instant, seen, time.time()):  # noqa: ASYNC110  # Prometheus is asked
            await asyncio.sleep(0.25)

    async def run() -> None:
        async with channel(operator.target, operator.secured) as opened:
            stub: Any = operations_pb2_grpc.OperationsServiceStub(opened)
            await asyncio.sleep(observed.after_s)
            await scraped("control")
            await stub.SetMode(operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE, bssid=CONTROLLED))
            await asyncio.sleep(observed.for_s)
            await scraped("observe")
            await stub.SetMode(operations_pb2.SetModeRequest(bssid=CONTROLLED, configured=True))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run())
        try:
            yield
        finally:
            task.cancel()


def _pasts(now_s: float) -> list[Past]:
    """Of `compared` the hours have in common two senders and four; the means of all their samples differ otherwise."""
    before = [Stretch(1, 2 + number % 6, 9e5, 0.3, "observe") for number in range(480)]
    today = [Stretch(30, 2, 4e6, 0.02, "control"), Stretch(60, 4, 3e6, 0.04, "control")]
    today += [Stretch(30, 9, 1e6, 0.5, "control")]
    yesterday = [Stretch(10, 2, 2e6, 0.1, "observe"), Stretch(50, 4, 2e6, 0.2, "observe")]
    yesterday += [Stretch(20, 5, 9e6, 0.01, "control")]
    return [
        Past(CONTROLLED, now_s - DAY_S - 3600, before),
        Past(COMPARED, now_s - 2400, today),
        Past(COMPARED, now_s - DAY_S - 2400, yesterday),
    ]


def _controlled(connections: Sequence[Connection], cycle_s: tuple[float, float]) -> list[Phone]:
    macs = [f"02:00:00:00:01:{number:02x}" for number in range(7)]
    return [
        Phone(macs[0], Sender(0.020), connections[0]),
        Phone(macs[1], Sender(0.035, weight=1.5), connections[1]),
        Phone(macs[2], Sender(0.050, weight=2.0), connections[2], cycle_s),
        Phone(macs[3], Sender(0.025, limit_segs=24), connections[3]),  # phone-4 is exempt: see _controller
        Phone(macs[4], Sender(0.030, sends=False), connections[4]),
        Phone(macs[5], Sender(0.040, limit_segs=12)),  # without an agent
        Phone(macs[6], Sender(0.040, limit_segs=6), server=FAR_SERVER, timed=False),  # nothing limits it
    ]


def _watched(connections: Sequence[Connection]) -> list[Phone]:
    bases_s = (0.015, 0.020, 0.030, 0.045)
    return [
        Phone(f"02:00:00:00:02:{number:02x}", Sender(base_s, weight=1.0 + 0.4 * number), connection)
        for number, (base_s, connection) in enumerate(zip(bases_s, connections, strict=True))
    ]


def _controller(directory: Path, name: str, redis: str) -> Process:
    """A controller."""
    port, operators, metrics = free_port(), free_port(), free_port()
    config = directory / f"{name}.toml"
    config.write_text(
        f'listen = "127.0.0.1:{port}"\noperators = ["127.0.0.1:{operators}"]\nlog = "json"\nexempt = ["phone-4"]\n'
        f'[identity]\nmatch_addresses = false\n[metrics]\nlisten = "127.0.0.1:{metrics}"\n'
        f'[store]\nurl = "redis://{redis}"\n'
        f'[tls]\ndirectory = "{directory / "ca"}"\nenrollment = ""\nname = "controller-{name}"\n'
        f'[[cell]]\nbssid = "{WATCHED}"\nmode = "observe"\n',
        encoding="utf-8",
    )
    argv = [sys.executable, "-m", "airbound", "controller", "--config", str(config)]
    process = Process(argv, port, directory / f"{name}.log")
    process.operators, process.metrics = f"127.0.0.1:{operators}", metrics
    return process


class _Enrolling:
    """Gives agents certificates that the controllers know of, as `airbound enroll` and an agent do."""

    def __init__(self, authority: Authority, store_url: str) -> None:
        self._authority = authority
        self._store = open_store(StoreOptions(url=store_url))
        revocations = Revocations(self._store, authority.now_s, _fail)
        self._enrollment = Enrollment(
            self._store,
            authority=lambda: authority.authority,
            revocations=revocations,
            lifetimes=Lifetimes(),
            now_s=authority.now_s,
            report=_fail,
        )

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Within this, clients are made."""
        await self._store.start("enrolling", lambda _: None, lambda: None)
        try:
            yield
        finally:
            await self._store.close()

    async def client(self, role: CertificateRole, name: str) -> Secured:
        """What a new client connects with."""
        token = await self._enrollment.new_token(Identity(role, name), 1, 60)
        key = new_key()
        got = await self._enrollment.enroll(token.token.text(), request(key, hashes.SHA256()))
        chain = files.pem([self._authority.authority.certificate])
        certificate = files.pem([x509.load_der_x509_certificate(got.certificate)])
        credentials = grpc.ssl_channel_credentials(chain, files.key_pem(key), certificate)
        return Secured(credentials, server_name(self._authority.authority.trust_domain))


def _fail(text: str) -> None:
    raise RuntimeError(text)
