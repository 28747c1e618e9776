# SPDX-License-Identifier: Apache-2.0
"""Debian's iperf3 and irtt beside our own generator: phone 1 uploads by one and measures the RTT by the other; pure.

iperf3 begins at time zero, with the congestion control of the mode, and leaves out the warm-up. irtt sends 20 datagrams
a second to the same server in the measured window, without time stamps of the server: with those its replies are
shorter here than the client accepts. Each client writes JSON into the directory of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airbound_lab.settings import modes

if TYPE_CHECKING:
    from airbound_lab.plan.topology import Topology

IPERF3, IRTT = "iperf3.json", "irtt.json"
IPERF3_PORT, IRTT_PORT = 5201, 2112
"""Their own."""
IRTT_INTERVAL_MS = 50


def plan(cell: Topology, mode: str, directory: str) -> list[dict[str, Any]]:
    """Return both: a server in a namespace, then a client in another from `at_ms` on, which ends by itself."""
    parameters, phone = cell.parameters, cell.phones[0]
    server, warmup_s = cell.server_of(phone), parameters.warmup_seconds
    measured_s = parameters.seconds - warmup_s
    of_both = {"server_netns": server.name, "client_netns": phone.name}
    return [
        of_both
        | {
            "name": "iperf3",
            "server": ["/usr/bin/iperf3", "--server", "--bind", server.address, "--port", str(IPERF3_PORT)],
            "client": [
                *("/usr/bin/iperf3", "--client", server.address, "--port", str(IPERF3_PORT)),
                *("--congestion", modes.parse(mode).congestion, "--omit", str(warmup_s), "--time", str(measured_s)),
                *("--json", "--logfile", f"{directory}/{IPERF3}"),
            ],
            "at_ms": 0,
        },
        of_both
        | {
            "name": "irtt",
            "server": ["/usr/bin/irtt", "server", "-b", f"{server.address}:{IRTT_PORT}"],
            "client": [
                *("/usr/bin/irtt", "client", "-i", f"{IRTT_INTERVAL_MS}ms", "-d", f"{measured_s}s", "--tstamp=none"),
                *("-o", f"{directory}/{IRTT}", f"{server.address}:{IRTT_PORT}"),
            ],
            "at_ms": warmup_s * 1000,
        },
    ]
