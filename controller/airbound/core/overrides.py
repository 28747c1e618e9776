# SPDX-License-Identifier: Apache-2.0
"""Overrides of single cells: which of them concerns a cell.

One override at most concerns a cell, so that every set of parameters in force was checked when the configuration was
read. One that names the cell's BSSID comes before all that name a pattern of SSIDs; among patterns the first that
matches counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from airbound.core.addresses import Mac, mac_text
from airbound.core.parameters import Mode, Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOverride:
    """What is otherwise in some cells. `parameters` are complete: the controller's, with the override's on top."""

    name: str  # where it stands in the configuration
    bssids: tuple[Mac, ...] = ()
    ssids: tuple[str, ...] = ()  # patterns as of a shell's file names (fnmatch), case sensitive
    mode: Mode | None = None  # none: the controller's
    exempt: bool = False  # the whole cell
    exempt_terminals: frozenset[str] = frozenset()  # names of terminals, while they are joined to the cell
    parameters: Parameters


class Match(NamedTuple):
    """An override that concerns a cell, and by what."""

    override: CellOverride
    by: str  # for a person: the BSSID, or the pattern that the SSID matches


class Overrides:
    """All overrides, in the order of the configuration."""

    def __init__(self, overrides: Sequence[CellOverride] = ()) -> None:
        self._by_bssid: dict[Mac, Match] = {}
        self._by_ssid: list[tuple[str, Match]] = []
        self.exempt = any(override.exempt or override.exempt_terminals for override in overrides)
        for override in overrides:
            for bssid in override.bssids:
                self._by_bssid.setdefault(bssid, Match(override, f"bssid {mac_text(bssid)}"))
            self._by_ssid += [(pattern, Match(override, f"ssid {pattern}")) for pattern in override.ssids]

    def match(self, bssid: Mac, ssid: bytes) -> Match | None:
        """The override that concerns a cell. An SSID that is not known is empty, and octets that are not UTF-8 match
        no character but those of `*` and `?`.
        """
        found = self._by_bssid.get(bssid)
        if found is not None or not self._by_ssid:
            return found
        text = ssid.decode(errors="replace")
        return next((match for pattern, match in self._by_ssid if fnmatchcase(text, pattern)), None)
