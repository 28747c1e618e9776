# SPDX-License-Identifier: Apache-2.0
"""What is the same for all cells: parameters, what operators chose, and counters."""

from collections import Counter
from dataclasses import dataclass, field

from airbound.core.addresses import Mac, mac_text
from airbound.core.parameters import Mode, Parameters
from airbound.core.policy import Policy, policy, uses_srtt
from airbound.core.reasons import Code


@dataclass(slots=True)
class Settings:
    """One of these is shared by an engine and its cells."""

    parameters: Parameters
    mode: Mode = "control"
    exempt: set[str] = field(default_factory=set)  # names of terminals, BSSIDs of cells as text
    counters: Counter[tuple[str, Code]] = field(default_factory=Counter)
    policy: Policy = field(init=False)
    srtt_counts: bool = field(init=False)  # whether ranges follow from it

    def __post_init__(self) -> None:
        self.reconfigure(self.parameters)

    def reconfigure(self, parameters: Parameters) -> None:
        """Go on with other parameters."""
        self.parameters = parameters
        self.policy = policy(parameters)
        self.srtt_counts = uses_srtt(parameters)

    def is_cell_exempt(self, bssid: Mac) -> bool:
        """Whether neither a cell's access point nor its terminals are to be commanded."""
        return mac_text(bssid) in self.exempt

    def count(self, name: str, code: Code = Code.UNSPECIFIED) -> None:
        """Count something that operators are shown."""
        self.counters[name, code] += 1
