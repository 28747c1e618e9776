# SPDX-License-Identifier: Apache-2.0
"""The smallest minimum RTT to each destination over the terminals of a cell.

A flow that starts in a full cell never sees an empty queue: its own minimum RTT is too large, and so is the window
that follows from it. Another phone of the cell saw the path when it was idle, and that minimum is a fact of the path.
It is not shared between cells: 192.168.1.10 is another machine in another house.

One phone must not decide for all. A VPN, a proxy at the access point or a lie reports 0.06 ms for a path of 4 ms, and
bounds that follow from it would keep the cell nearly still. So a minimum is shared without question only once a second
terminal confirms it: reports one that is at most `confirm_ratio` times larger. A minimum that nobody confirms but
others contradict is shared for `unconfirmed_s`. In that time the others are bounded by it, their queues drain, and if
it is true, their own minima come down and confirm it. If it is false they do not, and it is refuted: from then on what
its terminal reports counts for that terminal and, unless somebody confirms it, for no other. The time runs once: a
terminal that takes its minimum back and then reports it again is given no more of it.

What the cell's own bounds keep in flight is no contradiction: twenty phones at their floor of two segments have an RTT
of 20 ms in a cell of 24 Mb/s, and none of them ever sees the 4 ms of the path. As long as others' minima are no further
above a minimum than that, its time does not run.

Two that lie together confirm each other. So a confirmed minimum has to come true as well if those that contradict it
are more than those that are as small: while they are further above it than all that the bounds in force keep in flight
its time runs, and then all that are as small are refuted, until they are no longer fewer. So k of n terminals that lie
decide for the others for as long as they like if k is at least half of n, or of WITNESSES_MAX if n is larger; else for
`unconfirmed_s` each.

A terminal that left is no witness any more: what it saw is a memory, which one that contradicts it can refute.

Terminals are distinguished by name, not by stream or MAC: one that connects again is no second witness. What an access
point sees of a station without an agent counts under the name of the terminal that was joined as it, or under its MAC
while none was.

A terminal's entry is what it reported last; a minimum that has risen because the path became longer is taken over. An
entry lasts `max_age_s`, whether or not its terminal is still there: that is the memory of the idle path.

The number of destinations is limited, and one terminal must not use all of it: of those that it alone has reported,
only the newest are kept. One in use is back with its next report.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from airbound.core.addresses import Address
from airbound.core.cell.memory import SeenMinRtt
from airbound.core.parameters import MinRttParameters

PATHS_MAX = 1024  # destinations of a cell
PATHS_OF_ONE_MAX = 256  # of them, those that one terminal alone has reported: as many as one report may have
WITNESSES_MAX = 32  # entries of a destination; the smallest are kept
_REFRESH = 16  # an entry's age is known to a sixteenth of max_age_s, so that most reports change nothing


@dataclass(slots=True)
class _Path:
    """What terminals reported of one destination: by terminal, the minimum RTT and when, microseconds."""

    entries: dict[str, tuple[int, int]] = field(default_factory=dict)
    contradicted: dict[str, tuple[int, int]] = field(default_factory=dict)  # the smallest minimum, and since when
    refuted: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)  # terminals that left
    unconfirmed: str = ""  # the terminal whose contradicted minimum is shared now
    shared_us: int = 0
    oldest_us: int = 0
    only: str = ""  # the terminal that alone has reported it; empty once another has
    # What the last search went by, so that most reports need none.
    ratio: float = 0.0  # its confirm_ratio; 0: who is there has changed since
    outvoted: bool = False  # whether more contradict a minimum than confirm it, and it is not refuted
    next_us: int = 0  # the entry after the one that is shared and unconfirmed
    largest_us: int = 0  # of WITNESSES_MAX entries, the largest that nobody has contradicted

    def forget(self, terminal: str) -> None:
        """A terminal's entry no longer counts."""
        del self.entries[terminal]
        self.contradicted.pop(terminal, None)
        self.refuted.discard(terminal)
        self.gone.discard(terminal)

    def take_without_search(self, terminal: str, min_rtt_us: int, now_us: int) -> bool:
        """Take in an entry that moves no other; false, and nothing is done, if it may.

        In a cell of many phones most are reported again unchanged, are forgotten at once, since there are enough that
        are smaller, or replace an equal one.
        """
        entries, replaced = self.entries, terminal
        known = entries.get(terminal)
        if known is not None:
            if known[0] != min_rtt_us:
                return False
        elif len(entries) < WITNESSES_MAX or min_rtt_us < self.largest_us:
            return False
        elif min_rtt_us > self.largest_us:
            return True
        elif self.contradicted:
            return False
        else:
            replaced = next(name for name, (value, _) in entries.items() if value == min_rtt_us)
            known = entries.pop(replaced)
            self.gone.discard(replaced)
        entries[terminal] = (min_rtt_us, now_us)
        if min(known[1], now_us) <= self.oldest_us:
            self.oldest_us = min(at_us for _, at_us in entries.values())
        return True


class MinRtt:
    """Minimum RTTs of one cell by destination."""

    def __init__(self, parameters: MinRttParameters) -> None:
        self.parameters = parameters
        self._paths: OrderedDict[Address, _Path] = OrderedDict()  # the longest unreported first
        self._of_one: dict[str, dict[Address, None]] = {}  # by terminal, those that it alone has reported, oldest first

    def observe(  # noqa: PLR0917  # for each destination of each report
        self,
        terminal: str,
        address: Address,
        min_rtt_us: int,
        now_us: int,
        in_flight_us: int = 0,
        most_in_flight_us: Callable[[], int] = lambda: 0,
    ) -> bool:
        """Take in a terminal's minimum RTT to an address; true if the one that is shared changed.

        `min_rtt_us` of 0 is no sample; `in_flight_us` is the time that the cell takes to carry the smallest windows
        that its bounds allow, `most_in_flight_us` that of the largest that those in force allow.
        """
        if min_rtt_us <= 0:
            return False
        max_age_us = self.parameters.max_age_s * 1_000_000
        path = self._paths.get(address)
        if path is None:
            path = self._paths[address] = _Path(only=terminal)
            of_one = self._of_one.setdefault(terminal, {})
            of_one[address] = None
            if len(of_one) > PATHS_OF_ONE_MAX:
                self._forget(next(iter(of_one)))
            elif len(self._paths) > PATHS_MAX:
                self._forget(next(iter(self._paths)))
        else:
            self._paths.move_to_end(address)
            entry = path.entries.get(terminal)
            if path.gone and terminal in path.gone:
                path.gone.discard(terminal)
                path.ratio = 0.0
            if (
                entry is not None
                and entry[0] == min_rtt_us
                and now_us - entry[1] < max_age_us // _REFRESH
                and path.ratio
                and not (path.unconfirmed or path.outvoted)
                and now_us - path.oldest_us <= max_age_us
            ):
                return False
            if path.only not in {"", terminal}:
                self._no_longer_of_one(address, path)
            if (
                now_us - path.oldest_us <= max_age_us
                and self._would_share_the_same(path, in_flight_us)
                and path.take_without_search(terminal, min_rtt_us, now_us)
            ):
                return False
        before = path.shared_us
        self._take(path, terminal, min_rtt_us, now_us, max_age_us)
        self._share(path, terminal, now_us, in_flight_us, most_in_flight_us)
        if len(path.entries) == WITNESSES_MAX:
            uncontradicted = (value for name, (value, _) in path.entries.items() if name not in path.contradicted)
            path.largest_us = max(uncontradicted, default=0)
        return path.shared_us != before

    def _would_share_the_same(self, path: _Path, in_flight_us: int) -> bool:
        """Whether another search in the same entries finds the same, at any time: no contradiction's time runs."""
        if path.ratio != self.parameters.confirm_ratio or path.outvoted:
            return False
        if not path.unconfirmed:
            return True  # confirmed, or all others are refuted
        return path.unconfirmed not in path.contradicted and (
            path.next_us <= path.shared_us * path.ratio + in_flight_us
        )

    @staticmethod
    def _take(path: _Path, terminal: str, min_rtt_us: int, now_us: int, max_age_us: int) -> None:
        entries = path.entries
        entries[terminal] = (min_rtt_us, now_us)
        for name in [name for name, (_, at_us) in entries.items() if now_us - at_us > max_age_us]:
            path.forget(name)
        if len(entries) > WITNESSES_MAX:
            # Those that were contradicted are kept first: forgotten, they would be given their time again.
            path.forget(max(entries, key=lambda name: (name not in path.contradicted, entries[name][0])))
        path.oldest_us = min(at_us for _, at_us in entries.values())

    def _share(
        self, path: _Path, reporting: str, now_us: int, in_flight_us: int, most_in_flight_us: Callable[[], int]
    ) -> None:
        """Find the smallest entry that counts for all; `reporting` is the terminal whose report is being taken in."""
        ratio, unconfirmed_us = self.parameters.confirm_ratio, self.parameters.unconfirmed_s * 1e6
        ascending = sorted((value, name) for name, (value, _) in path.entries.items())
        before, path.unconfirmed, path.shared_us, path.ratio = path.unconfirmed, "", 0, ratio
        outvoted_us = self._vote(path, ascending, reporting, now_us, lambda: max(in_flight_us, most_in_flight_us()))
        for rank, (value, name) in enumerate(ascending):
            last = rank + 1 == len(ascending)
            smallest_us, since_us = path.contradicted.get(name, (value, now_us))
            if not last and ascending[rank + 1][0] <= value * ratio:
                if value <= outvoted_us and name in path.refuted:
                    continue
                if value <= smallest_us * ratio and value > outvoted_us:
                    path.contradicted.pop(name, None)
                    path.refuted.discard(name)
                path.shared_us = value
                return
            if name in path.refuted:
                continue
            if not last and (ascending[rank + 1][0] > value * ratio + in_flight_us or name in path.contradicted):
                # Contradicted by all others, confirmed by none.
                path.contradicted[name] = (min(value, smallest_us), since_us)
                if now_us - since_us >= unconfirmed_us and (reporting != name or before != name):
                    path.refuted.add(name)
                    continue
            if not last:
                path.unconfirmed, path.next_us = name, ascending[rank + 1][0]
            path.shared_us = value
            return

    def _vote(
        self,
        path: _Path,
        ascending: list[tuple[int, str]],
        reporting: str,
        now_us: int,
        most_in_flight_us: Callable[[], int],
    ) -> int:
        """Refute entries that more terminals contradict than have ones as small, once their time is over. The largest
        minimum that is outvoted, if only by what the bounds keep in flight; 0 if none is.
        """
        ratio, path.outvoted = path.ratio, False
        witnesses = [value for value, name in ascending if name not in path.gone] if path.gone else None
        values = [value for value, _ in ascending] if witnesses is None else witnesses
        margin_us, outvoted_us = -1, 0
        for value, name in ascending:
            agree = bisect_right(values, value * ratio)
            if len(values) - agree <= agree:
                break  # nor is any larger one outvoted
            outvoted_us = value
            if name in path.refuted:
                continue
            path.outvoted = True  # what is in flight may change, and time passes
            margin_us = most_in_flight_us() if margin_us < 0 else margin_us
            if len(values) - bisect_right(values, value * ratio + margin_us) <= agree:
                continue
            smallest_us, since_us = path.contradicted.get(name, (value, now_us))
            path.contradicted[name] = (min(value, smallest_us), since_us)
            reported_us = path.entries[reporting][0] if reporting in path.entries else 0
            if now_us - since_us >= self.parameters.unconfirmed_s * 1e6 and reported_us > value * ratio:
                path.refuted.add(name)
        return outvoted_us

    def seen(self, now_us: int) -> tuple[SeenMinRtt, ...]:
        """Every terminal's minimum RTTs."""
        return tuple(
            SeenMinRtt(address, terminal, min_rtt_us, now_us - at_us)
            for address, path in self._paths.items()
            for terminal, (min_rtt_us, at_us) in path.entries.items()
        )

    def restore(self, seen: Collection[SeenMinRtt], now_us: int) -> None:
        """Take in what another controller had; a terminal that contradicts an entry does so anew."""
        for entry in sorted(seen, key=lambda entry: -entry.age_us):
            if entry.age_us <= self.parameters.max_age_s * 1_000_000:
                self.observe(entry.terminal, entry.address, entry.min_rtt_us, now_us - max(0, entry.age_us))
        for terminal in {entry.terminal for entry in seen}:
            self.leave(terminal)  # until it reports here

    def shared_us(self, address: Address) -> int:
        """The minimum RTT to the address that counts for every terminal of the cell, microseconds; 0 if none does."""
        path = self._paths.get(address)
        return 0 if path is None or not self.parameters.share else path.shared_us

    def leave(self, terminal: str) -> None:
        """A terminal left: its minima are memories from now on. Costs a look at every destination."""
        for path in self._paths.values():
            if terminal in path.entries:
                path.gone.add(terminal)
                path.ratio = 0.0

    def withdraw(
        self, terminal: str, now_us: int, in_flight_us: int = 0, most_in_flight_us: Callable[[], int] = lambda: 0
    ) -> bool:
        """What was reported under a name no longer counts: it is under another name now. True if a minimum that is
        shared changed. Costs a look at every destination.
        """
        moved = False
        for address, path in list(self._paths.items()):
            if terminal not in path.entries:
                continue
            before = path.shared_us
            path.forget(terminal)
            if path.entries:
                path.oldest_us = min(at_us for _, at_us in path.entries.values())
                self._share(path, "", now_us, in_flight_us, most_in_flight_us)
            else:
                self._forget(address)
            moved |= path.shared_us != before or not path.entries
        return moved

    def expire(self, now_us: int) -> None:
        """Forget destinations that nobody has reported within `max_age_s`; costs what it forgets."""
        max_age_us = self.parameters.max_age_s * 1_000_000
        while self._paths:
            address, path = next(iter(self._paths.items()))
            if now_us - path.oldest_us <= max_age_us:
                return  # nearly always, without a look at its entries
            if now_us - max(at_us for _, at_us in path.entries.values()) <= max_age_us:
                return
            self._forget(address)

    def _forget(self, address: Address) -> None:
        path = self._paths.pop(address)
        if path.only:
            self._no_longer_of_one(address, path)

    def _no_longer_of_one(self, address: Address, path: _Path) -> None:
        of_one = self._of_one[path.only]
        del of_one[address]
        if not of_one:
            del self._of_one[path.only]
        path.only = ""

    def __len__(self) -> int:
        return len(self._paths)
