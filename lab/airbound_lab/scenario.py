# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what happens when, in virtual time; pure.

A scenario is a list of actions on a time line whose zero is the moment at which every component is connected:

- `start-traffic` of a phone (until its `stop-traffic`, or to the end): TCP as fast as it goes, or UDP, paced or
  saturating, optionally on and off in turn;
- `stop-traffic` of a phone;
- `kill` and `start` of a component: `controller`, `ap`, or `phone1`, `phone2`, ... (the agent, not the phone).

`phone: 0` in `start-traffic` and `stop-traffic` means every phone.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from airbound_lab.errors import UsageError

START_SPREAD_S = 0.5
"""Phones that start together start within this time of each other, at random by the seed."""

SATURATION_PAYLOAD_BYTES = 1470
"""Payload of the datagrams by which Bianchi's model is checked."""

RATE_MBPS = (0.001, 1000)
"""Range of the paced rates."""

Do = Literal["start-traffic", "stop-traffic", "kill", "start"]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that happens."""

    at_s: float
    do: Do
    phone: int = 0
    component: str = ""
    protocol: Literal["tcp", "udp"] = "tcp"
    rate_mbps: float | None = None
    payload_bytes: int = SATURATION_PAYLOAD_BYTES
    on_s: float | None = None
    off_s: float | None = None

    def check(self, terminals: int) -> None:
        """Refuse an action that cannot be done; the message names the field."""
        if not isinstance(self.at_s, int | float) or not math.isfinite(self.at_s) or self.at_s < 0:
            raise UsageError(f"scenario: at_s {self.at_s!r} is not a time")
        if self.do in ("start-traffic", "stop-traffic"):
            if not isinstance(self.phone, int) or not 0 <= self.phone <= terminals:
                raise UsageError(f"scenario: {self.do}: there is no phone {self.phone!r} of {terminals}")
        elif self.do in ("kill", "start"):
            if self.component not in ("controller", "ap", *(f"phone{i}" for i in range(1, terminals + 1))):
                raise UsageError(f"scenario: {self.do}: there is no component {self.component!r}")
        else:
            raise UsageError(f"scenario: cannot do {self.do!r}")
        if self.protocol not in ("tcp", "udp"):
            raise UsageError(f"scenario: protocol {self.protocol!r} is neither tcp nor udp")
        if self.rate_mbps is not None and (
            self.protocol == "tcp" or not RATE_MBPS[0] <= self.rate_mbps <= RATE_MBPS[1]
        ):
            raise UsageError(
                f"scenario: rate_mbps {self.rate_mbps!r} is for udp, from {RATE_MBPS[0]} to {RATE_MBPS[1]}"
            )
        if not 1 <= self.payload_bytes <= SATURATION_PAYLOAD_BYTES + 2:
            raise UsageError(f"scenario: payload_bytes {self.payload_bytes!r} is not from 1 to 1472")
        if (self.on_s is None) != (self.off_s is None) or min(self.on_s or 1, self.off_s or 1) <= 0:
            raise UsageError("scenario: on_s and off_s belong together and are above 0")


@dataclass(frozen=True, slots=True)
class Flow:
    """The traffic of one phone from one start to one stop."""

    phone: int
    start_ms: int
    stop_ms: int
    action: Action


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named time line."""

    name: str
    actions: tuple[Action, ...]

    def check(self, terminals: int) -> None:
        """Refuse what cannot be done with this many phones."""
        if not any(action.do == "start-traffic" for action in self.actions):
            raise UsageError(f"scenario {self.name}: nobody ever starts to send")
        for action in self.actions:
            action.check(terminals)

    def saturates(self) -> bool:
        """Whether a UDP sender is held back by nothing but its socket."""
        return any(a.do == "start-traffic" and a.protocol == "udp" and a.rate_mbps is None for a in self.actions)

    def flows(self, terminals: int, seconds: int, seed: int) -> list[Flow]:
        """Pair the starts and stops of each phone, ordered by phone and time."""
        spread = random.Random(seed)  # noqa: S311  (a simulation, not a secret)
        delay_s = [0.0] + [round(spread.uniform(0, START_SPREAD_S), 3) for _ in range(terminals)]
        flows = []
        for phone in range(1, terminals + 1):
            mine = [a for a in self.actions if a.do in ("start-traffic", "stop-traffic") and a.phone in (0, phone)]
            mine.sort(key=lambda action: action.at_s)
            running: Action | None = None
            for action in [*mine, Action(at_s=float(seconds), do="stop-traffic")]:
                if running is not None:
                    start_s = running.at_s + (delay_s[phone] if running.phone == 0 else 0)
                    stop_s = min(action.at_s, float(seconds))
                    if stop_s > start_s:
                        flows.append(Flow(phone, round(start_s * 1000), round(stop_s * 1000), running))
                running = action if action.do == "start-traffic" else None
        return flows

    def component_actions(self) -> list[Action]:
        """Kills and starts of components, in order."""
        return sorted((a for a in self.actions if a.do in ("kill", "start")), key=lambda action: action.at_s)

    def to_json(self) -> dict[str, Any]:
        """Give the form of scenario files; fields at their defaults are left out."""
        plain = asdict(Action(at_s=-1, do="start-traffic"))
        return {
            "name": self.name,
            "actions": [
                {k: v for k, v in asdict(a).items() if k in ("at_s", "do") or v != plain[k]} for a in self.actions
            ],
        }

    @classmethod
    def from_json(cls, data: object) -> Scenario:
        """Read what to_json gave; raises UsageError that names what is wrong."""
        if not isinstance(data, dict) or set(data) != {"name", "actions"} or not isinstance(data["actions"], list):
            raise UsageError("scenario: needs exactly a name and a list of actions")
        known = {f.name for f in fields(Action)}
        for number, action in enumerate(data["actions"], start=1):
            if not isinstance(action, dict):
                raise UsageError(f"scenario: action {number} is not an object")
            for key in action:
                if key not in known:
                    raise UsageError(f"scenario: action {number}: unknown key {key!r}")
            for key in ("at_s", "do"):
                if key not in action:
                    raise UsageError(f"scenario: action {number}: {key!r} is missing")
        return cls(str(data["name"]), tuple(Action(**action) for action in data["actions"]))


_BUILT_IN = {
    "uplink": Scenario("uplink", (Action(at_s=0, do="start-traffic"),)),
    "saturation": Scenario("saturation", (Action(at_s=0, do="start-traffic", protocol="udp"),)),
}


def built_in(name: str) -> Scenario:
    """Give a scenario by name; UsageError if there is none."""
    try:
        return _BUILT_IN[name]
    except KeyError:
        names = ", ".join(_BUILT_IN)
        raise UsageError(f"scenario: {name!r} is none of {names}, nor a .json file") from None


def load(name_or_path: str) -> Scenario:
    """Give a built-in scenario, or read a file whose name ends in .json."""
    if not name_or_path.endswith(".json"):
        return built_in(name_or_path)
    try:
        data = json.loads(Path(name_or_path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"scenario: cannot read {name_or_path}: {error}") from error
    return Scenario.from_json(data)
