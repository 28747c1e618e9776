# SPDX-License-Identifier: Apache-2.0
"""The status of a live cell: JSON, schema 1, and lines of text; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airbound_lab.live.timetravel import Lateness

SCHEMA = 1
FILE = "status.json"
"""In the directory of the cell's state."""
FRESH_S = 15.0
"""A status that is older is of a cell that does not run."""
LOST_S = 0.5
LOST_RATIO = 1.5
"""What the guest's clock has lost is worth a line in the log at first, and when it has become so much more."""


@dataclass(frozen=True, slots=True)
class Running:
    """What is known of a guest that runs."""

    cell: dict[str, Any] | None
    """What the guest itself has written; None before the first time."""
    lateness: Lateness | None
    """How its time keeps to real time; None before it has started."""
    processor_s: float
    """Processor time that it has taken."""


def document(now_s: float, state: str, boots: int, guest: Running | None = None) -> dict[str, Any]:
    """Return the status; `now_s` is in seconds since 1970."""
    time = None
    if guest is not None and guest.lateness is not None:
        time = {
            "guest_s": round(guest.lateness.guest_s, 3),
            "behind_max_ms": round(guest.lateness.behind_max_ms, 1),
            "lost_s": round(guest.lateness.lost_s, 3),
            "processor_s": round(guest.processor_s, 2),
        }
    return {
        "schema": SCHEMA,
        "written_s_since_1970": round(now_s, 3),
        "state": state,
        "boots": boots,
        "time": time,
        "cell": guest.cell if guest is not None else None,
    }


def is_running(status: dict[str, Any], now_s: float) -> bool:
    """Whether a status says that the cell runs, and is of now."""
    return status.get("state") == "running" and now_s - float(status.get("written_s_since_1970", 0)) <= FRESH_S


def line(status: dict[str, Any]) -> str:
    """Return one line for a terminal."""
    time, cell = status["time"], status["cell"]
    if time is None or cell is None:
        return str(status["state"])
    total_mbps = sum(phone["goodput_mbps"] for phone in cell["phones"])
    doing = ", ".join(f"{phone['name']} {_short(phone)}" for phone in cell["phones"])
    lateness = f"behind {time['behind_max_ms']:.0f} ms, lost {time['lost_s']:.1f} s"
    srtts_ms = [phone["srtt_ms"] for phone in cell["phones"] if phone["srtt_ms"] is not None]
    rtt = f", RTT up to {max(srtts_ms):.0f} ms" if srtts_ms else ""
    return f"{status['state']} {time['guest_s']:.0f} s, {lateness}; {total_mbps:.1f} Mb/s{rtt}; {doing}"


def _short(phone: dict[str, Any]) -> str:
    if phone["kind"] in ("away", "idle"):
        return str(phone["kind"])
    return f"{phone['kind']} {phone['goodput_mbps']:.1f}"


class Changes:
    """What is new from one status to the next, as lines for a log."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._doing: dict[str, str] = {}
        self._starts: dict[str, int] = {}
        self._reported_lost_s = 0.0

    def lines(self, status: dict[str, Any]) -> list[str]:
        """Return what changed."""
        found = []
        cell = status["cell"] or {"phones": [], "agent_starts": {}}
        for phone in cell["phones"]:
            if self._doing.get(phone["name"]) != phone["doing"]:
                found.append(f"{phone['name']} {phone['doing']}")
            self._doing[phone["name"]] = phone["doing"]
        for agent, starts in cell["agent_starts"].items():
            if starts > self._starts.get(agent, 1):
                found.append(f"the agent of {agent} ended and was started again, {starts - 1} times by now")
            self._starts[agent] = starts
        return [*found, *self._lateness(status["time"])]

    def _lateness(self, time: dict[str, float] | None) -> list[str]:
        lost_s = time["lost_s"] if time is not None else 0.0
        # Less than before: another guest.
        self._reported_lost_s = min(self._reported_lost_s, lost_s)
        if lost_s < LOST_S + LOST_RATIO * self._reported_lost_s:
            return []
        self._reported_lost_s = lost_s
        return [f"the machine is too busy: the cell's clock has lost {lost_s:.1f} s since its start"]
