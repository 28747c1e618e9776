#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First process of the guest of test_trace_command_uml.py: runs `airbound-phone trace`, prints the results, powers off.

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

TRACEFS = Path("/sys/kernel/tracing")
PAUSE_S = 1.0
TIMEOUT_S = 30.0
UPLOAD_BYTES = 2_000_000
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


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("tmpfs", "/run")
    mount("tracefs", str(TRACEFS))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # Without a delay cwnd never limits anything, and does not change.
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "10ms"], check=True)
    [program] = re.findall(r"airbound_phone=(\S+)", Path("/proc/cmdline").read_text())
    results: dict[str, object] = {}
    for scene in (live_beside_others, reader_that_closes_the_pipe, stuck_output, killed):
        results[scene.__name__] = scene(program) | {"left_after": instances()}
    sys.stdout.write("RESULTS " + json.dumps(results) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001  the first process must not end before the kernel
        traceback.print_exc()
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)
