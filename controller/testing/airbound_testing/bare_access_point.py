# SPDX-License-Identifier: Apache-2.0
"""An access point in plain text that reports its stations and counts nothing, as one without nl80211.

Usage: python -m airbound_testing.bare_access_point CONTROLLER BSSID DATAPATH STATION...
"""

import itertools
import sys
import time
from collections.abc import Iterator
from typing import Any

import grpc

from airbound.core.addresses import mac_from_text
from airbound.core.switch_reports import datapath_of_text
from airbound.v1 import access_point_pb2, access_point_pb2_grpc

EVERY_S = 1.0


def reports(bssid: str, datapath: str, stations: list[str]) -> Iterator[Any]:
    """One a second."""
    for sequence in itertools.count(1):
        report = access_point_pb2.AccessPointReport(
            bssid=mac_from_text(bssid),
            sequence=sequence,
            monotonic_us=time.monotonic_ns() // 1000,
            datapath_id=datapath_of_text(datapath) if datapath else 0,
            stations=[access_point_pb2.Station(mac=mac_from_text(mac), connected_time_ms=10_000) for mac in stations],
        )
        yield access_point_pb2.AccessPointServiceConnectRequest(report=report)
        time.sleep(EVERY_S)


def main(controller: str, bssid: str, datapath: str, *stations: str) -> None:
    """Report until the controller is gone."""
    with grpc.insecure_channel(controller) as channel:
        stub: Any = access_point_pb2_grpc.AccessPointServiceStub(channel)
        for _ in stub.Connect(reports(bssid, datapath, list(stations))):
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
