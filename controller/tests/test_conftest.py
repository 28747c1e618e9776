# SPDX-License-Identifier: Apache-2.0
"""An error that reaches only the event loop fails its test: a run of pytest on tests that have such errors."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

TESTS = """
import asyncio
import grpc.aio


async def test_callback():
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_task():
    async def broken():
        raise ValueError

    asyncio.create_task(broken())
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_servicer():
    async def broken(request, context):
        raise ValueError

    server = grpc.aio.server()
    method = {"M": grpc.unary_unary_rpc_method_handler(broken)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("S", method)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            await channel.unary_unary("/S/M")(b"")
        except grpc.aio.AioRpcError:
            pass
    await server.stop(None)


async def test_nothing():
    await asyncio.sleep(0)


def test_no_loop():
    pass
"""


def test_errors_that_reach_only_the_loop_fail_their_tests(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n", encoding="utf-8")
    tmp_path.joinpath("test_errors.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rpE", str(tmp_path)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    failed = re.findall(r"^ERROR test_errors\.py::(\w+) - (.*)", result.stdout, re.MULTILINE)
    assert [name for name, _ in failed] == ["test_callback", "test_task", "test_servicer"], result.stdout
    assert re.search("ZeroDivisionError", result.stdout)
    assert "5 passed, 3 errors" in result.stdout


def test_no_property_depends_on_time() -> None:
    in_force = settings()
    assert in_force.deadline is None
    assert HealthCheck.too_slow in in_force.suppress_health_check
