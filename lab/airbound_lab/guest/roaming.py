# SPDX-License-Identifier: Apache-2.0
"""Phones that go from one access point to another, with or without a time in between in which they are at none.

A phone that vanishes is out of everybody's range, as one that is carried away: mac80211_hwsim delivers between radios
of a common group only. Its access point gets no notice, and what the phone sends on is lost. One that leaves takes its
leave first. Either way it associates with the other one when it arrives, and not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airbound_lab.guest.supplicant import Supplicant
from airbound_lab.guest.system import GuestError, mount, write

if TYPE_CHECKING:
    from collections.abc import Callable

DEBUGFS = "/sys/kernel/debug"
EVERYBODY, NOBODY = "1", "2"
"""Groups of radios, a bit each."""
SCAN_INTERVAL_S = 1
NETWORK = 0
"""Of a wpa_supplicant that has one."""


class Roaming:
    """What phones are told on their way."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, do nothing yet."""
        self._stations = plan["stations"]
        self._supplicants: dict[int, Supplicant] = {}
        self._vanished: set[int] = set()
        if any(step["do"] == "vanish" for step in plan["timeline"]):
            mount("debugfs", DEBUGFS)

    def roam(self, step: dict[str, Any]) -> None:
        """Go to another access point at once."""
        self._command(step, f"SET_NETWORK {NETWORK} bssid {step['bssid']}")
        self._command(step, f"ROAM {step['bssid']}")

    def leave(self, step: dict[str, Any]) -> None:
        """Deauthenticate, and stay away."""
        self._command(step, "DISCONNECT")

    def vanish(self, step: dict[str, Any]) -> None:
        """Be out of range."""
        self._set_group(step, NOBODY)
        self._vanished.add(step["station"])

    def arrive(self, step: dict[str, Any]) -> None:
        """Be within range again, and associate with the access point that is there."""
        if step["station"] in self._vanished:
            self._set_group(step, EVERYBODY)
            self._vanished.remove(step["station"])
        self._command(step, f"SET_NETWORK {NETWORK} bssid {step['bssid']}")
        # Otherwise it may wait for as long as it ignores an access point of which it was not in range, or, if it missed
        # a beacon, for 5 s.
        self._command(step, "BSSID_IGNORE clear")
        self._command(step, f"SCAN_INTERVAL {SCAN_INTERVAL_S}")
        self._command(step, "REASSOCIATE")

    def _supplicant(self, step: dict[str, Any]) -> Supplicant:
        number = step["station"]
        if number not in self._supplicants:
            self._supplicants[number] = Supplicant(self._stations[number]["interface"])
        return self._supplicants[number]

    def _command(self, step: dict[str, Any], text: str) -> None:
        answer = self._supplicant(step).command(text)
        if answer != "OK\n":
            raise GuestError(f"wpa_supplicant of {self._stations[step['station']]['name']}: {text}: {answer!r}")

    def _set_group(self, step: dict[str, Any], group: str) -> None:
        write(f"{DEBUGFS}/ieee80211/{self._stations[step['station']]['radio']}/hwsim/group", group)


ROAMING_STEPS: dict[str, Callable[[Roaming, dict[str, Any]], None]] = {
    "roam": Roaming.roam,
    "leave": Roaming.leave,
    "vanish": Roaming.vanish,
    "arrive": Roaming.arrive,
}
"""By their names in the plan."""
