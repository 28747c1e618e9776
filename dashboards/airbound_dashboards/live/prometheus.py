# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus on a free port of loopback, with a configuration and data of its own."""

import asyncio
import http.client
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from airbound_dashboards.live import history
from airbound_dashboards.live.history import Past
from airbound_testing.ports import free_port
from airbound_testing.processes import READY_S, Process


class _Server(Process):
    """It listens before it answers queries."""

    async def start(self) -> None:
        await super().start()
        async with asyncio.timeout(READY_S):
            while await asyncio.to_thread(self._status) != http.HTTPStatus.OK:  # noqa: ASYNC110  # it is Prometheus that is asked
                await asyncio.sleep(0.1)

    def _status(self) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READY_S)
        try:
            connection.request("GET", "/-/ready")
            return connection.getresponse().status
        finally:
            connection.close()


def prometheus(
    directory: Path, targets: Sequence[str], rules: Sequence[Path], interval: str = "2s", pasts: Sequence[Past] = ()
) -> Process:
    """A server that scrapes and evaluates each `interval`, and has samples of times before. What is written is JSON,
    which is YAML as well.

    Raises:
        RuntimeError: it is not installed.
    """
    program = shutil.which("prometheus")
    if program is None:
        raise RuntimeError("there is no prometheus; it is Debian's package of that name")
    port, config = free_port(), directory / "prometheus.yml"
    config.write_text(
        json.dumps(
            {
                "global": {"scrape_interval": interval, "evaluation_interval": interval, "scrape_timeout": interval},
                "rule_files": [str(file.absolute()) for file in rules],
                "scrape_configs": [{"job_name": "airbound", "static_configs": [{"targets": list(targets)}]}],
            }
        ),
        encoding="utf-8",
    )
    data = directory / "prometheus"
    if pasts:
        history.write(data, pasts)
    argv = [
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--query.lookback-delta=5m",
        "--log.level=warn",
    ]
    return _Server(argv, port, directory / "prometheus.log")
