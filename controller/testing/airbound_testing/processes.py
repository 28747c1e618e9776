# SPDX-License-Identifier: Apache-2.0
"""Real processes for tests: controllers, Redis. Each is ended with its context, whatever state it is in."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Self

from airbound.core.parameters import SafetyParameters
from airbound_testing.identities import Identities
from airbound_testing.ports import free_port

READY_S = 300.0  # for a program that hangs; on a busy machine a controller takes a minute to import TLS


class Process:
    """A program that listens on a port; a context manager. `log` has what it printed."""

    def __init__(self, argv: list[str], port: int, log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.argv, self.port, self.log = argv, port, log
        self.operators = ""  # of a controller
        self.enrollment = ""  # of a controller with TLS
        self.metrics = 0  # of a controller: the port
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def target(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it and wait until it listens.

        Raises:
            RuntimeError: it ended, or does not listen in time.
        """
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(self.argv, stdout=output, stderr=subprocess.STDOUT, env=self._environment)  # noqa: ASYNC220
        async with asyncio.timeout(READY_S):
            while True:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                        return
                if self._process.poll() is not None:
                    raise RuntimeError(f"{self.argv[0]} ended: {self.log.read_text()[-2000:]}")
                await asyncio.sleep(0.05)

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.send(signal.SIGCONT)
            self.send(signal.SIGKILL)
        await self.ended()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._process is not None:
            os.kill(self._process.pid, number)

    async def ended(self) -> int | None:
        """Wait for its end; its exit code."""
        if self._process is None:
            return None
        while self._process.poll() is None:  # noqa: ASYNC110  # a process, not a task
            await asyncio.sleep(0.02)
        return self._process.returncode

    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the process that runs.

        Raises:
            RuntimeError: none does.
        """
        if self._process is None:
            raise RuntimeError("it was not started")
        return self._process.pid

    async def kill(self) -> None:
        """SIGKILL, and wait."""
        self.send(signal.SIGKILL)
        await self.ended()


def controller(
    directory: Path,
    name: str,
    store: Mapping[str, str | bool],
    *,
    policy: str = "paper",
    tls: Mapping[str, str | bool] | None = None,
    log: str = "json",
    environment: Mapping[str, str] | None = None,
    identities: Identities | None = None,
    limits: str = "streams_per_address_max = 0\n",
    core: int | None = None,
    more: str = "",  # tables of the configuration
    slowness: int = 1,
) -> Process:
    """A controller with the options of its store, and with those of TLS: identities stand for those of their authority.
    Without either in plain text. On one core if that is given. `slowness` multiplies the times of
    replicas, and of what is in force without news.
    """
    if identities is not None:
        tls = {"directory": str(identities.authority.path), "enrollment": ""}
    if slowness != 1:
        more += safety(slowness)
    port, operators = free_port(), free_port()
    config = directory / f"{name}.toml"
    config.write_text(
        f'listen = "127.0.0.1:{port}"\noperators = ["127.0.0.1:{operators}"]\nlog = "{log}"\npolicy = "{policy}"\n'
        f"[limits]\nlog_lines_per_s = 100000.0\n{limits}[identity]\nmatch_addresses = false\n"
        '[metrics]\nlisten = ""\n'
        f"[store]\n{_toml(store)}{more}[tls]\n{_toml(tls or {'plain_text': True})}",
        encoding="utf-8",
    )
    module = ["airbound"] if slowness == 1 else ["airbound_testing.unhurried", str(slowness)]
    argv = [sys.executable, "-m", *module, "controller", "--config", str(config)]
    if core is not None:
        argv = ["taskset", "--cpu-list", str(core), *argv]
    made = Process(argv, port, directory / f"{name}.log", environment)
    made.operators = f"127.0.0.1:{operators}"
    return made


def controller_with_tls(directory: Path, authority: Path, more: str = "", *, front: bool = False) -> Process:
    """A controller with the authority of a directory, and with metrics, its ports behind HAProxy if `front`;
    `more` is TOML.
    """
    port, operators, metrics, enrollment = free_port(), free_port(), free_port(), free_port()
    config = directory / "tls.toml"
    config.write_text(
        f'listen = "127.0.0.1:{port}"\noperators = ["127.0.0.1:{operators}"]\n'
        f'[metrics]\nlisten = "127.0.0.1:{metrics}"\n'
        f'[tls]\ndirectory = "{authority}"\nenrollment = "127.0.0.1:{enrollment}"\nname = "test"\n'
        f'front = "{haproxy_program() if front else ""}"\n'
        f"[identity]\nmatch_addresses = false\n{more}",
        encoding="utf-8",
    )
    argv = [sys.executable, "-m", "airbound", "controller", "--config", str(config)]
    made = Process(argv, port, directory / "tls.log")
    made.operators, made.metrics, made.enrollment = f"127.0.0.1:{operators}", metrics, f"127.0.0.1:{enrollment}"
    return made


def safety(slowness: int) -> str:
    """The table [safety] with the defaults' times multiplied."""
    times = {name: slowness * value for name, value in asdict(SafetyParameters()).items() if name != "forget_ms"}
    return f"[safety]\n{_toml(times)}"


def _toml(options: Mapping[str, str | bool | int]) -> str:
    """Lines of a table; JSON's strings, booleans and integers are TOML's."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())


def haproxy(directory: Path, targets: list[str]) -> Process:
    """A load balancer that passes TCP on to each target in turn."""
    port = free_port()
    servers = "".join(f"  server s{number} {target}\n" for number, target in enumerate(targets))
    return haproxy_of(
        directory,
        port,
        "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 15m\n  timeout server 15m\n"
        f"frontend agents\n  bind 127.0.0.1:{port}\n  maxconn 50000\n  default_backend controllers\n"
        f"backend controllers\n  balance roundrobin\n{servers}",
    )


def haproxy_program() -> str:
    """Where HAProxy is; sbin is in few users' PATH."""
    return shutil.which("haproxy") or "/usr/sbin/haproxy"


def haproxy_of(directory: Path, port: int, configuration: str) -> Process:
    """A load balancer with this configuration, which listens on a port of the loopback interface."""
    config = directory / "haproxy.cfg"
    config.write_text(configuration, encoding="ascii")
    return Process([haproxy_program(), "-db", "-f", str(config)], port, directory / "haproxy.log")


def redis(directory: Path, name: str = "redis") -> Process:
    """A Redis server that keeps nothing."""
    port = free_port()
    program = shutil.which("redis-server")
    if program is None:
        raise RuntimeError("there is no redis-server")
    data = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=directory))
    argv = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(data)]
    return Process(argv, port, directory / f"{name}.log")
