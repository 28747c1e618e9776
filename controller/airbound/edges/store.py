# SPDX-License-Identifier: Apache-2.0
"""Where what operators chose is kept. This one keeps it in the process; another can keep it for several processes."""

from typing import Protocol

from airbound.core.parameters import Mode


class Store(Protocol):
    """What outlives a stream but belongs to no report."""

    def mode(self) -> Mode | None:
        """The mode an operator chose; none if none did."""

    def set_mode(self, mode: Mode) -> None:
        """Keep the mode an operator chose."""

    def exempt(self) -> frozenset[str]:
        """The MACs of terminals that are out of control."""

    def set_exempt(self, mac: str, *, exempt: bool) -> None:
        """Keep whether a terminal is out of control."""


class MemoryStore:
    """Serves one process and forgets with it."""

    def __init__(self, exempt: frozenset[str] = frozenset()) -> None:
        self._mode: Mode | None = None
        self._exempt = exempt

    def mode(self) -> Mode | None:
        """The mode an operator chose since the process began."""
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Keep the mode."""
        self._mode = mode

    def exempt(self) -> frozenset[str]:
        """The MACs of terminals that are out of control."""
        return self._exempt

    def set_exempt(self, mac: str, *, exempt: bool) -> None:
        """Keep whether a terminal is out of control."""
        self._exempt = self._exempt | {mac} if exempt else self._exempt - {mac}
