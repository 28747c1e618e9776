# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: read the configuration file again. A file with an error changes nothing: the last good one stays in force."""

from collections.abc import Callable

from airbound.config import Config, ConfigError, cell_overrides
from airbound.configuration.layers import Loaded
from airbound.configuration.values import differences
from airbound.core.events import Exempted, Reconfigured
from airbound.metrics.hooks import Configuration
from airbound.runtime import log
from airbound.runtime.in_force import NEEDS_RESTART, InForce
from airbound.runtime.runner import Runner


class Reloader:
    """Reads by `read`, which is none if the controller was given no file. `configured` is called with what was read."""

    def __init__(
        self,
        runner: Runner,
        in_force: InForce,
        read: Callable[[], Loaded] | None,
        configured: Callable[[Config], None] = lambda _: None,
        record: Configuration | None = None,  # of what is in force
    ) -> None:
        self._runner = runner
        self._configured = configured
        self._in_force = in_force
        self._record = record or Configuration()
        self._record.applied(in_force.config)
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
            loaded = self._read()
        except ConfigError as error:
            self._in_force.failed(str(error))
            self._record.refused()
            log.event("warning", "reload", "configuration", f"{error}; the configuration before stays in force")
            return
        before, fresh = self._in_force.loaded.config, loaded.config
        self._in_force.reloaded(loaded)
        self._configured(fresh)
        self._record.applied(self._in_force.config)
        log.event("info", "reload", "configuration", "; ".join(differences(before, fresh)) or "nothing changed")
        for key in NEEDS_RESTART:
            if getattr(before, key) != getattr(fresh, key):
                log.event("warning", "reload", "configuration", f"{key} takes effect at the next start")
        other_mode, other_names = before.mode != fresh.mode, set(before.exempt) ^ set(fresh.exempt)
        self._runner.choices.configured(mode=other_mode, exempt=other_names)
        if other_mode or (before.parameters, before.cell) != (fresh.parameters, fresh.cell):
            mode = fresh.mode if other_mode else None
            self._runner.submit(Reconfigured(fresh.parameters, cell_overrides(fresh), mode))
        for name in sorted(other_names):
            self._runner.submit(Exempted(name, name in fresh.exempt, by_operator=False))
