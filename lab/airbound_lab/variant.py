# SPDX-License-Identifier: Apache-2.0
"""What is run or compared: a mode, if wanted with settings of the access point, phones or agents; pure.

    MODE[@SETTING]...        vegas@cake-ack-filter    cubic@fq_codel@queue=200    vegas@aifsn=4@cwmin=31

SETTING is a queueing discipline by its name, `wmm`, `ovs` (its bridge is an Open vSwitch), or one of `queue=PACKETS`,
`driver-queue=FRAMES`, `aifsn=SLOTS`, `cwmin=SLOTS`, `cwmax=SLOTS`, `txop=N` (units of 32 us) of the access point,
`sta-aifsn=SLOTS`, `sta-cwmin=SLOTS`, `sta-cwmax=SLOTS`, `sta-txop=N`, the same of the stations (with WMM),
`no-aql` (of all radios, on 6.12), of the phones `power-save` (they sleep when idle) and `cwnd-clamp=SEGS`, the largest
congestion window of their own TCP, or, in modes with agents, `tls`: controller and agents use mutual TLS, `agents=N`:
phones 1 to N have one, `no-ap-agent`: the access point has none, `window-clamp`: it limits the windows of phones
without one, `openflow`: its bridge is an Open vSwitch with `airbound openflow`, or `meters`: the same, and its meters
are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airbound_lab import modes
from airbound_lab.qdisc import QDISCS

NUMBERS = {
    "queue": "ap_queue_packets",
    "driver-queue": "ap_driver_queue_frames",
    "aifsn": "ap_aifsn",
    "cwmin": "ap_cw_min",
    "cwmax": "ap_cw_max",
    "txop": "ap_txop_limit",
    "sta-aifsn": "sta_aifsn",
    "sta-cwmin": "sta_cw_min",
    "sta-cwmax": "sta_cw_max",
    "sta-txop": "sta_txop_limit",
    "cwnd-clamp": "cwnd_clamp_segs",
    "window-scale": "window_scale",
    "agents": "agents",
}
"""Settings with a value, and the parameter that each is."""

TLS = "tls"
FLAGS: dict[str, tuple[str, Any]] = {
    "wmm": ("wmm", True),
    TLS: ("tls", True),
    "ovs": ("switch", "ovs"),
    "openflow": ("switch", "openflow"),
    "meters": ("switch", "meters"),
    "no-ap-agent": ("ap_agent", False),
    "window-clamp": ("window_clamp", True),
    "no-aql": ("aql", False),
    "power-save": ("power_save", True),
}
"""Settings without a value, and the parameter that each is, with its value."""

OF_AGENTS = {
    TLS: "connections to secure",
    "agents": "phones with one",
    "openflow": "controller of switches",
    "meters": "controller of switches",
    "no-ap-agent": "access point's",
    "window-clamp": "access point's",
}
"""Settings that mean something only in modes with agents, and what others lack."""

HELP = """\
  MODE@SETTING@...
               with settings of the access point: a queueing discipline by its name (pfifo, pfifo_fast, fq_codel, fq,
               cake, cake-ack-filter), queue=PACKETS, driver-queue=FRAMES, aifsn=SLOTS, cwmin=SLOTS, cwmax=SLOTS,
               txop=N, wmm, ovs; of its stations, by its beacon: sta-aifsn=SLOTS, sta-cwmin=SLOTS, sta-cwmax=SLOTS,
               sta-txop=N (with wmm); of the phones: cwnd-clamp=SEGS, power-save; of all hosts: window-scale=N, no-aql
               (on 6.12); of controller and agents: tls, agents=N, no-ap-agent, window-clamp, openflow, meters"""
"""For the commands' help."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A mode with settings; `settings` are parameters by name."""

    name: str
    mode: str
    settings: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    @property
    def has_agents(self) -> bool:
        """Whether the controller and the agents run."""
        return modes.parse(self.mode).has_agents


def parse(name: str) -> Variant:
    """Return the variant of a name; ValueError says what is wrong. Limits of numbers are the parameters'."""
    mode, *words = name.split("@")
    has_agents = modes.parse(mode).has_agents
    settings: dict[str, Any] = {}
    for word in words:
        parameter, value = _setting(word)
        if (lacks := OF_AGENTS.get(word.partition("=")[0])) and not has_agents:
            raise ValueError(f"{word!r}: {mode} has no agents, and so no {lacks}")
        if parameter in settings:
            raise ValueError(f"{word!r}: {parameter} is set twice")
        settings[parameter] = value
    return Variant(name, mode, tuple(settings.items()))


def _setting(word: str) -> tuple[str, Any]:
    key, equals, value = word.partition("=")
    if not equals:
        if word in QDISCS:
            return "ap_qdisc", word
        if word in FLAGS:
            return FLAGS[word]
    elif key in NUMBERS:
        if not (value.isascii() and value.isdigit()):
            raise ValueError(f"{word!r}: {value!r} is not a whole number")
        return NUMBERS[key], int(value)
    known = ", ".join([*QDISCS, *FLAGS, *(f"{number}=N" for number in NUMBERS)])
    raise ValueError(f"{word!r} is none of {known}")
