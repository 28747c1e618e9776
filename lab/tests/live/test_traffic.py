# SPDX-License-Identifier: Apache-2.0
"""Uploads and downloads over loopback: sent bytes arrive, and a sender or receiver that fails reports its error."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airbound_lab.live.guest.loop import Loop
from airbound_lab.live.guest.traffic import Download, FileServer, Server, Upload
from airbound_testing.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = "127.0.0.1"
LIMIT_S = 60.0


class Results:
    """What uploads ended with."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.errors: list[str] = []

    def add(self, error: str) -> None:
        """Take the end of one."""
        self.errors.append(error)

    def wait(self, number: int) -> list[str]:
        """Run the loop until so many have ended."""

        def check() -> None:
            assert time.monotonic() < deadline, self.errors
            self._loop.running = len(self.errors) < number
            if self._loop.running:
                self._loop.after(0.01, check)

        deadline = time.monotonic() + LIMIT_S
        self._loop.running = True
        check()
        self._loop.run()
        return self.errors


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def results(loop: Loop) -> Results:
    return Results(loop)


@pytest.fixture
def upload(loop: Loop, results: Results) -> Callable[..., Upload]:
    def make(port: int, size_bytes: int = 0, frame_bytes: int = 0) -> Upload:
        return Upload(loop, "", (HERE, (HERE, port)), size_bytes, results.add, frame_bytes=frame_bytes)

    return make


@pytest.fixture
def server(loop: Loop) -> Iterator[tuple[Server, int]]:
    port = free_port()
    made = Server(loop, "", (HERE, port))
    yield made, port
    made.close()


def test_every_byte_of_several_uploads_arrives(
    server: tuple[Server, int], upload: Callable[..., Upload], results: Results
) -> None:
    sizes = (1, 32_768, 3_000_000)
    for size in sizes:
        upload(server[1], size)
    assert results.wait(3) == ["", "", ""]
    assert server[0].received_bytes == {HERE: sum(sizes)}


def test_a_video_sends_until_it_is_stopped(
    server: tuple[Server, int], upload: Callable[..., Upload], results: Results, loop: Loop
) -> None:
    video = upload(server[1], frame_bytes=10_000)
    loop.after(1.0, video.stop)
    assert results.wait(1) == [""]
    sent = server[0].received_bytes[HERE]
    assert sent % 10_000 == 0
    # 30 frames at most; how many fewer is the machine's.
    assert 10_000 <= sent <= 310_000


def test_a_video_leaves_out_what_the_connection_does_not_take(
    upload: Callable[..., Upload], results: Results, loop: Loop
) -> None:
    with socket.create_server((HERE, 0)) as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        video = upload(silent.getsockname()[1], frame_bytes=60_000)
        loop.after(2.0, video.abort)
        assert results.wait(1) == ["aborted"]
        with silent.accept()[0] as connection:
            connection.settimeout(LIMIT_S)
            received = 0
            reset = False
            while not reset:
                try:
                    received += len(connection.recv(1 << 16))
                except ConnectionResetError:
                    reset = True
    assert received < 30 * 60_000


def test_an_upload_has_its_kernel_s_rtt_until_it_ends(
    server: tuple[Server, int], upload: Callable[..., Upload], results: Results, loop: Loop
) -> None:
    video = upload(server[1], frame_bytes=10_000)
    found: list[float | None] = []
    loop.after(0.5, lambda: found.append(video.srtt_ms()))
    loop.after(1.0, video.stop)
    assert results.wait(1) == [""]
    [rtt_ms] = found
    assert rtt_ms is not None
    assert 0 < rtt_ms < 500  # it was measured within the half second
    assert video.srtt_ms() is None


def test_an_upload_is_of_its_app(loop: Loop, results: Results, server: tuple[Server, int]) -> None:
    own = os.geteuid()
    uid = 10_001 if own == 0 else own
    video = Upload(loop, "", (HERE, (HERE, server[1])), 0, results.add, frame_bytes=10_000, uid=uid)
    owners: list[int] = []

    def look() -> None:
        lines = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]
        owners.extend(int(line[7]) for line in lines if line[2] == f"0100007F:{server[1]:04X}")
        video.stop()

    loop.after(0.2, look)
    assert results.wait(1) == [""]
    assert owners == [uid]
    assert os.geteuid() == own


def test_nobody_listens(upload: Callable[..., Upload], results: Results) -> None:
    upload(free_port(), 1000)
    assert results.wait(1) == ["ECONNREFUSED"]


def test_a_server_that_closes_early_is_an_error(upload: Callable[..., Upload], results: Results, loop: Loop) -> None:
    with socket.create_server((HERE, 0)) as listener:
        upload(listener.getsockname()[1], 50_000_000)

        def close_early() -> None:
            listener.accept()[0].close()

        loop.after(0.2, close_early)
        [error] = results.wait(1)
    assert error in ("ECONNRESET", "EPIPE")


@pytest.fixture
def files(loop: Loop) -> Iterator[int]:
    port = free_port()
    made = FileServer(loop, "", (HERE, port))
    yield port
    made.close()


def test_every_byte_that_is_asked_for_arrives(files: int, loop: Loop, results: Results) -> None:
    sizes = (1, 65_536, 3_000_000)
    downloads = [Download(loop, "", (HERE, (HERE, files)), size, results.add) for size in sizes]
    assert results.wait(3) == ["", "", ""]
    assert [download.received_bytes for download in downloads] == list(sizes)


def test_a_file_that_ends_early_is_an_error(loop: Loop, results: Results) -> None:
    with socket.create_server((HERE, 0)) as listener:
        download = Download(loop, "", (HERE, listener.getsockname()[:2]), 1000, results.add)

        def send_half() -> None:
            with listener.accept()[0] as connection:
                assert connection.recv(64) == b"1000\n"
                connection.sendall(bytes(500))

        loop.after(0.2, send_half)
        assert results.wait(1) == ["the server closed the connection"]
    assert download.received_bytes == 500


def test_a_download_may_be_aborted_and_nobody_listens(files: int, loop: Loop, results: Results) -> None:
    download = Download(loop, "", (HERE, (HERE, files)), 10**12, results.add)
    loop.after(0.2, download.abort)
    assert results.wait(1) == ["aborted"]
    Download(loop, "", (HERE, (HERE, free_port())), 1, results.add)
    assert results.wait(2) == ["aborted", "ECONNREFUSED"]


@pytest.mark.parametrize("request_", [b"no number\n", b"\n", b"1" * 40])
def test_what_is_no_request_ends_the_connection(request_: bytes, files: int, loop: Loop, results: Results) -> None:
    with socket.create_connection((HERE, files)) as client:
        client.sendall(request_)
        client.settimeout(0)

        def look() -> None:
            try:
                results.add(repr(client.recv(10)))
            except BlockingIOError:
                loop.after(0.05, look)
            except ConnectionResetError:
                results.add("b''")

        loop.after(0.05, look)
        assert results.wait(1) == ["b''"]


def test_timers_come_in_order_and_again(loop: Loop) -> None:
    seen: list[str] = []
    loop.after(0.05, lambda: seen.append("late"))
    loop.after(0.01, lambda: seen.append("early"))
    loop.every(0.03, lambda: seen.append("again"))

    def end() -> None:
        loop.running = False

    loop.after(0.2, end)
    loop.run()
    assert seen.index("early") < seen.index("again") < seen.index("late")
    assert seen.count("again") >= 2
