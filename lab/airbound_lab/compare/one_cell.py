# SPDX-License-Identifier: Apache-2.0
"""What the cases of studies with stored runs have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airbound_lab.settings.parameters import Parameters


class OneCell:
    """One cell to be run, for one seed, by its `mode` and `parameters`; a study's cases have fields beside these."""

    __slots__ = ()
    mode: str
    parameters: Parameters

    def __str__(self) -> str:
        """Return its name in messages."""
        return f"{self.row}: {self.column}, seed {self.seed}"

    @property
    def row(self) -> str:
        """Where it is run, where runs are listed."""
        raise NotImplementedError

    @property
    def column(self) -> str:
        """What is run, where runs are listed."""
        return self.mode

    @property
    def seed(self) -> int:
        """The one seed."""
        return self.parameters.seeds[0]
