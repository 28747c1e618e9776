# SPDX-License-Identifier: Apache-2.0
"""How a process that the controller has started ends, also while the controller itself ends."""

import asyncio
import sys

import pytest

from airbound.runtime import child

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(3600)"


async def _started(text: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-c", text, stdout=asyncio.subprocess.PIPE)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("raise SystemExit(3)", " (exit 3)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", " (SIGTERM)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 2)", " (signal 36)"),
    ],
)
async def test_it_is_said_how_a_process_ended(text: str, how: str) -> None:
    assert await child.ended(await _started(text), 3600.0) == how


async def test_a_process_that_does_not_end_is_killed() -> None:
    process = await _started(DEAF)
    assert process.stdout is not None
    await process.stdout.readline()
    process.terminate()
    assert await child.ended(process, 0.0) == " (SIGKILL)"


async def test_whoever_waits_for_the_end_can_be_cancelled() -> None:
    """Whoever starts a process again after each end would otherwise do so once more, and never end itself."""
    process = await _started(DEAF)
    assert process.stdout is not None
    await process.stdout.readline()
    waiting = asyncio.create_task(child.ended(process, 3600.0))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert process.returncode is not None
