# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: read the configuration file again. A file with an error changes nothing: the last good one stays in force.

A thread reads, since a file system may not answer. After `READ_S` that is an error as any other, and the thread is left
alone: it ends with the process, if not before.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable

from airbound.config import Config, ConfigError, cell_overrides
from airbound.configuration.layers import Loaded
from airbound.configuration.values import differences
from airbound.core.events import Exempted, Reconfigured
from airbound.metrics.hooks import Configuration
from airbound.runtime import log
from airbound.runtime.in_force import NEEDS_RESTART, InForce
from airbound.runtime.runner import Runner

READ_S = 5.0


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
        self._task: asyncio.Task[None] | None = None
        self._is_read = False  # by a thread
        self._wanted = False

    def reload(self) -> None:
        """Take over what the file says now, and log what changed. What an operator chose meanwhile stays, unless the
        file changed there. While it is read it is to be read once more, however often this is called.
        """
        self._wanted = True
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._reload())

    async def finished(self) -> None:
        """Wait until all that was asked for is done."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _reload(self) -> None:
        try:
            while self._wanted:
                self._wanted = False
                await self._reload_once()
        finally:
            self._task = None

    async def _reload_once(self) -> None:
        if self._read is None:
            why = "there is no file: the controller was started without --config"
            log.event("warning", "reload", "configuration", why)
            return
        try:
            loaded = await self._read_in_thread(self._read)
        except ConfigError as error:
            self._in_force.failed(str(error))
            self._record.refused()
            log.event("warning", "reload", "configuration", f"{error}; the configuration before stays in force")
        else:
            self._take_over(loaded)

    async def _read_in_thread(self, read: Callable[[], Loaded]) -> Loaded:
        """What is read.

        Raises:
            ConfigError: there is an error in it, or it takes too long.
        """
        if self._is_read:
            raise ConfigError("the file is still being read since an earlier SIGHUP: its file system does not answer")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Loaded | Exception] = loop.create_future()

        def ended(result: Loaded | Exception) -> None:
            self._is_read = False
            if not done.done():
                done.set_result(result)

        def work() -> None:
            result: Loaded | Exception
            try:
                result = read()
            except Exception as error:  # noqa: BLE001  # raised below, where it is awaited
                result = error
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(ended, result)

        # Not one of the loop's threads: the process would wait for it at its end.
        self._is_read = True
        threading.Thread(target=work, name="configuration", daemon=True).start()
        try:
            async with asyncio.timeout(READ_S):
                result = await done
        except TimeoutError:
            raise ConfigError(f"the file cannot be read within {READ_S:g} s: its file system does not answer") from None
        if isinstance(result, Exception):
            raise result
        return result

    def _take_over(self, loaded: Loaded) -> None:
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
