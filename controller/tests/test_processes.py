# SPDX-License-Identifier: Apache-2.0
import asyncio
import os
import sys
from pathlib import Path

import pytest

from airbound_testing.ports import free_port
from airbound_testing.processes import Process


async def test_a_process_that_never_listens_is_ended_with_the_wait_for_it(tmp_path: Path) -> None:
    program = "import time; print('began', flush=True); time.sleep(3600)"
    started = Process([sys.executable, "-c", program], free_port(), tmp_path / "log")
    entering = asyncio.ensure_future(started.__aenter__())
    async with asyncio.timeout(60):
        while not started.log.exists() or "began" not in started.log.read_text():  # noqa: ASYNC110  # a process
            await asyncio.sleep(0.05)
    pid = started.pid
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
