#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First process of the guest of test_trace_command_uml.py: runs `airbound-phone trace` and the agent, prints results.

The kernel's command line names the program: airbound_phone=PATH.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TRACEFS = Path("/sys/kernel/tracing")
PAUSE_S = 1.0
TIMEOUT_S = 30.0
UPLOAD_BYTES = 2_000_000
UPLOAD_ARGUMENT = "upload"
FIRST_DATA_BYTES = 50_000
STATE_WRITTEN_S = 12.0
"""The agent writes counts at most every 10 s."""
POWER_OFF = 0x4321FEDC  # LINUX_REBOOT_CMD_POWER_OFF


def mount(kind: str, place: str) -> None:
    subprocess.run(["mount", "-t", kind, kind, place], check=True)


def instances() -> list[str]:
    return sorted(path.name for path in (TRACEFS / "instances").iterdir())


def upload() -> str:
    """One connection on loopback, from its beginning to its end; its client's address."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        client.connect(listener.getsockname())
        server, _ = listener.accept()
        with server:
            sender = threading.Thread(target=client.sendall, args=(bytes(UPLOAD_BYTES),))
            sender.start()
            left = UPLOAD_BYTES
            while left:
                left -= len(server.recv(1 << 16))
            sender.join()
            return "{}:{}".format(*client.getsockname())


class Recording:
    """`airbound-phone trace` as a process; its standard error goes to a file."""

    def __init__(self, program: str, name: str, *arguments: str, stdout: int | None = None) -> None:
        self.stderr = Path(f"/run/{name}.err")
        self.out = Path(f"/run/{name}.out")
        command = [program, "trace", *arguments]
        with self.stderr.open("wb") as stderr, self.out.open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out if stdout is None else stdout, stderr=stderr)
        while "recording" not in self.stderr.read_text() and self.process.poll() is None:
            time.sleep(0.01)

    def result(self) -> dict[str, object]:
        status = self.process.wait(TIMEOUT_S)
        return {"status": status, "stderr": self.stderr.read_text(), "out": self.out.read_text()}


def live_beside_others(program: str) -> dict[str, object]:
    """Two at once, one of them live and for 3 s, while another tracer has options set on the kernel's main buffer."""
    for option, value in (("overwrite", "0"), ("context-info", "0"), ("latency-format", "1")):
        (TRACEFS / "options" / option).write_text(value)
    live = Recording(program, "live", "--json", "--seconds", "3")
    until_signal = Recording(program, "until_signal", "--csv", "--out", "/run/records.csv")
    during = instances()
    client = upload()
    time.sleep(PAUSE_S)
    written_while_it_runs = live.out.read_text().count("\n")
    found = {"live": live.result(), "during": during, "client": client, "written_while_it_runs": written_while_it_runs}
    found["after_the_first"] = instances()
    until_signal.process.send_signal(signal.SIGTERM)
    found["until_signal"] = until_signal.result()
    found["csv"] = Path("/run/records.csv").read_text()
    found["mode_of_csv"] = oct(Path("/run/records.csv").stat().st_mode & 0o777)
    found["options"] = {
        name: (TRACEFS / "options" / name).read_text().strip()
        for name in ("overwrite", "context-info", "latency-format")
    }
    return found


def reader_that_closes_the_pipe(program: str) -> dict[str, object]:
    reader, writer = os.pipe()
    recording = Recording(program, "closed", "--json", stdout=writer)
    os.close(writer)
    os.close(reader)
    upload()
    return recording.result()


def stuck_output(program: str) -> dict[str, object]:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    recording = Recording(program, "stuck", "--json", stdout=writer)
    upload()
    time.sleep(PAUSE_S)
    [instance] = instances()
    recording.process.send_signal(signal.SIGTERM)
    time.sleep(PAUSE_S)
    found: dict[str, object] = {
        "alive": recording.process.poll() is None,
        "tracing_on": (TRACEFS / "instances" / instance / "tracing_on").read_text().strip(),
    }
    recording.process.send_signal(signal.SIGTERM)
    found |= recording.result()
    os.close(reader)
    os.close(writer)
    return found


def killed(program: str) -> dict[str, object]:
    recording = Recording(program, "killed", "--json")
    recording.process.kill()
    recording.process.wait()
    left = instances()
    cleaned = subprocess.run([program, "cleanup"], capture_output=True, text=True, check=False)
    return {"left": left, "cleanup": cleaned.stdout, "status": cleaned.returncode}


class Agent:
    """`airbound-phone run` without a controller."""

    def __init__(self, program: str) -> None:
        command = [program, "run", "--plain-text", "--controller", "127.0.0.1:9", "--mac", "02:00:00:00:01:0a"]
        self.program = program
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while (state := self.state()) is None or state["pid"] != self.process.pid:
            time.sleep(0.01)

    def state(self) -> dict[str, Any] | None:
        done = subprocess.run([self.program, "status", "--json"], capture_output=True, text=True, check=False)
        state: dict[str, Any] | None = json.loads(done.stdout)["state"]
        return state

    def seen_after(self, cause: Callable[[], object]) -> int:
        """How many starts it has seen since it began, once the count is in its state file."""
        cause()
        time.sleep(STATE_WRITTEN_S)
        state = self.state()
        assert state is not None
        count: int = state["counters"]["starts_seen_total"]
        return count


def agent(program: str) -> dict[str, object]:
    """An agent that is killed, and the next one, which sees connections begin to send."""
    # As on a radio: with loopback's own 64 KiB, the first data would fit in two segments and fill no window.
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
    killed = Agent(program)
    killed.process.kill()
    killed.process.wait()
    left = instances()
    agent = Agent(program)
    during = instances()
    state = agent.state()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        seen = {"nothing": agent.seen_after(lambda: None)}
        seen["connected"] = agent.seen_after(lambda: client.connect(listener.getsockname()))
        seen["nothing more"] = agent.seen_after(lambda: None)
        seen["first data"] = agent.seen_after(lambda: client.sendall(bytes(FIRST_DATA_BYTES)))
    elsewhere = ["unshare", "--net", __file__, UPLOAD_ARGUMENT]
    seen["closed"] = agent.seen_after(lambda: None)
    seen["another network namespace"] = agent.seen_after(lambda: subprocess.run(elsewhere, check=True))
    agent.process.send_signal(signal.SIGTERM)
    status = agent.process.wait(TIMEOUT_S)
    own = [f"airbound-{agent.process.pid}"]
    return {
        "left": left == [f"airbound-{killed.process.pid}"], "during": during == own, "status": status, "seen": seen,
        "starts": state and state["starts"],
    }  # fmt: skip


def set_up_loopback() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # Without a delay cwnd never limits anything, and does not change.
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "10ms"], check=True)


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("tmpfs", "/run")
    mount("tracefs", str(TRACEFS))
    set_up_loopback()
    [program] = re.findall(r"airbound_phone=(\S+)", Path("/proc/cmdline").read_text())
    results: dict[str, object] = {}
    for scene in (live_beside_others, reader_that_closes_the_pipe, stuck_output, killed, agent):
        results[scene.__name__] = scene(program) | {"left_after": instances()}
    sys.stdout.write("RESULTS " + json.dumps(results) + "\n")
    sys.stdout.flush()


if sys.argv[1:] == [UPLOAD_ARGUMENT]:
    set_up_loopback()
    upload()
elif __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001  the first process must not end before the kernel
        traceback.print_exc()
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)
