# SPDX-License-Identifier: Apache-2.0
"""The end of a process that the controller has started."""

import asyncio
import contextlib
import signal


async def ended(process: asyncio.subprocess.Process, within_s: float) -> str:
    """Wait for the process to end, and kill it if it has not by then, or if this is cancelled; how it ended:
    " (exit 1)" or " (SIGKILL)".
    """
    try:
        await asyncio.wait_for(process.wait(), within_s)
    except (TimeoutError, asyncio.CancelledError):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    code = process.returncode or 0
    if code >= 0:
        return f" (exit {code})"
    try:
        return f" ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal has no name
        return f" (signal {-code})"
