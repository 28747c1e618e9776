# SPDX-License-Identifier: Apache-2.0
"""For scripts/compose-test.sh: an access point and a phone that sends, until the controller stops.

Usage: compose_cell.py ADDR:PORT. Prints `bound` once the phone has the bounds that the paper's table gives it, `ended`
once the controller ended the stream; the bounds are then still in force, under their lease. Exit codes: 0 if that is
what happened; 1 if the controller did something else.
"""

import asyncio
import sys

from airbound.core.addresses import address_from_text, mac_from_text
from airbound.testing.agents import FakeAccessPoint, FakePhone
from airbound.v1 import access_point_pb2, terminal_pb2

BSSID, MAC = "02:00:00:00:00:01", "02:00:00:00:01:00"
DESTINATION = "10.0.4.1"
PAPER_JB_ONE_SENDER_256_MS = (250, 555)
ENDED_WITHIN_S = 120.0


async def main(endpoint: str) -> None:
    """Be that cell."""
    async with FakeAccessPoint(endpoint) as access_point, FakePhone(endpoint, MAC) as phone:
        for second in (1, 2):
            station = access_point_pb2.Station(
                mac=phone.mac, rx_packets=1000 * second, rx_bytes=1_534_000 * second, connected_time_ms=9000
            )
            report = access_point_pb2.AccessPointReport(
                bssid=mac_from_text(BSSID), ssid=b"compose", monotonic_us=second * 10**6, stations=[station]
            )
            await access_point.report(report)
        upload = terminal_pb2.Destination(
            address=address_from_text(DESTINATION),
            connections_sending=1,
            srtt_us=300_000,
            min_rtt_us=256_500,
            mss_bytes=1448,
        )
        await phone.report(upload, monotonic_us=1)
        await phone.until(lambda: phone.bounds == {f"{DESTINATION}/32": PAPER_JB_ONE_SENDER_256_MS})
        sys.stdout.write("bound\n")
        sys.stdout.flush()
        await asyncio.wait_for(phone.ended.wait(), ENDED_WITHIN_S)
        if not phone.bounds:
            sys.exit("the controller took the bounds back instead of leaving them to their lease")
        sys.stdout.write("ended\n")


asyncio.run(main(sys.argv[1]))
