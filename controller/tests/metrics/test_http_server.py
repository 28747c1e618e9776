# SPDX-License-Identifier: Apache-2.0
"""The server with clients that are what they should not be. Time-outs are shortened; nothing is timed."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus

import pytest

from airbound.metrics import http_server
from airbound.metrics.http_server import CONNECTIONS_MAX, HEAD_MAX_BYTES, Answer, HttpServer, Request, text
from airbound_testing.scrapes import get

WAIT_S = 120.0
LARGE = 64 * 1024 * 1024


class Site:
    """A server, and what it was asked."""

    def __init__(self) -> None:
        self.requests = list[Request]()
        self.open = threading.Event()
        self.open.set()
        answers = {"/metrics": self.answer, "/large": lambda _: Answer(HTTPStatus.OK, "text/plain", [bytes(LARGE)])}
        self.server = HttpServer("127.0.0.1", 0, answers)
        self.server.start()

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        assert self.open.wait(WAIT_S)
        return text(HTTPStatus.OK, "here")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.server.port), WAIT_S)

    def all_asking(self) -> list[socket.socket]:
        """Connections in all places, whose requests have arrived."""
        taken = []
        for number in range(1, CONNECTIONS_MAX + 1):
            taken.append(self.connect())
            taken[-1].sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            while len(self.requests) < number:
                time.sleep(0.001)
        return taken

    def ask(self, octets: bytes) -> bytes:
        """What comes back for these octets."""
        with self.connect() as connection:
            connection.sendall(octets)
            return received(connection)


def received(connection: socket.socket) -> bytes:
    octets = b""
    try:
        while more := connection.recv(65536):
            octets += more
    except ConnectionResetError:
        pass
    return octets


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()
    yield served
    served.open.set()
    served.server.stop()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_TIMEOUT_S", 0.2)


def test_a_path_that_is_known_is_answered(site: Site) -> None:
    response = get(site.server.port, "/metrics", Accept="a", Accept_Encoding="b")
    assert (response.status, response.body) == (200, b"here\n")
    assert response.headers["Content-Length"] == "5"
    assert response.headers["Connection"] == "close"
    assert response.headers["Server"] == "airbound"
    assert site.requests == [Request("a", "b")]


def test_a_query_changes_nothing(site: Site) -> None:
    assert get(site.server.port, "/metrics?name[]=x").status == 200


def test_head_has_no_body(site: Site) -> None:
    response = get(site.server.port, method="HEAD")
    assert (response.status, response.headers["Content-Length"], response.body) == (200, "5", b"")


PATHS = ["/", "/metrics/", "/metricsx", "/../metrics", "/metrics/../../etc/passwd", "/%2e%2e/etc/passwd", "//etc", "x"]


@pytest.mark.parametrize("path", PATHS)
def test_anything_else_is_not_found(site: Site, path: str) -> None:
    assert get(site.server.port, path).status == 404
    assert not site.requests


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_other_methods_are_refused(site: Site, method: str) -> None:
    assert get(site.server.port, method=method).status == 405
    assert not site.requests


@pytest.mark.parametrize(
    ("octets", "status"),
    [
        (b"GARBAGE\r\n\r\n", b"400 Bad Request"),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"400 Bad Request"),
        (b"GET /metrics HTTP/9.9\r\n\r\n", b"505 HTTP Version Not Supported"),
        (b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 150 + b"\r\n", b"431 Request Header Fields Too Large"),
        (b"GET /metrics HTTP/1.1\r\nno colon\r\n\r\n", b"200 OK"),
    ],
)
def test_what_is_no_request_is_answered_with_what_is_wrong(site: Site, octets: bytes, status: bytes) -> None:
    assert site.ask(octets).partition(b"\r\n")[0] == b"HTTP/1.1 " + status


def test_what_was_sent_does_not_come_back_as_a_page_of_html(site: Site) -> None:
    answer = site.ask(b"<script>alert(1)</script> / HTTP/1.1\r\n\r\n")
    assert b"Content-Type: text/plain" in answer
    assert b"script" not in answer


def test_a_request_that_is_too_long_is_not_read_to_its_end(site: Site) -> None:
    assert site.ask(b"GET /metrics HTTP/1.1\r\na: " + b"b" * HEAD_MAX_BYTES) == b""
    assert get(site.server.port).status == 200


@pytest.mark.usefixtures("impatient")
def test_a_request_that_does_not_come_whole_is_given_up(site: Site) -> None:
    with site.connect() as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert received(connection) == b""


@pytest.mark.usefixtures("impatient")
def test_a_request_that_comes_octet_by_octet_is_given_up(site: Site) -> None:
    with site.connect() as connection:
        connection.settimeout(0.02)
        ended = False
        while not ended:
            try:
                connection.sendall(b"a")
                ended = connection.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True


def test_a_client_that_does_not_read_loses_its_connection_and_nobody_else_does(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEAD_TIMEOUT_S", WAIT_S)  # also if this process comes late with its request
    monkeypatch.setattr(http_server, "SEND_TIMEOUT_S", 0.2)
    stuck = [site.connect() for _ in range(CONNECTIONS_MAX)]
    for connection in stuck:
        connection.sendall(b"GET /large HTTP/1.1\r\n\r\n")
    released = threading.Event()

    def until_answered() -> None:
        while get(site.server.port).status != 200:
            pass
        released.set()

    thread = threading.Thread(target=until_answered, daemon=True)
    thread.start()
    assert released.wait(WAIT_S)
    thread.join()
    for connection in stuck:
        assert len(received(connection)) < LARGE
        connection.close()


def test_connections_beyond_the_limit_are_refused_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "ANSWERED_S", WAIT_S)
    site.open.clear()
    taken = site.all_asking()
    with site.connect() as connection:
        assert b" 503 " in received(connection)
    assert site.server.refused_total == 1
    assert threading.active_count() <= CONNECTIONS_MAX + 20
    site.open.set()
    for connection in taken:
        assert b"here" in received(connection)
        connection.close()


def test_clients_that_drip_their_requests_keep_nobody_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is closed first, in the order in which they came."""
    monkeypatch.setattr(http_server, "HEAD_TIMEOUT_S", WAIT_S)
    dripping = []
    for _ in range(2 * CONNECTIONS_MAX):
        dripping.append(site.connect())
        dripping[-1].sendall(b"GET /metrics HT")
        assert get(site.server.port).status == 200
    assert site.server.refused_total == 0
    assert site.server.displaced_total >= CONNECTIONS_MAX
    for connection in dripping[:CONNECTIONS_MAX]:
        assert received(connection) == b""
    for connection in dripping:
        connection.close()


def test_clients_that_take_long_over_their_answers_keep_nobody_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "ANSWERED_S", 0.0)
    site.open.clear()
    taken = site.all_asking()
    site.open.set()
    with site.connect() as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert b"here" in received(connection)
    assert site.server.refused_total == 0
    for one in taken:
        one.close()


def test_a_client_that_goes_away_is_no_error(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.open.clear()
    connection = site.connect()
    connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # close resets the connection
    connection.close()
    site.open.set()
    assert get(site.server.port).status == 200
    assert capfd.readouterr().err == ""


def test_an_address_that_is_taken_is_an_error(site: Site) -> None:
    with pytest.raises(OSError, match="in use"):
        HttpServer("127.0.0.1", site.server.port, {})


def test_after_the_end_nobody_listens() -> None:
    site = Site()
    port = site.server.port
    site.server.stop()
    with pytest.raises(ConnectionRefusedError):
        get(port)
    HttpServer("127.0.0.1", port, {}).stop()  # one that never started


def test_it_listens_on_ipv6() -> None:
    server = HttpServer("::1", 0, {"/": lambda _: text(HTTPStatus.OK, "six")})
    server.start()
    try:
        with socket.create_connection(("::1", server.port), WAIT_S) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert received(connection).endswith(b"six\n")
    finally:
        server.stop()


@pytest.mark.usefixtures("impatient")
def test_over_tls_a_handshake_that_does_not_come_delays_nobody(tls_files: tuple[str, str]) -> None:
    def context() -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(*tls_files)
        return made

    server = HttpServer("127.0.0.1", 0, {"/": lambda _: text(HTTPStatus.OK, "here")}, context)
    server.start()
    client = ssl.create_default_context(cafile=tls_files[0])
    try:
        with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as silent:
            raw = socket.create_connection(("127.0.0.1", server.port), WAIT_S)
            with client.wrap_socket(raw, server_hostname="localhost") as connection:
                connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert received(connection).endswith(b"here\n")
            assert received(silent) == b""  # given up
    finally:
        server.stop()
