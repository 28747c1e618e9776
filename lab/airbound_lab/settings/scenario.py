# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what happens when, in virtual time; pure, but for reading a file.

A scenario is a list of actions on a time line whose zero is the moment at which every component is connected:

- `start-traffic` of a phone (until its `stop-traffic`, or to the end): TCP or UDP, paced or
  saturating, optionally on and off in turn; up, from the phone to its server, or down. Paced TCP is written every 5 ms
  or, if that is longer, 11,584 bytes at a time, as by an application that has no more to send. QUIC only goes up, as
  fast as its congestion control lets it (lab/quic);
- `stop-traffic` of a phone, in one direction;
- `kill` (SIGKILL), `stop` (SIGTERM), `pause` (SIGSTOP), `continue` (SIGCONT) and `start` of a component:
  `controller`, `ap`, or `phone1`, `phone2`, ... (the agent, not the phone), or `phones`, every phone's agent; `switch`
  (Open vSwitch's daemon), `openflow` (`airbound openflow`). A component whose first action is `start` does not run
  before. Actions of components that a run does not have are left out;
- `revoke` of an agent: an operator revokes its certificates (only with TLS);
- `reload-hostapd` (SIGHUP: it reads its configuration again) and `restart-radio` (hostapd's DISABLE and ENABLE: the
  access point stops and starts), as a change of the configuration causes them, of the first access point;
- `roam` of a phone to an access point, for `deaf_ms` of which it is at none: `silent`, out of everybody's range, as one
  that is carried away, or after it took its leave;
- `walk` of a phone: within `over_s` its distance from an `access_point` (0: from all) goes from `from_m` to `to_m`, at
  constant speed. Until then it is where its first walk begins, after that where the last one ended;
- `start-application` of a phone: a program sends to the phone's server by TCP (settings/application.py), with the
  congestion control of the mode, until it has sent all, or to the end.

What goes up by `start-traffic` or `start-application` may be of a class by the phones' tables (`app_class`; an
application has the class of its kind, unless that is `none`), and may be marked by itself as video (`marked`).

`phone: 0` in `start-traffic` and `stop-traffic` means every phone. For one phone and direction, of several actions at
the same moment the last one counts.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator
from pydantic.dataclasses import dataclass

from airbound_lab.errors import UsageError
from airbound_lab.settings.application import Application, Live
from airbound_lab.settings.validation import STRICT, usage_errors

START_SPREAD_S = 0.5
"""Phones that start together start within this time of each other, at random by the seed."""

SATURATION_PAYLOAD_BYTES = 1470
"""Payload of the datagrams by which Bianchi's model is checked."""

ETHERNET_PAYLOAD_BYTES = 1472
"""The largest UDP payload that is not fragmented."""

WALKING_NEAR_M, WALKING_FAR_M = 2.0, 100.0
"""Of `walking`. At the second 5 GHz has 3 dB: the lowest rate loses every other long frame."""

TrafficAction = Literal["start-traffic", "stop-traffic"]
ComponentAction = Literal["kill", "stop", "pause", "continue", "start"]
HostapdAction = Literal["reload-hostapd", "restart-radio"]
OperatorAction = Literal["revoke"]
RoamingAction = Literal["roam"]
WalkingAction = Literal["walk"]
ApplicationAction = Literal["start-application"]
Do = Literal[
    TrafficAction, ComponentAction, HostapdAction, OperatorAction, RoamingAction, WalkingAction, ApplicationAction
]
TRAFFIC_ACTIONS: tuple[str, ...] = get_args(TrafficAction)
HOSTAPD_ACTIONS: tuple[str, ...] = get_args(HostapdAction)
OPERATOR_ACTIONS: tuple[str, ...] = get_args(OperatorAction)
ROAMING_ACTIONS: tuple[str, ...] = get_args(RoamingAction)
WALKING_ACTIONS: tuple[str, ...] = get_args(WalkingAction)
APPLICATION_ACTIONS: tuple[str, ...] = get_args(ApplicationAction)
Direction = Literal["up", "down"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
Seconds = Annotated[float, Field(gt=0)]
DistanceM = Annotated[float, Field(gt=0, le=1000)]

PHONES = "phones"
"""A component's name that stands for every phone's agent."""

SWITCH = "switch"
"""A component's name: Open vSwitch's daemon, ovs-vswitchd."""

OPENFLOW = "openflow"
"""A component's name: the process that speaks OpenFlow with it."""


def access_point_agent(number: int) -> str:
    """Name of the agent of an access point; they count from 1."""
    return "ap" if number == 1 else f"ap{number}"


def _agents(terminals: int) -> list[str]:
    return [f"phone{i}" for i in range(1, terminals + 1)]


AppClass = Literal["", "none", "live", "burst", "bulk", "background"]
"""Of what a phone sends, by its table. Empty: that of an application's kind, and none of other traffic."""
CLASS_OF_KIND: dict[str, AppClass] = {"live": "live", "photos": "burst", "file": "bulk", "http": "none"}


@dataclass(frozen=True, slots=True, config=STRICT)
class Action:
    """One step of a scenario."""

    at_s: Annotated[float, Field(ge=0)]
    do: Do
    phone: Annotated[int, Field(ge=0)] = 0
    direction: Direction = "up"
    component: str = ""
    protocol: Literal["tcp", "udp", "quic"] = "tcp"
    rate_mbps: Annotated[float, Field(ge=0.001, le=1000)] | None = None
    payload_bytes: Annotated[int, Field(ge=1, le=ETHERNET_PAYLOAD_BYTES)] = SATURATION_PAYLOAD_BYTES
    on_s: Seconds | None = None
    off_s: Seconds | None = None
    access_point: Annotated[int, Field(ge=0)] = 0
    deaf_ms: Annotated[int, Field(ge=0, le=60_000)] | None = None
    """None: as the parameters say."""
    silent: bool = True
    from_m: DistanceM | None = None
    to_m: DistanceM | None = None
    over_s: Seconds | None = None
    application: Application | None = None
    app_class: AppClass = ""
    marked: bool = False

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if (self.on_s is None) != (self.off_s is None):
            raise ValueError("on_s and off_s belong together")
        if self.direction == "down" and self.protocol == "udp" and self.rate_mbps is None:
            raise ValueError("udp that goes down needs rate_mbps: a server's socket does not limit it")
        if self.protocol == "quic" and not self._is_plain_upload():
            raise ValueError("quic is of what a phone sends up, without a rate, pauses, a class or a mark")
        walks = [value is not None for value in (self.from_m, self.to_m, self.over_s)]
        if any(walks) != (self.do in WALKING_ACTIONS) or any(walks) != all(walks):
            raise ValueError("from_m, to_m and over_s belong together, and to a walk")
        if (self.application is not None) != (self.do in APPLICATION_ACTIONS):
            raise ValueError("application and start-application belong together")
        sends_up = self.do in APPLICATION_ACTIONS or (self.do == "start-traffic" and self.direction == "up")
        if self.app_class and not (sends_up and self.phone):
            raise ValueError("app_class is of what one phone sends up")
        if self.marked and not (self.do == "start-traffic" and sends_up):
            raise ValueError("marked is of traffic that a phone sends up")
        return self

    def _is_plain_upload(self) -> bool:
        chosen = self.rate_mbps is not None or self.on_s is not None or bool(self.app_class) or self.marked
        return self.do == "start-traffic" and self.direction == "up" and not chosen

    def is_traffic_of(self, phone: int, direction: Direction) -> bool:
        """Whether the action starts or stops traffic of a phone in a direction."""
        return self.do in TRAFFIC_ACTIONS and self.phone in (0, phone) and self.direction == direction

    def class_name(self) -> str:
        """Return the class of what is sent, by the phone's table; empty for none."""
        own = self.app_class or (CLASS_OF_KIND[self.application.kind] if self.application is not None else "")
        return "" if own == "none" else own

    def distance_m(self, after_s: float) -> float:
        """How far away a phone is so many seconds after its walk began."""
        if self.from_m is None or self.to_m is None or self.over_s is None:
            raise ValueError(f"{self.do} is not a walk")
        return self.from_m + (self.to_m - self.from_m) * min(after_s / self.over_s, 1.0)

    def overlaps(self, other: Action) -> bool:
        """Whether two walks are of the same link at the same time."""
        first, second = sorted((self, other), key=lambda action: action.at_s)
        return (
            self.phone == other.phone
            and (self.access_point == other.access_point or 0 in (self.access_point, other.access_point))
            and second.at_s < first.at_s + (first.over_s or 0)
        )

    def _check_phone(self, terminals: int, access_points: int) -> None:
        of_one = self.do not in TRAFFIC_ACTIONS
        if self.phone > terminals or (of_one and not self.phone):
            raise ValueError(f"{self.do}: there is no phone {self.phone} of {terminals}")
        any_access_point = self.do in APPLICATION_ACTIONS or (self.do not in ROAMING_ACTIONS and not self.access_point)
        if of_one and not any_access_point and not 1 <= self.access_point <= access_points:
            raise ValueError(f"{self.do}: there is no access point {self.access_point} of {access_points}")

    def check(self, terminals: int, access_points: int) -> None:
        """Raise ValueError if the action cannot be done with this many phones and access points."""
        agents = map(access_point_agent, range(1, access_points + 1))
        if self.do in (*ROAMING_ACTIONS, *WALKING_ACTIONS, *TRAFFIC_ACTIONS, *APPLICATION_ACTIONS):
            self._check_phone(terminals, access_points)
        elif self.do in HOSTAPD_ACTIONS:
            if self.component:
                raise ValueError(f"{self.do}: has no component")
        elif self.component not in ("controller", *agents, OPENFLOW, SWITCH, PHONES, *_agents(terminals)):
            raise ValueError(f"{self.do}: there is no component {self.component!r}")
        elif self.do in OPERATOR_ACTIONS and self.component == "controller":
            raise ValueError(f"{self.do}: a controller's certificate cannot be revoked, it ends within days")
        elif self.do in OPERATOR_ACTIONS and self.component in (OPENFLOW, SWITCH):
            raise ValueError(f"{self.do}: {self.component} has no certificate of the access point's or a phone's role")


@dataclass(frozen=True, slots=True, config=STRICT)
class Flow:
    """The traffic of one phone in one direction, from one start to one stop."""

    phone: int
    direction: Direction
    start_ms: int
    stop_ms: int
    action: Action


@dataclass(frozen=True, slots=True, config=STRICT)
class Scenario:
    """A named time line."""

    name: str
    actions: tuple[Action, ...]
    agents: Annotated[int, Field(ge=0)] | None = None
    """Phones 1 to this have an agent; None: all."""

    def check(self, terminals: int, access_points: int = 1) -> None:
        """Raise ValueError if the scenario cannot be run with this many phones and access points."""
        if self.agents is not None and self.agents > terminals:
            raise ValueError(f"scenario {self.name}: agents: {self.agents}, but there are {terminals} phones")
        if not any(action.do in ("start-traffic", *APPLICATION_ACTIONS) for action in self.actions):
            raise ValueError(f"scenario {self.name}: no phone ever starts to send")
        for number, action in enumerate(self.actions):
            try:
                action.check(terminals, access_points)
            except ValueError as error:
                raise ValueError(f"scenario {self.name}: actions[{number}]: {error}") from error
        for first, second in itertools.combinations(self.walks(), 2):
            if first.overlaps(second):
                raise ValueError(f"scenario {self.name}: phone {first.phone} walks twice at {second.at_s:g} s")

    def walks(self) -> list[Action]:
        """The phones' walks, in order."""
        return sorted((action for action in self.actions if action.do in WALKING_ACTIONS), key=lambda a: a.at_s)

    def application_actions(self) -> list[Action]:
        """The starts of applications, in order."""
        return sorted((a for a in self.actions if a.do in APPLICATION_ACTIONS), key=lambda action: action.at_s)

    def classed_actions(self) -> list[Action]:
        """The starts of what has a class, in order."""
        return sorted((action for action in self.actions if action.class_name()), key=lambda action: action.at_s)

    def live(self) -> list[Live]:
        """The live videos."""
        return [a.application for a in self.application_actions() if isinstance(a.application, Live)]

    def saturates(self) -> bool:
        """Whether a UDP sender is limited by nothing but its socket."""
        return any(a.do == "start-traffic" and a.protocol == "udp" and a.rate_mbps is None for a in self.actions)

    def has_quic(self) -> bool:
        """Whether a phone uploads by QUIC."""
        return any(action.protocol == "quic" for action in self.actions)

    def needs_certificates(self) -> bool:
        """Whether an action is about certificates."""
        return any(action.do in OPERATOR_ACTIONS for action in self.actions)

    def flows(self, terminals: int, seconds: int, seed: int) -> list[Flow]:
        """Pair the starts and stops of each phone and direction, ordered by phone, direction and time."""
        spread = random.Random(seed)  # noqa: S311  (a simulation, not a secret)
        # Those of the uploads first: downloads beside them do not change when they start.
        delay_s = {
            (direction, phone): round(spread.uniform(0, START_SPREAD_S), 3)
            for direction in DIRECTIONS
            for phone in range(1, terminals + 1)
        }
        flows = []
        for phone, direction in itertools.product(range(1, terminals + 1), DIRECTIONS):
            own = [action for action in self.actions if action.is_traffic_of(phone, direction)]
            own.sort(key=lambda action: action.at_s)
            running: Action | None = None
            for action in [*own, Action(at_s=float(seconds), do="stop-traffic")]:
                if running is not None:
                    start_s = running.at_s + (delay_s[direction, phone] if running.phone == 0 else 0)
                    stop_s = min(action.at_s, float(seconds))
                    if stop_s > start_s:
                        flows.append(Flow(phone, direction, round(start_s * 1000), round(stop_s * 1000), running))
                running = action if action.do == "start-traffic" else None
        return flows

    def process_actions(self, terminals: int) -> list[Action]:
        """Actions on single components, on hostapd, and of phones that roam or walk, in order."""
        actions = []
        for action in sorted((a for a in self.actions if a.do not in TRAFFIC_ACTIONS), key=lambda action: action.at_s):
            if action.component == PHONES:
                actions += [replace(action, component=agent) for agent in _agents(terminals)]
            else:
                actions.append(action)
        return actions

    def late_components(self, terminals: int) -> dict[str, float]:
        """The components that do not run from the beginning, with the seconds at which they are first started."""
        first: dict[str, Action] = {}
        for action in self.process_actions(terminals):
            first.setdefault(action.component, action)
        return {name: action.at_s for name, action in first.items() if action.do == "start"}

    def to_json(self) -> dict[str, Any]:
        """Return the form of scenario files; fields at their defaults are left out."""
        return {
            "name": self.name,
            **({"agents": self.agents} if self.agents is not None else {}),
            "actions": [
                {
                    field.name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
                    for field in fields(Action)
                    if (value := getattr(a, field.name)) != field.default
                }
                for a in self.actions
            ],
        }


def _bursts(phone: int, at_s: tuple[float, ...], length_s: float) -> list[Action]:
    return [
        action
        for start_s in at_s
        for action in (
            Action(start_s, "start-traffic", phone=phone),
            Action(start_s + length_s, "stop-traffic", phone=phone),
        )
    ]


_FILE = TypeAdapter(Scenario)
_BUILT_IN = {
    scenario.name: scenario
    for scenario in (
        Scenario("uplink", (Action(0, "start-traffic"),)),
        Scenario("saturation", (Action(0, "start-traffic", protocol="udp"),)),
        Scenario("downlink", (Action(0, "start-traffic", direction="down"),)),
        Scenario(
            "both-ways",
            (
                Action(0, "start-traffic"),
                *(Action(0, "start-traffic", phone=i, direction="down") for i in (1, 2, 3)),
            ),
        ),
        Scenario(
            "joins-leaves",
            (
                *(Action(2.0 * i, "start-traffic", phone=i + 1) for i in range(8)),
                *(Action(16.0 + 2 * i, "stop-traffic", phone=i + 1) for i in range(4)),
                *(Action(24.0 + 2 * i, "start-traffic", phone=i + 1) for i in range(2)),
            ),
        ),
        # Of five phones about two send, another two of them from second to second.
        Scenario(
            "come-and-go",
            tuple(Action(round(1.6 * i, 1), "start-traffic", phone=i + 1, on_s=3.0, off_s=5.0) for i in range(5)),
        ),
        Scenario(
            "starts-and-stops",
            (
                Action(1, "start-traffic", phone=1),
                Action(28, "stop-traffic", phone=1),
                *_bursts(2, (2, 8, 14, 20), 3),
                *_bursts(3, (4.5, 9.2, 13.7, 21.3), 1),
                # Whose uplink has TCP ACKs only.
                Action(3, "start-traffic", phone=4, direction="down"),
                Action(25, "stop-traffic", phone=4, direction="down"),
                Action(6, "start-traffic", phone=5, protocol="udp", rate_mbps=1.0),
                Action(20, "stop-traffic", phone=5),
                Action(3, "start-traffic", phone=6, direction="down"),
                Action(10, "start-traffic", phone=6),
                Action(26, "stop-traffic", phone=6),
            ),
        ),
        Scenario(
            "udp-neighbours",
            (
                Action(0, "start-traffic", protocol="udp", rate_mbps=2.0),
                Action(0, "start-traffic", phone=1),
            ),
        ),
        Scenario(
            "roaming",
            (
                Action(0, "start-traffic"),
                Action(10, "roam", phone=1, access_point=2),
                Action(20, "roam", phone=1, access_point=1),
            ),
        ),
        Scenario(
            "walking",
            (
                Action(0, "start-traffic"),
                Action(4, "walk", phone=1, from_m=WALKING_NEAR_M, to_m=WALKING_FAR_M, over_s=10.0),
                Action(15, "walk", phone=1, from_m=WALKING_FAR_M, to_m=WALKING_NEAR_M, over_s=10.0),
            ),
        ),
        Scenario(
            "recovery",
            (
                Action(0, "start-traffic"),
                *(Action(10, "start", component=component) for component in ("controller", "ap", PHONES)),
            ),
        ),
    )
}
BUILT_IN = tuple(_BUILT_IN)


def is_built_in(scenario: Scenario) -> bool:
    """Whether a scenario can be named, without a file."""
    return _BUILT_IN.get(scenario.name) == scenario


def name_or_path(scenario: Scenario) -> str:
    """What `load` may be given for a scenario; one from a file is named after it."""
    return scenario.name if is_built_in(scenario) else f"{scenario.name}.json"


def built_in(name: str) -> Scenario:
    """Return a scenario by name; UsageError if there is none."""
    try:
        return _BUILT_IN[name]
    except KeyError:
        names = ", ".join(_BUILT_IN)
        raise UsageError(f"scenario: {name!r} is none of {names}, nor a .json file") from None


def load(given: str) -> Scenario:
    """Return a built-in scenario, or read a file whose name ends in .json; UsageError names file, key and value."""
    if not given.endswith(".json"):
        return built_in(given)
    try:
        text = Path(given).read_bytes()
    except OSError as error:
        raise UsageError(f"scenario: cannot read {given}: {error.strerror}") from error
    with usage_errors(f"scenario: {given}"):
        return _FILE.validate_json(text)
