# SPDX-License-Identifier: Apache-2.0
"""In the guest of test_flows_uml.py: a controller for one phone's agent, in the phone's network namespace.

    flows_guest.py PORT CONTROLLER FLOW FROM_S UNTIL_S

It listens at PORT of 127.0.0.1. CONTROLLER, ADDRESS:PORT, is the cell's own, to which the guest waits for a connection
from each phone: this program opens one and sends nothing. From FROM_S to UNTIL_S, seconds after the agent's first
report, the agent has the flow, JSON of airbound.v1.Flow with an address as text. Writes /run/result/flows.jsonl: a line
for each report, with `at_us` of CLOCK_MONOTONIC and what it says of flows, and what the agent says of itself.
"""

from __future__ import annotations

import ipaddress
import json
import queue
import socket
import sys
import threading
import time
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf import json_format

from airbound.v1 import terminal_pb2, terminal_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Iterator

LEASE_MS, RENEW_S = 6000, 2.0


class Controller(terminal_pb2_grpc.TerminalServiceServicer):
    """Sends the flow on every stream."""

    def __init__(self, flow: terminal_pb2.Flow, from_s: float, until_s: float) -> None:
        self._flow, self._from_s, self._until_s = flow, from_s, until_s
        self._file = Path("/run/result/flows.jsonl").open("w", buffering=1, encoding="ascii")  # noqa: SIM115  # until the end

    def Connect(self, request_iterator: Iterator[Any], _context: Any) -> Iterator[Any]:  # noqa: N802  # gRPC's name
        reports: queue.Queue[float] = queue.Queue()
        threading.Thread(target=self._record, args=(request_iterator, reports), daemon=True).start()
        zero_s = reports.get()
        time.sleep(self._from_s)
        while time.monotonic() - zero_s < self._until_s:
            flows = terminal_pb2.SetFlows(generation=1, lease_ms=LEASE_MS, flows=[self._flow])
            yield terminal_pb2.TerminalServiceConnectResponse(command={"set_flows": flows})
            time.sleep(RENEW_S)
        threading.Event().wait()

    def _record(self, requests: Iterator[Any], reports: queue.Queue[float]) -> None:
        reports.put(time.monotonic())
        for request in requests:
            record = json_format.MessageToDict(request.report.flows, preserving_proto_field_name=True)
            record |= json_format.MessageToDict(request.report.agent, preserving_proto_field_name=True)
            self._file.write(json.dumps({"at_us": time.monotonic_ns() // 1000} | record) + "\n")


def main() -> None:
    port, controller, flow_text, from_s, until_s = sys.argv[1:]
    controller_address, controller_port = controller.split(":")
    fields = json.loads(flow_text)
    address = ipaddress.ip_address(fields.pop("address")).packed
    flow = json_format.ParseDict(fields, terminal_pb2.Flow(address=address))
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    terminal_pb2_grpc.add_TerminalServiceServicer_to_server(Controller(flow, float(from_s), float(until_s)), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    with socket.create_connection((controller_address, int(controller_port))):
        server.wait_for_termination()


if __name__ == "__main__":
    main()
