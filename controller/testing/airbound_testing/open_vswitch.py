# SPDX-License-Identifier: Apache-2.0
"""A real Open vSwitch in a network namespace of its own, with its userspace datapath, and hosts at its ports.

        host 1 (02:00:00:00:01:00, 10.0.0.1)  ---  br0  ---  host 2 (02:00:00:00:02:00, 10.0.0.2)  ...

Everything is made anew in a directory and a namespace, and ends with the holder of the namespace: nothing of the
machine is touched. Needs root, and Debian's openvswitch-switch and iproute2.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
DATAPATH_ID = 0x0000020000000001
WAIT_S = 120.0  # only a failure takes that long
OPENFLOW = ("-O", "OpenFlow13")

_HOLD = "mount -t tmpfs tmpfs /run/netns 2>/dev/null || { mkdir -p /run/netns; mount -t tmpfs tmpfs /run/netns; }; "
_HOLD += "mount --make-rprivate /; ip link set lo up; echo ready; exec sleep infinity"


class OpenVSwitch:
    """A context manager."""

    def __init__(self, directory: Path, hosts: int = 2, datapath_id: int = DATAPATH_ID) -> None:
        self.directory = directory
        self.hosts = hosts
        self.datapath_id = datapath_id
        self._holder: subprocess.Popen[str] | None = None
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        hold = ["unshare", "--net", "--mount", "--fork", "--kill-child", "bash", "-c", _HOLD]
        self._holder = subprocess.Popen(hold, stdout=subprocess.PIPE, text=True)
        try:
            self._make()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for daemon in reversed(self._daemons.values()):
            daemon.kill()
            daemon.wait()
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait()
            if self._holder.stdout is not None:
                self._holder.stdout.close()

    def _make(self) -> None:
        holder = self._holder
        assert holder is not None  # noqa: S101  # for mypy
        assert holder.stdout is not None  # noqa: S101
        if holder.stdout.readline() != "ready\n":
            raise RuntimeError("no network namespace: are you root?")
        children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children")
        self._pid = int(children.read_text(encoding="ascii").split()[0])
        self.run("ovsdb-tool", "create", str(self.directory / "conf.db"), SCHEMA)
        self._daemons["ovsdb-server"] = self.start(
            "ovsdb-server", str(self.directory / "conf.db"), f"--remote=punix:{self.directory}/db.sock",
            f"--unixctl={self.directory}/db.ctl", "-vconsole:off", f"--log-file={self.directory}/db.log",
        )  # fmt: skip
        self.until((self.directory / "db.sock").exists)
        self.vsctl("--no-wait", "init")
        self.start_daemon()
        self.vsctl(
            "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "protocols=OpenFlow13",
            "fail_mode=standalone", f"other-config:datapath-id={self.datapath_id:016x}",
        )  # fmt: skip
        for number in range(1, self.hosts + 1):
            name = f"h{number}"
            self.run("ip", "netns", "add", name)
            self.run("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "e0", "netns", name)
            self.run("ip", "link", "set", f"v{number}", "up")
            self.run("ip", "-n", name, "link", "set", "e0", "address", self.mac(number).hex(":"), "up")
            self.run("ip", "-n", name, "link", "set", "lo", "up")
            self.run("ip", "-n", name, "addr", "add", f"{self.address(number)}/16", "dev", "e0")
            # Checksums of packets that a real card would make: the userspace datapath passes them on as they are.
            self.run("ip", "netns", "exec", name, "ethtool", "-K", "e0", "tx", "off", check=False)
            self.vsctl("add-port", "br0", f"v{number}")

    def start_daemon(self) -> None:
        """Start ovs-vswitchd, which is not running."""
        (self.directory / "vs.ctl").unlink(missing_ok=True)
        self._daemons["ovs-vswitchd"] = self.start(
            "ovs-vswitchd", f"unix:{self.directory}/db.sock", f"--unixctl={self.directory}/vs.ctl", "-vconsole:off",
            f"--log-file={self.directory}/vs.log", "--disable-system",
        )  # fmt: skip
        self.until((self.directory / "vs.ctl").exists)

    def kill_daemon(self) -> None:
        """End ovs-vswitchd as a crash does."""
        daemon = self._daemons.pop("ovs-vswitchd")
        daemon.kill()
        daemon.wait()

    def cpu_s(self) -> float:
        """Processor time of ovs-vswitchd."""
        return cpu_s(self._daemons["ovs-vswitchd"].pid)

    @staticmethod
    def mac(number: int) -> bytes:
        """Of a host."""
        return bytes([2, 0, 0, 0, number, 0])

    @staticmethod
    def address(number: int) -> str:
        """Of a host."""
        return f"10.0.0.{number}"

    def connect(self, target: str) -> None:
        """Have the switch connect to a controller."""
        self.vsctl("set-controller", "br0", target, "--", "set", "controller", "br0", "inactivity_probe=1000")

    def fail_open_after(self, seconds: int) -> None:
        """How long the switch, which is connected, keeps its flows without a controller: three times its probe.

        Then it replaces them by one of its own (`fail_open_run` of ofproto/fail-open.c), and removes that when it has a
        controller again, before the first flows of that come. In between it forwards nothing: 30 to 50 ms on a busy
        machine, and 0.2 s now and then.
        """
        self.vsctl("set", "controller", "br0", f"inactivity_probe={seconds * 1000 // 3}")

    def retry_each_second(self) -> None:
        """Have the switch, which is connected, try again each second when it loses its controller.

        Open vSwitch 3.1.0 reads `max_backoff` only when the record changes while there is a connection, and otherwise
        waits 1, 2, 4, 8, 8 s: `ofservice_create` of ofproto/connmgr.c has 8 s, `ofservice_reconfigure` concerns
        connections alone.
        """
        self.vsctl("clear", "controller", "br0", "max_backoff")
        self.vsctl("set", "controller", "br0", "max_backoff=1000")

    def set_ssl(self, files: Path) -> None:
        """What the switch shows: key.pem, certificate.pem, authorities.pem of a directory."""
        self.vsctl("set-ssl", *(str(files / name) for name in ("key.pem", "certificate.pem", "authorities.pem")))

    def vsctl(self, *arguments: str) -> str:
        """`ovs-vsctl`."""
        return self.run("ovs-vsctl", f"--db=unix:{self.directory}/db.sock", "--timeout=20", *arguments)

    def ofctl(self, *arguments: str) -> str:
        """`ovs-ofctl`, OpenFlow 1.3."""
        return self.run("ovs-ofctl", *OPENFLOW, *arguments)

    def flows(self) -> list[str]:
        """Every flow, as `ovs-ofctl dump-flows` prints it."""
        return [line.strip() for line in self.ofctl("dump-flows", "br0").splitlines() if "cookie=" in line]

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command in the namespace; what it prints.

        Raises:
            RuntimeError: it failed, and `check`.
        """
        done = subprocess.run(self._inside(command), check=False, capture_output=True, text=True, env=self._environment)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def start(self, *command: str, **options: Any) -> subprocess.Popen[Any]:
        """Start a command in the namespace."""
        return subprocess.Popen(self._inside(command), env=self._environment, **options)

    def at(self, host: int, *command: str) -> tuple[str, ...]:
        """A command at a host."""
        return ("ip", "netns", "exec", f"h{host}", *command)

    @property
    def _environment(self) -> dict[str, str]:
        return os.environ | {"OVS_RUNDIR": str(self.directory)}

    def _inside(self, command: Sequence[str]) -> list[str]:
        return ["nsenter", "--target", str(self._pid), "--net", "--mount", *command]

    @staticmethod
    def until(happened: Any, seconds: float = WAIT_S) -> None:
        """Wait until something is so.

        Raises:
            TimeoutError: it is not.
        """
        deadline_s = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"not within {seconds} s")
            time.sleep(0.05)


def cpu_s(pid: int) -> float:
    """Processor time of a process so far; 0 if it is not there."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0
