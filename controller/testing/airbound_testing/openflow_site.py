# SPDX-License-Identifier: Apache-2.0
"""A site: the real Open vSwitch, `airbound openflow` and a controller, each a process, in a namespace of its own."""

import json
import signal
import subprocess
import sys
from typing import Any

from airbound_testing.open_vswitch import WAIT_S, OpenVSwitch

BSSID = "02:00:00:00:00:01"
OPENFLOW_PORT = 6653
CONFIG = """
[safety]
lease_ms = 3000
"""


class Site:
    """All of it; in plain text unless there are files."""

    def __init__(self, ovs: OpenVSwitch, config: str = CONFIG) -> None:
        self.ovs = ovs
        self._config = config
        self._processes: dict[str, subprocess.Popen[Any]] = {}
        self._traffics: list[Traffic] = []

    def airbound(self, *arguments: str) -> str:
        """Run an `airbound` command; what it prints."""
        return self.ovs.run(sys.executable, "-m", "airbound", *arguments)

    def start(self, name: str, *command: str) -> None:
        """Start a module of Python."""
        with (self.ovs.directory / f"{name}.log").open("ab") as log:
            self._processes[name] = self.ovs.start(sys.executable, "-m", *command, stderr=log, stdout=log)

    def start_controller(self) -> None:
        """Start a controller."""
        file = self.ovs.directory / "controller.toml"
        file.write_text(self._config, encoding="utf-8")
        self.start("controller", "airbound", "controller", "--plain-text", "--config", str(file), "--metrics", "")

    def start_openflow(self, *options: str) -> None:
        """Start `airbound openflow`."""
        self.start("openflow", "airbound", "openflow", "--plain-text", *options)

    def start_access_point(self, *stations: int) -> None:
        """Have an access point report these hosts as its stations."""
        macs = [self.ovs.mac(number).hex(":") for number in stations]
        datapath = f"{self.ovs.datapath_id:016x}"
        self.start("access-point", "airbound_testing.bare_access_point", "127.0.0.1:50051", BSSID, datapath, *macs)

    def start_all(self, *stations: int) -> None:
        """Start everything; these hosts are stations."""
        self.start_controller()
        self.start_openflow()
        self.ovs.until(self.answers)
        self.start_access_point(*stations)
        self.ovs.connect(f"tcp:127.0.0.1:{OPENFLOW_PORT}")
        self.until_rules()
        self.ovs.retry_each_second()

    def pid(self, name: str) -> int:
        """Of a process."""
        return self._processes[name].pid

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """End a process."""
        process = self._processes.pop(name)
        process.send_signal(number)
        process.wait(WAIT_S)

    def stop(self) -> None:
        """End all."""
        for traffic in self._traffics:
            traffic.kill()
        for name in list(self._processes):
            self.kill(name)

    def answers(self) -> bool:
        """Whether the controller does."""
        try:
            self.airbound("cells", "--plain-text")
        except RuntimeError:
            return False
        return True

    def until_openflow_listens(self) -> None:
        """Wait until switches could connect, without being one."""
        listening = ("ss", "--no-header", "--listening", "--tcp", "--numeric", "sport", "=", f":{OPENFLOW_PORT}")
        self.ovs.until(lambda: self.ovs.run(*listening))

    def is_connected(self) -> bool:
        """Whether the process has a connection of the switch."""
        established = ("ss", "--no-header", "--tcp", "--numeric", "state", "established")
        return bool(self.ovs.run(*established, "sport", "=", f":{OPENFLOW_PORT}"))

    def switches(self) -> list[dict[str, Any]]:
        """What `airbound switches` lists."""
        try:
            found: list[dict[str, Any]] = json.loads(self.airbound("switches", "--plain-text", "--json"))["switches"]
        except RuntimeError:
            return []
        return found

    def until_rules(self) -> None:
        """Wait until a switch has the rules that it was sent."""

        def in_force() -> bool:
            return any(switch["generation_in_force"] == switch["generation_sent"] != "0" for switch in self.switches())

        self.ovs.until(in_force)

    def traffic(self, host: int) -> list[dict[str, Any]]:
        """What the switch counted of a host."""
        mac = self.ovs.mac(host).hex(":")
        stations = json.loads(self.airbound("switches", "--plain-text", "--json", "--station", mac))["stations"]
        found: list[dict[str, Any]] = stations[0]["traffic"] if stations else []
        return found

    def receive(self, host: int, port: int) -> "Traffic":
        """Take UDP at a host, from now on; see packets.py."""
        receiver = self._traffic(host, "receive", str(port))
        receiver.line()
        return receiver

    def send(self, host: int, to: int, port: int, *, rate: float, size: int = 1_000) -> "Traffic":
        """Send UDP from a host to another."""
        return self._traffic(host, "send", "udp", self.ovs.address(to), str(port), str(rate), str(size))

    def serve(self, host: int, port: int) -> "Traffic":
        """Take TCP connections at a host."""
        return self._traffic(host, "serve", str(port))

    def upload(self, host: int, to: int, port: int, seconds: float) -> "Traffic":
        """Send by TCP: `line` is how many bytes, in so many seconds."""
        return self._traffic(host, "upload", self.ovs.address(to), str(port), str(seconds))

    def _traffic(self, host: int, *arguments: str) -> "Traffic":
        made = Traffic(self.ovs, host, *arguments)
        self._traffics.append(made)
        return made


class Traffic:
    """A process that sends or receives until it is ended."""

    def __init__(self, ovs: OpenVSwitch, host: int, *arguments: str) -> None:
        command = ovs.at(host, sys.executable, "-m", "airbound_testing.packets")
        self._process: subprocess.Popen[str] = ovs.start(*command, *arguments, stdout=subprocess.PIPE, text=True)

    def line(self) -> str:
        """The next line that it prints."""
        assert self._process.stdout is not None  # noqa: S101  # for mypy
        return self._process.stdout.readline()

    def end(self) -> Any:
        """End it; what it prints then."""
        self._process.terminate()
        out, _ = self._process.communicate(timeout=WAIT_S)
        return json.loads(out)

    def kill(self) -> None:
        """End it at once, if it runs."""
        self._process.kill()
        self._process.communicate()
