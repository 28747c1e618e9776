# SPDX-License-Identifier: Apache-2.0
"""Uploads by QUIC, each by a sender and a receiver of its own (lab/quic), in place of the traffic generator; pure.

Both write the generator's samples into the directory of the run, and read the time zero of the run, `T0_NS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airbound_lab.plan.topology import SERVER_PORT

if TYPE_CHECKING:
    from airbound_lab.plan.topology import Topology
    from airbound_lab.settings.parameters import Parameters
    from airbound_lab.settings.scenario import Flow

QUIC = "quic"


def flows(parameters: Parameters, seed: int) -> list[Flow]:
    """Return the uploads by QUIC; an upload's number is its place."""
    every = parameters.scenario.flows(parameters.terminals, parameters.seconds, seed)
    return [flow for flow in every if flow.action.protocol == QUIC]


def sample_files(parameters: Parameters, seed: int) -> list[str]:
    """Return the names of the files with samples, in the result directory."""
    return [name for number in range(len(flows(parameters, seed))) for name in _files(number)]


def _files(number: int) -> tuple[str, str]:
    """The sender's, and the receiver's."""
    return f"quic-{number}.jsonl", f"quic-{number}-server.jsonl"


def plan(cell: Topology, seed: int, program: str, directory: str) -> list[dict[str, Any]]:
    """Return for each upload its receiver and its sender, as real_programs.plan does: of one port each."""
    found = list[dict[str, Any]]()
    for number, flow in enumerate(flows(cell.parameters, seed)):
        phone = cell.phones[flow.phone - 1]
        server, port = cell.server_of(phone), SERVER_PORT + 1 + number
        common = ["--seconds", str(cell.parameters.seconds), "--zero-ns", "T0_NS"]
        sent, received = (f"{directory}/{name}" for name in _files(number))
        found.append({
            "name": f"quic-{number}",
            "server_netns": server.name,
            "client_netns": phone.name,
            "server": [
                *(program, "receive", "--name", f"{server.name}-quic", "--listen", f"{server.address}:{port}"),
                *(*common, "--out", received),
            ],
            "client": [
                *(program, "send", "--name", phone.name, "--to", f"{server.address}:{port}"),
                *("--start-ms", str(flow.start_ms), "--stop-ms", str(flow.stop_ms), *common, "--out", sent),
            ],
            "at_ms": flow.start_ms,
        })  # fmt: skip
    return found
