# SPDX-License-Identifier: Apache-2.0
# pathlib would cost the guest start-up time.
"""Carries out /run/result/plan.json (lanes.py), writes the results beside it, powers off."""

from __future__ import annotations

import array
import fcntl
import json
import os
import socket
import struct
import time
from typing import Any

from airbound_lab.guest import system
from airbound_lab.guest.first_process import mount_host_directories, progress
from airbound_lab.guest.system import GuestError

CONNECT_S = 60
"""Until time zero: for the connections, of which some rivals make many."""
SIOCETHTOOL = 0x8946
SWITCHED_OFF = {"checksums": 0x17, "segmentation": 0x24}
"""ETHTOOL_STXCSUM and ETHTOOL_SGSO of linux/ethtool.h: a forwarder needs whole packets, as they are on a wire."""


def switch_offloads_off(interface: str) -> None:
    """Have the kernel make whole packets for an interface: with checksums, none larger than the MTU."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for what, command in SWITCHED_OFF.items():
            value = array.array("B", struct.pack("=II", command, 0))
            request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
            try:
                fcntl.ioctl(any_socket, SIOCETHTOOL, request)
            except OSError as error:
                raise GuestError(f"{interface}: cannot switch {what} off: {error.strerror}") from error


def batch(name: str, text: str, netns: str) -> None:
    """Configure links, addresses and neighbours."""
    path = f"/run/lab/{name}.ip"
    system.write(path, text)
    system.run("configure", ["/sbin/ip", "-batch", path], netns)


def set_up(plan: dict[str, Any]) -> None:
    """Make the namespaces and what joins them."""
    for name in plan["namespaces"]:
        system.add_namespace(name)
        with system.namespace(name):
            for key, value in plan["sysctls"].items():
                system.write(f"/proc/sys/{key}", value)
    batch("root", plan["root_ip"], "")
    for name, part in plan["namespaces"].items():
        batch(name, part["ip"], name)
        with system.namespace(name):
            for interface in part["offloads_off"]:
                switch_offloads_off(interface)


def run_lanes(plan: dict[str, Any]) -> None:
    """Run forwarder and rivals to their end; GuestError if one of them fails."""
    system.write("/run/lab/lanes.json", json.dumps(plan["lanes"]))
    zero_ns = (time.monotonic_ns() // 1_000_000_000 + CONNECT_S) * 1_000_000_000
    names = {}
    for part in ("forward", "exchange"):
        options = ["--plan", "/run/lab/lanes.json", "--zero", f"{zero_ns}ns", "--out", f"/run/result/{part}.json"]
        names[system.spawn(part, [plan["program"], part, *options])] = part
    while names:
        pid, status = os.wait()
        part = names.pop(pid, "")
        if part and status != 0:
            output = system.read(f"{system.LOG_DIRECTORY}/{part}.log")[-500:]
            raise GuestError(f"{part} failed (status {status}): {output}")


def carry_out(plan: dict[str, Any]) -> None:
    """Wire the lanes, and run them all."""
    mount_host_directories(plan["host_directories"])
    progress("wiring")
    set_up(plan)
    progress("measuring")
    run_lanes(plan)
