# SPDX-License-Identifier: Apache-2.0
"""For scripts/compose-test.sh: an access point and a phone that sends, until the controller stops.

Usage: compose_cell.py ADDR:PORT. Prints `bound` once the phone has the bounds that the paper's table gives it, `kept`
once the controller ended the stream and left the bounds to their lease. Exit codes: 0 so it went; 1 the controller did
something else.
"""

import asyncio
import contextlib
import sys

import grpc.aio

from airbound.core.addresses import address_from_text, mac_from_text
from airbound.testing.agents import FakeAccessPoint, FakePhone
from airbound.v1 import access_point_pb2, terminal_pb2

BSSID, MAC = "02:00:00:00:00:01", "02:00:00:00:01:00"
DESTINATION = "10.0.4.1"
PAPER_JELLY_BEAN_ONE_SENDER_256_MS = {f"{DESTINATION}/32": (250, 555)}
REPORT_EVERY_S = 1.0


async def main(endpoint: str) -> None:
    """Be that cell."""
    async with FakeAccessPoint(endpoint) as access_point, FakePhone(endpoint, MAC) as phone:
        upload = terminal_pb2.Destination(
            address=address_from_text(DESTINATION),
            connections_sending=1,
            srtt_us=300_000,
            min_rtt_us=256_500,
            mss_bytes=1448,
        )
        second, announced = 0, False
        while not phone.ended.is_set():
            second += 1
            station = access_point_pb2.Station(
                mac=mac_from_text(MAC),
                rx_packets=1000 * second,
                rx_bytes=1_534_000 * second,
                connected_time_ms=9000 + 1000 * second,
            )
            report = access_point_pb2.AccessPointReport(
                bssid=mac_from_text(BSSID), ssid=b"compose", monotonic_us=second * 10**6, stations=[station]
            )
            try:
                await access_point.report(report)
                await phone.report(upload, monotonic_us=second * 10**6)
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                break  # the controller stops
            if not announced and phone.bounds == PAPER_JELLY_BEAN_ONE_SENDER_256_MS:
                announced = True
                sys.stdout.write("bound\n")
                sys.stdout.flush()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(phone.ended.wait(), REPORT_EVERY_S)
        if phone.bounds != PAPER_JELLY_BEAN_ONE_SENDER_256_MS:
            sys.exit(f"the stream ended and the phone has {phone.bounds}")
        sys.stdout.write("kept\n")


asyncio.run(main(sys.argv[1]))
