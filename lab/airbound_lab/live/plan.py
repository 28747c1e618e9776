# SPDX-License-Identifier: Apache-2.0
"""The plan of a live cell's guest (live/guest/main.py), one JSON document; pure.

The cell is that of the lab's runs (topology.py, guest_plan.py). In place of the controller its namespace has the near
end of the link, on the same address, so the agents' connections take the same way through the air.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airbound_lab.live import programme
from airbound_lab.live.settings import ENROLMENT_PORT
from airbound_lab.plan import classes, guest_paths, guest_plan, topology

if TYPE_CHECKING:
    from airbound_lab.live.settings import Settings
    from airbound_lab.settings.radio import PhyName

RESULT_DIRECTORY = guest_plan.RESULT_DIRECTORY
LINK_DIRECTORY = "/run/link"
"""In the guest; on the host it is a directory of the run's."""
CONTROLLER = "controller"
ENROLMENT = "enrolment"
"""Targets of the link."""
SUPPLICANT_CONTROL = "/run/wpa_supplicant"
DOWNLOADS_PORT = topology.SERVER_PORT + 1
FILES: dict[PhyName, int] = {"11g": 1, "11n-20": 2, "11n-40": 6, "11ac-80": 12}
"""How many times as large files are as on 802.11g, so that one takes as long: by what the cells carry."""
PORTS = {"port": topology.SERVER_PORT, "downloads_port": DOWNLOADS_PORT}
"""Of each server: where it receives, and where it sends what it is asked for."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Paths on the host; they are the same in the guest."""

    access_point_agent: str
    phone_agent: str
    link: str


def plan(settings: Settings, programs: Programs, link: str) -> dict[str, Any]:
    """Return the guest's plan; `link` is the directory of the link on the host."""
    cell = topology.build(settings.parameters())
    # The programs of a run; of its plan, those parts are taken that name none.
    nothing = guest_paths.Programs("", "", "", "", "", "")
    of_run = guest_plan.plan(settings.parameters(), "airbound", settings.seed, nothing)
    kept = (
        *("medium", "links", "hidden", "sysctls", "namespaces", "wired", "merging", "other_access_points"),
        *("tracers", "event_traces"),
    )
    agents = _agents(settings, programs, cell)
    return {key: of_run[key] for key in kept} | {
        "seed": settings.seed,
        "files": FILES[settings.phy],
        "controller": of_run["controller"],
        "controller_config": None,
        "applications_table": programme.table(),
        "access_point": of_run["access_point"] | {"label": settings.access_point},
        "stations": [
            station | _station(settings, number) | {"server": station["server"] | PORTS}
            for number, station in enumerate(of_run["stations"], start=1)
        ],
        "servers": [{"netns": server.name, "address": server.address} | PORTS for server in cell.servers],
        "wpa_supplicant": f"ctrl_interface={SUPPLICANT_CONTROL}\n{of_run['wpa_supplicant']}",
        "link": {
            "netns": "controller",
            "argv": _near(settings, programs),
            "directory": LINK_DIRECTORY,
            "host_directory": link,
        },
        "agents": agents,
        # What wants the kernel's trace events.
        "components": agents,
    }


def far_targets(settings: Settings) -> list[str]:
    """Return what the far end of the link connects to, NAME=HOST:PORT."""
    targets = [f"{CONTROLLER}={settings.controller}"]
    return targets if settings.plain_text else [*targets, f"{ENROLMENT}={settings.enrolment}"]


def _near(settings: Settings, programs: Programs) -> list[str]:
    targets = [f"{CONTROLLER}={topology.CONTROLLER_ADDRESS}:{topology.CONTROLLER_PORT}"]
    if not settings.plain_text:
        targets.append(f"{ENROLMENT}={topology.CONTROLLER_ADDRESS}:{ENROLMENT_PORT}")
    return [programs.link, "near", "--directory", LINK_DIRECTORY, *targets]


def _station(settings: Settings, number: int) -> dict[str, Any]:
    has_agent = number <= settings.terminals
    return {
        "number": number,
        "label": settings.phone(number),
        "agent": settings.phone(number) if has_agent else None,
    }


def _agents(settings: Settings, programs: Programs, cell: topology.Topology) -> list[dict[str, Any]]:
    access_point = [
        *(programs.access_point_agent, *_security(settings, settings.access_point), "--interface", "wlan0"),
        *(() if settings.no_window_clamp else ("--window-clamp",)),
        *("--hostapd-control", "/run/hostapd/wlan0", "--hostapd-config", "/run/lab/hostapd.conf"),
        *("--state-dir", "/run/lab/ap"),
    ]
    return [
        _agent(settings, settings.access_point, "", access_point),
        *(
            _agent(
                settings,
                settings.phone(phone.index),
                phone.name,
                [
                    *(programs.phone_agent, "run", *_security(settings, settings.phone(phone.index))),
                    *("--interface", phone.interface, "--state-dir", f"/run/lab/{phone.name}"),
                    *("--applications", classes.TABLE_FILE),
                ],
            )
            for phone in cell.phones[: settings.terminals]
        ),
    ]


def _agent(settings: Settings, name: str, netns: str, argv: list[str]) -> dict[str, Any]:
    return {"name": name, "netns": netns, "argv": argv, "has_credentials": not settings.plain_text}


def _security(settings: Settings, name: str) -> list[str]:
    address = topology.CONTROLLER_ADDRESS
    controller = ["--controller", f"{address}:{topology.CONTROLLER_PORT}"]
    if settings.plain_text:
        return ["--plain-text", *controller]
    return [
        *controller,
        *("--enroll", f"{address}:{ENROLMENT_PORT}"),
        *("--credentials-dir", f"/run/lab/credentials/{name}"),
        *("--token-file", f"{RESULT_DIRECTORY}/tokens/{name}"),
    ]
