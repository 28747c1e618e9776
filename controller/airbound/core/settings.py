# SPDX-License-Identifier: Apache-2.0
"""What decisions go by: parameters, the mode, who is exempt."""

from dataclasses import dataclass, field

from airbound.core.addresses import Mac, exempt_name, mac_text
from airbound.core.overrides import Match
from airbound.core.parameters import Mode, Parameters
from airbound.core.policy import POLICIES, Policy


@dataclass(slots=True)
class Settings:
    """The controller's, shared by an engine and its cells; or a cell's, where they are not the controller's. Those of a
    cell share what operators exempted.
    """

    parameters: Parameters
    mode: Mode = "control"
    exempt: set[str] = field(default_factory=set)  # names of terminals, BSSIDs of cells as text
    not_exempt: set[str] = field(default_factory=set)  # likewise: operators ended an exemption by an override
    match: Match | None = None  # the override that these are of
    mode_by_operator: bool = False  # chosen for this cell
    policy: type[Policy] = field(init=False)
    reporting: tuple[int, int, int] = field(init=False)  # as effects.SetReporting has it

    def __post_init__(self) -> None:
        self.reconfigure(self.parameters)

    def reconfigure(self, parameters: Parameters) -> None:
        """Go on with other parameters."""
        self.parameters = parameters
        self.policy = POLICIES[parameters.policy]
        reporting = parameters.reporting
        ratio = round(reporting.rtt_ratio_change * 1000) if self.policy.uses_rtt_ratio else 0
        self.reporting = reporting.interval_ms, reporting.heartbeat_ms, ratio

    def of_cell(self, match: Match | None, mode: Mode, *, by_operator: bool) -> "Settings":
        """These, with an override and a mode; the same object if there is neither."""
        if match is None and not by_operator:
            return self
        parameters = self.parameters if match is None else match.override.parameters
        return Settings(parameters, mode, self.exempt, self.not_exempt, match, by_operator)

    def is_cell_exempt(self, bssid: Mac) -> bool:
        """Whether neither a cell's access point nor its terminals are to be commanded."""
        by_override = self.match is not None and self.match.override.exempt
        if not by_override and not self.exempt:
            return False
        name = mac_text(bssid)
        return name in self.exempt or (by_override and name not in self.not_exempt)

    def is_terminal_exempt(self, name: str) -> bool:
        """Whether a terminal is not to be commanded, whatever is with its cell."""
        if not self.exempt and self.match is None:
            return False
        name = exempt_name(name)
        if name in self.exempt:
            return True
        return self.match is not None and name in self.match.override.exempt_terminals and name not in self.not_exempt
