# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH108, PTH110
# pathlib would cost the guest start-up time.
"""Brings up the cell: wire, access point, stations one after the other, and a check that each reaches its server."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import TYPE_CHECKING, Any

from airbound_lab.guest import offloads
from airbound_lab.guest.system import GuestError, add_namespace, exited, namespace, read, run, spawn, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.guest.switch import Switch

HOSTAPD_CONTROL = "/run/hostapd"
ASSOCIATION_TIMEOUT_S = 20.0
ASSOCIATION_ATTEMPTS = 3
COMMAND_TIMEOUT_S = 10.0
ECHO_PORT = 7
ECHO_ATTEMPTS = 5
CONNECTION_TIMEOUT_S = 30.0


def configure(netns: str, ip_batch: str, tc_batch: str) -> None:
    """Configure a namespace's links, addresses, neighbours and queues."""
    for program, batch in (("ip", ip_batch), ("tc", tc_batch)):
        if batch:
            path = f"/run/lab/{netns or 'ap'}.{program}"
            write(path, batch)
            run("configure", [f"/sbin/{program}", "-batch", path], netns)


def wire(plan: dict[str, Any], switch: Switch) -> None:
    """Make the namespaces and the wired side."""
    for name in plan["namespaces"]:
        add_namespace(name)
    switch.make_bridge()
    configure("", plan["access_point"]["ip"], "")
    switch.add_ports()
    for node in plan["wired"]:
        configure(node["netns"], node["ip"], node["tc"])
    for part in plan["merging"]:
        offloads.set_feature(part["netns"], part["interface"], part["feature"], on=part["on"])
    for other in plan["other_access_points"]:
        configure(other["netns"], other["ip"], "")


class AccessPoint:
    """hostapd, and a client of its control socket that receives its events."""

    def __init__(self, part: dict[str, Any]) -> None:
        """Start hostapd and attach to its events; `part` is the plan's, of an access point."""
        name, netns, file = part["hostapd_name"], part["netns"], part["hostapd_file"]
        self._control = f"{HOSTAPD_CONTROL}/{part['interface']}"
        if netns:
            run("configure", ["/sbin/iw", "phy", part["radio"], "set", "netns", "name", netns])
        write(file, part["hostapd"])
        self._pid = spawn(name, ["/usr/sbin/hostapd", file], netns)
        for _ in range(100):
            if os.path.exists(self._control):
                break
            if exited(self._pid):
                raise GuestError(f"hostapd ended at once; see {name}.log")
            time.sleep(0.1)
        self._events = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._events.bind(f"/run/lab/{name}-events")
        self._events.connect(self._control)
        self._events.send(b"ATTACH")
        self._events.settimeout(10)
        if self._events.recv(4096) != b"OK\n":
            raise GuestError("hostapd refused ATTACH: no events")
        configure(netns, "", part["tc"])

    def wait_for_station(self, mac: str) -> bool:
        """Wait until a station is associated; False after a timeout."""
        deadline = time.monotonic() + ASSOCIATION_TIMEOUT_S
        while (left := deadline - time.monotonic()) > 0:
            self._events.settimeout(left)
            try:
                event = self._events.recv(4096).decode(errors="replace")
            except TimeoutError:
                break
            if "AP-STA-CONNECTED" in event and mac in event:
                return True
        return False

    def reload(self) -> None:
        """Have hostapd read its configuration again."""
        if exited(self._pid):
            raise GuestError("hostapd does not run")
        os.kill(self._pid, signal.SIGHUP)

    def restart_radio(self) -> None:
        """Have hostapd stop the access point and start it again."""
        # On a socket of its own: events wait on the other one.
        own = "/run/lab/hostapd-commands"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as control:
            control.bind(own)
            control.connect(self._control)
            control.settimeout(COMMAND_TIMEOUT_S)
            for command in (b"DISABLE", b"ENABLE"):
                control.send(command)
                if (answer := control.recv(4096)) != b"OK\n":
                    raise GuestError(f"hostapd answered {answer!r} to {command!r}")
        os.unlink(own)


HOSTAPD_ACTIONS: dict[str, Callable[[AccessPoint], None]] = {
    "reload-hostapd": AccessPoint.reload,
    "restart-radio": AccessPoint.restart_radio,
}
"""By their names in scenarios."""


def associate(access_point: AccessPoint, station: dict[str, Any]) -> None:
    """Put a station's radio into its namespace and bring it into the cell."""
    run("configure", ["/sbin/iw", "phy", station["radio"], "set", "netns", "name", station["name"]])
    file = "/run/lab/wpa_supplicant.conf"
    if station["wpa_supplicant"] is not None:
        file = f"/run/lab/wpa_supplicant-{station['name']}.conf"
        write(file, station["wpa_supplicant"])
    argv = ["/sbin/wpa_supplicant", "-Dnl80211", f"-i{station['interface']}", f"-c{file}"]
    for _ in range(ASSOCIATION_ATTEMPTS):
        pid = spawn(f"wpa_supplicant-{station['name']}", argv, station["name"])
        if access_point.wait_for_station(station["mac"]):
            configure(station["name"], station["ip"], station["tc"])
            with namespace(station["name"]):
                for name, value in station["sysctls"].items():
                    write(f"/proc/sys/{name}", value)
            if station["power_save"]:
                command = ["/sbin/iw", "dev", station["interface"], "set", "power_save", "on"]
                run("configure", command, station["name"])
            return
        if not exited(pid):
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
    raise GuestError(
        f"station {station['name']} did not associate in {ASSOCIATION_ATTEMPTS} attempts of "
        f"{ASSOCIATION_TIMEOUT_S:g} virtual seconds; see wpa_supplicant-{station['name']}.log and hostapd*.log"
    )


def check_path(station: dict[str, Any]) -> None:
    """Send a datagram from a station to its server and back."""
    with namespace(station["server"]["netns"]):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((station["server"]["address"], ECHO_PORT))
    with namespace(station["name"]):
        if addresses := read("/proc/thread-self/net/if_inet6"):
            raise GuestError(f"station {station['name']} has IPv6 and would send packets by itself: {addresses}")
        phone = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        phone.bind((station["address"], ECHO_PORT))
    with server, phone:
        for end in (server, phone):
            end.settimeout(2)
        for _ in range(ECHO_ATTEMPTS):
            try:
                phone.sendto(b"?", (station["server"]["address"], ECHO_PORT))
                server.sendto(b"!", server.recvfrom(16)[1])
                phone.recv(16)
            except OSError:
                time.sleep(1)
            else:
                return
    raise GuestError(f"station {station['name']} is associated, but cannot reach {station['server']['address']}")


def cache_route_metrics(station: dict[str, Any]) -> None:
    """Make a TCP connection from a station to its server and close it.

    The kernel applies the metrics of a route (`cwnd lock`) to a connection only if it has an entry for that destination
    in its cache (net/ipv4/tcp_metrics.c), which it makes at the end of an earlier connection.
    """
    server_address = (station["server"]["address"], ECHO_PORT)
    try:
        with namespace(station["server"]["netns"]):
            listener = socket.create_server(server_address)
        with namespace(station["name"]):
            phone = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        with listener, phone:
            # A port that the kernel does not have to choose: it would use up random numbers.
            phone.bind((station["address"], ECHO_PORT))
            phone.settimeout(CONNECTION_TIMEOUT_S)
            phone.connect(server_address)
            with listener.accept()[0] as server:
                phone.shutdown(socket.SHUT_WR)
                server.settimeout(CONNECTION_TIMEOUT_S)
                server.recv(1)
            phone.recv(1)
    except OSError as error:
        raise GuestError(f"station {station['name']} cannot connect to {server_address[0]}: {error}") from None
