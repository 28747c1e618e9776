# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: read the configuration file again. A file with an error changes nothing: the last good one stays in force."""

from collections.abc import Callable

from airbound.config import Config, ConfigError, differences
from airbound.core.events import Reconfigured
from airbound.runtime import log
from airbound.runtime.runner import Runner

NEEDS_RESTART = ("listen", "operators", "log", "limits", "events")


class Reloader:
    """Reads by `read`, which is none if the controller was given no file."""

    def __init__(self, runner: Runner, config: Config, read: Callable[[], Config] | None) -> None:
        self._runner = runner
        self._config = config
        self._read = read

    def reload(self) -> None:
        """Take over what the file says now, and log what changed. What an operator chose meanwhile stays, unless the
        file changed there.
        """
        if self._read is None:
            log.event(
                "warning", "reload", "configuration", "there is no file: the controller was started without --config"
            )
            return
        try:
            fresh = self._read()
        except ConfigError as error:
            log.event("warning", "reload", "configuration", f"{error}; the configuration before stays in force")
            return
        before, self._config = self._config, fresh
        log.event("info", "reload", "configuration", "; ".join(differences(before, fresh)) or "nothing changed")
        for key in NEEDS_RESTART:
            if getattr(before, key) != getattr(fresh, key):
                log.event("warning", "reload", "configuration", f"{key} takes effect at the next start")
        if before.parameters != fresh.parameters:
            self._runner.submit(Reconfigured(fresh.parameters))
        if before.mode != fresh.mode:
            self._runner.set_mode(fresh.mode)
        for name in sorted(set(before.exempt) ^ set(fresh.exempt)):
            self._runner.set_exempt(name, exempt=name in fresh.exempt)
