# SPDX-License-Identifier: Apache-2.0
"""What a guest of the study is to do: its namespaces, interfaces and lanes; pure.

    phone                 root                   server
  p0 10.0.0.1 ------- n0        f0 ------- s0 10.0.0.2        a lane: one rival over one path
  p1 10.0.0.5 ------- n1        f1 ------- s1 10.0.0.6
      ...                  |                   ...
                airbound-handover-lab forward

Each line is a veth pair. Neighbour entries are permanent: no ARP, whose losses would make the kernel's own ICMP.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airbound_lab.handover_study.design import DRAIN_S, JITTER_S, PERIOD_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.handover_study.design import Case

PHONE, SERVER = "phone", "server"
PROGRAM = "airbound-handover-lab"
DIRECTORY = "handover"
"""Of the program, by its name in the guest (guest_paths.py)."""
SYSCTLS = {"net/ipv4/tcp_no_metrics_save": "1"}
"""Of each host: a connection learns nothing from an earlier one."""
IPV6_SYSCTLS = {
    f"net/ipv6/conf/{which}/{name}": value
    for which in ("all", "default")
    for name, value in (("disable_ipv6", "0"), ("accept_dad", "0"), ("router_solicitations", "0"))
}
LANES_MAX = 4000
"""What the names and addresses have room for."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One rival in one case."""

    case: Case
    rival: str


def name_of(number: int) -> str:
    """Return the name of a lane in the guest."""
    return f"lane{number}"


def plan(lanes: Sequence[Lane], *, ipv6: bool) -> dict[str, Any]:
    """Return what the guest carries out; its lanes have the order of these."""
    if not 0 < len(lanes) <= LANES_MAX:
        raise ValueError(f"{len(lanes)} lanes in one guest")
    numbers = range(len(lanes))
    root = [
        line
        for i in numbers
        for line in (
            f"link add n{i} type veth peer name p{i} netns {PHONE}",
            f"link add f{i} type veth peer name s{i} netns {SERVER}",
            f"link set n{i} up",
            f"link set f{i} up",
        )
    ]
    phone = [line for i in numbers for line in _end(i, "p", 1, 2, ipv6=ipv6)]
    server = [line for i in numbers for line in _end(i, "s", 2, 1, ipv6=ipv6)]
    return {
        "host_directories": [DIRECTORY],
        "program": f"/run/host/{DIRECTORY}/{PROGRAM}",
        "namespaces": {
            PHONE: {"ip": _text(phone), "offloads_off": [f"p{i}" for i in numbers]},
            SERVER: {"ip": _text(server), "offloads_off": [f"s{i}" for i in numbers]},
        },
        "root_ip": _text(root),
        "sysctls": SYSCTLS | (IPV6_SYSCTLS if ipv6 else {}),
        "lanes": {
            "lanes": [_lane(i, lane, ipv6=ipv6) for i, lane in enumerate(lanes)],
            "drain_ns": _ns(DRAIN_S),
        },
    }


def _lane(number: int, lane: Lane, *, ipv6: bool) -> dict[str, Any]:
    handover, seed = lane.case.handover, lane.case.seed
    return {
        "name": name_of(number),
        "rival": lane.rival,
        "path": {
            "one_way_ns": _ns(handover.rtt_ms / 2000),
            "jitter_ns": _ns(JITTER_S),
            "loss_at_ns": _ns(handover.loss_at_s(seed)),
            "lost_ns": _ns(handover.lost_s),
            "held_ns": _ns(handover.held_s),
            "before_ns": _ns(handover.before_s),
            "after_ns": _ns(handover.after_s),
            "down_shift_ns": _ns(handover.down_shift_s),
            "seed": seed,
        },
        "phone": str(_address(number, 1, ipv6=ipv6)),
        "server": str(_address(number, 2, ipv6=ipv6)),
        "phone_netns": PHONE,
        "server_netns": SERVER,
        "near": f"n{number}",
        "far": f"f{number}",
        "records": handover.records(),
        "period_ns": _ns(PERIOD_S),
    }


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _address(number: int, end: int, *, ipv6: bool) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    if ipv6:
        return ipaddress.IPv6Address("fd00::") + (number << 64) + end
    return ipaddress.IPv4Address("10.0.0.0") + 4 * number + end


def _mac(number: int, end: int) -> str:
    return f"02:ab:{end:02x}:00:{number >> 8:02x}:{number & 255:02x}"


def _end(number: int, name: str, end: int, peer: int, *, ipv6: bool) -> list[str]:
    """Return the commands for one end of a lane."""
    prefix = 64 if ipv6 else 30
    link = f"{name}{number}"
    return [
        f"link set {link} address {_mac(number, end)} up",
        f"address add {_address(number, end, ipv6=ipv6)}/{prefix} dev {link}{' nodad' if ipv6 else ''}",
        f"neighbour add {_address(number, peer, ipv6=ipv6)} lladdr {_mac(number, peer)} dev {link} nud permanent",
    ]


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
