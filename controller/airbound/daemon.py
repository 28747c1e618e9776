# SPDX-License-Identifier: Apache-2.0
"""Puts a controller together and runs it until a signal ends it."""

import asyncio
import secrets
import signal
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from airbound.config import Config, cell_overrides
from airbound.configuration.layers import Loaded
from airbound.core.engine import Engine
from airbound.core.policy import POLICIES
from airbound.grpc import server
from airbound.grpc.checks import Checks
from airbound.grpc.operations_service import OperationsService
from airbound.metrics.hooks import Hooks
from airbound.metrics.measured_store import measured
from airbound.metrics.served import ServedMetrics
from airbound.replica.choices import KeptChoices
from airbound.replica.node import Node
from airbound.replica.operations import ReplicatedOperations
from airbound.replica.replicas_service import ReplicasService, Single
from airbound.runtime import garbage, log
from airbound.runtime.history import History
from airbound.runtime.in_force import InForce
from airbound.runtime.reload import Reloader
from airbound.runtime.runner import Runner
from airbound.store.factory import open_store
from airbound.store.options import StoreOptions
from airbound.store.types import Store

if TYPE_CHECKING:
    from airbound.grpc.security import Security


async def run(
    loaded: Loaded,
    read_again: Callable[[], Loaded] | None = None,
    log_dropped: Callable[[], int] = lambda: 0,
    handshakes_failed: Callable[[], Mapping[str, int]] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT. Phones keep their bounds until their leases end, so that a controller that starts
    again at once goes on where this one stopped. SIGHUP takes over what `read_again` returns.

    Raises:
        ListenError: an address cannot be listened on.
        StoreError: the embedded store's file cannot be used.
        PkiError: there is to be TLS, and its files cannot be used.
    """
    config, hooks = loaded.config, Hooks(log_lines_dropped=log_dropped, handshakes_failed=handshakes_failed)
    store = measured(open_store(config.store), hooks.store)
    security = None if config.tls.plain_text else _security(config, store)
    async with AsyncExitStack() as stack:
        await _serve(loaded, read_again, hooks, store=store, security=security, stack=stack)


def _count_processes(hooks: Hooks, running: server.ControllerServer) -> None:
    """Have metrics of the processes before the ports."""
    fronts = running.fronts
    if fronts:
        hooks.front_processes = lambda: sum(front.processes_total() for front in fronts)
        by_grpc = hooks.handshakes_failed or dict
        hooks.handshakes_failed = lambda: sum((front.failures for front in fronts), Counter(by_grpc()))
    if running.enrolling is not None:
        hooks.enrollment_processes = running.enrolling.processes_total


def _security(config: Config, store: Store) -> "Security":
    """TLS. Who has a certificate must survive a restart: a store that forgets is not used for that."""
    from airbound.grpc.security import directory_of, secure  # noqa: PLC0415  # slow to import, see grpc/peers.py
    from airbound.pki import files  # noqa: PLC0415

    if config.store.url or config.store.file:
        return secure(config.tls, store)
    directory = directory_of(config.tls).path
    own = open_store(StoreOptions(file=str(directory.absolute() / "records.sqlite")))
    security = secure(config.tls, own, own_store=own)
    files.make_directory(directory)
    return security


async def _serve(
    loaded: Loaded,
    read_again: Callable[[], Loaded] | None,
    hooks: Hooks,
    *,
    store: Store,
    security: "Security | None",
    stack: AsyncExitStack,
) -> None:
    config, in_force = loaded.config, InForce(loaded)
    replicas = bool(config.store.url)
    runner = Runner(
        Engine(config.parameters, config.mode, config.exempt, cell_overrides(config), replicas=replicas),
        streams_max=config.limits.streams_max,
        # Behind a load balancer the address is the balancer's; with certificates nobody needs it.
        streams_per_address_max=0 if security else config.limits.streams_per_address_max,
        streams_per_name_max=config.limits.streams_per_name_max if security else 0,
        history=History(config.events.kept, config.events.bytes_max),
    )
    stack.enter_context(log.observed(runner.history.append))
    metrics = ServedMetrics(runner, config.metrics, hooks)
    stack.callback(metrics.stop)
    node = Node(_replica_name(), runner, store) if replicas else None
    changed = node.choices_changed if node is not None else lambda: None
    choices = KeptChoices(runner, store, config.mode, config.exempt, changed)
    operations: OperationsService
    if node is not None:
        hooks.epochs = node.owners.epochs
        hooks.replica_messages = node.message_counts
        node.choices = choices
        await node.start()
        operations = ReplicatedOperations(runner, node, hooks.log_lines_dropped, choices, in_force)
    else:
        await store.start("", lambda _: None, lambda: None)
        operations = OperationsService(runner, hooks.log_lines_dropped, choices, in_force)
    await choices.read_or_log()
    checks = Checks(runner, choices)
    if security is not None:
        await stack.enter_async_context(security.kept_current())
        hooks.certificates_end = security.certificates_end
        hooks.handshakes = security.connections.handshakes
        hooks.connections = security.connections.counts
        hooks.connections_excessive = lambda: security.connections.octets.excessive
        hooks.connections_closed = security.connections.closed
        hooks.enrolled = security.enrolled_counts
        if node is not None:
            node.share(security.revocations)
    running = await server.start(
        runner,
        operations,
        config.listen,
        config.operators,
        config.limits,
        security=security,
        reception=node,
        replicas=ReplicasService(node) if node is not None else Single(runner, store.kind, choices),
        checks=checks,
    )
    _count_processes(hooks, running)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    reloader = Reloader(
        runner,
        in_force,
        read_again,
        lambda fresh: choices.configured(fresh.mode, fresh.exempt),
        hooks.configuration,
    )
    loop.add_signal_handler(signal.SIGHUP, reloader.reload)
    address = f"{config.listen.rpartition(':')[0]}:{running.port}"
    garbage.tune()
    _log_start(config, security, running, address)
    metrics.controller_listens()
    await stop.wait()
    metrics.controller_stops()
    log.event("info", "stopping", address, "bounds stay in force until their leases end")
    await checks.stop()
    await _stop(running, node, store)


async def _stop(running: server.ControllerServer, node: Node | None, store: Store) -> None:
    if node is not None:
        await node.stop()
    await running.stop()
    if node is None:
        await store.close()


def _log_start(config: Config, security: "Security | None", running: server.ControllerServer, address: str) -> None:
    """Log where the controller serves, and how."""
    parameters = config.parameters
    policy = POLICIES[parameters.policy](parameters).title
    operators = ", ".join(
        endpoint if endpoint.startswith("unix:") else f"{endpoint.rpartition(':')[0]}:{port}"
        for endpoint, port in zip(config.operators, running.operator_ports, strict=True)
    )
    if security is not None:
        log.event("info", "certificate", *security.described())
        log.event("info", "enrolling", running.enrollment or "nowhere", f"trust domain {security.trust_domain}")
    log.event("info", "listening", address, f"mode {config.mode}, policy {policy}; operators on {operators or 'none'}")
    if security is None:
        log.event("warning", "plain-text", address, "no TLS: peers are not authenticated")


def _replica_name() -> str:
    """Unique for each start: a process that starts again owns nothing of what the one before did."""
    return f"{socket.gethostname()[:40]}-{secrets.token_hex(4)}"
