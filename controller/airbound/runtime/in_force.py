# SPDX-License-Identifier: Apache-2.0
"""The configuration that is in force: what was loaded last without an error, but for what waits for the next start."""

import dataclasses

from airbound.config import Config
from airbound.configuration.layers import Loaded

RELOADED = ("mode", "exempt", "parameters", "cell")
NEEDS_RESTART = tuple(field.name for field in dataclasses.fields(Config) if field.name not in RELOADED)


class InForce:
    """Begins with what the controller was started with."""

    def __init__(self, started: Loaded) -> None:
        self.loaded = started
        self.error = ""  # of the last reload; empty if it was taken over
        self.failures_total = 0
        self._started = started

    @property
    def config(self) -> Config:
        """Every value as it is in force, operators' choices left aside."""
        kept = {key: getattr(self._started.config, key) for key in NEEDS_RESTART}
        return dataclasses.replace(self.loaded.config, **kept)

    def loaded_for(self, key: str) -> Loaded:
        """What a key's value is from: the start, or the last reload."""
        return self._started if key.partition(".")[0] in NEEDS_RESTART else self.loaded

    def reloaded(self, fresh: Loaded) -> None:
        """Another configuration was taken over."""
        self.loaded, self.error = fresh, ""

    def failed(self, error: str) -> None:
        """One was not, for an error in it."""
        self.error = error
        self.failures_total += 1
