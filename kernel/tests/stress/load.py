# SPDX-License-Identifier: GPL-2.0
"""Concurrent writers, readers, connections, namespaces and tracing, with checks of everything that they read."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable

from support import BOUNDS, MONITOR, STATISTICS, Link, namespace, sh, wait_until
from transactions import Generator, RefusedError, apply, text_of

TRACEFS = "/sys/kernel/tracing"
DEBUGFS = "/sys/kernel/debug"

_ADDRESS = r"(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:.]+\]):\d+"
_MONITOR_LINE = re.compile(
    rf"\d+ (established|syn_sent|syn_recv|fin_wait1|fin_wait2|close_wait|last_ack|closing) {_ADDRESS} {_ADDRESS} \d+"
    r" (?P<ca_state>open|disorder|cwr|recovery|loss) (?P<cwnd>\d+) \d+ (?P<min>\d+) (?P<max>\d+)( \d+){14}"
)
_STATISTICS_LINE = re.compile(r"(?P<rule>.*) raised (?P<raised>\d+) lowered (?P<lowered>\d+)")
_TRACE_LINE = re.compile(
    r".* tcp_monitor_(window: |event: event=[a-z_]+ times=\d+ |retransmit: timeouts=\d+ undone=[01] )"
    r"netns=\d+ cookie=\d+"
    rf" local={_ADDRESS} remote={_ADDRESS} uid=\d+ ca_state=(open|disorder|cwr|recovery|loss)( [a-z_]+=\d+){{10}}"
)


def mount_kernel_file_systems() -> None:
    """Mount tracefs, and debugfs if the kernel has it (debug/debug.config)."""
    with open("/proc/filesystems") as file:
        known = file.read().split()
    for kind, at in (("tracefs", TRACEFS), ("debugfs", DEBUGFS)):
        if kind in known and not os.path.ismount(at):
            sh(f"mount -t {kind} {kind} {at}")


def write(fd: int, data: bytes) -> str:
    """The name of the error, "" if none."""
    try:
        written = os.write(fd, data)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    if written != len(data):
        raise AssertionError(f"{written} of {len(data)} bytes written")
    return ""


def open_at(path: str, flags: int, at: str) -> int:
    with namespace(at):
        return os.open(path, flags)


def read_in_pieces(fd: int, sizes: Callable[[], int]) -> bytes:
    pieces = []
    while piece := os.read(fd, sizes()):
        pieces.append(piece)
    return b"".join(pieces)


class Load:
    """All workers at once. Each has its own random numbers; their order also depends on the run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._failures: list[str] = []
        self._stop = threading.Event()
        # All texts that a namespace's file may contain: the results of all transactions started so far.
        self._tables = {"phone": {""}, "server": {""}}
        self.accepted = 0
        self.lines_read = 0

    def run(self, rounds: int) -> None:
        link = Link(rate_mbit=20, rtt_ms=10)
        with link:
            for end in ("phone", "server"):
                link.shape(end, "loss 1%")
            for family, address in ((socket.AF_INET, "10.9.0.2"), (socket.AF_INET6, "2001:db8:9::2")):
                listener = link.listen()
                for cc in ("cubic", "bbr", "reno"):
                    sock, peer = link.dial(listener, address, cc=cc, family=family)
                    link.upload(sock, peer)
            finite = [
                self._start(lambda r, end=end: self._write(r, end, rounds))
                for end in ("phone", "phone", "phone", "server")
            ]
            endless = [
                self._start(work)
                for work in (
                    lambda r: self._read_bounds(r, "phone"),
                    lambda r: self._read_bounds(r, "server"),
                    lambda r: self._read_statistics(r, "phone"),
                    lambda r: self._read_monitor(r, "phone"),
                    self._trace,
                    self._replace_namespaces,
                    lambda r: self._connect(r, link),
                )
            ]
            for thread in finite:
                thread.join()
            self._stop.set()
            for thread in endless:
                thread.join()
        if self._failures:
            raise AssertionError("\n".join(self._failures))

    def _start(self, work: Callable[[random.Random], None]) -> threading.Thread:
        self._seed += 1
        rng = random.Random(self._seed)

        def guarded() -> None:
            try:
                work(rng)
            except Exception:  # noqa: BLE001  any failure is reported by the main thread
                self._failures.append(traceback.format_exc())
                self._stop.set()

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def _continue(self, rng: random.Random) -> bool:
        """Let other workers run; return whether to continue."""
        time.sleep(rng.random() * 0.004)
        return not self._stop.is_set()

    def _write(self, rng: random.Random, end: str, rounds: int) -> None:
        generator = Generator(rng.getrandbits(32))
        tables = self._tables[end]
        fd = open_at(BOUNDS, os.O_WRONLY, end)
        for _ in range(rounds):
            # Others write as well: the result is known only for a transaction that starts with flush.
            data = b"flush\n" + generator.any()
            expected = ""
            try:
                tables.add(text_of(apply({}, data)))
                self.accepted += 1
            except RefusedError as error:
                expected = str(error)
            self._expect(write(fd, data), expected, data)
            if not self._continue(rng):
                break
        os.close(fd)

    def _expect(self, found: str, expected: str, data: bytes) -> None:
        if found != expected:
            raise AssertionError(f"{data!r}: {found or 'accepted'}, not {expected or 'accepted'}")

    def _read_bounds(self, rng: random.Random, end: str) -> None:
        tables = self._tables[end]
        kept = open_at(BOUNDS, os.O_RDONLY, end)
        while self._continue(rng):
            fd = open_at(BOUNDS, os.O_RDONLY, end)
            text = read_in_pieces(fd, lambda: rng.choice([1, 7, 100, 4096, 20000])).decode()
            os.close(fd)
            if text not in tables:
                raise AssertionError(f"{end}: no transaction has this result: {text!r}")
            at = rng.choice([0, 1, rng.randrange(20000), len(text)])
            piece = os.pread(kept, rng.choice([1, 7, 100, 4096]), at).decode()
            if not any(table[at : at + len(piece)] == piece for table in tuple(tables)):
                raise AssertionError(f"{end}: at {at} no transaction has {piece!r}")
            self.lines_read += text.count("\n")
        os.close(kept)

    def _read_statistics(self, rng: random.Random, end: str) -> None:
        tables = self._tables[end]
        while self._continue(rng):
            fd = open_at(STATISTICS, os.O_RDONLY, end)
            text = read_in_pieces(fd, lambda: rng.choice([13, 100, 4096, 60000])).decode()
            os.pread(fd, 100, rng.randrange(30000))
            os.close(fd)
            rules = ""
            for line in text.splitlines():
                match = _STATISTICS_LINE.fullmatch(line)
                if match is None:
                    raise AssertionError(f"statistics: {line!r}")
                rules += match["rule"] + "\n"
            if rules not in tables:
                raise AssertionError(f"statistics: no transaction has this result: {rules!r}")

    def _read_monitor(self, rng: random.Random, end: str) -> None:
        kept = open_at(MONITOR, os.O_RDONLY, end)
        while self._continue(rng):
            fd = open_at(MONITOR, os.O_RDONLY, end)
            header, *lines = read_in_pieces(fd, lambda: rng.choice([50, 300, 4096, 60000])).decode().splitlines()
            os.close(fd)
            os.pread(kept, rng.choice([1, 100, 4096]), rng.choice([0, 100, rng.randrange(10000)]))
            if not header.startswith("time_us state local remote "):
                raise AssertionError(f"monitor: {header!r}")
            for line in lines:
                match = _MONITOR_LINE.fullmatch(line)
                if match is None:
                    raise AssertionError(f"monitor: {line!r}")
                most = int(match["max"])
                if most and not int(match["min"]) <= most >= int(match["cwnd"]):
                    raise AssertionError(f"monitor: out of bounds: {line!r}")
            self.lines_read += len(lines)
        os.close(kept)

    def _trace(self, rng: random.Random) -> None:
        """Switch the tracepoints on and off, together and separately, and read the trace."""
        switches = [
            f"{TRACEFS}/events/tcp_monitor/{name}enable" for name in ("", "tcp_monitor_window/", "tcp_monitor_event/")
        ]
        while self._continue(rng):
            with open(rng.choice(switches), "w") as file:
                file.write(rng.choice("01"))
            time.sleep(rng.random() * 0.05)
            if rng.random() < 0.1:
                with open(f"{TRACEFS}/trace") as file:
                    lines = [line for line in file.read().splitlines() if not line.startswith("#")]
                for line in lines:
                    if "LOST" not in line and not _TRACE_LINE.fullmatch(line):
                        raise AssertionError(f"trace: {line!r}")
                self.lines_read += len(lines)
                with open(f"{TRACEFS}/trace", "w") as file:
                    file.write("\n")
        with open(switches[0], "w") as file:
            file.write("0")

    def _connect(self, rng: random.Random, link: Link) -> None:
        """Short connections: closed normally, reset with data in flight, or closed with data left to send."""
        listener = link.listen()
        while self._continue(rng):
            sock, peer = link.dial(listener, cc=rng.choice(["cubic", "bbr", "reno"]))
            with contextlib.suppress(OSError):
                sock.setblocking(False)
                sock.send(bytes(rng.choice([1, 3000, 200000])))
            if rng.random() < 0.3:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
            time.sleep(rng.random() * 0.02)
            for end in rng.sample([sock, peer], 2):
                end.close()

    def _replace_namespaces(self, rng: random.Random) -> None:
        """Namespaces with rules, deleted while they have connections and open files."""
        generator = Generator(rng.getrandbits(32))
        number = 0
        while self._continue(rng):
            number += 1
            name = f"short{number}"
            sh(f"ip netns add {name}; ip -n {name} link set lo up")
            fd = open_at(BOUNDS, os.O_RDWR, name)
            self._expect(write(fd, generator.valid()), "", b"in a new namespace")
            with namespace(name):
                listener = socket.create_server(("127.0.0.1", 0))
                socks = [socket.create_connection(listener.getsockname()) for _ in range(3)]
            peers = [listener.accept()[0] for _ in socks]
            for sock in socks:
                with contextlib.suppress(BlockingIOError):
                    sock.setblocking(False)
                    sock.send(bytes(rng.randrange(1 << 20)))
            self._expect(write(fd, generator.valid()), "", b"with connections")
            sh(f"ip netns del {name}")
            for sock in rng.sample([*socks, *peers, listener], 7):
                sock.close()
            # The kernel deletes the namespace later; from then on, the open file returns EIO.
            wait_until(lambda fd=fd: write(fd, generator.valid()) == "EIO", seconds=60, what=f"deletion of {name}")
            self._expect_deleted(fd)
            os.close(fd)

    def _expect_deleted(self, fd: int) -> None:
        try:
            os.pread(fd, 100, 0)
        except OSError as error:
            if error.errno == errno.EIO:
                return
        raise AssertionError("a file of a deleted namespace can be read")
