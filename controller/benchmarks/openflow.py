# SPDX-License-Identifier: Apache-2.0
"""What counting costs: the real Open vSwitch with stations that each exchange packets with some addresses, and
`airbound openflow` that asks for statistics once a second. Prints processor time of both, in per cent of a core.

Usage: python controller/benchmarks/openflow.py [STATIONS [ADDRESSES [SECONDS]]]       as root; 128 stations, 8, 20
"""

import json
import socket
import sys
import tempfile
import time
from pathlib import Path

from airbound_testing.fake_switch import frame
from airbound_testing.open_vswitch import OpenVSwitch, cpu_s
from airbound_testing.openflow_site import Site

LEARN_AT_ONCE = 100  # packets a second, so that none is left out by the limit on copies
ETH_P_ALL = 3
SEND = "-send"


def frames(stations: int, addresses: int) -> list[bytes]:
    """One packet of each station to each address, TCP."""
    router = bytes([2, 0, 0, 0, 9, 0])
    return [
        frame(mac(station), router, bytes([10, 1, 0, station]), bytes([198, 51, 100, address]), 6, (40_000, 443))
        for address in range(addresses)
        for station in range(stations)
    ]


def mac(station: int) -> bytes:
    """Of a station."""
    return bytes([2, 0, 0, 1, 0, station])


def send(interface: str, stations: int, addresses: int, seconds: float, per_s: float) -> None:
    """Send all of them again and again, from within a host's namespace."""
    everything, end_s, number = frames(stations, addresses), time.monotonic() + seconds, 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as out:
        out.bind((interface, 0))
        start_s = time.monotonic()
        while time.monotonic() < end_s:
            out.send(everything[number % len(everything)])
            number += 1
            wait_s = start_s + number / per_s - time.monotonic()
            if wait_s > 0:
                time.sleep(wait_s)


def main(stations: int = 128, addresses: int = 8, seconds: int = 20) -> None:
    """Run it."""
    with tempfile.TemporaryDirectory() as directory, OpenVSwitch(Path(directory) / "ovs") as ovs:
        site = Site(ovs)
        try:
            measure(site, stations, addresses, seconds)
        finally:
            site.stop()


def measure(site: Site, stations: int, addresses: int, seconds: int) -> None:
    """Learn all flows, then measure."""
    ovs = site.ovs
    site.start_controller()
    site.start_openflow()
    ovs.until(site.answers)
    macs = [mac(station).hex(":") for station in range(stations)]
    datapath = f"{ovs.datapath_id:016x}"
    site.start(
        "access-point", "airbound_testing.bare_access_point", "127.0.0.1:50051", "02:00:00:00:00:01", datapath, *macs
    )
    ovs.connect("tcp:127.0.0.1:6653")
    site.until_rules()
    learn_s = stations * addresses / LEARN_AT_ONCE + 10
    command = (sys.executable, __file__, SEND, "e0", str(stations), str(addresses))
    learning = ovs.start(*ovs.at(1, *command, str(learn_s), str(LEARN_AT_ONCE)))
    learning.wait()
    sending = ovs.start(*ovs.at(1, *command, str(seconds + 5), "500"))
    time.sleep(2)
    (switch,) = site.switches()
    pids = {name: site.pid(name) for name in ("openflow", "controller")}
    reports = reports_total(site)
    before, ovs_before, began_s = {name: cpu_s(pid) for name, pid in pids.items()}, ovs.cpu_s(), time.monotonic()
    time.sleep(seconds)
    elapsed_s = time.monotonic() - began_s
    used = {name: cpu_s(pid) - before[name] for name, pid in pids.items()} | {"ovs-vswitchd": ovs.cpu_s() - ovs_before}
    reports = reports_total(site) - reports
    sending.kill()
    sending.wait()
    print(f"{switch['stations']} stations, {switch['flows']} flows, {switch['packet_ins_total']} copies so far")
    print(f"{reports / elapsed_s / 2:.2f} reports a second of the switch, and as many of the access point")
    for name, cpu in used.items():
        print(f"{name:14} {100 * cpu / elapsed_s:5.1f} % of a core")


def reports_total(site: Site) -> int:
    """Reports that the controller has had."""
    counters = json.loads(site.airbound("counters", "--plain-text", "--json"))["counters"]
    return next(int(counter["value"]) for counter in counters if counter["name"] == "reports_total")


if __name__ == "__main__":
    if sys.argv[1:2] == [SEND]:
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), float(sys.argv[6]))
    else:
        main(*map(int, sys.argv[1:]))
