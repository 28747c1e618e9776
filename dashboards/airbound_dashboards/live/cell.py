# SPDX-License-Identifier: Apache-2.0
"""Agents of one cell: they report what a model of its medium gives, and apply what they are sent."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from airbound.core.addresses import mac_from_text
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_dashboards.live.medium import SEGMENT_BYTES, Medium, Sender
from airbound_testing.agents import FakeAccessPoint, FakePhone, Secured
from airbound_testing.live import QUEUE

STEP_S = 0.5
IP_BYTES, LINK_BYTES, ACK_IP_BYTES = SEGMENT_BYTES + 52, 34, 52
PHY_KBPS = 72_200
BUSY_OF_USED = 0.92
BETWEEN_ARRIVALS_S, SILENCE_MS = 5.0, 30
SERVER, FAR_SERVER = bytes([10, 0, 4, 1]), bytes([10, 0, 9, 9])


@dataclass(slots=True)
class Connection:
    """Where an agent connects to, and as whom."""

    target: str
    secured: Secured


@dataclass(slots=True)
class Phone:
    """A station; with an agent if it has a connection."""

    mac: str
    sender: Sender
    connection: Connection | None = None
    cycle_s: tuple[float, float] = (0.0, 0.0)  # sends for so long, and then pauses; 0: always as it began
    server: bytes = SERVER
    timed: bool = True  # whether the access point has an RTT sample of it, if it has no agent
    agent: FakePhone | None = None
    packets: float = 0.0
    airtime_us: float = 0.0


@dataclass(slots=True)
class Cell:
    """One access point and its phones."""

    bssid: str
    ssid: str
    frequency_mhz: int
    connection: Connection
    phones: Sequence[Phone]
    medium: Medium = field(default_factory=lambda: Medium(3e6, 1.2e6, random.Random(1)))  # noqa: S311  # a model
    now_s: float = 100.0
    busy_s: float = 0.0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Within this, the agents are connected and report.

        Raises:
            ExceptionGroup: an agent's stream broke, or a command was against the contract.
        """
        async with contextlib.AsyncExitStack() as stack:
            access_point = await stack.enter_async_context(
                FakeAccessPoint(self.connection.target, self.connection.secured)
            )
            for phone in self.phones:
                if phone.connection is not None:
                    agent = FakePhone(phone.connection.target, phone.mac, phone.connection.secured)
                    agent.takes_flows = True
                    phone.agent = await stack.enter_async_context(agent)
            async with asyncio.TaskGroup() as group:
                task = group.create_task(self._run(access_point))
                try:
                    yield
                finally:
                    task.cancel()

    async def _run(self, access_point: FakeAccessPoint) -> None:
        loop = asyncio.get_running_loop()
        before_s = loop.time()
        while True:
            await asyncio.sleep(STEP_S)
            now_s = loop.time()
            self._limit_windows(access_point)
            self._step(now_s - before_s)
            before_s = now_s
            await access_point.report(self._report(access_point))
            for phone in self.phones:
                if phone.agent is not None:
                    now_us = int(self.now_s * 1e6)
                    await phone.agent.report(
                        _destination(phone.sender), monotonic_us=now_us, arrivals=_arrivals(self.now_s)
                    )

    def _limit_windows(self, access_point: FakeAccessPoint) -> None:
        limits_bytes = {station: max_bytes for (station, _), max_bytes in access_point.limits.items()}
        for phone in self.phones:
            if phone.agent is None:
                max_bytes = limits_bytes.get(phone.mac)
                phone.sender.bounds = None if max_bytes is None else (1, max_bytes // SEGMENT_BYTES)

    def _step(self, seconds: float) -> None:
        self.now_s += seconds
        for phone in self.phones:
            sender = phone.sender
            if phone.agent is not None:
                sender.bounds = next(iter(phone.agent.bounds.values()), None)
            sending_s, pause_s = phone.cycle_s
            if sending_s:
                sender.sends = self.now_s % (sending_s + pause_s) < sending_s
        self.medium.step([phone.sender for phone in self.phones], seconds)
        total = sum(phone.sender.bytes_per_s for phone in self.phones)
        used = min(1.0, total / self.medium.capacity_bytes_per_s)
        self.busy_s += seconds * used * BUSY_OF_USED
        weights = sum(phone.sender.bytes_per_s * phone.sender.weight for phone in self.phones)
        for phone in self.phones:
            sender = phone.sender
            phone.packets += sender.bytes_per_s * seconds / SEGMENT_BYTES
            if weights:
                share = sender.bytes_per_s * sender.weight / weights
                phone.airtime_us += 1e6 * seconds * used * BUSY_OF_USED * share

    def _report(self, access_point: FakeAccessPoint) -> access_point_pb2.AccessPointReport:
        at_us = int(self.now_s * 1e6)
        message = access_point_pb2.AccessPointReport(
            bssid=mac_from_text(self.bssid),
            ssid=self.ssid.encode(),
            monotonic_us=at_us,
            agent_version="0.1.0",
            channel=access_point_pb2.Channel(center_frequency_mhz=self.frequency_mhz, width_mhz=20),
            stations=[_station(phone, self.now_s) for phone in self.phones],
            survey=access_point_pb2.ChannelSurvey(active_us=at_us, busy_us=int(self.busy_s * 1e6)),
            edca=access_point_pb2.EdcaState(
                can_set=True, generation=access_point.generation, own=[QUEUE], stations=[QUEUE], wmm=True
            ),
            windows=access_point_pb2.WindowState(
                can_set=True, generation=access_point.windows_generation, connections_max=4096, limits_max=256
            ),
        )
        return message  # noqa: RET504  # the name says what it is


def _station(phone: Phone, now_s: float) -> access_point_pb2.Station:
    packets = int(phone.packets)
    return access_point_pb2.Station(
        mac=mac_from_text(phone.mac),
        signal_dbm=-48 - round(8 * phone.sender.weight),
        rx_packets=packets,
        rx_bytes=packets * (IP_BYTES + LINK_BYTES),
        tx_packets=packets // 2,
        tx_bytes=packets // 2 * (ACK_IP_BYTES + LINK_BYTES),
        tx_retries=packets // 20,
        rx_bitrate_kbps=round(PHY_KBPS / phone.sender.weight),
        tx_bitrate_kbps=round(PHY_KBPS / phone.sender.weight),
        rx_airtime_us=int(phone.airtime_us * 0.9),
        tx_airtime_us=int(phone.airtime_us * 0.1),
        airtime_source=access_point_pb2.AIRTIME_SOURCE_MEASURED,
        connected_time_ms=int(now_s * 1000),
        destinations=[] if phone.agent is not None else [_station_destination(phone)],
    )


def _station_destination(phone: Phone) -> access_point_pb2.StationDestination:
    """As the access point sees a station's connection."""
    sender = phone.sender
    return access_point_pb2.StationDestination(
        address=phone.server,
        connections=1,
        connections_sending=int(sender.sends),
        srtt_us=int(1e6 * (sender.rtt_s or sender.base_rtt_s)) * phone.timed,
        min_rtt_us=int(1e6 * sender.base_rtt_s) * phone.timed,
        mss_bytes=SEGMENT_BYTES,
        sent_bytes=int(sender.delivered_bytes),
    )


def _arrivals(now_s: float) -> terminal_pb2.Arrivals | None:
    """A phone arrives again and again, at the access point that it was at."""
    times = int(now_s / BETWEEN_ARRIVALS_S)
    if not times:
        return None
    return terminal_pb2.Arrivals(
        arrivals_total=times,
        waiting_connections_total=times,
        retransmissions_total=times,
        last_source=terminal_pb2.ARRIVAL_SOURCE_NL80211,
        last_age_ms=int(1e3 * (now_s % BETWEEN_ARRIVALS_S)),
        back_end=terminal_pb2.RETRANSMISSION_REQUESTS,
        answered_total=times,
        silence_ms_total=times * SILENCE_MS,
        last_silence_ms=SILENCE_MS,
        silent_downloads_total=times,
        resumed_downloads_total=times,
        server_messages_total=6 * times,
    )


LIVE_UID = 10_073


def _destination(sender: Sender) -> terminal_pb2.Destination:
    return terminal_pb2.Destination(
        address=SERVER,
        connections=1,
        connections_sending=int(sender.sends),
        srtt_us=int(1e6 * (sender.rtt_s or sender.base_rtt_s)),
        min_rtt_us=int(1e6 * sender.base_rtt_s),
        cwnd_segs=int(sender.cwnd_segs),
        mss_bytes=SEGMENT_BYTES,
        delivered_bytes=int(sender.delivered_bytes),
        classes=[
            terminal_pb2.ClassPart(
                application_class=terminal_pb2.APPLICATION_CLASS_LIVE,
                connections=1,
                connections_sending=int(sender.sends),
                delivered_bytes=int(sender.delivered_bytes / 4),
                uids=[LIVE_UID],
            )
        ],
        queued_bytes=int(sender.cwnd_segs * 2 * SEGMENT_BYTES) if sender.sends else 0,
        events=terminal_pb2.EventCounts(
            duplicate_ack=3 * sender.losses, sack=2 * sender.losses, fast_retransmit=sender.losses
        ),
    )
