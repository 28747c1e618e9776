# SPDX-License-Identifier: Apache-2.0
"""The access point's bridge as a bridge of Open vSwitch: the commands that make it and start it again; pure.

Debian's ovsdb-server and ovs-vswitchd in the access point's namespace, with the kernel's datapath. The daemons run in
the foreground: the guest is their parent, and kills and starts them as it does the components.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from airbound_lab.plan import topology as nodes

if TYPE_CHECKING:
    from airbound_lab.plan.topology import Topology

DIRECTORY = "/run/openvswitch"
DATABASE = f"{DIRECTORY}/conf.db"
DATABASE_SOCKET = f"{DIRECTORY}/db.sock"
DATABASE_OPTION = f"--db=unix:{DATABASE_SOCKET}"
VSCTL = "/usr/bin/ovs-vsctl"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"

OWN_TMP = ("/usr/bin/unshare", "--mount", "/bin/sh", "-c", 'mount -t tmpfs none /tmp && exec "$@"', "sh")
"""ovsdb-server makes a file in /tmp, which is the host's, and read-only in the guest."""

LOGGING = (
    *("-vconsole:info", "-vsyslog:off", "-vfile:off"),
    "-vPATTERN:console:%D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c|%p|%m",
)

STARTING = "other_config:flow-restore-wait"
"""While it is true, a daemon that starts leaves the kernel's flows alone and opens no connection to a controller."""

FORWARD = "priority=0,actions=NORMAL"
"""As a learning switch: what a bridge in standalone mode does by itself only while it has no controller. Whenever it
gets its first one, also after a restart when STARTING ends, it empties its table, so this is added after that."""


CONTROLLER_METERS = {"AIRBOUND_OPENFLOW__METERS": "on"}
"""Configures the controller to limit by meters."""


def controller_binding() -> dict[str, str]:
    """Configures the controller: which cell the bridge is of. Its datapath is its MAC address by default."""
    datapath = f"{int(nodes.AP_MAC.replace(':', ''), 16):016x}"
    return {"AIRBOUND_OPENFLOW__SWITCHES": json.dumps([f"{datapath}={nodes.BSSID}"])}


REVALIDATOR_MS = 200
"""How often Open vSwitch brings its flows' counters up to date, at least; 500 by default."""

PROBE_MS = 5000
"""How often an idle connection to a controller is checked, as by default; thrice this without it is standalone."""


def plan(cell: Topology, *, openflow: bool) -> dict[str, Any]:
    """Commands by what they are for; `server` and `daemon` go on until they are killed, the others end."""
    return {
        "directory": DIRECTORY,
        "socket": DATABASE_SOCKET,
        "management": f"{DIRECTORY}/{nodes.BRIDGE}.mgmt",
        "create": ["/usr/bin/ovsdb-tool", "create", DATABASE, SCHEMA],
        "server": [*OWN_TMP, "/usr/sbin/ovsdb-server", DATABASE, f"--remote=punix:{DATABASE_SOCKET}", *LOGGING],
        "initialize": _vsctl(
            *("--no-wait", "init", "--", "set", "Open_vSwitch", ".", f"other_config:max-revalidator={REVALIDATOR_MS}")
        ),
        "daemon": ["/usr/sbin/ovs-vswitchd", f"unix:{DATABASE_SOCKET}", *LOGGING],
        "bridge": _vsctl(
            *("add-br", nodes.BRIDGE, "--", "set", "bridge", nodes.BRIDGE, "protocols=OpenFlow13"),
            *("fail_mode=standalone", f'other_config:hwaddr="{nodes.AP_MAC}"'),
        ),
        "ports": _vsctl(*_ports([*nodes.wired_ports(cell), nodes.RADIO])),
        "controller": _vsctl(*_CONTROLLER) if openflow else None,
        "when_connected": [VSCTL, DATABASE_OPTION, *_WHEN_CONNECTED] if openflow else None,
        "before_restart": _vsctl("--no-wait", "set", "Open_vSwitch", ".", f"{STARTING}=true"),
        "forward": ["/usr/bin/ovs-ofctl", "-OOpenFlow13", "add-flow", nodes.BRIDGE, FORWARD],
        "after_restart": _vsctl(
            *("remove", "Open_vSwitch", ".", "other_config", "flow-restore-wait"),
            *(("--", "clear", "controller", nodes.BRIDGE, "max_backoff") if openflow else ()),
        ),
    }


_CONTROLLER = (
    *("set-controller", nodes.BRIDGE, f"tcp:{nodes.CONTROLLER_ADDRESS}:{nodes.OPENFLOW_PORT}"),
    *("--", "set", "controller", nodes.BRIDGE, "connection_mode=in-band", f"inactivity_probe={PROBE_MS}"),
)
"""In band: naming the first controller empties the flow table, and the connection to it goes through the bridge."""


_WHEN_CONNECTED = (
    *("wait-until", "controller", nodes.BRIDGE, "is_connected=true"),
    *("--", "set", "controller", nodes.BRIDGE, "max_backoff=1000"),
)
"""From then on the switch tries again each second when it loses its controller. Open vSwitch 3.1.0 reads the value only
when it changes while there is a connection (docs/openflow.md). Waits as long as that takes."""

SAMPLES = "switch.log"
"""What the switch had, again and again, in the result directory."""

_SAMPLE = """
while sleep "$1"; do
	read -r uptime_s _ </proc/uptime
	echo "at $uptime_s"
	/usr/bin/ovs-ofctl -OOpenFlow13 --timeout=1 dump-flows "$2"
	/usr/bin/ovs-ofctl -OOpenFlow13 --timeout=1 dump-meters "$2"
done
"""


def samples(interval_s: float, path: str) -> list[str]:
    """A program that writes the switch's flows and meters to a file again and again, until it is killed."""
    return ["/bin/sh", "-c", f"exec >{path} 2>&1\n{_SAMPLE}", "sh", f"{interval_s:g}", nodes.BRIDGE]


def _vsctl(*words: str) -> list[str]:
    return [VSCTL, DATABASE_OPTION, "--timeout=30", *words]


def _ports(names: list[str]) -> list[str]:
    """By default Open vSwitch removes the queueing disciplines of its ports; `linux-noop` leaves them alone."""
    words = ["--id=@noop", "create", "qos", "type=linux-noop"]
    for name in names:
        words += ["--", "add-port", nodes.BRIDGE, name, "--", "set", "port", name, "qos=@noop"]
    return words
