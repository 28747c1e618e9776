# SPDX-License-Identifier: Apache-2.0
"""GET /metrics and GET /healthz, and nothing else: no file is ever opened for a request.

A thread accepts connections; each has a thread of its own for one request. There are at most CONNECTIONS_MAX of them, a
request has HEAD_TIMEOUT_S to arrive whole in at most HEAD_MAX_BYTES, and its answer SEND_TIMEOUT_S to be taken: a peer
that stands still costs one of the threads for some seconds, and no memory beyond the page that all share. When all
places are taken, the oldest connection whose request has not arrived whole is closed for a new one, else the oldest
whose answer has taken longer than ANSWERED_S: peers that stand still keep nobody out.
"""

import contextlib
import io
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

CONNECTIONS_MAX = 16
HEAD_MAX_BYTES = 8192
HEAD_TIMEOUT_S = 5.0
SEND_TIMEOUT_S = 10.0
ANSWERED_S = 1.0  # a page takes some milliseconds
_SENT_AT_ONCE = 1 << 16
_ACCEPT_AGAIN_S = 0.1
_BLANK_LINE = b"\r\n\r\n"
_REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Answer(NamedTuple):
    """What a request is answered with."""

    status: HTTPStatus
    content_type: str
    chunks: Sequence[bytes]
    gzip: bool = False


class Request(NamedTuple):
    """What matters of a request."""

    accept: str
    accept_encoding: str


Answers = dict[str, Callable[[Request], Answer]]  # by path


def text(status: HTTPStatus, line: str) -> Answer:
    """One line."""
    return Answer(status, "text/plain; charset=utf-8", [f"{line}\n".encode()])


class _Place:
    """A connection that is served; `asked`: its request has arrived."""

    __slots__ = ("asked", "connection", "head", "since_s")

    def __init__(self, connection: Any, since_s: float) -> None:
        self.connection = connection
        self.since_s = since_s
        self.asked = False
        self.head = b""

    def end(self) -> None:
        """Have the thread find its connection ended; the thread closes it."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)  # of TLS as well, and without its state


class HttpServer(ThreadingHTTPServer):
    """Listens from its construction on; serves from `start` to `stop`.

    Raises:
        OSError: the address cannot be listened on.
        ssl.SSLError: a certificate, a key or a CA file is not what it should be.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, host: str, port: int, answers: Answers, tls: Callable[[], ssl.SSLContext] | None = None) -> None:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family = family
        self.answers = answers
        self.refused_total = self.displaced_total = 0
        self._tls = tls
        self._lock = threading.Lock()
        self._places: dict[int, _Place] = {}  # by a number, the oldest first
        self._numbers = itertools.count()
        if tls is not None:
            tls()
        super().__init__(address[:2], Handler)  # type: ignore[arg-type]
        self._stopped = False
        self._thread = threading.Thread(target=self._accept, name="metrics", daemon=True)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.socket.getsockname()[1])

    def start(self) -> None:
        """Serve."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests; those that are being answered are left to their threads."""
        self._stopped = True
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # ends a waiting accept
        if self._thread.ident is not None:
            self._thread.join()
        self.server_close()

    def _accept(self) -> None:
        """Take connections. Unlike serve_forever this needs no time-out to notice that it is to end."""
        while not self._stopped:
            try:
                connection, address = self.socket.accept()
            except OSError:
                if not self._stopped:
                    time.sleep(_ACCEPT_AGAIN_S)  # too many open files: some are closed soon
                continue
            self.process_request(connection, address)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, or refuse it at once if there are too many."""
        place, number = _Place(request, time.monotonic()), next(self._numbers)
        with self._lock:
            is_taken = len(self._places) < CONNECTIONS_MAX or self._displace(place.since_s)
            if is_taken:
                self._places[number] = place
        if is_taken:
            threading.Thread(target=self._serve, args=(number, place, client_address), daemon=True).start()
            return
        self.refused_total += 1
        request.settimeout(0)
        with contextlib.suppress(OSError):
            if self._tls is None:
                request.send(_REFUSAL)
        self.shutdown_request(request)

    def _displace(self, now_s: float) -> bool:
        """Close a connection for a new one; whether there is one to close."""
        asking = next((number for number, place in self._places.items() if not place.asked), None)
        number, place = next(iter(self._places.items()))
        if asking is not None:
            number, place = asking, self._places[asking]
        elif now_s - place.since_s < ANSWERED_S:
            return False
        self.displaced_total += 1
        del self._places[number]
        place.end()
        return True

    def _serve(self, number: int, place: "_Place", client_address: Any) -> None:
        """One connection, from its handshake to its end."""
        try:
            place.connection.settimeout(HEAD_TIMEOUT_S)
            if self._tls is not None:
                context = self._tls()
                with self._lock:
                    place.connection = context.wrap_socket(
                        place.connection, server_side=True, do_handshake_on_connect=False
                    )
                place.connection.do_handshake()
            place.head = _head(place.connection)
            place.asked = True
            super().process_request_thread(place, client_address)  # type: ignore[arg-type]
        except OSError:
            pass  # it is gone, or what it speaks is no TLS
        finally:
            with self._lock:
                self._places.pop(number, None)
            self.shutdown_request(place.connection)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        super().shutdown_request(request.connection if isinstance(request, _Place) else request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A peer that went away or stands still is no error of ours; what is one has been answered."""

    def server_bind(self) -> None:
        """Bind, without a look at the name of this machine, as HTTPServer would: that may ask a name server."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()


class Handler(BaseHTTPRequestHandler):
    """One request on one connection."""

    server: HttpServer
    protocol_version = "HTTP/1.1"
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"

    def setup(self) -> None:
        """The head of the request is there: whole and in time, or not at all."""
        self.connection = self.request.connection
        self.rfile = io.BytesIO(self.request.head)
        self.wfile = io.BytesIO()
        self.close_connection = True

    def handle(self) -> None:
        """Answer it."""
        self.raw_requestline = self.rfile.readline(HEAD_MAX_BYTES)
        answer = self._answer() if self.raw_requestline and self.parse_request() else None
        if answer is not None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(sum(map(len, answer.chunks))))
            if answer.gzip:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Vary", "Accept, Accept-Encoding")
            self.send_header("Connection", "close")
            self.end_headers()
        head = self.wfile.getvalue()  # type: ignore[attr-defined]
        body = () if answer is None or self.command == "HEAD" else answer.chunks
        deadline_s = time.monotonic() + SEND_TIMEOUT_S
        for chunk in (head, *body):
            view = memoryview(chunk)
            for start in range(0, len(view), _SENT_AT_ONCE):  # over TLS, sendall's time-out is that of each record
                self.connection.settimeout(max(0.001, deadline_s - time.monotonic()))
                self.connection.sendall(view[start : start + _SENT_AT_ONCE])

    def finish(self) -> None:
        """Nothing is left to be written."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what is no request, without what it was."""
        self.request_version = self.protocol_version
        super().send_error(code)

    def version_string(self) -> str:
        """The Server header."""
        return "airbound"

    def _answer(self) -> Answer:
        found = self.server.answers.get(self.path.partition("?")[0])
        if found is None:
            return text(HTTPStatus.NOT_FOUND, "404 Not Found: there are /metrics and /healthz")
        if self.command not in {"GET", "HEAD"}:
            return text(HTTPStatus.METHOD_NOT_ALLOWED, "405 Method Not Allowed: expected GET")
        return found(Request(self.headers.get("Accept", ""), self.headers.get("Accept-Encoding", "")))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Requests are not logged."""


def _head(connection: socket.socket) -> bytes:
    """The octets up to the blank line; none if they do not come, or are too many."""
    head, deadline_s = b"", time.monotonic() + HEAD_TIMEOUT_S
    while _BLANK_LINE not in head:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or len(head) >= HEAD_MAX_BYTES:
            return b""
        connection.settimeout(left_s)
        octets = connection.recv(HEAD_MAX_BYTES - len(head))
        if not octets:
            return b""
        head += octets
    return head
