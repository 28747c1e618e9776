# SPDX-License-Identifier: Apache-2.0
"""What hostile or broken switches send to the real process over TLS: refused, counted, and others are not concerned."""

import contextlib
import re
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airbound.operator import cli
from airbound_testing.fake_switch import frame
from airbound_testing.open_vswitch import OpenVSwitch
from airbound_testing.raw_switch import (
    ERROR,
    FLOW,
    GREETING,
    HOSTILE,
    MULTIPART_REPLY,
    PACKET_IN,
    PORT_DESC,
    RawSwitch,
    message,
    packet_in,
    raw_switch,
)

pytestmark = pytest.mark.long

FIRST, SECOND = 0x0000020000000001, 0x0000020000000002
PHONE, ROUTER = bytes([2, 0, 0, 0, 1, 0]), bytes([2, 0, 0, 0, 9, 0])


class Running:
    """`airbound openflow` with TLS, without a controller, and certificates for switches."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(mode=0o700)
        self.run("ca", "init", "--directory", str(directory / "ca"))
        for name in ("openflow-1", f"{FIRST:016x}", f"{SECOND:016x}"):
            self.run("ca", "switch", name, "--directory", str(directory / "ca"), "--out", str(directory / name))
        self.run("ca", "operator", "me", "--directory", str(directory / "ca"), "--out", str(directory / "me"))
        other = directory / "other"
        self.run("ca", "init", "--directory", str(other))
        self.run("ca", "switch", f"{FIRST:016x}", "--directory", str(other), "--out", str(directory / "stranger"))
        (directory / "stranger" / "authorities.pem").write_bytes(
            (directory / "openflow-1" / "authorities.pem").read_bytes()
        )
        self._log = directory / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "airbound", "openflow", "--listen", "127.0.0.1:0", "--controller", "127.0.0.1:9",
                 "--tls-dir", str(directory / "openflow-1"), "--packet-ins-per-s", "50",
                 "--connections-per-address-max", "6"],
                stderr=log, stdout=log,
            )  # fmt: skip
        self.port = int(self.logged(r"listening 127\.0\.0\.1:(\d+)"))

    @staticmethod
    def run(*arguments: str) -> None:
        assert cli.main(arguments) == 0

    def logged(self, pattern: str, seconds: float = 120.0) -> str:
        """The first group of a line that is logged."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            found = re.search(pattern, self._log.read_text(encoding="utf-8"))
            if found:
                return found[1] if found.groups() else found[0]
            time.sleep(0.05)
        raise AssertionError(f"{pattern} is not in {self._log.read_text(encoding='utf-8')}")

    def files(self, datapath_id: int) -> Path:
        return self.directory / f"{datapath_id:016x}"

    def threads(self) -> int:
        """Of Python, without gRPC's own, which have names."""
        process = Path(f"/proc/{self.process.pid}")
        name = (process / "comm").read_text(encoding="ascii")
        count = 0
        for task in (process / "task").iterdir():
            with contextlib.suppress(OSError):  # it has just ended
                count += (task / "comm").read_text(encoding="ascii") == name
        return count


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("hostile") / "site")
    try:
        yield made
        assert made.process.poll() is None  # it has survived all of it
    finally:
        made.process.kill()
        made.process.wait()


class Good:
    """A switch that must not be concerned. It answers in a thread, however long the test does something else."""

    def __init__(self, switch: RawSwitch) -> None:
        self._asked = 0
        self._ends = False
        self._thread = threading.Thread(target=self._answer, args=(switch,))
        self._thread.start()

    def _answer(self, switch: RawSwitch) -> None:
        while not self._ends and switch.is_served():
            self._asked += 1

    def is_served(self) -> bool:
        """Whether it is asked for statistics once more."""
        before = self._asked
        OpenVSwitch.until(lambda: self._asked > before or not self._thread.is_alive())
        return self._asked > before

    def end(self) -> None:
        """Answer no more."""
        self._ends = True
        self._thread.join()


@pytest.fixture
def good(running: Running) -> Iterator[Good]:
    with raw_switch(running.port, running.files(FIRST)) as switch:
        switch.serve(FIRST, 120, until_flow_mods=4)
        assert switch.flow_mods == 4
        made = Good(switch)
        try:
            yield made
            assert made.is_served()
        finally:
            made.end()


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_closed_and_others_are_not_concerned(running: Running, good: Good, name: str) -> None:
    octets, _ = HOSTILE[name]  # test_front.py has the reason
    with raw_switch(running.port, running.files(SECOND)) as hostile:
        hostile.send(octets)
        assert hostile.is_closed()
    assert good.is_served()


def test_the_log_says_why(running: Running) -> None:
    running.logged(r"refused switch/0000020000000002 at 127\.0\.0\.1:\d+: OpenFlow's version")
    running.logged(r"refused .*the datapath 0000020000000001 is not the one of its certificate")


def test_base_flows_do_not_wait_for_the_ports(running: Running) -> None:
    """os-ken asks for them first. Open vSwitch has removed its own flows by then, and forwards nothing."""
    with raw_switch(running.port, running.files(SECOND)) as switch:
        switch.serve(SECOND, 120, until_flow_mods=4, without=PORT_DESC)
        assert switch.flow_mods == 4
        assert switch.is_served()


def after_handshake(running: Running) -> RawSwitch:
    made = RawSwitch(running.port, running.files(SECOND))
    made.serve(SECOND, 120, until_flow_mods=4)
    assert made.flow_mods == 4
    return made


MALFORMED = {
    "statistics without a length": message(MULTIPART_REPLY, struct.pack("!HH4x", FLOW, 0) + bytes(56)),
    "statistics cut off": message(MULTIPART_REPLY, struct.pack("!HH4x", FLOW, 0) + b"\0\x40" + bytes(8)),
    "statistics of no kind": message(MULTIPART_REPLY, struct.pack("!HH4x", 77, 0)),
    "a packet-in cut off": message(PACKET_IN, bytes(3)),
    "a match longer than its message": message(PACKET_IN, bytes(16) + b"\0\1\xff\xff" + bytes(8)),
    "an error without a body": message(ERROR),
    "an error with text that is none": message(ERROR, struct.pack("!HH", 0, 0) + b"\xff\xfe"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_os_ken_cannot_read_ends_that_connection_alone(running: Running, good: Good, name: str) -> None:
    hostile = after_handshake(running)
    hostile.send(MALFORMED[name])
    list(hostile.messages(1.0))
    hostile.close()
    assert good.is_served()
    again = after_handshake(running)  # and it may come again
    again.close()


def test_a_flood_of_packet_ins_costs_nobody_anything(running: Running, good: Good) -> None:
    hostile = after_handshake(running)
    octets = b"".join(
        packet_in(frame(PHONE, ROUTER, number.to_bytes(4, "big"), bytes([192, 0, 2, 1]))) for number in range(1_000)
    )
    for _ in range(20):
        hostile.send(octets)
    assert good.is_served()
    assert hostile.is_served()  # it stays, and is counted: packet_ins_dropped_total of its reports
    hostile.close()


def test_two_connections_with_one_certificate_the_newer_stays(running: Running, good: Good) -> None:
    first = after_handshake(running)
    second = after_handshake(running)
    assert first.is_closed()
    assert second.is_served()
    assert good.is_served()
    for connection in (first, second):
        connection.close()


@pytest.mark.parametrize("who", ["stranger", "me", "nobody"])
def test_who_has_no_switchs_certificate_of_this_authority_is_not_let_in(running: Running, good: Good, who: str) -> None:
    files = running.directory / who
    if who == "nobody":
        files.mkdir(exist_ok=True)
        (files / "authorities.pem").write_bytes((running.directory / "me" / "authorities.pem").read_bytes())
    try:
        with raw_switch(running.port, files) as hostile:
            hostile.send(GREETING)
            assert hostile.is_closed()
    except OSError:
        pass  # its handshake failed
    assert good.is_served()


def test_plain_text_is_not_let_in(running: Running, good: Good) -> None:
    with raw_switch(running.port) as hostile:
        hostile.send(GREETING)
        assert hostile.is_closed()
    assert good.is_served()


def test_one_address_has_so_many_connections_and_no_more(running: Running, good: Good) -> None:
    many = [RawSwitch(running.port) for _ in range(8)]
    assert sum(connection.is_closed(1.0) for connection in many) >= 3
    for connection in many:
        connection.close()
    assert good.is_served()


def test_a_switch_that_says_nothing_is_not_waited_for(running: Running, good: Good) -> None:
    with raw_switch(running.port, running.files(SECOND)) as silent:
        assert silent.is_closed()
    assert good.is_served()


def test_connections_that_end_leave_no_threads(running: Running) -> None:
    """Forty connections that left a thread each would be forty more.

    Fewer than twenty may remain: executors of the process start theirs when they first need them, and
    those of connections before, fewer than ten, may end meanwhile.
    """
    before = running.threads()
    for _ in range(40):
        after_handshake(running).close()
    OpenVSwitch.until(lambda: running.threads() < before + 20)


def test_os_kens_own_port_takes_nobody_else(running: Running) -> None:
    """A process of the machine that goes around the front is closed before it counts."""
    ports = {
        int(fields[1].rpartition(":")[2], 16)
        for line in Path(f"/proc/{running.process.pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        if (fields := line.split())[3] == "0A" and fields[9] in inodes(running.process.pid)
    }
    (behind,) = ports - {running.port}
    with raw_switch(behind) as intruder:
        intruder.serve(SECOND, 3)
        assert intruder.flow_mods == 0


def inodes(pid: int) -> set[str]:
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        link = str(file.readlink())
        if link.startswith("socket:["):
            found.add(link[8:-1])
    return found
