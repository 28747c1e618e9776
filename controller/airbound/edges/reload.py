# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: read the configuration file again. A file with an error changes nothing: the last good one holds."""

from collections.abc import Callable

from airbound.config import Config, ConfigError, differences
from airbound.core.effects import Level, Note
from airbound.edges import log
from airbound.edges.hub import Hub

NEEDS_RESTART = ("listen", "log")


class Reloader:
    """Reads by `read`, which is none if the controller was given no file."""

    def __init__(self, hub: Hub, config: Config, read: Callable[[], Config] | None) -> None:
        self._hub = hub
        self._config = config
        self._read = read

    def reload(self) -> None:
        """Go over to what the file says now, and tell what changed."""
        if self._read is None:
            self._tell("warning", "there is no file to read again: the controller was started without --config")
            return
        try:
            fresh = self._read()
        except ConfigError as error:
            self._tell("warning", f"{error}; the configuration before holds")
            return
        changed = differences(self._config, fresh)
        before, self._config = self._config, fresh
        self._tell("info", "; ".join(changed) or "nothing changed")
        for key in NEEDS_RESTART:
            if getattr(before, key) != getattr(fresh, key):
                self._tell("warning", f"{key} takes effect at the next start")
        self._hub.reconfigure(before, fresh)

    @staticmethod
    def _tell(level: Level, why: str) -> None:
        log.note(Note(level, "reload", "configuration", why))
