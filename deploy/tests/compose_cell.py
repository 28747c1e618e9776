# SPDX-License-Identifier: Apache-2.0
"""For scripts/compose-test.sh: an access point and phones that send, until they are ended by a signal.

Usage: compose_cell.py AGENTS ENROLLMENT DIR NAME=TOKEN... The first name is that of the access point, the others are
phones. Who has a certificate in DIR needs no token (NAME=). Each connects with mutual TLS, reports every second, and
connects again when its stream ends, as an agent does. One line each second:

    streams=3 opened=3 bounds=10.0.4.1/32:170..340 renewed_s=0 released=0

streams: how many are open; opened: how many were, altogether; bounds: those that all phones have in force, `none` or
`different`; renewed_s: the longest time since a phone was sent bounds or the renewal of their lease; released: how
often a phone was sent an empty set.
"""

import asyncio
import contextlib
import datetime
import sys
import time
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from airbound.core.addresses import address_from_text, mac_from_text
from airbound.operator.login import by_token
from airbound.operator.tls_files import TlsFiles
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing.agents import Agent, FakeAccessPoint, FakePhone, Secured

BSSID = "02:00:00:00:00:01"
DESTINATION = "10.0.4.1"
REPORT_EVERY_S = 1.0
TIMEOUT_S = 20.0


def mac_of(number: int) -> str:
    """Of a phone."""
    return f"02:00:00:00:01:{number:02x}"


def enrolled(folder: Path, enrollment: str, name: str, token: str) -> Secured:
    """The certificate in the folder of that name, or a new one."""
    to = TlsFiles(folder / name)
    if token:
        by_token(to, token, enrollment, TIMEOUT_S, force=False)
    identity = to.load(datetime.datetime.now(datetime.UTC))
    credentials = grpc.ssl_channel_credentials(identity.authorities_pem, identity.key_pem, identity.certificate_pem)
    return Secured(credentials, identity.server_name)


class Cell:
    """The agents and what they have in force."""

    def __init__(self, endpoint: str, secured: list[Secured]) -> None:
        self.endpoint = endpoint
        self.began_s = time.monotonic()
        self.access_point = FakeAccessPoint(endpoint, secured[0])
        self.phones = [
            FakePhone(endpoint, mac_of(number), credentials) for number, credentials in enumerate(secured[1:])
        ]
        self.opened = 0
        self.open: set[Agent] = set()
        self._commands = dict.fromkeys(self.phones, (0, self.began_s))

    async def run(self) -> None:
        """Be that cell."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep(self.access_point, self._report_cell))
            for phone in self.phones:
                tasks.create_task(self._keep(phone, lambda phone=phone: self._report_phone(phone)))
            while True:
                await asyncio.sleep(REPORT_EVERY_S)
                sys.stdout.write(f"{self._line()}\n")
                sys.stdout.flush()

    async def _keep(self, agent: Agent, report: Any) -> None:
        """A stream, and another one after it."""
        async with agent:
            while True:
                self.opened += 1
                self.open.add(agent)
                while not agent.ended.is_set():
                    try:
                        await report()
                    except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                        break
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(agent.ended.wait(), REPORT_EVERY_S)
                self.open.discard(agent)
                sys.stderr.write(f"a stream ended: {agent.error and agent.error.details()}\n")
                await asyncio.sleep(REPORT_EVERY_S)
                await agent.connect_again(self.endpoint)

    def _now_ms(self) -> int:
        return int((time.monotonic() - self.began_s) * 1000) + 1000

    async def _report_cell(self) -> None:
        ms = self._now_ms()
        stations = [
            access_point_pb2.Station(mac=phone.mac, rx_packets=ms, rx_bytes=1_534 * ms, connected_time_ms=9000 + ms)
            for phone in self.phones
        ]
        await self.access_point.report(
            access_point_pb2.AccessPointReport(
                bssid=mac_from_text(BSSID), ssid=b"compose", monotonic_us=ms * 1000, stations=stations
            )
        )

    async def _report_phone(self, phone: FakePhone) -> None:
        upload = terminal_pb2.Destination(
            address=address_from_text(DESTINATION),
            connections_sending=1,
            srtt_us=300_000,
            min_rtt_us=256_500,
            mss_bytes=1448,
        )
        await phone.report(upload, monotonic_us=self._now_ms() * 1000)

    def _line(self) -> str:
        now_s = time.monotonic()
        for phone in self.phones:
            received = phone.sets + phone.renewals
            if received != self._commands[phone][0]:
                self._commands[phone] = (received, now_s)
        renewed_s = max(now_s - at_s for _, at_s in self._commands.values())
        sets = {tuple(sorted(phone.bounds.items())) for phone in self.phones}
        bounds = (
            "different"
            if len(sets) > 1
            else (",".join(f"{to}:{low}..{high}" for to, (low, high) in sets.pop()) or "none")
        )
        released = sum(phone.releases for phone in self.phones)
        return (
            f"streams={len(self.open)} opened={self.opened} bounds={bounds} renewed_s={renewed_s:.0f}"
            f" released={released}"
        )


async def run(endpoint: str, secured: list[Secured]) -> None:
    """Within the event loop, to which channels belong from their beginning."""
    await Cell(endpoint, secured).run()


def main(arguments: list[str]) -> None:
    """Enrol who has a token, then run."""
    endpoint, enrollment, folder, *names = arguments
    pairs = [name.partition("=") for name in names]
    secured = [enrolled(Path(folder), enrollment, name, token) for name, _, token in pairs]
    sys.stdout.write("enrolled\n")
    asyncio.run(run(endpoint, secured))


if __name__ == "__main__":
    main(sys.argv[1:])
