# SPDX-License-Identifier: Apache-2.0
"""A real server on the loopback interface with an access point and phones, for tests. Only the controller's clock is
the test's: it stands still unless a test moves it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from airbound.config import Limits
from airbound.core.addresses import Address, mac_from_text
from airbound.core.engine import Engine
from airbound.core.overrides import CellOverride
from airbound.core.parameters import Mode, Parameters, SafetyParameters
from airbound.core.principals import Role
from airbound.grpc import server
from airbound.grpc.operations_service import OperationsService
from airbound.replica.choices import KeptChoices
from airbound.replica.node import Node
from airbound.replica.operations import ReplicatedOperations
from airbound.replica.replicas_service import ReplicasService
from airbound.runtime.history import History
from airbound.runtime.in_force import InForce
from airbound.runtime.runner import Runner, monotonic_us
from airbound.store.types import Store
from airbound.v1 import access_point_pb2, operations_pb2, operations_pb2_grpc, replicas_pb2_grpc, terminal_pb2
from airbound_testing.agents import WAIT_S, FakeAccessPoint, FakePhone, Secured, channel

if TYPE_CHECKING:
    from airbound.grpc.checks import Checks
    from airbound.grpc.security import Security

LOOPBACK = "127.0.0.1:0"
BSSID = "02:00:00:00:00:01"
SERVER = "10.0.4.1/32"
MACS = [f"02:00:00:00:01:{number:02x}" for number in range(4)]
IP_BYTES, ACK_IP_BYTES, LINK_BYTES = 1500, 52, 34
QUEUE = access_point_pb2.Edca(category=access_point_pb2.ACCESS_CATEGORY_BEST_EFFORT, aifsn=2, cw_min=15, cw_max=1023)
PACKETS_PER_S = 200
# With a store the clock is the machine's, on which nothing is to end because a busy machine is late. The agents here
# have no clock: leases are as usual, for tests that wait for a renewal.
PATIENT = Parameters(
    policy="paper",
    safety=SafetyParameters(cell_stale_ms=600_000, terminal_stale_ms=600_000, sending_keep_ms=600_000),
)


class LiveController:
    """A controller, and an access point whose clock moves a second with each report; a context manager."""

    def __init__(
        self,
        parameters: Parameters | None = None,
        *,
        mode: Mode = "control",
        exempt: Sequence[str] = (),
        listen: str = LOOPBACK,
        operators: Sequence[str] = (LOOPBACK,),
        streams_max: int = 100,
        streams_per_address_max: int = 0,
        streams_per_name_max: int = 0,
        reports_per_s: float = 1000.0,
        limits: Limits | None = None,
        overrides: Sequence[CellOverride] = (),
        in_force: InForce | None = None,
        replica: str = "",
        store: Store | None = None,
        security: "Security | None" = None,
        secured: Callable[[Role, str], Secured] | None = None,  # what an agent of that role and name connects with
        history: History | None = None,
    ) -> None:
        self.now_us = 1_000_000_000
        self.runner = Runner(
            Engine(parameters or Parameters(policy="paper"), mode, exempt, overrides, replicas=store is not None),
            streams_max=streams_max,
            streams_per_address_max=streams_per_address_max,
            streams_per_name_max=streams_per_name_max or ((limits or Limits()).streams_per_name_max if security else 0),
            clock_us=(lambda: self.now_us) if store is None else monotonic_us,  # leases are the store's as well
            history=history,
        )
        self._store = store
        self.node = None if store is None else Node(replica, self.runner, store)
        self.target = listen
        self.access_point: FakeAccessPoint
        self.checks: Checks | None = None  # to be set before the controller starts, if there are to be any
        self.sets_edca = False  # whether the access point can
        self.seen: dict[str, list[access_point_pb2.StationDestination]] | None = None  # none: it does not look
        self.addresses: dict[str, Sequence[Address]] = {}  # what the access point reports of a station's IP addresses
        self._security, self._secured = security, secured
        self._operators = operators
        self._limits = replace(limits or Limits(), reports_per_s=reports_per_s)
        self._in_force = in_force
        self._packets: dict[str, int] = {}
        self._second = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        operations, replicas = OperationsService(self.runner, in_force=self._in_force), None
        if self.node is not None and self._store is not None:
            settings = self.runner.engine.settings
            choices = KeptChoices(self.runner, self._store, settings.mode, settings.exempt, self.node.choices_changed)
            self.node.choices = choices
            await self.node.start()
            await choices.read()
            operations = ReplicatedOperations(self.runner, self.node, choices=choices)
            replicas = ReplicasService(self.node)
            if self._security is not None:
                self.node.share(self._security.revocations)
        self.running = await server.start(
            self.runner,
            operations,
            self.target,
            self._operators,
            self._limits,
            security=self._security,
            reception=self.node,
            replicas=replicas,
            checks=self.checks,
        )
        self._stack.push_async_callback(self.running.stop)
        if self.node is not None:
            self._stack.push_async_callback(self.node.stop)  # before the server, as the daemon does
        self.target = f"{self.target.rpartition(':')[0]}:{self.running.port}"
        self.access_point = await self._stack.enter_async_context(
            FakeAccessPoint(self.target, self._as("access-point", "ap"))
        )
        return self

    def _as(self, role: Role, name: str) -> Secured | None:
        return self._secured(role, name) if self._secured else None

    async def __aexit__(self, *error: object) -> None:
        await self._stack.__aexit__(*error)  # type: ignore[arg-type]

    @property
    def operators(self) -> str:
        """Where operators connect to."""
        endpoint = self._operators[0]
        if endpoint.startswith("unix:"):
            return endpoint
        return f"{endpoint.rpartition(':')[0]}:{self.running.operator_ports[0]}"

    def ask(self) -> Any:
        """A stub of the operators' service."""
        return operations_pb2_grpc.OperationsServiceStub(self.channel_of_operator())

    def channel_of_operator(self) -> Any:
        """A connection to where operators connect to; closed with the controller."""
        made = channel(self.operators, self._as("operator", "operator"))
        self._stack.push_async_callback(made.close)
        return made

    def ask_replicas(self) -> Any:
        """A stub of the service that shows replicas."""
        return replicas_pb2_grpc.ReplicasServiceStub(self.channel_of_operator())

    async def phone(self, number: int) -> FakePhone:
        """Another phone; each call is another stream, also of the same number."""
        phone = FakePhone(self.target, MACS[number], self._as("terminal", f"phone{number}"))
        return await self._stack.enter_async_context(phone)

    async def report(self, *sending: str, idle: tuple[str, ...] = ()) -> None:
        """The access point's report a second later, in which these stations have sent."""
        self._second += 1
        for mac in sending:
            self._packets[mac] = self._packets.get(mac, 0) + PACKETS_PER_S
        stations = [
            access_point_pb2.Station(
                mac=mac_from_text(mac),
                rx_packets=self._packets.get(mac, 0),
                rx_bytes=self._packets.get(mac, 0) * (IP_BYTES + LINK_BYTES),
                tx_packets=self._packets.get(mac, 0) // 2,
                tx_bytes=self._packets.get(mac, 0) // 2 * (ACK_IP_BYTES + LINK_BYTES),
                connected_time_ms=self._second * 1000,
                ip_addresses=self.addresses.get(mac, ()),
                destinations=(self.seen or {}).get(mac, ()),
            )
            for mac in (*sending, *idle)
        ]
        active_us = self._second * 1_000_000
        message = access_point_pb2.AccessPointReport(
            bssid=mac_from_text(BSSID),
            ssid=b"live",
            monotonic_us=active_us,
            stations=stations,
            survey=access_point_pb2.ChannelSurvey(active_us=active_us, busy_us=active_us * 9 // 10),
        )
        if self.sets_edca:
            generation = self.access_point.generation
            message.edca.CopyFrom(
                access_point_pb2.EdcaState(can_set=True, generation=generation, own=[QUEUE], stations=[QUEUE])
            )
        if self.seen is not None:
            generation = self.access_point.windows_generation
            message.windows.CopyFrom(
                access_point_pb2.WindowState(can_set=True, generation=generation, connections_max=4096, limits_max=1024)
            )
        await self.access_point.report(message)

    async def senders(self, count: int) -> None:
        """The access point reports twice that so many stations send, and the controller has counted them."""
        await self.report(*MACS[:count])
        await self.report(*MACS[:count])

        async def counted() -> bool:
            return [cell.stations.active_senders for cell in self.runner.engine.cells.values()] == [count]

        await self.until(counted)  # streams are not handled in the order in which they were written to

    async def uploading(self, count: int) -> list[FakePhone]:
        """So many phones that send and have bounds."""
        await self.senders(count)
        phones = [await self.phone(number) for number in range(count)]
        for phone in phones:
            await phone.report(upload(), monotonic_us=1)
        for phone in phones:
            await phone.until(lambda phone=phone: phone.bounds != {})  # type: ignore[misc]
        return phones

    async def terminals(self) -> list[operations_pb2.Terminal]:
        """Every terminal as operators see it."""
        pages = self.ask().ListTerminals(operations_pb2.ListTerminalsRequest())
        return [terminal async for page in pages for terminal in page.terminals]

    async def cells(self) -> list[operations_pb2.Cell]:
        """Every cell as operators see it."""
        pages = self.ask().ListCells(operations_pb2.ListCellsRequest())
        return [cell async for page in pages for cell in page.cells]

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something is so that no phone is sent.

        Raises:
            TimeoutError: it is not so in time.
        """
        async with asyncio.timeout(WAIT_S):
            while not await condition():  # noqa: ASYNC110  # it is the controller that is asked
                await asyncio.sleep(0.01)


def seen_upload(srtt_us: int = 300_000, min_rtt_us: int = 256_500) -> access_point_pb2.StationDestination:
    """What an access point sees of a station that sends to the server."""
    return access_point_pb2.StationDestination(
        address=bytes([10, 0, 4, 1]),
        connections=1,
        connections_sending=1,
        srtt_us=srtt_us,
        min_rtt_us=min_rtt_us,
        mss_bytes=1448,
        sent_bytes=1_000_000,
    )


def upload(
    srtt_us: int = 300_000, min_rtt_us: int = 256_500, address: bytes = bytes([10, 0, 4, 1])
) -> terminal_pb2.Destination:
    """A destination that is sent to."""
    return terminal_pb2.Destination(
        address=address,
        connections=1,
        connections_sending=1,
        srtt_us=srtt_us,
        min_rtt_us=min_rtt_us,
        mss_bytes=1448,
    )
