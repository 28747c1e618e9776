# SPDX-License-Identifier: GPL-2.0
"""The workload of cost.sh: uploads of a fixed number of bytes. Runs as root in its guest.

    guest_work.py CASES REPEATS MEGABYTES

CASES is a list of CASE names, separated by commas. The topology:

    namespace "phone"       namespace "ap"                        namespace "server"
    phone0 10.9.0.1 -veth-- ap0 10.9.0.2  ap1 10.8.0.2 ---veth--- server0 10.8.0.1
    no qdisc                netem: delay  netem: rate, delay,     no qdisc
                                                 limit

Everything runs on one processor; count_insns.c separates the phone's instructions from the others. The phone has no
qdisc and a trivial driver: the instructions of real ones would only make the cost of the series less visible.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

CLONE_NEWNET = 0x40000000
SERVER = "10.8.0.1"
RATE_MBIT, DELAY_MS = 20, 10
MARK = 0xA1B00000
TRACE = "/sys/kernel/tracing/events/tcp_monitor/enable"
BOUNDS = "/proc/thread-self/net/tcp_cwnd_bounds"
OTHERS = "".join(f"dst 10.77.0.{i}/32 10 20\n" for i in range(1, 256))

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Case:
    """One state of the kernel under the same work."""

    rules: str = ""
    traced: bool = False
    changes_per_s: int = 0


CASES = {
    "none": Case(),
    "one": Case(rules="all 1 65535\n"),
    "full-no-match": Case(rules=OTHERS),
    "full": Case(rules=OTHERS + "all 1 65535\n"),
    "full-limits": Case(rules=OTHERS + "all 1 150\n"),
    "full-changes": Case(rules=OTHERS + "all 1 65535\n", changes_per_s=10),
    "traced": Case(traced=True),
}


def sh(command: str) -> None:
    subprocess.run(command, shell=True, check=True)


def marker() -> Callable[[int], None]:
    """A function that executes the mark of a phase; see count_insns.c."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    call = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def mark(phase: int) -> None:
        code[0:9] = b"\x0f\x1f\x84\x00" + (MARK | phase).to_bytes(4, "little") + b"\xc3"
        call()

    return mark


def enter(name: str | None) -> None:
    """Enter a network namespace; None is the initial one."""
    with open(f"/run/netns/{name}" if name else "/proc/1/ns/net") as file:
        if _libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {name}")


def trace(switch: str) -> None:
    with open(TRACE, "w") as file:
        file.write(switch)


@dataclass(slots=True)
class Cell:
    """The three namespaces, created for each upload, so that no state (tcp_metrics) is left from an earlier one."""

    limit: int
    _names: tuple[str, ...] = field(default=("phone", "ap", "server"))

    def __enter__(self) -> Self:
        sh(
            "for n in phone ap server; do ip netns add $n; ip -n $n link set lo up; done;"
            "ip link add phone0 netns phone type veth peer name ap0 netns ap;"
            "ip link add ap1 netns ap type veth peer name server0 netns server;"
            "ip -n phone addr add 10.9.0.1/24 dev phone0; ip -n ap addr add 10.9.0.2/24 dev ap0;"
            "ip -n ap addr add 10.8.0.2/24 dev ap1; ip -n server addr add 10.8.0.1/24 dev server0;"
            "for l in phone.phone0 ap.ap0 ap.ap1 server.server0; do n=${l%.*} d=${l#*.};"
            " ip netns exec $n sysctl -qw net.ipv6.conf.$d.disable_ipv6=1;"
            " ip netns exec $n ethtool -K $d tso off gro off >/dev/null;"
            " ip -n $n link set $d up; done;"
            "ip netns exec ap sysctl -qw net.ipv4.ip_forward=1;"
            "ip -n phone route add default via 10.9.0.2; ip -n server route add default via 10.8.0.2;"
            f"tc -n ap qdisc add dev ap1 root netem rate {RATE_MBIT}mbit delay {DELAY_MS}ms limit {self.limit};"
            f"tc -n ap qdisc add dev ap0 root netem delay {DELAY_MS}ms limit 10000"
        )
        return self

    def __exit__(self, *_: object) -> None:
        sh("for n in phone ap server; do ip netns del $n; done")


def in_child(work: Callable[[], None]) -> int:
    """Run in a child process: threads of Python would block each other."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001  the child must not go on as its parent
        traceback.print_exc()
    os._exit(status)


def receive_all(listener: socket.socket) -> None:
    peer, _ = listener.accept()
    buffer = bytearray(1 << 20)
    while peer.recv_into(buffer):
        pass


def change_rules(case: Case) -> None:
    enter("phone")
    other = case.rules.replace("65535", "65534")
    while True:
        for rules in (other, case.rules):
            time.sleep(1 / case.changes_per_s)
            write_rules("flush\n" + rules)


def write_rules(text: str) -> None:
    fd = os.open(BOUNDS, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


@dataclass(frozen=True, slots=True)
class Sent:
    segs: int
    acks: int
    retransmits: int
    cwnd_segs: int
    left: int  # not sent, or sent and not acknowledged

    @classmethod
    def read(cls, sock: socket.socket) -> Sent:
        raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)

        def u32(offset: int) -> int:
            return int.from_bytes(raw[offset : offset + 4], "little")

        return cls(segs=u32(156), acks=u32(140), retransmits=u32(100), cwnd_segs=u32(80), left=u32(24) + u32(144))


def connect(cc: str, rules: str) -> tuple[socket.socket, int]:
    """A connection from phone to server, and the process that receives."""
    enter("server")
    with socket.create_server((SERVER, 5001)) as listener:
        receiver = in_child(lambda: receive_all(listener))
    enter("phone")
    if rules:
        write_rules(rules)
    sock = socket.socket()
    enter(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    sock.connect((SERVER, 5001))
    return sock, receiver


def upload(cc: str, case: Case, megabytes: int, mark: Callable[[int], None], phase: int) -> Sent:
    """One upload in the existing namespaces, counted from after the handshake until everything is acknowledged."""
    sock, receiver = connect(cc, case.rules)
    changer = in_child(lambda: change_rules(case)) if case.changes_per_s else None
    if case.traced:
        trace("1")
    block = memoryview(bytes(1 << 16))
    mark(phase)
    for _ in range(megabytes * 16):
        sock.sendall(block)
    while Sent.read(sock).left:
        time.sleep(0.02)
    mark(0)
    sent = Sent.read(sock)
    if case.traced:
        trace("0")
    if changer:
        os.kill(changer, signal.SIGKILL)
        os.waitpid(changer, 0)
    sock.close()
    _, status = os.waitpid(receiver, 0)
    if status:
        raise ChildProcessError(f"the receiver ended with {status}")
    return sent


def main(names: str, repeats: int, megabytes: int) -> None:
    mark = marker()
    phase = 0
    for cc in ("cubic", "bbr"):
        for path, limit in (("clean", 10000), ("losses", 40)):
            for repeat in range(repeats):
                for name in names.split(","):
                    phase += 1
                    with Cell(limit):
                        # Vary the start time: its influence is visible as the spread between repeats.
                        time.sleep(0.1 + 0.00137 * repeat)
                        sent = upload(cc, CASES[name], megabytes, mark, phase)
                    print(
                        f"work {phase} {cc} {path} {name} {repeat} segs {sent.segs} acks {sent.acks}"
                        f" retransmits {sent.retransmits} cwnd {sent.cwnd_segs}",
                        flush=True,
                    )
    print("work done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
