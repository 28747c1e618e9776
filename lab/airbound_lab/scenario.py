# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what happens when, in virtual time; pure, but for reading a file.

A scenario is a list of actions on a time line whose zero is the moment at which every component is connected:

- `start-traffic` of a phone (until its `stop-traffic`, or to the end): TCP as fast as it goes, or UDP, paced or
  saturating, optionally on and off in turn;
- `stop-traffic` of a phone;
- `kill` and `start` of a component: `controller`, `ap`, or `phone1`, `phone2`, ... (the agent, not the phone).

`phone: 0` in `start-traffic` and `stop-traffic` means every phone.
"""

from __future__ import annotations

import random
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator
from pydantic.dataclasses import dataclass

from airbound_lab.errors import UsageError
from airbound_lab.validation import STRICT, usage_errors

START_SPREAD_S = 0.5
"""Phones that start together start within this time of each other, at random by the seed."""

SATURATION_PAYLOAD_BYTES = 1470
"""Payload of the datagrams by which Bianchi's model is checked."""

ETHERNET_PAYLOAD_BYTES = 1472
"""The largest UDP payload that is not fragmented."""

Do = Literal["start-traffic", "stop-traffic", "kill", "start"]
Seconds = Annotated[float, Field(gt=0)]


@dataclass(frozen=True, slots=True, config=STRICT)
class Action:
    """One step of a scenario."""

    at_s: Annotated[float, Field(ge=0)]
    do: Do
    phone: Annotated[int, Field(ge=0)] = 0
    component: str = ""
    protocol: Literal["tcp", "udp"] = "tcp"
    rate_mbps: Annotated[float, Field(ge=0.001, le=1000)] | None = None
    payload_bytes: Annotated[int, Field(ge=1, le=ETHERNET_PAYLOAD_BYTES)] = SATURATION_PAYLOAD_BYTES
    on_s: Seconds | None = None
    off_s: Seconds | None = None

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.rate_mbps is not None and self.protocol == "tcp":
            raise ValueError("rate_mbps is for udp")
        if (self.on_s is None) != (self.off_s is None):
            raise ValueError("on_s and off_s belong together")
        return self

    def check(self, terminals: int) -> None:
        """Raise ValueError if the action cannot be done with this many phones."""
        if self.do in ("start-traffic", "stop-traffic"):
            if self.phone > terminals:
                raise ValueError(f"{self.do}: there is no phone {self.phone} of {terminals}")
        elif self.component not in ("controller", "ap", *(f"phone{i}" for i in range(1, terminals + 1))):
            raise ValueError(f"{self.do}: there is no component {self.component!r}")


@dataclass(frozen=True, slots=True, config=STRICT)
class Flow:
    """The traffic of one phone from one start to one stop."""

    phone: int
    start_ms: int
    stop_ms: int
    action: Action


@dataclass(frozen=True, slots=True, config=STRICT)
class Scenario:
    """A named time line."""

    name: str
    actions: tuple[Action, ...]

    def check(self, terminals: int) -> None:
        """Raise ValueError if the scenario cannot be run with this many phones."""
        if not any(action.do == "start-traffic" for action in self.actions):
            raise ValueError(f"scenario {self.name}: no phone ever starts to send")
        for number, action in enumerate(self.actions):
            try:
                action.check(terminals)
            except ValueError as error:
                raise ValueError(f"scenario {self.name}: actions[{number}]: {error}") from error

    def saturates(self) -> bool:
        """Whether a UDP sender is limited by nothing but its socket."""
        return any(a.do == "start-traffic" and a.protocol == "udp" and a.rate_mbps is None for a in self.actions)

    def flows(self, terminals: int, seconds: int, seed: int) -> list[Flow]:
        """Pair the starts and stops of each phone, ordered by phone and time."""
        spread = random.Random(seed)  # noqa: S311  (a simulation, not a secret)
        delay_s = [0.0] + [round(spread.uniform(0, START_SPREAD_S), 3) for _ in range(terminals)]
        flows = []
        for phone in range(1, terminals + 1):
            own = [a for a in self.actions if a.do in ("start-traffic", "stop-traffic") and a.phone in (0, phone)]
            own.sort(key=lambda action: action.at_s)
            running: Action | None = None
            for action in [*own, Action(at_s=float(seconds), do="stop-traffic")]:
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
        """Return the form of scenario files; fields at their defaults are left out."""
        return {
            "name": self.name,
            "actions": [
                {field.name: value for field in fields(Action) if (value := getattr(a, field.name)) != field.default}
                for a in self.actions
            ],
        }


_FILE = TypeAdapter(Scenario)
_BUILT_IN = {
    "uplink": Scenario("uplink", (Action(at_s=0, do="start-traffic"),)),
    "saturation": Scenario("saturation", (Action(at_s=0, do="start-traffic", protocol="udp"),)),
}


def built_in(name: str) -> Scenario:
    """Return a scenario by name; UsageError if there is none."""
    try:
        return _BUILT_IN[name]
    except KeyError:
        names = ", ".join(_BUILT_IN)
        raise UsageError(f"scenario: {name!r} is none of {names}, nor a .json file") from None


def load(name_or_path: str) -> Scenario:
    """Return a built-in scenario, or read a file whose name ends in .json; UsageError names file, key and value."""
    if not name_or_path.endswith(".json"):
        return built_in(name_or_path)
    try:
        text = Path(name_or_path).read_bytes()
    except OSError as error:
        raise UsageError(f"scenario: cannot read {name_or_path}: {error.strerror}") from error
    with usage_errors(f"scenario: {name_or_path}"):
        return _FILE.validate_json(text)
