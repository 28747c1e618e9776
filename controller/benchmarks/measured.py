# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of whole controllers share: the load generator, and where it was built."""

import argparse
import asyncio
import json
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airbound_testing.identities import Identities
from airbound_testing.processes import Process

LOAD = Path(__file__).parents[2] / "build" / "airbound-load"


def check(parser: argparse.ArgumentParser) -> None:
    """End with a message if something is missing. SIGTERM ends what was started, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not LOAD.exists() or shutil.which("haproxy") is None:
        parser.error("needs build/airbound-load and haproxy: make setup build")


def load_words(
    target: str, controllers: Sequence[Process], identities: Identities | None, results: Path, *options: str
) -> list[str]:
    """The load generator's command line; all agents have one address, that of this machine."""
    secured = [] if identities is None else ["--tls-dir", str(identities.path)]
    return [
        *(str(LOAD), "--controller", target, "--shared-address", "--json", str(results), *secured),
        *("--operators", ",".join(controller.operators for controller in controllers)),
        *("--pid", ",".join(str(controller.pid) for controller in controllers)),
        *options,
    ]


async def start_load(words: Sequence[str], log: Path) -> asyncio.subprocess.Process:
    """Start it; what it prints goes to a file."""
    with log.open("wb") as output:
        return await asyncio.create_subprocess_exec(*words, stdout=output, stderr=output)


async def finished(load: asyncio.subprocess.Process, results: Path, log: Path) -> dict[str, Any]:
    """Wait for its end; its results.

    Raises:
        RuntimeError: it failed; the text has what it printed last.
    """
    code = await load.wait()
    return _read(code, results, log)


def _read(code: int, results: Path, log: Path) -> dict[str, Any]:
    if code:
        raise RuntimeError(f"the load generator failed: {log.read_text()[-2000:]}")
    found: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))
    return found
