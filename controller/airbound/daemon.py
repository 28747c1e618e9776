# SPDX-License-Identifier: Apache-2.0
"""Puts a controller together and runs it until a signal ends it."""

import asyncio
import signal
from collections.abc import Callable

from airbound.config import Config
from airbound.core.engine import Engine
from airbound.grpc import server
from airbound.grpc.operations_service import OperationsService
from airbound.runtime import garbage, log
from airbound.runtime.history import History
from airbound.runtime.reload import Reloader
from airbound.runtime.runner import Runner


async def run(
    config: Config, read_again: Callable[[], Config] | None = None, log_dropped: Callable[[], int] = lambda: 0
) -> None:
    """Serve until SIGTERM or SIGINT. Phones keep their bounds until their leases end, so that a controller that starts
    again at once goes on where this one stopped. SIGHUP takes over what `read_again` returns.

    Raises:
        ListenError: an address cannot be listened on.
    """
    runner = Runner(
        Engine(config.parameters, config.mode, config.exempt),
        streams_max=config.limits.streams_max,
        streams_per_address_max=config.limits.streams_per_address_max,
        history=History(config.events.kept, config.events.bytes_max),
    )
    with log.observed(runner.history.append):
        await _serve(runner, config, read_again, log_dropped)


async def _serve(
    runner: Runner, config: Config, read_again: Callable[[], Config] | None, log_dropped: Callable[[], int]
) -> None:
    operations = OperationsService(runner, log_dropped)
    running = await server.start(runner, operations, config.listen, config.operators, config.limits.reports_per_s)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, Reloader(runner, config, read_again).reload)
    address = f"{config.listen.rpartition(':')[0]}:{running.port}"
    parameters = config.parameters
    policy = parameters.policy if parameters.policy == "bdp" else f"paper, table {parameters.paper.table}"
    operators = ", ".join(
        endpoint if endpoint.startswith("unix:") else f"{endpoint.rpartition(':')[0]}:{port}"
        for endpoint, port in zip(config.operators, running.operator_ports, strict=True)
    )
    garbage.tune()
    log.event("info", "listening", address, f"mode {config.mode}, policy {policy}; operators on {operators or 'none'}")
    await stop.wait()
    log.event("info", "stopping", address, "bounds stay in force until their leases end")
    await running.stop()
