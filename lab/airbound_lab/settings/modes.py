# SPDX-License-Identifier: Apache-2.0
"""Modes: what phones run and what controls them, by name; pure.

    CONGESTION                             that congestion control, without Airbound
    CONTROLLER[+CONGESTION][+edca][+stock] CUBIC, or another congestion control, within Airbound's bounds

CONTROLLER is a policy by itself (`bdp`, `paper-gb`, `paper-jb`, or one from outside by MODULE:NAME or the name of its
entry point), which leaves the access point's EDCA parameters alone unless `+edca` is there, or `airbound`: the
controller as it starts without any argument, EDCA parameters included. With `+stock` the phones' agents use nothing of
Airbound's patches: maxima by BPF, connections by sock_diag, no trace events.
"""

from __future__ import annotations

import difflib
import functools
import importlib.metadata
import re
import tomllib
from dataclasses import dataclass

from airbound_lab.errors import UsageError

CONGESTION_CONTROLS = ("cubic", "reno", "bbr", "vegas", "cdg", "westwood", "illinois", "nv", "dctcp")
CONTROLLERS: dict[str, tuple[str, ...]] = {
    "paper-gb": ("--policy", "paper", "--table", "gingerbread"),
    "paper-jb": ("--policy", "paper", "--table", "jelly-bean"),
    "bdp": ("--policy", "bdp"),
    "aggregate": ("--policy", "aggregate"),
    "airbound": (),
}
"""The controller's arguments."""

ENTRY_POINTS = "airbound.policies"
OUTSIDE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
"""MODULE:NAME of a policy from outside."""

AS_INSTALLED = "airbound"
EDCA = "edca"
STOCK = "stock"
DEFAULT_CONGESTION = "cubic"
QDISCS = {"bbr": "fq", "dctcp": "fq_codel"}
"""The queueing discipline that a congestion control was made for, if not pfifo: BBR paces itself, DCTCP needs ECN marks
at the phone's queue (RFC 8257). On Linux 6.12 mac80211's own queues make them, whatever stands before them.
"""
RECEIVERS = {"dctcp": "dctcp"}
"""What the other end of a congestion control must have: one that echoes each mark, and not until it is answered."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What the phones run, and how the controller is started if there are agents at all."""

    congestion: str
    controller_arguments: tuple[str, ...] | None = None
    edca: bool | None = None
    """Whether the controller sets EDCA parameters; None: as its own configuration says."""
    stock: bool = False
    """Whether the phones' agents do without Airbound's patches."""
    policy: str = ""
    """MODULE:NAME, if it is one from outside."""

    @property
    def qdisc(self) -> str:
        """The phones' queueing discipline, if the parameters name none."""
        return QDISCS.get(self.congestion, "pfifo")

    @property
    def receivers(self) -> str | None:
        """The congestion control of the servers' receiving sockets; None: the kernel's default."""
        return RECEIVERS.get(self.congestion)

    @property
    def has_agents(self) -> bool:
        """Whether the controller and the agents run."""
        return self.controller_arguments is not None


NAMED = (*CONGESTION_CONTROLS, *CONTROLLERS)
"""The modes without a plus sign."""


@functools.cache
def entry_points() -> dict[str, str]:
    """Policies from outside that are installed: MODULE:NAME by the name of its entry point."""
    return {point.name: point.value for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}


def _outside(name: str) -> str:
    """MODULE:NAME of a policy from outside; empty if it is none."""
    return name if OUTSIDE.fullmatch(name) else entry_points().get(name, "")


def parse(name: str) -> Mode:
    """Return the mode of a name; ValueError says what is wrong. Each mode has one name only."""
    first, *rest = name.split("+")
    if first in CONGESTION_CONTROLS and not rest:
        return Mode(first)
    policy = "" if first in CONTROLLERS or first in CONGESTION_CONTROLS else _outside(first)
    if first not in CONTROLLERS and not policy:
        hint = "; only a controller's mode can have a +" if first in CONGESTION_CONTROLS else ""
        near = difflib.get_close_matches(first, (*CONGESTION_CONTROLS, *CONTROLLERS), n=1)
        if near and first not in near:
            hint = f"; did you mean {near[0]}?"
        raise ValueError(
            f"none of {', '.join(NAMED)}, nor one of {', '.join(CONTROLLERS)} with +CONGESTION, nor MODULE:NAME of a"
            f" policy{hint}"
        )
    edca = None if first == AS_INSTALLED else False
    stock = bool(rest) and rest[-1] == STOCK
    if stock:
        rest.pop()
    if rest and rest[-1] == EDCA:
        if first == AS_INSTALLED:
            raise ValueError(f"{first} sets EDCA parameters already")
        edca = True
        rest.pop()
    congestion = rest.pop(0) if rest else DEFAULT_CONGESTION
    if rest or congestion not in CONGESTION_CONTROLS:
        raise ValueError(
            f"{'+'.join([congestion, *rest])!r} is not one of {', '.join(CONGESTION_CONTROLS)}, "
            f"then +{EDCA}, +{STOCK} or nothing"
        )
    if congestion == DEFAULT_CONGESTION and f"+{DEFAULT_CONGESTION}" in name:
        raise ValueError(f"{first} has {DEFAULT_CONGESTION} already")
    return Mode(congestion, ("--policy", policy) if policy else CONTROLLERS[first], edca, stock, policy)


def controller_config(mode: Mode, text: str | None) -> str | None:
    """Return the controller's configuration in a mode: the given text, and `[edca] enabled` where the mode decides it.

    Raises:
        UsageError: the text is not TOML, or decides `edca.enabled` otherwise.
    """
    if mode.edca is None:
        return text
    line = f"enabled = {str(mode.edca).lower()}"
    try:
        given = tomllib.loads(text or "")
        if isinstance(given.get(EDCA), dict) and given[EDCA].get("enabled") is mode.edca:
            merged = text or ""
        elif EDCA not in given:
            merged = f"{text or ''}\n[{EDCA}]\n{line}\n".lstrip("\n")
        else:
            merged = re.sub(rf"^(\s*\[\s*{EDCA}\s*\][^\n]*)", rf"\1\n{line}", text or "", count=1, flags=re.MULTILINE)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--controller-config: not TOML: {error}") from error
    try:
        decided = tomllib.loads(merged)[EDCA]["enabled"] == mode.edca
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        decided = False
    if not decided:
        raise UsageError(
            f"--controller-config: the mode decides {EDCA}.enabled; leave it out, write the rest as a [{EDCA}] table"
        )
    return merged


def file_name(mode: str) -> str:
    """A mode's name as part of a file's: `MODE@config=FILE` may have slashes."""
    return mode.replace("/", "_")
