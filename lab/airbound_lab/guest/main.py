# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH110
# pathlib would cost the guest start-up time.
"""Carries out /run/result/plan.json (guest_plan.py), writes the results beside it, powers off."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

from airbound_lab.guest import cell, system
from airbound_lab.guest.applications import START_APPLICATION, Applications
from airbound_lab.guest.certificates import OPERATOR_ACTIONS, Operator
from airbound_lab.guest.components import ACTIONS, Components
from airbound_lab.guest.event_traces import EventTraces
from airbound_lab.guest.first_process import mount_host_directories, progress
from airbound_lab.guest.real_programs import RealPrograms
from airbound_lab.guest.roaming import ROAMING_STEPS, Roaming
from airbound_lab.guest.switch import SWITCH, SWITCH_ACTIONS, Switch
from airbound_lab.guest.system import GuestError
from airbound_lab.guest.tracers import Tracers

if TYPE_CHECKING:
    from collections.abc import Callable

MEDIUM_PARAMETERS = "/sys/module/mac80211_hwsim/parameters"
WALK = "walk"
"""Name of a step of the time line."""


def set_up_medium(plan: dict[str, Any]) -> None:
    """Set the parameters of the medium, and what is between its radios."""
    for name, value in plan["medium"].items():
        path = f"{MEDIUM_PARAMETERS}/{name}"
        if not os.path.exists(path):
            raise GuestError(f"this kernel's mac80211_hwsim has no parameter {name}: it is not the lab's kernel")
        system.write(path, str(value))
    set_links(plan["links"])
    for pair in plan["hidden"]:
        system.write(f"{MEDIUM_PARAMETERS}/dcf_hidden", pair)


def set_up(plan: dict[str, Any], switch: Switch) -> cell.AccessPoint:
    """Bring up a cell, or several, in which each station reaches its server; return the first access point."""
    if plan["components"] or plan["tracers"] or plan["event_traces"]:
        system.mount("tracefs", system.TRACEFS)
    set_up_medium(plan)
    for name, value in plan["sysctls"].items():
        system.write(f"/proc/sys/{name}", value)
    system.write("/run/lab/wpa_supplicant.conf", plan["wpa_supplicant"])
    if plan["controller_config"] is not None:
        system.write("/run/lab/controller.config", plan["controller_config"])
    if plan["applications_table"] is not None:
        system.write("/run/lab/applications.table", plan["applications_table"])
    progress("wiring")
    cell.wire(plan, switch)
    parts = [plan["access_point"], *plan["other_access_points"]]
    access_points = [cell.AccessPoint(part) for part in parts]
    for number, station in enumerate(plan["stations"], start=1):
        progress(f"associating {number}/{len(plan['stations'])}")
        cell.associate(access_points[station["access_point"]], station)
    for station in plan["stations"]:
        cell.check_path(station)
        if station["needs_route_metrics"]:
            cell.cache_route_metrics(station)
    return access_points[0]


def set_links(links: list[str]) -> None:
    """Set signal-to-noise ratios of links, each as the medium reads it."""
    for link in links:
        system.write(f"{MEDIUM_PARAMETERS}/dcf_snr", link)


def actor(
    components: Components,
    operator: Operator,
    access_point: cell.AccessPoint,
    switch: Switch,
    roaming: Roaming,
    *,
    applications: Applications,
) -> Callable[[dict[str, Any]], None]:
    """Return what carries out an action of the time line."""

    def act(action: dict[str, Any]) -> None:
        name, component = action["do"], action["component"]
        if name in ROAMING_STEPS:
            ROAMING_STEPS[name](roaming, action)
        elif name == WALK:
            set_links(action["links"])
        elif name == START_APPLICATION:
            applications.start(action["application"])
        elif name in cell.HOSTAPD_ACTIONS:
            cell.HOSTAPD_ACTIONS[name](access_point)
        elif name in OPERATOR_ACTIONS:
            OPERATOR_ACTIONS[name](operator, component)
        elif component == SWITCH:
            SWITCH_ACTIONS[name](switch)
        else:
            ACTIONS[name](components, component)

    return act


def measure(
    plan: dict[str, Any],
    act: Callable[[dict[str, Any]], None],
    tracers: Tracers,
    event_traces: EventTraces,
    applications: Applications,
) -> int:
    """Run the traffic and, meanwhile, the time line; return time zero on the monotonic clock."""
    t0_ns = (time.monotonic_ns() // 1_000_000_000 + 2) * 1_000_000_000
    # After time zero is chosen: it must not depend on how long they take to start.
    tracers.start()
    event_traces.start(t0_ns)
    real_programs = RealPrograms(plan)
    real_programs.start(t0_ns)
    system.write("/run/lab/traffic.plan", plan["traffic"]["plan"].replace("T0_NS", str(t0_ns)))
    progress("measuring")
    argv = [plan["traffic"]["program"], "run", "/run/lab/traffic.plan"]
    watchers = [
        (watcher, system.spawn(watcher["name"], watcher["argv"], watcher["netns"], watcher["environment"]))
        for watcher in plan["watchers"]
    ]
    traffic = system.spawn("traffic", argv, output="/run/result/samples.jsonl")
    for action in plan["timeline"]:
        sleep_until(t0_ns + action["at_ms"] * 1_000_000)
        act(action)
    _, status = os.waitpid(traffic, 0)
    if status != 0:
        output = system.read(f"{system.LOG_DIRECTORY}/traffic.log")[-500:]
        raise GuestError(f"the traffic generator failed (status {status}): {output}")
    real_programs.finish()
    applications.finish()
    # At the traffic's end: what ends now sends a little more, for as long as the rest takes.
    system.run("airtime", ["/sbin/iw", "dev", "wlan0", "station", "dump"])
    for watcher, pid in watchers:
        _end(watcher, pid)
    event_traces.stop()
    tracers.stop()
    return t0_ns


def _end(watcher: dict[str, Any], pid: int) -> None:
    """See that a watcher has done what it is for: to watch until the end, or to end by itself."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    if bool(ended) != watcher["ends"] or status:
        how = f"ended early, with status {os.waitstatus_to_exitcode(status)}" if ended else "has not ended"
        output = system.read(f"{system.LOG_DIRECTORY}/{watcher['name']}.log")[-500:]
        raise GuestError(f"{watcher['name']} {how}: {output}")


def sleep_until(monotonic_ns: int) -> None:
    """Sleep until a moment of the monotonic clock."""
    left_ns = monotonic_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)


def collect(plan: dict[str, Any], t0_ns: int, components: Components, switch: Switch) -> None:
    """Write what is only known at the end."""
    for station in plan["stations"]:
        show = ["/sbin/tc", "-s", "qdisc", "show", "dev", station["interface"]]
        system.run("qdiscs", show, station["name"])
    for name, interface in (("qdiscs-ap", "wlan0"), ("qdiscs-controller", "controller")):
        system.run(name, ["/sbin/tc", "-s", "qdisc", "show", "dev", interface])
    for other in plan["other_access_points"]:
        show = ["/sbin/tc", "-s", "qdisc", "show", "dev", other["interface"]]
        system.run(f"qdiscs-{other['name']}", show, other["netns"])
    end = {
        # For placing time stamps of the components' logs on the time line of the run.
        "time_zero_s_since_1970": (t0_ns + time.time_ns() - time.monotonic_ns()) / 1e9,
        "time_zero_monotonic_us": t0_ns // 1000,
        "medium": system.read(f"{MEDIUM_PARAMETERS}/dcf_stats"),
        "peak_memory_kib": components.peak_memory_kib(),
        "starts": components.starts,
        "switch_starts": switch.starts,
    }
    system.write("/run/result/end.json", json.dumps(end))


def carry_out(plan: dict[str, Any]) -> None:
    """Set a cell up, start what runs in it, and measure."""
    mount_host_directories(plan["host_directories"])
    switch = Switch(plan)
    access_point = set_up(plan, switch)
    components, operator = Components(plan), Operator(plan)
    tracers, event_traces = Tracers(plan), EventTraces(plan)
    if plan["certificates"] is not None:
        progress("making tokens")
        operator.enrol(components)
    progress("starting agents")
    components.start_all(switch.connect)
    applications = Applications(plan)
    applications.start_servers()
    act = actor(components, operator, access_point, switch, Roaming(plan), applications=applications)
    t0_ns = measure(plan, act, tracers, event_traces, applications)
    collect(plan, t0_ns, components, switch)
