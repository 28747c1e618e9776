# SPDX-License-Identifier: Apache-2.0
"""HTTP's server and clients of the lab, over loopback: what is on the wire, and every wrong answer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from airbound_lab.guest_programs import http_transactions
from airbound_lab.run import host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = host.GUEST_PROGRAMS / "http_transactions.py"
START_LIMIT_S = 60.0


def test_requests_and_answers_are_the_benchmarks() -> None:
    # phone-agent/benchmark: Fetcher.java, ByteServer.java.
    kept = http_transactions.request("10.0.4.1:8080", 300, kept=True)
    assert kept == b"GET /300 HTTP/1.1\r\nHost: 10.0.4.1:8080\r\n\r\n"
    closing = http_transactions.request("10.0.4.1:8080", 0, kept=False)
    assert closing == b"GET /0 HTTP/1.1\r\nHost: 10.0.4.1:8080\r\nConnection: close\r\n\r\n"
    fields = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 1\r\n"
    assert http_transactions.answer("GET /300 HTTP/1.1\r\nHost: x\r\n\r\n") == (fields + b"\r\n\x2c", True)
    ends = (fields + b"Connection: close\r\n\r\n\xff", False)
    assert http_transactions.answer("GET /255 HTTP/1.1\r\nconnection: Close\r\n\r\n") == ends


@pytest.mark.parametrize("line", ["PUT /1 HTTP/1.1", "GET /1 HTTP/1.0", "GET /x HTTP/1.1", "GET / HTTP/1.1", "", "GET"])
def test_another_request_is_refused(line: str) -> None:
    text, _ = http_transactions.answer(f"{line}\r\n\r\n")
    assert text.startswith(b"HTTP/1.1 400 Bad Request\r\n")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Address of a server, in a process of its own."""
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        free = loop.run_until_complete(asyncio.start_server(lambda _, __: None, "127.0.0.1", 0))
        port = free.sockets[0].getsockname()[1]
        free.close()
        loop.run_until_complete(free.wait_closed())
    ready, address = tmp_path / "ready", f"127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, str(PROGRAM), "serve", str(ready), address])
    try:
        deadline = time.monotonic() + START_LIMIT_S
        while not ready.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield address
    finally:
        process.kill()
        process.wait()


def fetch(address: str, clients: int, connections: str, seconds: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), "fetch", address, str(clients), connections, seconds]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("connections", ["one", "each"])
def test_each_client_does_one_transaction_after_the_other(server: str, connections: str) -> None:
    done = fetch(server, 3, connections, "1")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert {client for client, _, _ in lines} == {0, 1, 2}
    for client in range(3):
        own = [(began_ns, ended_ns) for each, began_ns, ended_ns in lines if each == client]
        assert all(began_ns < ended_ns for began_ns, ended_ns in own)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(own))


def test_where_nobody_listens_the_client_says_so(server: str) -> None:
    host_of_it, _, _ = server.partition(":")
    done = fetch(f"{host_of_it}:1", 1, "each", "5")
    assert done.returncode == 1
    assert done.stdout.startswith("error: ")
    assert "Connect call failed" in done.stdout


FIELDS = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{FIELDS}\x06", "the octet 6 for /5"),
        (f"{FIELDS}\x05\x05", "more than one octet for /5"),
        (FIELDS, "no answer to /5: "),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x05\x05", "the answer to /5 is 'HTTP/1.1 200 OK'"),
        ("HTTP/1.1 400 Bad Request\r\nContent-Length: 1\r\n\r\n?", "the answer to /5 is 'HTTP/1.1 400 Bad Request'"),
        ("", "no answer to /5: "),
    ],
)
def test_a_wrong_answer_is_an_error(text: str, message: str) -> None:
    async def read() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(text.encode("latin-1"))
        reader.feed_eof()
        await http_transactions.read_answer(reader, 5, kept=False)

    with pytest.raises(http_transactions.WrongAnswerError, match=message):
        asyncio.run(read())


def test_the_right_answer_is_none() -> None:
    async def read() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(f"{FIELDS}\x05".encode("latin-1"))
        reader.feed_eof()
        await http_transactions.read_answer(reader, 261, kept=False)

    asyncio.run(read())
