# SPDX-License-Identifier: Apache-2.0
"""What is true for every order and every sequence of events."""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airbound.core.addresses import Mac
from airbound.core.cell_decisions import terminal_due_at_us
from airbound.core.claims import is_live
from airbound.core.commands import fit_to_back_end, is_as_decided
from airbound.core.decisions import decide
from airbound.core.effects import Bound, CloseStream, Effect, RenewLease, SetBounds, SetReporting
from airbound.core.engine import Engine
from airbound.core.events import (
    Disconnected,
    Event,
    Exempted,
    ModeSet,
    Reconfigured,
    Refused,
    TerminalReported,
)
from airbound.core.overrides import CellOverride
from airbound.core.parameters import IdentityParameters, Parameters, PolicyName, SafetyParameters
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import Agent, BackEnd, Destination, TerminalReport
from airbound.core.restriction import is_exempt
from airbound_testing.scenario import (
    BSSID,
    OTHER_BSSID,
    OTHER_SERVER,
    PAPER,
    SECOND_US,
    SERVER,
    Scenario,
    ip,
    mac,
    upload,
)


@settings(max_examples=25)
@given(
    order=st.permutations(range(6)),
    rtts=st.lists(st.tuples(st.integers(60, 5_000), st.integers(60, 600)), min_size=6, max_size=6),
    policy=st.sampled_from(("paper", "bdp")),
    access_point_first=st.booleans(),
)
def test_the_order_of_terminals_and_reports_does_not_matter(
    *, order: list[int], rtts: list[tuple[int, int]], policy: PolicyName, access_point_first: bool
) -> None:
    def in_force(numbers: list[int], *, first: bool) -> dict[Mac, object]:
        scenario = Scenario(replace(PAPER, policy=policy))
        sending = {mac(number): 2.0 for number in numbers}
        if first:
            scenario.access_point(sending)
        for number in numbers:
            scenario.terminal(mac(number), upload(max(rtts[number]), min(rtts[number])))
        if not first:
            scenario.access_point(sending)
        scenario.advance(1)
        scenario.access_point(sending)
        return {address: phone.bounds for address, phone in scenario.phones.items()}

    expected = in_force(sorted(order), first=False)
    assert in_force(order, first=access_point_first) == expected
    assert all(expected.values())


@dataclass
class Phone:
    """What a phone's agent was sent on its stream, and what is in force."""

    station: Mac
    stream: Stream | None = None
    bounds: tuple[Bound, ...] = ()
    generation: int = 0
    expires_at_us: int = 0
    reported_generation: int = 0
    sequence: int = 0
    last_set: SetBounds | None = None
    sets: list[SetBounds] = field(default_factory=list)


class World(Scenario):
    """Phones that do what they are commanded, on streams that end in any way; every effect is checked."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.parameters = parameters
        self.agents = [Phone(mac(number)) for number in range(5)]
        self.open: set[Stream] = set()
        self.log: list[tuple[Event, int, list[Effect]]] = []

    def do(self, event: Event) -> list[Effect]:
        effects = self.engine.handle(event, self.now_us)
        self.log.append((event, self.now_us, effects))
        by_stream = {phone.stream: phone for phone in self.agents if phone.stream is not None}
        for effect in effects:
            if isinstance(effect, SetBounds | RenewLease | SetReporting | CloseStream):
                assert effect.stream in self.open
            if isinstance(effect, SetBounds):
                self._set(by_stream[effect.stream], effect)
            elif isinstance(effect, RenewLease):
                phone = by_stream[effect.stream]
                assert phone.last_set is not None
                assert phone.last_set.bounds
                assert effect.generation == phone.last_set.generation
                if effect.generation == phone.generation:
                    phone.expires_at_us = self.now_us + effect.lease_ms * 1000
            elif isinstance(effect, CloseStream):
                self.open.discard(effect.stream)
        self.check()
        return effects

    def _set(self, phone: Phone, effect: SetBounds) -> None:
        previous = phone.last_set.generation if phone.last_set else 0
        assert effect.generation > max(previous, phone.reported_generation)
        assert all(1 <= bound.min_segs <= bound.max_segs for bound in effect.bounds)
        assert effect.reasons
        phone.last_set = effect
        phone.sets.append(effect)
        phone.bounds, phone.generation = effect.bounds, effect.generation if effect.bounds else 0
        phone.expires_at_us = self.now_us + effect.lease_ms * 1000

    def _move_to(self, at_us: int) -> None:
        super()._move_to(at_us)
        for phone in self.agents:
            if at_us >= phone.expires_at_us:
                phone.bounds, phone.generation = (), 0

    def new_stream(self, *arguments: Any, **named: Any) -> Stream:
        stream = super().new_stream(*arguments, **named)
        self.open.add(stream)
        return stream

    def check(self) -> None:
        """What is true between two events."""
        by_stream = {phone.stream: phone for phone in self.agents if phone.stream in self.open}
        joined = set()
        for terminal in self.engine.terminals():
            phone = by_stream[terminal.stream]
            if terminal.sent is None:
                assert phone.last_set is None
            else:
                assert phone.last_set is not None
                assert (terminal.sent.generation, terminal.sent.entries) == (
                    phone.last_set.generation,
                    phone.last_set.bounds,
                )
            cell = self.engine.cell_joined(terminal)
            settings = (cell or self.engine).settings
            assert terminal.reporting == settings.reporting
            left_alone = not is_live(terminal) or (terminal.no_bounds is not None and terminal.no_bounds.waits)
            if (settings.mode == "observe" or is_exempt(terminal, settings)) and not left_alone:
                assert terminal.sent is None or not terminal.sent.entries
            assert (cell is not None) is bool(terminal.bssid)
            if cell is not None:
                assert cell.terminals[terminal.mac] is terminal
                assert terminal.mac in cell.stations.by_mac
                joined.add(terminal)
                if terminal.sent is not None and terminal.sent.entries:
                    assert terminal.due_us <= terminal_due_at_us(cell, terminal)
                    assert terminal.due_us
                if is_as_decided(terminal) and terminal.sent is not None:
                    # A report or a deadline that changes nothing is not decided: deciding would give the same.
                    decisions = decide(terminal, cell)
                    assert fit_to_back_end(decisions, terminal.back_end)[0] == terminal.sent.entries
            elif terminal.no_bounds is not None and terminal.no_bounds.releases:
                assert terminal.sent is None or not terminal.sent.entries
        assert {one for cell in self.engine.cells.values() for one in cell.terminals.values()} == joined
        for cell in self.engine.cells.values():
            expected = self.engine._registry.settings_of(cell.bssid, cell.ssid)
            assert cell.settings.match == expected.match
            assert cell.settings.mode == expected.mode == self.engine.mode_of(cell.bssid)
            assert cell.settings.parameters == expected.parameters
            assert (cell.settings is self.engine.settings) == (expected is self.engine.settings)
            assert cell.capacity.parameters == cell.settings.parameters.capacity
            assert cell.min_rtt.parameters == cell.settings.parameters.min_rtt

    # Steps

    def report(self, number: int, value: int) -> None:
        phone = self.agents[number]
        agent = None
        if phone.stream is None:
            source = ip(phone.station) if value % 5 else ip(mac(number))
            phone.stream = self.new_stream("terminal", f"phone {number}", source)
            phone.last_set, agent = None, Agent("test", BackEnd(can_select_destination=bool(value % 7)))
        phone.sequence += 1 if value % 11 else 0
        phone.reported_generation = phone.generation
        destinations = (
            upload(value, min(value, 300), connections=value % 4),
            Destination(OTHER_SERVER, connections_sending=value % 2),
        )
        report = TerminalReport(
            mac=phone.station,
            sequence=phone.sequence,
            monotonic_us=self.now_us - (SECOND_US if value % 13 == 0 else 0),
            destinations=destinations[: value % 3],
            bounds_generation=phone.generation,
            agent=agent,
        )
        self.do(TerminalReported(phone.stream, report))

    def lose(self, number: int, value: int) -> None:
        """The phone gives its stream up; the controller may learn of it now or never."""
        phone = self.agents[number]
        if phone.stream is not None:
            if value % 2:
                self.agents.append(phone)  # whatever it is sent counts
                self.agents[number] = replace(phone, stream=None, sets=[])
            else:
                self.open.discard(phone.stream)
                self.do(Disconnected(phone.stream))
                phone.stream = None

    def ap(self, number: int, value: int) -> None:
        bssid = OTHER_BSSID if value % 3 == 0 else BSSID
        point = self.access_points.get(bssid)
        if point is not None and (point.stream not in self.open or value % 17 == 0):
            if point.stream in self.open:
                self.open.discard(point.stream)
                self.do(Disconnected(point.stream))
            point.stream = self.new_stream("access-point", "ap")
        if point is not None and value % 19 == 0:
            point.monotonic_us = SECOND_US
        addresses = {mac(n): (ip(mac(n)),) for n in range(6)} if value % 4 else {}
        self.access_point(
            {mac(n): value / 100 for n in range(number)},
            idle=[mac(4)],
            bssid=bssid,
            addresses=addresses,
            ssid=(b"", b"a", b"b")[value // 7 % 3],
        )

    def wait(self, _: int, value: int) -> None:
        self.advance(value / 1000)

    def mac(self, number: int, value: int) -> None:
        self.agents[number].station = mac(value % 5)

    def mode(self, _: int, value: int) -> None:
        self.do(ModeSet("observe" if value % 2 else "control"))

    def exempt(self, number: int, value: int) -> None:
        self.do(Exempted(f"phone {number}", exempt=bool(value % 2)))

    def refused(self, number: int, _: int) -> None:
        phone = self.agents[number]
        if phone.stream is not None:
            self.do(Refused(phone.stream, Reason(Code.MALFORMED, "mac")))

    def cell_mode(self, number: int, value: int) -> None:
        self.do(ModeSet((None, "observe", "control")[value % 3], (BSSID, OTHER_BSSID)[number % 2]))

    def reload(self, number: int, value: int) -> None:
        overrides = OVERRIDES[: value % (len(OVERRIDES) + 1)]
        self.do(Reconfigured(OTHERS[value % len(OTHERS)], overrides, (None, "observe", "control", None, None)[number]))

    def rounds(self, number: int, value: int) -> None:
        """A few seconds in which all is well."""
        for _ in range(value % 4 + 1):
            self.advance(0.7)
            self.ap(number, value)
            for other in range(number + 1):
                self.report(other, value)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                *("report", "ap", "wait", "rounds", "rounds", "lose", "mac", "mode", "cell_mode", "exempt"),
                *("reload", "reload", "refused"),
            )
        ),
        st.integers(0, 4),
        st.integers(1, 3_000),
    ),
    max_size=40,
)


def run(steps: list[tuple[str, int, int]], parameters: Parameters) -> World:
    world = World(parameters)
    for what, number, value in steps:
        getattr(world, what)(number, value)
    return world


SHORT = SafetyParameters(lease_ms=1_000, forget_ms=1_000, cell_stale_ms=2_000, terminal_stale_ms=800)
OTHERS = (
    PAPER,
    Parameters(),
    replace(PAPER, safety=SHORT),
    Parameters(identity=IdentityParameters(match_addresses=False)),
)
OVERRIDES = (
    CellOverride(name="cell.0", ssids=("a",), parameters=OTHERS[2], mode="control"),
    CellOverride(name="cell.1", ssids=("?",), parameters=OTHERS[3], mode="observe"),
    CellOverride(
        name="cell.2", bssids=(OTHER_BSSID,), parameters=OTHERS[1], exempt_terminals=frozenset({"phone 0", "phone 2"})
    ),
    CellOverride(name="cell.3", bssids=(BSSID,), parameters=OTHERS[0], exempt=True),
)


@settings(max_examples=300)
@given(STEPS, st.sampled_from(OTHERS))
def test_whatever_happens_what_is_remembered_as_sent_was_sent_and_nothing_outlives_its_lease(
    steps: list[tuple[str, int, int]], parameters: Parameters
) -> None:
    world = run(steps, parameters)
    world.advance(20)
    for phone in world.agents:
        assert phone.bounds == ()
    for terminal in world.engine.terminals():
        assert terminal.sent is None or not terminal.sent.entries or terminal.no_bounds is not None
    deadline_us = world.engine.next_deadline_us()
    assert deadline_us is None or deadline_us > world.now_us - 60 * SECOND_US
    before, superseded = world.ticks, sum(bool(one.superseded_at_us) for one in world.engine.terminals())
    world.advance(60)
    # A superseded stream that is not heard again is looked at twice: when it is given up at the earliest, and then.
    assert world.ticks - before <= 2 + len(world.engine.cells) + 2 * superseded


@settings(max_examples=50)
@given(STEPS, st.sampled_from(OTHERS))
def test_the_same_events_have_the_same_effects(steps: list[tuple[str, int, int]], parameters: Parameters) -> None:
    world = run(steps, parameters)
    again = Engine(parameters)
    for event, now_us, effects in world.log:
        assert again.handle(event, now_us) == effects


@settings(max_examples=50)
@given(STEPS)
def test_a_restart_at_any_time_sends_no_release_to_a_phone_that_sends(steps: list[tuple[str, int, int]]) -> None:
    world = run([step for step in steps if step[0] in {"report", "ap", "wait", "rounds"}], Parameters())
    scenario = Scenario()
    scenario.now_us = world.now_us
    for number, phone in enumerate(world.agents[:5]):
        scenario.terminal(mac(number), upload())
        scenario.phones[mac(number)].generation = phone.generation
    for second in range(4):
        scenario.access_point({mac(number): 2.0 for number in range(5)})
        for number in range(5):
            scenario.terminal(mac(number), upload())
        scenario.advance(1)
        for phone in scenario.phones.values():
            assert all(entry.bounds for entry in phone.sets)
            assert (phone.range(SERVER) is not None) is (second > 0)
