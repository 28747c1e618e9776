# SPDX-License-Identifier: Apache-2.0
"""The container's health check, against the server that answers it in a controller."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import pytest

from airbound.deployment.health import DEFAULT_ADDRESS, address, check
from airbound.metrics.http_server import HttpServer, text
from airbound.metrics.options import DEFAULT_METRICS
from airbound_testing.ports import free_port


@contextmanager
def answering(status: HTTPStatus, line: str) -> Iterator[int]:
    server = HttpServer("127.0.0.1", 0, {"/healthz": lambda _: text(status, line)})
    server.start()
    try:
        yield server.server_address[1]
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        (None, ("127.0.0.1", 9464)),
        ("", ("127.0.0.1", 9464)),
        ("0.0.0.0:9000", ("127.0.0.1", 9000)),
        ("[::]:9000", ("::1", 9000)),
        ("192.0.2.1:9000", ("192.0.2.1", 9000)),
    ],
)
def test_where_it_asks(listen: str | None, expected: tuple[str, int]) -> None:
    assert address({} if listen is None else {"AIRBOUND_METRICS__LISTEN": listen}) == expected


def test_its_default_is_the_metrics() -> None:
    assert DEFAULT_ADDRESS == DEFAULT_METRICS


def test_a_controller_that_serves() -> None:
    with answering(HTTPStatus.OK, "serving") as port:
        assert not check("127.0.0.1", port)


def test_a_controller_that_does_not() -> None:
    with answering(HTTPStatus.SERVICE_UNAVAILABLE, "stopping") as port:
        assert check("127.0.0.1", port) == "503 stopping"
    port = free_port()
    assert check("127.0.0.1", port) == f"127.0.0.1:{port}: [Errno 111] Connection refused"
