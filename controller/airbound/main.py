# SPDX-License-Identifier: Apache-2.0
"""Wires a controller together and runs it until it is told to stop."""

import asyncio
import signal
from collections.abc import Callable

from airbound.config import Config
from airbound.core.effects import Note
from airbound.core.engine import Engine
from airbound.edges import log, server
from airbound.edges.hub import Hub
from airbound.edges.reload import Reloader
from airbound.edges.store import MemoryStore


async def run(config: Config, read_again: Callable[[], Config] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; then free every terminal. SIGHUP takes over what `read_again` returns.

    Raises:
        ListenError: the address cannot be listened on.
    """
    store = MemoryStore(frozenset(config.exempt))
    hub = Hub(Engine(config.parameters, store.exempt()), store)
    running = await server.start(hub, config.listen)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, Reloader(hub, config, read_again).reload)
    host = config.listen.rpartition(":")[0]
    parameters = config.parameters
    policy = parameters.policy if parameters.policy == "bdp" else f"paper, generation {parameters.paper.generation}"
    log.note(Note("info", "listening", f"{host}:{running.port}", f"mode {parameters.mode}, policy {policy}"))
    await stop.wait()
    log.note(Note("info", "stopping", f"{host}:{running.port}", "told to; every terminal is freed"))
    await running.stop()
