# SPDX-License-Identifier: Apache-2.0
"""Operators' Unix sockets, with real servers: whose they are, and who may connect."""

import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from airbound.config import Limits
from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.grpc import server
from airbound.grpc.operations_service import OperationsService
from airbound.runtime.runner import Runner
from airbound.v1 import operations_pb2
from airbound_testing.live import LOOPBACK, LiveController


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "airbound.sock"


def inode(path: Path) -> int:
    return path.lstat().st_ino


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def is_socket(path: Path) -> bool:
    return path.is_socket()


def lock_of(path: Path) -> Path:
    return Path(f"{path}.lock")


def make_file(path: Path) -> None:
    path.touch()


def make_folder(path: Path) -> None:
    path.mkdir()


def is_locked(path: Path) -> bool:
    with lock_of(path).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def start(*operators: str) -> server.ControllerServer:
    runner = Runner(Engine(Parameters()))
    return await server.start(runner, OperationsService(runner), LOOPBACK, operators, Limits(), security=None)


async def refused(path: Path) -> str:
    """Why a controller does not start with its operators' socket there."""
    with pytest.raises(server.ListenError) as caught:
        await start(f"unix:{path}")
    text = str(caught.value)
    head = f"cannot listen on unix:{path}: "
    assert text.startswith(head)
    return text.removeprefix(head)


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Another program's socket."""
    with closing(socket.socket(socket.AF_UNIX)) as other:
        other.bind(str(path))
        other.listen(0)
        yield other


async def test_a_second_controller_does_not_take_over_the_socket_of_one_that_runs(path: Path) -> None:
    async with LiveController(operators=[f"unix:{path}"]) as live:
        before = inode(path)
        assert await refused(path) == "a controller listens there already"
        assert inode(path) == before
        assert is_locked(path)
        assert (await live.ask().GetController(operations_pb2.GetControllerRequest())).mode


@pytest.mark.parametrize(("written", "meant"), [("a%20b", "a b"), ("c d", "c d"), ("e%zz", "e%zz")])
async def test_a_path_is_the_one_that_grpc_takes_it_for(tmp_path: Path, written: str, meant: str) -> None:
    endpoint = f"unix:{tmp_path}/{written}"
    running = await start(endpoint)
    assert is_socket(tmp_path / meant)
    assert is_locked(tmp_path / meant)
    await running.stop()


async def test_a_socket_on_which_another_program_answers_is_left_to_it(path: Path) -> None:
    with listening(path) as other:
        before = inode(path)
        assert await refused(path) == "somebody answers there"
        assert inode(path) == before
        other.accept()[0].close()  # that was the question whether it answers


async def test_one_that_has_more_to_answer_than_it_takes_answers(path: Path) -> None:
    with listening(path), closing(socket.socket(socket.AF_UNIX)) as waits:
        waits.connect(str(path))
        assert await refused(path) == "somebody answers there"
        assert is_socket(path)


async def test_a_socket_that_nobody_answers_on_is_replaced(path: Path) -> None:
    with listening(path):
        pass
    assert is_socket(path)
    async with LiveController(operators=[f"unix:{path}"]) as live:
        assert (await live.ask().GetController(operations_pb2.GetControllerRequest())).mode


async def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    make_file(path)
    before = inode(path)
    assert await refused(path) == "what is there is no socket"
    assert inode(path) == before


async def test_a_lock_that_cannot_be_made_is_named(path: Path) -> None:
    make_folder(lock_of(path))
    assert await refused(path) == f"{path}.lock: Is a directory"


@pytest.mark.parametrize("umask", [0, 0o077])
async def test_owner_and_group_may_connect_whatever_the_umask_is(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        running = await start(f"unix:{path}", LOOPBACK)
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert mode(path) == 0o660
    assert mode(lock_of(path)) == 0o600
    await running.stop()


async def test_the_path_is_free_again_after_the_end(path: Path) -> None:
    for _ in range(2):
        running = await start(f"unix:{path}")
        await running.stop()
        assert not is_socket(path)


async def test_a_start_that_failed_holds_no_path(path: Path) -> None:
    with pytest.raises(server.ListenError, match="nowhere"):
        await start(f"unix:{path}", f"unix:{path.parent}/nowhere/airbound.sock")
    assert not is_locked(path)
