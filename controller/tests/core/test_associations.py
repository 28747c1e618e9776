# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from airbound.core.associations import ARRIVAL_US, LAG_US, LEFT_MAX, SILENT_US, Associations, Dispute, Move
from airbound.core.cell.state import CellState
from airbound.core.cell.stations import StationState
from airbound.core.cell.terminal import Terminal
from airbound.core.parameters import Parameters
from airbound.core.principals import Principal, Stream
from airbound.core.reports import Station
from airbound.core.settings import Settings
from airbound_testing.scenario import SECOND_US, ip, mac

PHONE = mac(7)
NOW_US = 1_000 * SECOND_US


class World:
    """Cells that report one station, whose phone may be connected."""

    def __init__(self, *associated_s: int, phone: bool = True) -> None:
        self.now_us = NOW_US
        self.associations = Associations()
        self.cells = [CellState(mac(100 + number), Settings(Parameters())) for number in range(len(associated_s))]
        stream = Stream(1, Principal("terminal", "phone"), ip(PHONE))
        self.phone = Terminal(stream, mac=PHONE)
        self.terminals = [self.phone] if phone else []
        self.moves = list[Move]()
        self.disputes = list[Dispute]()
        for cell, at_s in zip(self.cells, associated_s, strict=True):
            cell.stations.measured = True
            self.associate(cell, at_s)

    @property
    def number(self) -> int | None:
        """Of the cell that the station is in."""
        cell = self.associations.cell_of(PHONE)
        return None if cell is None else self.cells.index(cell)

    def associate(self, cell: CellState, at_s: int, addresses: tuple[bytes, ...] = ()) -> None:
        """A cell reports the station as associated since a time."""
        station = Station(PHONE, ip_addresses=addresses)
        cell.stations.by_mac[PHONE] = StationState(station, station, 0, NOW_US + at_s * SECOND_US)
        cell.reported_at_us = self.now_us
        self.took(self.associations.add(PHONE, cell, self.now_us))
        self.observe(cell)

    def took(self, move: Move | None) -> None:
        if move is not None:
            self.moves.append(move)

    def observe(self, cell: CellState) -> None:
        cell.reported_at_us = self.now_us
        stations, disputes = self.associations.observe(cell, lambda _: self.terminals, self.now_us)
        self.disputes += disputes
        for station in stations:
            self.took(self.associations.settle(station, self.terminals, self.now_us))

    def report(self, number: int, packets: int = 0) -> None:
        """A cell reports again, with so many packets more from the station."""
        cell = self.cells[number]
        state = cell.stations.by_mac[PHONE]
        state.latest = state.latest._replace(rx_packets=state.latest.rx_packets + packets)
        self.observe(cell)

    def leave(self, number: int) -> None:
        cell = self.cells[number]
        cell.stations.by_mac.pop(PHONE, None)
        self.associations.remove(PHONE, cell)
        self.took(self.associations.settle(PHONE, self.terminals, self.now_us))

    def second(self, *heard: int, silent: tuple[int, ...] = (), phone: bool = True) -> None:
        """A second later: some cells hear the station, others report that their counters stand still."""
        self.now_us += SECOND_US
        for number in (*heard, *silent):
            self.report(number, 1 if number in heard else 0)
        if phone:
            self.phone.reported_at_us = self.now_us

    def arrive(self, ago_us: int = 0) -> None:
        self.phone.arrived_at_us = self.now_us - ago_us
        self.took(self.associations.settle(PHONE, self.terminals, self.now_us))


def test_a_station_is_in_the_cell_that_reports_it() -> None:
    world = World(5)
    assert world.number == 0
    assert not world.associations.is_contested(PHONE)
    world.associate(world.cells[0], 6)
    assert (world.number, world.moves) == (0, [])
    world.leave(0)
    assert (world.number, len(world.associations)) == (None, 0)


def test_it_stays_where_it_is_heard_and_that_is_a_dispute_once() -> None:
    world = World(5, 9)
    assert world.number == 0
    for _ in range(5):
        world.second(0, 1)
        world.associate(world.cells[1], 10)
    assert (world.number, world.moves) == (0, [])
    assert world.disputes == [Dispute(PHONE, world.cells[1], world.cells[0])]


def test_an_old_listing_is_no_dispute() -> None:
    world = World(9, 5)
    for _ in range(5):
        world.second(0, silent=(1,))
    assert (world.number, world.disputes) == (0, [])


def test_an_older_listing_that_is_heard_as_well_is_one() -> None:
    world = World(9, 5)
    for _ in range(5):
        world.second(0, 1)
    assert world.disputes == [Dispute(PHONE, world.cells[1], world.cells[0])]


def test_where_the_phone_says_that_it_arrived_it_is_at_once() -> None:
    for ago_us, number in ((0, 1), (ARRIVAL_US, 1), (ARRIVAL_US + 1, 0)):
        world = World(-60)
        world.cells.append(CellState(mac(200), Settings(Parameters())))
        world.associate(world.cells[1], 0)
        assert world.number == 0
        world.arrive(ago_us)
        assert world.number == number
        assert world.moves == ([Move(PHONE, world.cells[0].bssid)] if number else [])
        assert not world.disputes


def test_of_those_where_it_may_have_arrived_it_is_where_it_was_then_where_its_address_is_known() -> None:
    world = World(0, 1, 1)
    world.associate(world.cells[1], 1, (ip(PHONE),))
    world.arrive()
    assert world.number == 0
    world.leave(0)
    assert world.number == 1


def test_a_cell_that_reports_another_address_has_it_not() -> None:
    world = World(-60, 0)
    world.associate(world.cells[1], 0, (ip(mac(8)),))
    world.arrive()
    assert world.number == 0
    world.phone.stream = Stream(1, Principal("terminal", "phone"), ip(mac(8)))
    world.associate(world.cells[0], -60, (ip(PHONE),))
    assert world.number == 1


def test_without_the_phones_word_it_moves_once_it_reported_and_was_not_heard() -> None:
    world = World(-60, 0)
    for _ in range(2):
        assert world.number == 0
        world.second(1, silent=(0,))
    assert world.number == 1
    assert world.moves == [Move(PHONE, world.cells[0].bssid)]
    assert world.disputes == []


def test_a_phone_that_does_not_report_stays() -> None:
    world = World(-60, 0)
    for _ in range(60):
        world.second(1, silent=(0,), phone=False)
    assert world.number == 0


def test_a_report_that_the_counters_may_not_show_yet_proves_nothing() -> None:
    world = World(-60, 0)
    world.now_us += SECOND_US
    world.report(0, 1)
    for after_us in (LAG_US - 1, SECOND_US):
        world.phone.reported_at_us = world.now_us + after_us
        world.now_us += SECOND_US
        world.report(1, 1)
        world.report(0)
        assert world.number == 0


def test_a_station_without_an_agent_moves_when_it_was_silent_for_long() -> None:
    world = World(-60, 0, phone=False)
    world.second(0, 1)
    for _ in range(SILENT_US // SECOND_US):
        assert world.number == 0
        world.second(1, silent=(0,))
    assert world.number == 1


def test_it_comes_back_to_a_cell_that_was_silent_for_a_while() -> None:
    world = World(-60, 0)
    for _ in range(5):
        world.second(1)  # the first reports nothing
    assert world.number == 1
    for _ in range(3):
        world.second(0, 1)
    assert world.number == 0
    for _ in range(5):
        world.second(0, 1)
        assert world.number == 0


def test_a_station_that_leaves_is_in_none_of_those_that_it_left_before() -> None:
    world = World(-60, 0)
    world.arrive()
    world.second(1, silent=(0,))
    world.leave(1)
    assert world.number is None
    for _ in range(3):
        world.second(silent=(0,), phone=False)
        assert world.number is None
    for _ in range(2):
        world.second(0, phone=False)
    assert world.number == 0
    assert [move.before for move in world.moves] == [world.cells[0].bssid, world.cells[1].bssid]


def test_where_it_claims_to_have_gone_it_is_when_it_left() -> None:
    world = World(-60, 0)
    world.leave(0)
    assert world.number == 1


def test_a_station_that_left_and_comes_elsewhere_has_moved() -> None:
    world = World(0)
    world.leave(0)
    world.cells.append(CellState(mac(200), Settings(Parameters())))
    world.associate(world.cells[1], 1)
    assert world.moves == [Move(PHONE, world.cells[0].bssid)]
    world.leave(1)
    world.associate(world.cells[1], 2)
    assert len(world.moves) == 1


def test_how_many_left_is_bounded() -> None:
    associations, cell = Associations(), CellState(mac(100), Settings(Parameters()))
    for number in range(LEFT_MAX + 100):
        address = b"\x02" + number.to_bytes(5, "big")
        associations.add(address, cell, 1)
        associations.remove(address, cell)
    assert len(associations._left) == LEFT_MAX


def test_another_name_is_no_witness_while_the_one_that_is_joined_reports() -> None:
    world = World(-60, 0)
    other = Terminal(Stream(2, Principal("terminal", "other"), ip(PHONE)), mac=PHONE, arrived_at_us=NOW_US)
    world.cells[0].terminals[PHONE], world.phone.reported_at_us = world.phone, NOW_US
    world.terminals.append(other)
    for _ in range(3):
        world.second(0, 1)
    assert world.number == 0
    for _ in range(3):
        world.second(0, 1, phone=False)
    assert world.number == 1


STEPS = st.lists(
    st.tuples(st.sampled_from(("associate", "leave", "hear", "silent", "arrive", "phone")), st.integers(0, 3)),
    max_size=60,
)


@given(STEPS, st.booleans())
def test_it_knows_who_reports_a_station(steps: list[tuple[str, int]], phone: bool) -> None:  # noqa: FBT001
    """It is in a cell that reports it, in the only one if that claims it; and nothing is kept of who reports it not."""
    world = World(0, 0, 0, 0, phone=phone)
    reporting = {0, 1, 2, 3}
    for what, number in steps:
        world.now_us += SECOND_US // 3
        match what:
            case "associate":
                world.associate(world.cells[number], (world.now_us - NOW_US) // SECOND_US)
                reporting.add(number)
            case "leave":
                world.leave(number)
                reporting.discard(number)
            case "hear" | "silent" if number in reporting:
                world.report(number, what == "hear")
            case "arrive":
                world.arrive(number * SECOND_US)
            case "phone":
                world.phone.reported_at_us = world.now_us
        assert world.number is None or world.number in reporting
        associations = world.associations
        assert len(associations) == (world.number is not None)
        contested = {world.cells[each].bssid for each in reporting} if associations.is_contested(PHONE) else set()
        assert associations._contested.keys() == contested
        if not associations.is_contested(PHONE):
            assert reporting == ({world.number} if world.number is not None else set())
