# SPDX-License-Identifier: Apache-2.0
"""Uploads and downloads of phones, and the servers at their other ends: TCP, one connection for each file, photo or
video.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import struct
from typing import TYPE_CHECKING

from airbound_lab.guest.system import namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.live.guest.loop import Loop

CHUNK = bytes(1 << 16)
UNSENT_MAX_BYTES = 1 << 17
"""What a connection holds beside what is on its way (TCP_NOTSENT_LOWAT), so that a video's delay is the path's."""
TCP_NOTSENT_LOWAT = 25
RECEIVED_MIN_BYTES = 1 << 15
"""So much is received at a time (SO_RCVLOWAT), if it is not the end: each wake-up costs the machine much here."""
TCP_INFO_RTT_US = struct.Struct("=68xI")
"""tcpi_rtt of struct tcp_info, the smoothed RTT (linux/tcp.h)."""
SILENCE_MAX_MS = 20_000
"""The kernel ends a connection of which nothing was acknowledged for so long (TCP_USER_TIMEOUT)."""
FRAMES_PER_S = 30
REQUEST_BYTES_MAX = 20
"""A request is a number of bytes in decimal digits, and the end of the line."""


class Listener:
    """A server's socket and its connections."""

    def __init__(self, loop: Loop, netns: str, address: tuple[str, int]) -> None:
        """Listen in a namespace."""
        self._loop = loop
        with namespace(netns):
            self._listener = socket.create_server(address, backlog=128)
        self._listener.settimeout(0)
        self._connections: set[socket.socket] = set()
        loop.watch(self._listener, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        """Listen no longer, and end what is open."""
        self._loop.forget(self._listener)
        self._listener.close()
        for connection in list(self._connections):
            self._end(connection)

    def _accept(self) -> None:
        try:
            connection, (phone, _) = self._listener.accept()
        except OSError:
            return
        self._connections.add(connection)
        connection.settimeout(0)
        self._begin(connection, phone)

    def _begin(self, connection: socket.socket, phone: str) -> None:
        """Set a new connection's options, and watch it; `phone` is the address at its other end."""
        raise NotImplementedError

    def _end(self, connection: socket.socket) -> None:
        self._connections.discard(connection)
        self._loop.forget(connection)
        connection.close()


class Server(Listener):
    """Receives the phones' uploads, and counts their bytes by the phone's address."""

    def __init__(self, loop: Loop, netns: str, address: tuple[str, int]) -> None:
        """Listen in a namespace."""
        super().__init__(loop, netns, address)
        self.received_bytes: dict[str, int] = {}
        self._buffer = bytearray(1 << 18)

    def _begin(self, connection: socket.socket, phone: str) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, RECEIVED_MIN_BYTES)
        self._loop.watch(connection, selectors.EVENT_READ, lambda: self._receive(connection, phone))

    def _receive(self, connection: socket.socket, phone: str) -> None:
        try:
            received = connection.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError:
            received = 0
        self.received_bytes[phone] = self.received_bytes.get(phone, 0) + received
        if not received:
            self._end(connection)


class FileServer(Listener):
    """Sends phones as many bytes as they ask for."""

    def _begin(self, connection: socket.socket, phone: str) -> None:  # noqa: ARG002  (all are sent the same bytes)
        connection.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_MAX_BYTES)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_MAX_MS)
        self._loop.watch(connection, selectors.EVENT_READ, lambda: self._read(connection, b""))

    def _read(self, connection: socket.socket, begin: bytes) -> None:
        try:
            request = begin + (new := connection.recv(REQUEST_BYTES_MAX))
        except OSError:
            new = request = b""
        number, end, _ = request.partition(b"\n")
        if not new or len(request) > REQUEST_BYTES_MAX or (end and not number.isdigit()):
            self._end(connection)
        elif end:
            left_bytes = [int(number)]
            self._loop.watch(connection, selectors.EVENT_WRITE, lambda: self._send(connection, left_bytes))
        else:
            self._loop.watch(connection, selectors.EVENT_READ, lambda: self._read(connection, request))

    def _send(self, connection: socket.socket, left_bytes: list[int]) -> None:
        try:
            left_bytes[0] -= connection.send(CHUNK[: left_bytes[0]])
        except BlockingIOError:
            return
        except OSError:
            left_bytes[0] = 0
        if not left_bytes[0]:
            self._end(connection)


class Download:
    """One connection by which a phone fetches so many bytes from a FileServer."""

    def __init__(
        self,
        loop: Loop,
        netns: str,
        addresses: tuple[str, tuple[str, int]],
        size_bytes: int,
        done: Callable[[str], None],
    ) -> None:
        """Connect from an address to a server's; `done` is called once, with an error or with nothing."""
        self._loop = loop
        self._done: Callable[[str], None] | None = done
        self._size_bytes = size_bytes
        self.received_bytes = 0
        self._buffer = bytearray(1 << 18)
        with namespace(netns):
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.settimeout(0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, RECEIVED_MIN_BYTES)
        source, server = addresses
        self._socket.bind((source, 0))
        if (error := self._socket.connect_ex(server)) not in (0, errno.EINPROGRESS):
            loop.after(0, lambda: self._end(errno.errorcode[error]))
            return
        loop.watch(self._socket, selectors.EVENT_WRITE, self._connected)

    def abort(self) -> None:
        """End at once."""
        self._end("aborted")

    def _connected(self) -> None:
        if error := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._end(errno.errorcode.get(error, str(error)))
            return
        self._socket.send(f"{self._size_bytes}\n".encode("ascii"))
        self._loop.watch(self._socket, selectors.EVENT_READ, self._receive)

    def _receive(self) -> None:
        try:
            received = self._socket.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(errno.errorcode.get(error.errno or 0, str(error)))
            return
        self.received_bytes += received
        if not received:
            self._end("" if self.received_bytes == self._size_bytes else "the server closed the connection")

    def _end(self, error: str) -> None:
        if self._done is None:
            return
        done, self._done = self._done, None
        self._loop.forget(self._socket)
        self._socket.close()
        done(error)


class Upload:
    """One connection: an item of so many bytes, or with `frame_bytes` a video until `stop` is called.

    A video has a frame every thirtieth of a second; what the connection does not take then is left out, as an encoder
    for live video does.
    """

    def __init__(
        self,
        loop: Loop,
        netns: str,
        addresses: tuple[str, tuple[str, int]],
        size_bytes: int,
        done: Callable[[str], None],
        *,
        frame_bytes: int = 0,
        uid: int | None = None,
    ) -> None:
        """Connect from an address to a server's; `done` is called once, with an error or with nothing. `uid` is the app
        that it is of.
        """
        self._loop = loop
        self._done: Callable[[str], None] | None = done
        self._frame_bytes = frame_bytes
        self._left_bytes = 0 if frame_bytes else size_bytes
        self._ending = not frame_bytes
        with namespace(netns):
            self._socket = _socket_of(uid)
        self._socket.settimeout(0)
        self._socket.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_MAX_BYTES)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_MAX_MS)
        source, server = addresses
        self._socket.bind((source, 0))
        if (error := self._socket.connect_ex(server)) not in (0, errno.EINPROGRESS):
            loop.after(0, lambda: self._end(errno.errorcode[error]))
            return
        loop.watch(self._socket, selectors.EVENT_WRITE, self._connected)

    def srtt_ms(self) -> float | None:
        """Return the smoothed RTT of this connection, as the phone's kernel has it; None before and after it."""
        if self._done is None:
            return None
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_RTT_US.size)
        [rtt_us] = TCP_INFO_RTT_US.unpack(info)
        return rtt_us / 1000 if rtt_us else None

    def stop(self) -> None:
        """End a video: what is queued is still sent."""
        self._ending = True
        if self._done is not None and self._left_bytes == 0:
            self._shut_down()

    def abort(self) -> None:
        """End at once, with a reset."""
        self._end("aborted")

    def _connected(self) -> None:
        if error := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._end(errno.errorcode.get(error, str(error)))
            return
        if self._frame_bytes:
            # The server sends nothing: readable is the end of the connection.
            self._loop.watch(self._socket, selectors.EVENT_READ, self._closed)
            self._frame()
        else:
            self._loop.watch(self._socket, selectors.EVENT_WRITE, self._send)

    def _frame(self) -> None:
        if self._done is None or self._ending:
            return
        self._write(self._frame_bytes)
        self._loop.after(1 / FRAMES_PER_S, self._frame)

    def _send(self) -> None:
        self._left_bytes -= self._write(self._left_bytes)
        if self._left_bytes <= 0:
            self._shut_down()

    def _write(self, size_bytes: int) -> int:
        try:
            return self._socket.send(CHUNK[:size_bytes])
        except BlockingIOError:
            return 0
        except OSError as error:
            self._end(errno.errorcode.get(error.errno or 0, str(error)))
            return 0

    def _shut_down(self) -> None:
        """Wait until the server has received all: it closes then."""
        if self._done is None:
            return
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._end(errno.errorcode.get(error.errno or 0, str(error)))
            return
        self._loop.watch(self._socket, selectors.EVENT_READ, self._closed)

    def _closed(self) -> None:
        try:
            self._socket.recv(1)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(errno.errorcode.get(error.errno or 0, str(error)))
            return
        self._end("" if self._ending else "the server closed the connection")

    def _end(self, error: str) -> None:
        if self._done is None:
            return
        done, self._done = self._done, None
        self._loop.forget(self._socket)
        if error:
            # A reset: nothing of it is left in the queues of a phone that does something else now.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._socket.close()
        done(error)


def _socket_of(uid: int | None) -> socket.socket:
    """A socket has the owner that its process had when it was made."""
    own = os.geteuid()
    if uid is not None:
        os.seteuid(uid)
    try:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    finally:
        os.seteuid(own)
