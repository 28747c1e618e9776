# SPDX-License-Identifier: Apache-2.0
"""The end of a process that the controller has started."""

import asyncio
import contextlib
import signal


async def ended(process: asyncio.subprocess.Process, within_s: float) -> str:
    """Wait for the process to end, and kill it if it has not by then; how it ended: " (exit 1)" or " (SIGKILL)".

    Raises:
        CancelledError: this was cancelled; the process has ended all the same.
    """
    try:
        async with asyncio.timeout(within_s):  # wait_for of Python 3.11 loses a cancellation that comes with the end
            await process.wait()
    except TimeoutError:
        await _kill(process)
    except asyncio.CancelledError:
        await _kill(process)
        raise
    code = process.returncode or 0
    if code >= 0:
        return f" (exit {code})"
    try:
        return f" ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal has no name
        return f" (signal {-code})"


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
