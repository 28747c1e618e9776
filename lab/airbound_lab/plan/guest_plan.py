# SPDX-License-Identifier: Apache-2.0
"""The guest's plan, one JSON document: what to configure, what to start, and when; pure.

The guest (guest/main.py) reads its plan and nothing else. For equal runs to be equal to the digit, nothing may be in it
that differs between them: no directory of the run, no time, no process id.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from airbound_lab.plan import applications, certificates, classes, open_vswitch, quic, real_programs
from airbound_lab.plan import topology as nodes
from airbound_lab.settings import modes, radio
from airbound_lab.settings.scenario import (
    APPLICATION_ACTIONS,
    HOSTAPD_ACTIONS,
    OPENFLOW,
    ROAMING_ACTIONS,
    SWITCH,
    WALKING_ACTIONS,
)
from airbound_lab.settings.values import REPORT_INTERVAL_MS, STATION_RATES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound_lab.plan.guest_paths import Programs
    from airbound_lab.settings.parameters import Parameters
    from airbound_lab.settings.scenario import Action
    from airbound_lab.settings.values import Window

RESULT_DIRECTORY = "/run/result"
"""The directory of the run, as mounted in the guest."""

SERVER_CONGESTION = "cubic"
"""Downloads are not the phones': a mode does not change what the servers of the world run."""

SENDERS_FILE = "senders.jsonl"
CHECK_FILE = "check.json"
"""Who sends by the controller, in the result directory."""

BEACON_INTERVAL_TU = 100
BEACON_INTERVALS_TU = (BEACON_INTERVAL_TU, 103, 107)
"""Of several access points. mac80211_hwsim begins all intervals at the same moment: of equal ones every beacon would
collide."""
TRACE_BUFFER_KIB = {"phone": 32 << 10, "cell": 256 << 10}
"""Largest trace buffers: 32 MiB are some 200,000 records, and the guest has memory for 256 MiB."""

MEDIUM_TRACE = "medium-trace"
"""Name of the files with the medium's events, in the result directory."""

SUPPLICANT_CONTROL, HOSTAPD_CONTROL = "/run/wpa_supplicant", "/run/hostapd"
"""Directories of control sockets."""

TCP_BUFFER = {"minimum": 4096, "start": 1 << 20, "maximum": 16 << 20}
"""Bytes. 16 MiB is enough for the window of any flow here; a start of 1 MiB saves wake-ups of the sending process."""

SCALE_0_BYTES = 1 << 15
"""A receiver whose buffer may become 2^scale times as large names that window scale (tcp_select_initial_window)."""


def plan(
    parameters: Parameters,
    mode: str,
    seed: int,
    programs: Programs,
    *,
    host_directories: Iterable[str] = (),
    trace: bool = False,
    edca_trace: bool = False,
    medium_trace: Window | None = None,
    switch_samples: bool = False,
    debian_programs: bool = False,
) -> dict[str, Any]:
    """Return the guest's plan for one run.

    `host_directories` are the names of those that the guest mounts for its programs (guest_paths.py).

    With `trace`, each phone's history is recorded; with `edca_trace`, what is set on the radios' transmit queues; with
    `medium_trace`, each attempt on the medium in that window; with `switch_samples`, the flows of an Open vSwitch.
    With `debian_programs`, phone 1 also uploads by iperf3 and measures by irtt.
    """
    cell = nodes.build(parameters)
    components = _components(cell, mode, programs)
    runs_here = {component["name"] for component in components} | ({SWITCH} if parameters.ovs else set())
    return {
        "host_directories": list(host_directories),
        "medium": _medium(parameters, seed),
        "links": _links(parameters),
        "hidden": [
            " ".join(str(_radio_number(parameters, phone)) for phone in pair) for pair in parameters.hidden or ()
        ],
        "sysctls": _sysctls(parameters.window_scale),
        "namespaces": [
            *("controller", *(server.name for server in cell.servers)),
            *(phone.name for phone in cell.phones),
            *(other.name for other in cell.access_points[1:]),
        ],
        "access_point": _hostapd_part(parameters, cell.access_points[0])
        | {
            "ip": nodes.access_point_ip(cell),
            "tc": nodes.access_point_tc(cell),
            "address": nodes.AP_ADDRESS,
            "switch": open_vswitch.plan(cell, openflow=OPENFLOW in runs_here) if parameters.ovs else None,
        },
        "other_access_points": [
            _hostapd_part(parameters, other)
            | {"ip": nodes.other_access_point_ip(other), "tc": nodes.other_access_point_tc(cell, other)}
            for other in cell.access_points[1:]
        ],
        "wired": [
            {"netns": nodes.CONTROLLER, "ip": nodes.controller_ip(cell), "tc": nodes.controller_tc(cell)},
            *({"netns": s.name, "ip": nodes.server_ip(cell, s), "tc": nodes.server_tc(s)} for s in cell.servers),
        ],
        "merging": _merging(cell) if parameters.gro else [],
        "stations": [
            {
                "name": phone.name,
                "access_point": parameters.access_point_of(phone.index) - 1,
                "radio": phone.radio,
                "interface": phone.interface,
                "mac": phone.mac,
                "address": phone.address,
                "server": {"netns": cell.server_of(phone).name, "address": cell.server_of(phone).address},
                "ip": nodes.phone_ip(cell, phone),
                "tc": nodes.phone_tc(cell, phone, mode),
                "power_save": parameters.power_save,
                "needs_route_metrics": parameters.cwnd_clamp_segs is not None,
                "sysctls": _phone_sysctls(parameters.pacing_percent)
                | applications.sysctls(cell, phone.index, modes.parse(mode).congestion),
                "wpa_supplicant": _choosing_wpa_supplicant(cell, phone) if parameters.access_points > 1 else None,
            }
            for phone in cell.phones
        ],
        "wpa_supplicant": _wpa_supplicant(str(parameters.radio.channels[0].frequency_mhz)),
        "controller": {"address": nodes.CONTROLLER_ADDRESS, "port": nodes.CONTROLLER_PORT},
        "openflow": {"address": nodes.CONTROLLER_ADDRESS, "port": nodes.OPENFLOW_PORT},
        "components": components,
        "certificates": _certificates(components, programs) if parameters.tls and components else None,
        "controller_config": modes.controller_config(modes.parse(mode), parameters.controller_config),
        "applications_table": classes.table(parameters) if components else None,
        "late_components": [
            name for name in parameters.scenario.late_components(parameters.terminals) if name in runs_here
        ],
        "timeline": _timeline(cell, runs_here),
        "watchers": [
            *([_watcher(cell, programs)] if components and parameters.watch_senders_ms is not None else []),
            *([_check(programs, parameters.check_minutes)] if components and parameters.check_minutes else []),
            *([_SWITCH_SAMPLES] if switch_samples and parameters.ovs else []),
        ],
        "real_programs": [
            *(real_programs.plan(cell, mode, RESULT_DIRECTORY) if debian_programs else []),
            *quic.plan(cell, seed, programs.quic, RESULT_DIRECTORY),
        ],
        "applications": applications.plan(cell, programs, RESULT_DIRECTORY),
        "seconds": parameters.seconds,
        "tracers": _tracers(cell, programs) if trace else [],
        "event_traces": [
            *([_EDCA_TRACE] if edca_trace else []),
            *([_medium_trace(medium_trace)] if medium_trace is not None else []),
        ],
        "traffic": {"program": programs.traffic, "plan": traffic_plan(cell, mode, seed)},
    }


def _timeline(cell: nodes.Topology, runs_here: set[str]) -> list[dict[str, Any]]:
    """What happens to components, hostapd and phones that roam or walk, and which applications start, in order."""
    parameters = cell.parameters
    steps: list[dict[str, Any]] = [
        {"at_ms": round(action.at_s * 1000), "do": action.do, "component": "", "application": number}
        for number, action in enumerate(applications.started(cell))
    ]
    for action in parameters.scenario.process_actions(parameters.terminals):
        if action.do in ROAMING_ACTIONS:
            steps += _roam(cell, action)
        elif action.do in WALKING_ACTIONS:
            steps += _walk(parameters, action)
        elif action.do in APPLICATION_ACTIONS:
            continue
        elif action.component in runs_here or action.do in HOSTAPD_ACTIONS:
            steps.append({"at_ms": round(action.at_s * 1000), "do": action.do, "component": action.component})
    return sorted((step for step in steps if step["at_ms"] < parameters.seconds * 1000), key=lambda step: step["at_ms"])


def _roam(cell: nodes.Topology, action: Action) -> list[dict[str, Any]]:
    """One step, or two with the time in between in which the phone is at no access point."""
    at_ms, deaf_ms = round(action.at_s * 1000), cell.parameters.deaf_ms if action.deaf_ms is None else action.deaf_ms
    access_point = cell.access_points[action.access_point - 1]
    phone = {"component": "", "station": action.phone - 1, "bssid": access_point.bssid}
    if not deaf_ms:
        return [{"at_ms": at_ms, "do": "roam"} | phone]
    away = {"at_ms": at_ms, "do": "vanish" if action.silent else "leave"} | phone
    return [away, {"at_ms": at_ms + deaf_ms, "do": "arrive"} | phone]


WALK_STEP_MS = 100


def _walk(parameters: Parameters, action: Action) -> list[dict[str, Any]]:
    """A step whenever the SNR has become another one, at most every WALK_STEP_MS."""
    at_ms, over_ms = round(action.at_s * 1000), round((action.over_s or 0) * 1000)
    steps, links = list[dict[str, Any]](), list[str]()
    for after_ms in [*range(0, over_ms, WALK_STEP_MS), over_ms]:
        before, links = links, _links_of(parameters, action, after_ms / 1000)
        if links != before:
            steps.append({"at_ms": at_ms + after_ms, "do": action.do, "component": "", "links": links})
    return steps


def _links_of(parameters: Parameters, walk: Action, after_s: float) -> list[str]:
    """The links of a phone that walks, so many seconds after it began."""
    numbers = [walk.access_point - 1] if walk.access_point else [*range(parameters.access_points)]
    distance_m = walk.distance_m(after_s)
    return [link for number in numbers for link in _link(parameters, walk.phone, number, distance_m)]


SWITCH_SAMPLES_S = 0.5

_SWITCH_SAMPLES = {
    "name": "switch-samples",
    "netns": "",
    "argv": open_vswitch.samples(SWITCH_SAMPLES_S, f"{RESULT_DIRECTORY}/{open_vswitch.SAMPLES}"),
    "environment": {},
    "ends": False,
}


def _watcher(cell: nodes.Topology, programs: Programs) -> dict[str, Any]:
    """What asks the controller who sends."""
    return {
        "name": "senders-watch",
        "netns": "controller",
        "argv": [
            *(*programs.python_command, "-P", programs.senders_watch, f"127.0.0.1:{nodes.OPERATORS_PORT}"),
            *(nodes.BSSID, str(cell.parameters.watch_senders_ms), f"{RESULT_DIRECTORY}/{SENDERS_FILE}"),
            *(f"{phone.name}/{phone.interface}/{phone.mac}" for phone in cell.phones),
        ],
        "environment": programs.python_environment,
        "ends": False,
    }


def _check(programs: Programs, minutes: int) -> dict[str, Any]:
    """An operator who finds out what Airbound brings in the cell."""
    words = ["check", nodes.BSSID, "--controller", f"127.0.0.1:{nodes.OPERATORS_PORT}", "--plain-text"]
    return {
        "name": "check",
        "netns": "controller",
        "argv": [
            *(
                *programs.python_command,
                "-P",
                programs.operator_commands,
                "--output",
                f"{RESULT_DIRECTORY}/{CHECK_FILE}",
            ),
            *(*words, "--minutes", str(minutes), "--json"),
        ],
        "environment": programs.python_environment,
        "ends": True,
    }


VIDEO_PRIORITY = 256 + 5
"""A socket's priority of a frame with user priority 5 (net/wireless/util.c, cfg80211_classify8021d)."""


def traffic_plan(cell: nodes.Topology, mode: str, seed: int) -> str:
    """Return the plan for airbound-traffic; `T0_NS` is to be replaced by time zero."""
    parameters = cell.parameters
    flows = parameters.scenario.flows(parameters.terminals, parameters.seconds, seed)
    flows = [flow for flow in flows if flow.action.protocol != quic.QUIC]
    protocols = sorted({flow.action.protocol for flow in flows if flow.direction == "up"})
    downloads = sorted({(flow.phone, flow.action.protocol) for flow in flows if flow.direction == "down"})
    lines = [f"clock t0_ns=T0_NS seconds={parameters.seconds} interval_ms=1000"]
    receivers = modes.parse(mode).receivers
    lines += [
        f"recv name={server.name}-{protocol} netns={server.name} protocol={protocol} "
        f"address={server.address}:{nodes.SERVER_PORT}"
        + (f" congestion={receivers}" if receivers is not None and protocol == "tcp" else "")
        for server in cell.servers
        for protocol in protocols
    ]
    lines += [
        f"recv name={phone.download} netns={phone.name} protocol={protocol} address={phone.address}:{nodes.SERVER_PORT}"
        for phone, protocol in ((cell.phones[number - 1], protocol) for number, protocol in downloads)
    ]
    for flow in flows:
        phone, action = cell.phones[flow.phone - 1], flow.action
        server = cell.server_of(phone)
        up = flow.direction == "up"
        fields = [
            f"send name={phone.name if up else phone.download} netns={phone.name if up else server.name}",
            f"protocol={action.protocol} address={server.address if up else phone.address}:{nodes.SERVER_PORT}",
            f"start_ms={flow.start_ms} stop_ms={flow.stop_ms}",
        ]
        if action.protocol == "tcp":
            fields.append(f"congestion={modes.parse(mode).congestion if up else SERVER_CONGESTION}")
        else:
            fields.append(f"payload_bytes={action.payload_bytes}")
        if action.rate_mbps is not None:
            fields.append(f"rate_kbps={round(action.rate_mbps * 1000)}")
        uid = classes.uid_of(parameters, action) if up else None
        if uid is not None:
            fields.append(f"uid={uid}")
        if action.marked:
            fields.append(f"priority={VIDEO_PRIORITY}")
        if action.on_s is not None and action.off_s is not None:
            fields.append(f"on_ms={round(action.on_s * 1000)} off_ms={round(action.off_s * 1000)}")
        lines.append(" ".join(fields))
    if modes.parse(mode).has_agents:
        lines += [
            f"watch name={phone.name} netns={phone.name} interval_ms={parameters.bounds_interval_ms}"
            for phone in cell.phones
            if parameters.has_agent(phone.index)
        ]
    return "".join(f"{line}\n" for line in lines)


def trace_file(phone: nodes.Phone) -> str:
    """Name of the file with a phone's history, in the result directory."""
    return f"trace-{phone.name}.csv"


def _tracers(cell: nodes.Topology, programs: Programs) -> list[dict[str, Any]]:
    """One `airbound-phone trace` in each phone, for its connections to its server.

    They read at the end: reading takes virtual time, and a traced run would differ from an untraced one.
    """
    buffer_kib = min(TRACE_BUFFER_KIB["phone"], TRACE_BUFFER_KIB["cell"] // len(cell.phones))
    return [
        {
            "name": f"trace-{phone.name}",
            "netns": phone.name,
            "argv": [
                *(programs.phone_agent, "trace", "--csv", "--out", f"{RESULT_DIRECTORY}/{trace_file(phone)}"),
                *("--remote", cell.server_of(phone).address, "--read-at-end", "--buffer-kib", str(buffer_kib)),
            ],
        }
        for phone in cell.phones
    ]


_EDCA_TRACE = {"name": "edca-trace", "event": "mac80211/drv_conf_tx", "buffer_kib": 256, "window": None}
"""256 KiB are some 3000 settings of a queue."""

MEDIUM_TRACE_KIB_PER_S = 1024
"""A record has 60 bytes; even of the smallest frames at 54 Mb/s the air has not 17,000 a second."""


def _medium_trace(window: Window) -> dict[str, Any]:
    """The recording of the medium; the window is of an event's own time, which is that of the model."""
    from_ns, to_ns = round(window.from_s * 1e9), round((window.from_s + window.length_s) * 1e9)
    return {
        "name": MEDIUM_TRACE,
        "event": "hwsim_dcf/dcf_attempt",
        "buffer_kib": MEDIUM_TRACE_KIB_PER_S * math.ceil(window.length_s),
        "window": {"field": "start_ns", "from_ns": from_ns, "to_ns": to_ns},
    }


def _medium(parameters: Parameters, seed: int) -> dict[str, int | str]:
    """Parameters of the medium in mac80211_hwsim; `dcf` itself, which switches it on, comes last."""
    return {
        "dcf_seed": seed,
        "dcf_access_categories": int(parameters.has_wmm),
        "dcf_sta_queue_frames": parameters.driver_queue_frames or parameters.radio.driver_queue_frames,
        "dcf_ap_queue_frames": parameters.ap_driver_queue_frames or parameters.radio.driver_queue_frames,
        "dcf_orphan": int(parameters.orphan),
        "dcf_retry_limit": parameters.retry_limit,
        "dcf_loss_ppm": round(parameters.loss_percent * 10_000),
        **(
            {}
            if parameters.interference_us is None
            else {"dcf_interference": " ".join(map(str, parameters.interference_us))}
        ),
        **({"dcf_station_rates": rates} if (rates := STATION_RATES.index(parameters.station_rates)) else {}),
        **({} if parameters.rts_bytes is None else {"dcf_rts_bytes": parameters.rts_bytes}),
        "dcf": 1,
    }


def _merging(cell: nodes.Topology) -> list[dict[str, Any]]:
    """What has a server's end of its wire merge segments: GRO there, and no TSO at the other end, since veth takes what
    a sender that has TSO sends as merged already (veth_skb_is_eligible_for_gro).
    """
    return [
        part
        for server in cell.servers
        for part in (
            {"netns": "", "interface": server.name, "feature": "tso", "on": False},
            {"netns": server.name, "interface": "eth0", "feature": "gro", "on": True},
        )
    ]


def _radio_number(parameters: Parameters, phone: int) -> int:
    """As the medium counts: access points from 0, then phones, which count from 1."""
    return parameters.access_points - 1 + phone


def _links(parameters: Parameters) -> list[str]:
    """The links as they are until a phone walks: by the distances, and of who will walk by where that begins."""
    links = list[str]()
    for phone in range(1, parameters.terminals + 1):
        distance_m = parameters.distance_m(phone)
        if distance_m is not None:
            for access_point in range(parameters.access_points):
                links += _link(parameters, phone, access_point, distance_m)
    # The first walk of a link is the last to be written.
    for walk in reversed(parameters.scenario.walks()):
        links += _links_of(parameters, walk, 0)
    return links


def _link(parameters: Parameters, phone: int, access_point: int, distance_m: float) -> list[str]:
    """What the medium's dcf_snr is given, both ways: sender, receiver, SNR in quarters of a dB. Phones count from 1,
    access points from 0.
    """
    number = _radio_number(parameters, phone)
    snr_quarter_db = radio.link_snr_quarter_db(parameters.radio, distance_m)
    return [f"{number} {access_point} {snr_quarter_db}", f"{access_point} {number} {snr_quarter_db}"]


def _sysctls(window_scale: int) -> dict[str, str]:
    """Kernel settings, made before the namespaces that inherit them."""
    largest = SCALE_0_BYTES << window_scale
    received = (min(TCP_BUFFER["minimum"], largest), min(TCP_BUFFER["start"], largest), largest)
    return {
        "net/core/devconf_inherit_init_net": "1",
        "net/core/rmem_max": str(largest),
        "net/core/wmem_max": str(TCP_BUFFER["maximum"]),
        "net/ipv4/tcp_rmem": " ".join(map(str, received)),
        "net/ipv4/tcp_wmem": " ".join(map(str, TCP_BUFFER.values())),
    }


def _phone_sysctls(pacing_percent: int | None) -> dict[str, str]:
    """Kernel settings of a phone's namespace, which begin with the kernel's defaults."""
    names = ("tcp_pacing_ca_ratio", "tcp_pacing_ss_ratio") if pacing_percent is not None else ()
    return {f"net/ipv4/{name}": str(pacing_percent) for name in names}


HOSTAPD_QUEUES = 4
DCF = {"aifs": 2, "cwmin": 15, "cwmax": 1023, "burst": 0.0}
"""How a station contends without WMM; hostapd would give the access point's queues WMM's parameters all the same."""

BEST_EFFORT_QUEUE = 2
TXOP_UNIT_MS = 0.032
OPENWRT_TXOP_LIMIT = 62
"""2 ms: `tx_queue_data2_burst` of OpenWrt's wifi-scripts for 802.11ac and later at 5 GHz."""


def _hostapd(parameters: Parameters, channel: radio.Channel) -> str:
    """Radio, queues and what every access point of the lab has."""
    # Open vSwitch takes frames before hostapd's packet socket sees those of EAPOL; nl80211 delivers them all the same.
    bridge = "driver_params=control_port_ap=1" if parameters.ovs else f"bridge={nodes.BRIDGE}"
    return f"""interface={nodes.RADIO}
{bridge}
driver=nl80211
ctrl_interface=/run/hostapd
ssid=airbound
{radio.hostapd(parameters.radio, channel, parameters.guard_interval)}beacon_int={BEACON_INTERVAL_TU}
wmm_enabled={int(parameters.has_wmm)}
{_hostapd_queues(parameters)}auth_algs=1
ap_max_inactivity=86400
max_num_sta=200
"""


def _hostapd_part(parameters: Parameters, access_point: nodes.AccessPoint) -> dict[str, Any]:
    """Where and with what hostapd runs. What differs from the first comes last, and takes its place."""
    text, index = _hostapd(parameters, _channel(parameters, access_point)), access_point.index - 1
    if index:
        text += f"interface={access_point.interface}\nbeacon_int={BEACON_INTERVALS_TU[index]}\n"
    return {
        "name": access_point.name,
        "netns": access_point.netns,
        "radio": access_point.radio,
        "interface": access_point.interface,
        "hostapd": text,
        "hostapd_file": hostapd_file(access_point),
        "hostapd_name": f"hostapd-{access_point.name}" if index else "hostapd",
    }


def hostapd_file(access_point: nodes.AccessPoint) -> str:
    """Name of an access point's configuration in the guest."""
    return "/run/lab/hostapd.conf" if access_point.index == 1 else f"/run/lab/hostapd-{access_point.name}.conf"


def _channel(parameters: Parameters, access_point: nodes.AccessPoint) -> radio.Channel:
    return parameters.radio.channels[access_point.index - 1 if parameters.ap_channels == "different" else 0]


def _hostapd_queues(parameters: Parameters) -> str:
    """The access point's own queues: DCF without WMM, hostapd's defaults with it, and what an operator sets; and what
    it announces to its stations, if an operator sets that.
    """
    queues: dict[int, dict[str, float]] = {
        queue: {} if parameters.has_wmm else dict(DCF) for queue in range(HOSTAPD_QUEUES)
    }
    txop_limit = parameters.ap_txop_limit
    if txop_limit is None and parameters.ap == "openwrt" and parameters.radio.vht:
        txop_limit = OPENWRT_TXOP_LIMIT
    chosen = {
        "aifs": parameters.ap_aifsn,
        "cwmin": parameters.ap_cw_min,
        "cwmax": parameters.ap_cw_max,
        "burst": None if txop_limit is None else txop_limit * TXOP_UNIT_MS,
    }
    queues[BEST_EFFORT_QUEUE] |= {key: value for key, value in chosen.items() if value is not None}
    return "".join(
        f"tx_queue_data{queue}_{key}={value:.1f}\n" if key == "burst" else f"tx_queue_data{queue}_{key}={value}\n"
        for queue, values in queues.items()
        for key, value in values.items()
    ) + _hostapd_announces(parameters)


def _hostapd_announces(parameters: Parameters) -> str:
    """The stations' queue of best effort; hostapd has the windows' exponents."""
    chosen = {
        "aifs": parameters.sta_aifsn,
        "cwmin": None if parameters.sta_cw_min is None else parameters.sta_cw_min.bit_length(),
        "cwmax": None if parameters.sta_cw_max is None else parameters.sta_cw_max.bit_length(),
        "txop_limit": parameters.sta_txop_limit,
    }
    return "".join(f"wmm_ac_be_{key}={value}\n" for key, value in chosen.items() if value is not None)


def _wpa_supplicant(frequencies: str) -> str:
    """One channel, one network: no other is scanned."""
    return f"""p2p_disabled=1
network={{
	ssid="airbound"
	key_mgmt=NONE
	scan_freq={frequencies}
	freq_list={frequencies}
}}
"""


def _choosing_wpa_supplicant(cell: nodes.Topology, phone: nodes.Phone) -> str:
    """Of a phone that has a choice: where it begins. It stays there until the scenario moves it.

    It listens for beacons: access points answer a probe that is for all of them in the same moment, and only once, so
    that on one channel the answers always collide.
    """
    parameters = cell.parameters
    found = dict.fromkeys(_channel(parameters, access_point).frequency_mhz for access_point in cell.access_points)
    frequencies = " ".join(map(str, found))
    begins_at = cell.access_points[parameters.access_point_of(phone.index) - 1].bssid
    network = _wpa_supplicant(frequencies).replace("}", f"\tbssid={begins_at}\n}}")
    return f"ctrl_interface={SUPPLICANT_CONTROL}\npassive_scan=1\n{network}"


CGROUP_DIRECTORY = "/run/cgroup"
STOCK_OPTIONS = (
    *("--back-end", "ebpf-new-only", "--cgroup", CGROUP_DIRECTORY),
    *("--monitor", "sockdiag", "--no-tracing", "--no-retransmit"),
)
"""Of a phone's agent that does without Airbound's patches. User Mode Linux has no BPF iterators: the agents must run
before there are connections, as they do here, and cannot make TCP retransmit after an arrival."""


def _components(cell: nodes.Topology, mode: str, programs: Programs) -> list[dict[str, Any]]:
    """Controller and agents, in the order in which they are started."""
    chosen = modes.parse(mode)
    arguments = chosen.controller_arguments
    if arguments is None:
        return []
    tls, parameters = cell.parameters.tls, cell.parameters
    controller = f"{nodes.CONTROLLER_ADDRESS}:{nodes.CONTROLLER_PORT}"
    has_config = modes.controller_config(chosen, cell.parameters.controller_config) is not None
    config = ("--config", "/run/lab/controller.config") if has_config else ()
    return [
        {
            "name": "controller",
            "netns": "controller",
            "argv": [
                *(*programs.python_command, "-m", "airbound", "controller", *(() if tls else certificates.PLAIN_TEXT)),
                *("--listen", controller, "--metrics="),
                *arguments,
                *config,
            ],
            "environment": {
                **programs.python_environment,
                **(open_vswitch.CONTROLLER_METERS if parameters.switch == "meters" else {}),
                **(open_vswitch.controller_binding() if parameters.openflow and not parameters.ap_agent else {}),
                **(certificates.controller_environment() if tls else {}),
                **_reporting(parameters),
            },
        },
        *([_openflow(parameters, programs, controller)] if parameters.openflow else []),
        *(
            _access_point_agent(parameters, access_point, programs, controller)
            for access_point in (cell.access_points[: parameters.ap_agents_last] if parameters.ap_agent else ())
        ),
        *(
            {
                "name": f"phone{phone.index}",
                "netns": phone.name,
                "argv": [
                    *(programs.phone_agent, "run"),
                    *(certificates.agent_options(f"phone{phone.index}") if tls else certificates.PLAIN_TEXT),
                    *("--controller", controller, "--interface", phone.interface),
                    *("--state-dir", f"/run/lab/phone{phone.index}"),
                    *(STOCK_OPTIONS if chosen.stock else ()),
                    *(("--applications", classes.TABLE_FILE) if classes.table(parameters) is not None else ()),
                    *_interval(parameters),
                ],
                "environment": {},
            }
            for phone in cell.phones
            if cell.parameters.has_agent(phone.index)
        ),
    ]


def _interval(parameters: Parameters) -> list[str]:
    """An agent's option, if its reports do not come at its own interval."""
    interval_ms = parameters.report_interval_ms
    return [] if interval_ms == REPORT_INTERVAL_MS else ["--interval", f"{interval_ms}ms"]


def _reporting(parameters: Parameters) -> dict[str, str]:
    """Configures the controller, whose interval a phone's agent takes over from its own."""
    interval_ms = parameters.report_interval_ms
    return {} if interval_ms == REPORT_INTERVAL_MS else {"AIRBOUND_REPORTING__INTERVAL_MS": str(interval_ms)}


def _openflow(parameters: Parameters, programs: Programs, controller: str) -> dict[str, Any]:
    """`airbound openflow`, beside the controller. Without an agent of the access point it finds the stations itself;
    whose cell that is is then in the controller's configuration.
    """
    return {
        "name": OPENFLOW,
        "netns": "controller",
        "argv": [
            *(*programs.python_command, "-m", "airbound", "openflow", *certificates.PLAIN_TEXT),
            *("--controller", controller),
            *("--listen", f"{nodes.CONTROLLER_ADDRESS}:{nodes.OPENFLOW_PORT}"),
            *(() if parameters.ap_agent else ("--station-port", nodes.RADIO)),
        ],
        "environment": programs.python_environment,
    }


def _access_point_agent(
    parameters: Parameters, access_point: nodes.AccessPoint, programs: Programs, controller: str
) -> dict[str, Any]:
    name = access_point.name
    return {
        "name": name,
        "netns": access_point.netns,
        "argv": [
            programs.access_point_agent,
            *(certificates.agent_options(name) if parameters.tls else certificates.PLAIN_TEXT),
            *("--controller", controller, "--interface", access_point.interface),
            *("--hostapd-control", f"{HOSTAPD_CONTROL}/{access_point.interface}"),
            *("--hostapd-config", hostapd_file(access_point), "--state-dir", f"/run/lab/{name}"),
            *(("--bridge", nodes.BRIDGE) if parameters.openflow else ()),
            *(() if parameters.ap_edca else ("--no-edca",)),
            *(("--window-clamp",) if parameters.window_clamp else ()),
            *_interval(parameters),
        ],
        "environment": {},
    }


def _certificates(components: list[dict[str, Any]], programs: Programs) -> dict[str, Any]:
    agents = [component["name"] for component in components if component["name"] not in ("controller", OPENFLOW)]
    return certificates.plan(programs.python_command, programs.python_environment, programs.operator_commands, agents)
