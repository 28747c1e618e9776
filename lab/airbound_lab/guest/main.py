# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH102, PTH103, PTH105, PTH110, PTH123
# pathlib would cost the guest start-up time.
"""Carries out /run/result/plan.json (guest_plan.py), writes the results beside it, powers off."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from typing import TYPE_CHECKING, Any

from airbound_lab.guest import cell, system
from airbound_lab.guest.applications import START_APPLICATION, Applications
from airbound_lab.guest.certificates import OPERATOR_ACTIONS, Operator
from airbound_lab.guest.components import ACTIONS, Components
from airbound_lab.guest.event_traces import EventTraces
from airbound_lab.guest.real_programs import RealPrograms
from airbound_lab.guest.roaming import ROAMING_STEPS, Roaming
from airbound_lab.guest.switch import SWITCH, SWITCH_ACTIONS, Switch
from airbound_lab.guest.system import GuestError
from airbound_lab.guest.tracers import Tracers

if TYPE_CHECKING:
    from collections.abc import Callable

MEDIUM_PARAMETERS = "/sys/module/mac80211_hwsim/parameters"
CPU = "/sys/devices/system/cpu/cpu0"
HOST_DIRECTORY = "/run/host"
MS_RDONLY = 1
WALK = "walk"
"""Name of a step of the time line."""


def mount_all() -> None:
    """The host's files are the root, read-only; what changes is under /run, in memory.

    /tmp stays the host's: a checkout may live there.
    """
    for kind, target in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")):
        system.mount(kind, target)
    for directory in ("/run/netns", "/run/lab", "/run/result", "/run/cgroup"):
        os.mkdir(directory)
    # Of everything in the guest; the agents of phones as they are sold bound its connections.
    system.mount("cgroup2", "/run/cgroup")
    # The same path in every run; on the host it is the directory in which the guest was started.
    system.mount("hostfs", "/run/result", options="/proc/self/cwd")
    os.makedirs(system.LOG_DIRECTORY, exist_ok=True)
    give_cycle_frequency()


def mount_host_directories(names: list[str]) -> None:
    """Mount the host's directories with programs, at paths that are the same in every run (guest_paths.py)."""
    os.mkdir(HOST_DIRECTORY)
    for name in names:
        os.mkdir(f"{HOST_DIRECTORY}/{name}")
        system.mount("hostfs", f"{HOST_DIRECTORY}/{name}", options=f"/proc/self/cwd/host/{name}", flags=MS_RDONLY)


def give_cycle_frequency() -> None:
    """Give a frequency of the cycle counter in sysfs, as some kernels do.

    gRPC's library (Abseil, base/internal/sysinfo.cc) needs one the first time that a thread waits for a lock. If the
    kernel names none, it sleeps for 1, 2, 4 ms ... until two measurements agree; they never do where time is virtual
    and the counter is not, and after 255 ms it gives up. Meanwhile the controller takes over nothing. The figure
    itself is of no consequence: it only serves statistics about locks.
    """
    system.mount("tmpfs", CPU)
    system.write(f"{CPU}/tsc_freq_khz", "1000000")


def progress(text: str) -> None:
    """Report the state to the host, which may read it at any moment: replaced as a whole."""
    system.write("/run/result/progress.new", text)
    os.replace("/run/result/progress.new", "/run/result/progress")


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


def main() -> None:
    """Carry out the plan, or write why that failed; then power off. Process 1 must not end before the machine."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        mount_all()
        with open("/run/result/plan.json", encoding="utf-8") as file:
            plan = json.load(file)
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
        progress("done")
    except GuestError as error:
        system.write("/run/result/error.txt", str(error))
    except BaseException:  # noqa: BLE001  (the host reports whatever it is)
        system.write("/run/result/error.txt", "the guest's own script failed:\n" + traceback.format_exc())
    system.power_off()
