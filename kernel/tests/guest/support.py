# SPDX-License-Identifier: GPL-2.0
"""Namespaces, links, connections and the proc files, for the guest tests.

Topology of `Link`, created for each test that uses it:

    namespace "phone"                        namespace "server"
    phone0 10.9.0.1  2001:db8:9::1 ---veth--- server0 10.9.0.2  2001:db8:9::2
    netem: rate, delay, limit                netem: delay
                                             10.9.1.2 as a second address
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

CLONE_NEWNET = 0x40000000
BOUNDS = "/proc/thread-self/net/tcp_cwnd_bounds"
STATISTICS = "/proc/thread-self/net/tcp_cwnd_bounds_stat"
MONITOR = "/proc/thread-self/net/tcp_monitor"
RETRANSMIT = "/proc/thread-self/net/tcp_retransmit"
SERVER4, SERVER4_OTHER, SERVER6 = "10.9.0.2", "10.9.1.2", "2001:db8:9::2"
TCP_CC_INFO = 26
CONGESTION_CONTROLS = ("cubic", "bbr", "reno")

_libc = ctypes.CDLL(None, use_errno=True)


def sh(command: str) -> str:
    """Run a command and return its output, or raise CalledProcessError."""
    return subprocess.run(command, shell=True, check=True, text=True, capture_output=True).stdout


@contextlib.contextmanager
def namespace(name: str | None) -> Iterator[None]:
    """Enter a network namespace with this thread; None for the current one."""
    if name is None:
        yield
        return
    with open("/proc/thread-self/ns/net") as before, open(f"/run/netns/{name}") as inside:
        _setns(inside.fileno())
        try:
            yield
        finally:
            _setns(before.fileno())


@contextlib.contextmanager
def user(uid: int) -> Iterator[None]:
    """Change the file system UID of this thread, which is the owner of new sockets."""
    before = _libc.setfsuid(uid)
    try:
        yield
    finally:
        _libc.setfsuid(before)


def _setns(fd: int) -> None:
    if _libc.setns(fd, CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def write_bounds(text: str | bytes, *, at: str | None = None) -> None:
    """Write one transaction with one write(); OSError if the kernel refuses it."""
    _write_once(BOUNDS, text, at)


def retransmit(text: str | bytes = "all\n", *, at: str | None = None) -> None:
    """The same for requests to retransmit."""
    _write_once(RETRANSMIT, text, at)


def _write_once(path: str, text: str | bytes, at: str | None) -> None:
    data = text.encode() if isinstance(text, str) else text
    with namespace(at):
        fd = os.open(path, os.O_WRONLY)
    try:
        written = os.write(fd, data)
    finally:
        os.close(fd)
    if written != len(data):
        raise AssertionError(f"partial write: {written} of {len(data)} bytes")


def read_bounds(*, at: str | None = None) -> str:
    with namespace(at), open(BOUNDS) as file:
        return file.read()


def statistics(*, at: str | None = None) -> dict[str, tuple[int, int]]:
    """By the text of the rule, the numbers of window writes that it raised and lowered."""
    with namespace(at), open(STATISTICS) as file:
        lines = file.read().splitlines()
    counts = {}
    for line in lines:
        rule, raised_word, raised, lowered_word, lowered = line.rsplit(" ", 4)
        if (raised_word, lowered_word) != ("raised", "lowered"):
            raise AssertionError(line)
        counts[rule] = (int(raised), int(lowered))
    return counts


def refusal(text: str | bytes, *, at: str | None = None, write: Callable[..., None] = write_bounds) -> str:
    """The name of the error of a transaction, "accepted" if none."""
    try:
        write(text, at=at)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "accepted"


def monitor(*, at: str | None = None) -> list[dict[str, str]]:
    """The lines of the monitor by column name."""
    with namespace(at), open(MONITOR) as file:
        header, *lines = file.read().splitlines()
    names = header.split(" ")
    rows = [line.split(" ") for line in lines]
    for row in rows:
        if len(row) != len(names):
            raise AssertionError(f"{len(row)} columns in {row}")
    return [dict(zip(names, row, strict=True)) for row in rows]


def monitor_of(sock: socket.socket, *, at: str | None = None) -> dict[str, str]:
    """The line of one connection, found by its local port."""
    port = sock.getsockname()[1]
    [row] = [row for row in monitor(at=at) if row["local"].endswith(f":{port}")]
    return row


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """The fields of struct tcp_info that the tests use."""

    ca_state: int  # 4 is loss
    cwnd_segs: int
    unacked_segs: int
    rtt_us: int
    min_rtt_us: int
    retransmits: int

    @classmethod
    def read(cls, sock: socket.socket) -> TcpInfo:
        raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)

        def u32(offset: int) -> int:
            return int.from_bytes(raw[offset : offset + 4], "little")

        return cls(
            ca_state=raw[1],
            unacked_segs=u32(24),
            rtt_us=u32(68),
            cwnd_segs=u32(80),
            retransmits=u32(100),
            min_rtt_us=u32(148),
        )


def bbr_cwnd_gain(sock: socket.socket) -> int:
    """cwnd_gain of struct tcp_bbr_info, in 1/256: 256 only in PROBE_RTT."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 20)
    return int.from_bytes(raw[16:20], "little")


def wait_until(condition: Callable[[], bool], *, seconds: float, what: str) -> None:
    """Poll in virtual time; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.002)


def disconnect(sock: socket.socket) -> None:
    """Connect to AF_UNSPEC: ends the connection; the socket can be connected again."""
    if _libc.connect(sock.fileno(), (ctypes.c_char * 16)(), 16):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


def sleep_until_s(monotonic_s: int) -> None:
    """Sleep until CLOCK_MONOTONIC reaches this second, exactly so in virtual time."""
    timer_abstime = 1
    _libc.clock_nanosleep(time.CLOCK_MONOTONIC, timer_abstime, ctypes.byref(_Timespec(monotonic_s, 0)), None)


class Link:
    """The phone, the server and the link between them; a context manager."""

    def __init__(self, *, rate_mbit: int = 20, rtt_ms: int = 40, limit: int = 2000, tcp_only: bool = False) -> None:
        self._delay_ms, self._rate_mbit, self._limit = rtt_ms // 2, rate_mbit, limit
        self._tcp_only = tcp_only
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        sh(
            "ip netns add phone; ip netns add server;"
            "ip link add phone0 netns phone type veth peer name server0 netns server;"
            "for n in phone server; do ip -n $n link set lo up;"
            " ip netns exec $n sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0;"
            " ip -n $n link set ${n}0 up; done;"
            "ip -n phone addr add 10.9.0.1/16 dev phone0; ip -n phone addr add 2001:db8:9::1/64 nodad dev phone0;"
            "ip -n server addr add 10.9.0.2/16 dev server0; ip -n server addr add 10.9.1.2/16 dev server0;"
            "ip -n server addr add 2001:db8:9::2/64 nodad dev server0;"
            # Segments of one MSS each, so that segments in flight can be counted.
            "ip netns exec phone ethtool -K phone0 tso off gso off gro off >/dev/null;"
            "ip netns exec server ethtool -K server0 tso off gso off gro off >/dev/null"
        )
        if self._tcp_only:
            self._disable_background_traffic()
        self.shape("phone")
        self.shape("server")
        return self

    def _disable_background_traffic(self) -> None:
        """Disable IPv6 and ARP, which send at random times."""
        for end, other, mac, address in (
            ("phone", "server", "02:00:00:00:00:01", "10.9.0.1"),
            ("server", "phone", "02:00:00:00:00:02", SERVER4),
        ):
            sh(
                f"ip netns exec {end} sysctl -qw net.ipv6.conf.all.disable_ipv6=1;"
                f"ip -n {end} link set {end}0 address {mac};"
                f"ip -n {other} neigh replace {address} lladdr {mac} dev {other}0 nud permanent"
            )

    def __exit__(self, *_: object) -> None:
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        sh("ip netns del phone; ip netns del server")

    def shape(self, end: str, extra: str = "") -> None:
        """Set the delay and rate of one direction, with more netem options such as "loss 1%"."""
        sh(
            f"ip netns exec {end} tc qdisc replace dev {end}0 root netem"
            f" delay {self._delay_ms}ms rate {self._rate_mbit}mbit limit {self._limit} {extra}"
        )

    def cut(self) -> None:
        """Take the phone's carrier away."""
        sh("ip -n server link set server0 down")

    def join(self) -> None:
        """Give it back, for a link with `tcp_only`, and wait until the kernel has noticed."""
        sh(
            "ip -n server link set server0 up;"
            "ip -n server neigh replace 10.9.0.1 lladdr 02:00:00:00:00:01 dev server0 nud permanent"
        )
        carrier = "ip -n phone link show phone0 | grep -q 'state UP' && echo up || true"
        wait_until(lambda: sh(carrier).strip() == "up", seconds=5, what="carrier")

    def delay(self, end: str, ms: int) -> None:
        sh(f"ip netns exec {end} tc qdisc replace dev {end}0 root netem delay {ms}ms limit {self._limit}")

    def listen(self, address: str = "::", *, at: str = "server") -> socket.socket:
        with namespace(at):
            sock = socket.socket(socket.AF_INET6)
        sock.bind((address, 0))
        sock.listen(1024)
        self._sockets.append(sock)
        return sock

    def dial(
        self,
        listener: socket.socket,
        address: str = SERVER4,
        *,
        cc: str = "cubic",
        family: int = socket.AF_INET,
    ) -> tuple[socket.socket, socket.socket]:
        """A connection from phone to server: the phone's socket and the server's."""
        with namespace("phone"):
            sock = socket.socket(family)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        sock.connect((address, listener.getsockname()[1]))
        peer, _ = listener.accept()
        self._sockets += [sock, peer]
        return sock, peer

    def upload(self, sock: socket.socket, peer: socket.socket) -> None:
        """Send from one socket and read from the other, in two threads, until they are closed."""

        def send() -> None:
            with contextlib.suppress(OSError):
                while True:
                    sock.sendall(bytes(65536))

        def receive() -> None:
            with contextlib.suppress(OSError):
                while peer.recv(1 << 20):
                    pass

        threading.Thread(target=send, daemon=True).start()
        threading.Thread(target=receive, daemon=True).start()
