# SPDX-License-Identifier: Apache-2.0
"""Real servers on the loopback interface for tests and benchmarks: one, or a Cluster of three masters with a replica
each. Nothing is saved but a Cluster's configuration, in a folder that the caller gives.
"""

import math
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from redis import Redis
from redis.exceptions import RedisError

from airbound.store.redis.slots import SLOTS, Range, Server, ranges, slot
from airbound_testing.ports import free_port

HOST = "127.0.0.1"
MASTERS = 3
NODE_TIMEOUT_MS = 2_000
PATIENCE_S = 120.0
FAILOVER_S = 6.0  # a second longer than Redis tries


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true; an error of Redis counts as false.

    Raises:
        AssertionError: it does not become true in a time that is long for any machine.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            if condition():
                return
        except RedisError:
            pass
        if time.monotonic() > deadline_s:
            raise AssertionError(f"not within {PATIENCE_S:.0f} s: {what}")
        time.sleep(0.02)


class RedisServer:
    """A redis-server, which can be killed, paused and started again on its port. With `tls`, the files of a CA, a
    certificate and its key, it has a port for TLS only, and wants certificates of that CA.
    """

    def __init__(self, folder: Path, *options: str, port: int = 0, tls: tuple[Path, Path, Path] | None = None) -> None:
        self.port = port or free_port()
        self._folder = folder
        self._options = ("--port", str(self.port), *options) if tls is None else (*_tls(self.port, *tls), *options)
        self._scheme = "redis" if tls is None else "rediss"
        self._process: subprocess.Popen[bytes] | None = None
        ca, certificate, key = map(str, tls) if tls else (None, None, None)
        self.client = Redis(
            host=HOST,
            port=self.port,
            socket_timeout=5.0,
            ssl=tls is not None,
            ssl_ca_certs=ca,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )

    @property
    def url(self) -> str:
        """What a store connects to."""
        return f"{self._scheme}://{HOST}:{self.port}"

    def start(self) -> Self:
        """Start, unless it runs, and wait until it answers."""
        if self._process is None or self._process.poll() is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            command = ["redis-server", "--bind", HOST, "--save", "", "--appendonly", "no"]
            with (self._folder / f"{self.port}.log").open("ab") as log:
                self._process = subprocess.Popen(
                    [*command, "--dir", str(self._folder), *self._options], stdout=log, stderr=log
                )
        wait_until(self.client.ping, f"the server on port {self.port} answers")
        return self

    def kill(self) -> None:
        """End it at once, as kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """Stop the process; its connections stay open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the process go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it, and this side's connections."""
        self.client.close()
        self.kill()

    def command(self, *parts: Any) -> Any:
        """The reply to a command."""
        return self.client.execute_command(*parts)

    def replication(self) -> dict[str, Any]:
        """Its role, and how it is connected to its master or its replicas."""
        return dict(self.client.info("replication"))

    def keys(self, prefix: str) -> set[str]:
        """The keys that start so."""
        return {key.decode() for key in self.client.scan_iter(match=f"{prefix}*", count=1000)}


class RedisCluster:
    """Three masters with a replica each."""

    def __init__(self, folder: Path, *options: str) -> None:
        ports = [free_port() for _ in range(4 * MASTERS)]
        self.servers = [
            RedisServer(folder / str(port), *_cluster_options(bus), *options, port=port)
            for port, bus in zip(ports[::2], ports[1::2], strict=True)
        ]
        self._buses = ports[1::2]

    @property
    def url(self) -> str:
        """What a store connects to: two of the servers, which name the others."""
        return f"redis://{HOST}:{self.servers[0].port},{HOST}:{self.servers[-1].port}"

    def start(self) -> Self:
        """Start, and wait until every master has a replica that is in step."""
        for server in self.servers:
            server.start()
        masters, replicas = self.servers[:MASTERS], self.servers[MASTERS:]
        per_master = SLOTS // MASTERS + 1
        for number, master in enumerate(masters):
            first, last = number * per_master, min((number + 1) * per_master, SLOTS) - 1
            master.command("CLUSTER", "ADDSLOTSRANGE", first, last)
            master.command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for server, bus in zip(self.servers[1:], self._buses[1:], strict=True):
            self.servers[0].command("CLUSTER", "MEET", HOST, server.port, bus)
        for master, replica in zip(masters, replicas, strict=True):
            node = master.command("CLUSTER", "MYID")
            wait_until(lambda r=replica, n=node: n in r.command("CLUSTER", "NODES"), "servers met")  # type: ignore[misc]
            wait_until(lambda r=replica, n=node: bool(r.command("CLUSTER", "REPLICATE", n)), "a replica")  # type: ignore[misc]
        self.wait()
        return self

    def heal(self) -> None:
        """Start killed servers, and wait until each shard has a master and its replica, in either of the two roles."""
        for server in self.servers:
            server.resume()
            server.start()
        for server in self.servers:
            for number in re.findall(rb"\[(\d+)-", server.command("CLUSTER", "NODES")):
                server.command("CLUSTER", "SETSLOT", int(number), "STABLE")  # a move that was not finished
        self.wait()

    def wait(self) -> None:
        """Wait until every server reports the Cluster complete, with the same masters, and a replica for each."""
        wait_until(self._is_complete, "the Cluster is complete")

    def masters(self) -> list[RedisServer]:
        """The masters as they are now."""
        return [server for server in self.servers if server.replication()["role"] == "master"]

    def master(self, tag: bytes) -> RedisServer:
        """The master of a tag's hash slot, by what a server that answers says."""
        number = slot(tag)
        for server in self.servers:
            try:
                view = _view(server)
            except RedisError:
                continue
            for found in view:
                if found.first <= number <= found.last:
                    return next(server for server in self.servers if server.port == found.master.port)
        raise AssertionError("no server answers")

    def replica(self, master: RedisServer) -> RedisServer:
        """The replica of a master."""
        return next(server for server in self.servers if server.replication().get("master_port") == master.port)

    def fail_over(self, tag: bytes) -> None:
        """Have the master of a tag's hash slot and its replica change roles, and wait until all servers know.

        A replica gives up after 5 s, for instance if the other masters did not vote in time: it is asked again.
        """
        master = self.master(tag)
        replica = self.replica(master)
        asked_s = -math.inf

        def changed() -> bool:
            nonlocal asked_s
            if self.master(tag) is replica:
                return True
            if time.monotonic() - asked_s > FAILOVER_S:
                asked_s = time.monotonic()
                replica.command("CLUSTER", "FAILOVER")
            return False

        wait_until(changed, "roles changed")
        self.wait()

    def move_slot(self, number: int, source: RedisServer, target: RedisServer) -> None:
        """Move a hash slot with its keys, as redis-cli --cluster reshard does."""
        source_id, target_id = source.command("CLUSTER", "MYID"), target.command("CLUSTER", "MYID")
        target.command("CLUSTER", "SETSLOT", number, "IMPORTING", source_id)
        source.command("CLUSTER", "SETSLOT", number, "MIGRATING", target_id)
        while keys := source.command("CLUSTER", "GETKEYSINSLOT", number, 100):
            source.command("MIGRATE", HOST, target.port, "", 0, 5_000, "KEYS", *keys)
        for server in (target, source, *self.masters()):
            server.command("CLUSTER", "SETSLOT", number, "NODE", target_id)

    def keys(self, prefix: str) -> set[str]:
        """The keys that start so, on every master."""
        return {key for master in self.masters() for key in master.keys(prefix)}

    def stop(self) -> None:
        """End all servers."""
        for server in self.servers:
            server.stop()

    def _is_complete(self) -> bool:
        views = set()
        for server in self.servers:
            state, replication = server.command("CLUSTER", "INFO"), server.replication()
            if b"cluster_state:ok" not in state or b"cluster_known_nodes:6" not in state:
                return False
            if replication["role"] == "master" and replication["connected_slaves"] != 1:
                return False
            if replication["role"] == "slave" and replication["master_link_status"] != "up":
                return False
            views.add(frozenset(found.master.port for found in _view(server)))
        return views == {frozenset(master.port for master in self.masters())}


def _view(server: RedisServer) -> list[Range]:
    return ranges(server.command("CLUSTER", "SLOTS"), Server(HOST, server.port))


def _tls(port: int, ca: Path, certificate: Path, key: Path) -> Sequence[str]:
    files = ("--tls-ca-cert-file", str(ca), "--tls-cert-file", str(certificate), "--tls-key-file", str(key))
    return ("--port", "0", "--tls-port", str(port), *files)


def _cluster_options(bus: int) -> Sequence[str]:
    """A replica that has not been in step yet may not be elected: it starts at once."""
    return [
        *("--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", str(NODE_TIMEOUT_MS)),
        *("--repl-diskless-sync-delay", "0", "--cluster-allow-replica-migration", "no"),
    ]
