# SPDX-License-Identifier: Apache-2.0
"""An access point with a certificate. It reports the phone of machine.py, which sends, and a station without an agent,
which sends for some seconds and stops for as long: something to see for who watches.

Usage: access_point.py TOKEN [CONTROLLER ENROLMENT]
"""

import asyncio
import datetime
import sys
import tempfile
import time
from pathlib import Path

import grpc

from airbound.core.addresses import address_from_text, mac_from_text
from airbound.operator.login import by_token
from airbound.operator.tls_files import TlsFiles
from airbound.v1 import access_point_pb2
from airbound_testing.agents import FakeAccessPoint, Secured

CONTROLLER, ENROLLMENT = "controller.example:50051", "controller.example:50053"
BSSID = "02:00:00:00:00:01"
STATIONS = {"02:00:00:00:01:00": "192.0.2.7", "02:00:00:00:01:05": "192.0.2.9"}
EVERY_S = 1.0
ENROLLED_WITHIN_S = 60.0
BYTES_PER_MS = 1_534
SENDS_MS = 6_000


async def report(controller: str, secured: Secured) -> None:
    """Every second, until it is ended."""
    async with FakeAccessPoint(controller, secured) as access_point:
        while True:
            ms = time.monotonic_ns() // 1_000_000
            now_and_then_ms = ms // (2 * SENDS_MS) * SENDS_MS + min(ms % (2 * SENDS_MS), SENDS_MS)
            stations = [
                access_point_pb2.Station(
                    mac=mac_from_text(mac),
                    ip_addresses=[address_from_text(address)],
                    rx_packets=sent_ms,
                    rx_bytes=BYTES_PER_MS * sent_ms,
                    connected_time_ms=ms,
                )
                for (mac, address), sent_ms in zip(STATIONS.items(), (ms, now_and_then_ms), strict=True)
            ]
            await access_point.report(
                access_point_pb2.AccessPointReport(
                    bssid=mac_from_text(BSSID), ssid=b"documents", monotonic_us=ms * 1000, stations=stations
                )
            )
            await asyncio.sleep(EVERY_S)


def main(token: str, controller: str = CONTROLLER, enrolment: str = ENROLLMENT) -> None:
    """Connect as an agent does."""
    with tempfile.TemporaryDirectory() as directory:
        files = TlsFiles(Path(directory) / "access-point")
        by_token(files, token, enrolment, ENROLLED_WITHIN_S, force=False)
        identity = files.load(datetime.datetime.now(datetime.UTC))
    credentials = grpc.ssl_channel_credentials(identity.authorities_pem, identity.key_pem, identity.certificate_pem)
    asyncio.run(report(controller, Secured(credentials, identity.server_name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
