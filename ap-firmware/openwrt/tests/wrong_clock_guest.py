#!/usr/bin/python3 -EB
# SPDX-License-Identifier: Apache-2.0
"""First process of the guest of test_wrong_clock_uml.py: an access point and a phone whose clocks are wrong at boot.

The guest's clock is the devices'. It is set with clock_settime(2), so that the agents run as they do on a device. The
controller is in the same guest; only for it and its operator, other_time.c keeps the time right. It is stopped while
the guest's clock is set: at no moment does it see another time.

The kernel's command line names the package, the phone's program, other_time.c's library, and the controller's Python
and its source: airbound_ipk=, airbound_phone=, airbound_library=, airbound_python=, airbound_controller=.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from access_point import AccessPoint
from new_owner_guest import BSSID, NAME, USER, Controller, Procd, mount, power_off_after, start_radio, wait_for

FIRST_BOOT_S = 60
AHEAD_S = 10 * 366 * 86_400
"""Longer than any certificate of a controller or a device."""
QUIET_S = 30
CONNECTED = "connected to the controller"
OFFSET = Path("/run/clock")
STATE = "/run/phone"


class Clocks:
    """The guest's clock, and the right time."""

    def __init__(self, library: str) -> None:
        self.library = library
        # The guest's clock at boot is what this test calls right.
        self.right_s = time.time() - time.monotonic()
        self.controller: Controller | None = None

    def now_s(self) -> float:
        """The right time, in seconds since 1970."""
        return self.right_s + time.monotonic()

    def set(self, to_s: float) -> None:
        """Set the guest's clock. The controller does not see it."""
        if self.controller:
            self.controller.process.send_signal(signal.SIGSTOP)
        time.clock_settime(time.CLOCK_REALTIME, to_s)
        OFFSET.write_text(f"{self.now_s() - to_s:.0f}", encoding="utf-8")
        if self.controller:
            self.controller.process.send_signal(signal.SIGCONT)

    def environment(self) -> dict[str, str]:
        """What keeps a program's time right."""
        return {"LD_PRELOAD": self.library, "LD_OTHER_TIME": str(OFFSET)}


class Phone:
    """The phone's agent, as on a phone: a process of root."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.log = Path("/run/phone-agent.log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, credentials: str, token: str) -> None:
        """Start it with a token file, which is not read if the directory has a certificate."""
        file = Path("/run/phone.token")
        file.touch(0o600)
        file.write_text(token, encoding="utf-8")
        command = [
            self.program, "run", "--controller", "127.0.0.1:50051", "--interface", "wlan1", "--state-dir", STATE,
            "--credentials-dir", credentials, "--token-file", "/run/phone.token", "--no-tracing",
        ]  # fmt: skip
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self) -> None:
        assert self.process
        self.process.terminate()
        self.process.wait()

    def status(self) -> str:
        return subprocess.run(
            [self.program, "status", "--state-dir", STATE], capture_output=True, text=True, check=False
        ).stdout


def play(  # noqa: PLR0915  one story
    ipk: Path, phone_program: str, library: str, python: str, source: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    clocks = Clocks(library)
    access_point = AccessPoint(Path("/run/ap"))
    access_point.make()
    for name, line in USER.items():
        with (access_point.root / "etc" / name).open("a", encoding="utf-8") as file:
            file.write(line)
    clocks.set(FIRST_BOOT_S)
    start_radio(access_point)
    mount("proc", str(access_point.root / "proc"))
    controller = clocks.controller = Controller(python, source, clocks.environment())
    procd = Procd(access_point)
    procd.start()
    phone = Phone(phone_program)
    logs = (procd.log, phone.log)

    def connections(count: int) -> bool:
        return all(log.exists() and log.read_text(encoding="utf-8").count(CONNECTED) == count for log in logs)

    def status_of_access_point() -> str:
        return access_point.run("/usr/sbin/airbound-ap", "status", "--state-dir", "/var/run/airbound-ap", status=None)

    def statuses() -> dict[str, str]:
        return {"access point": status_of_access_point(), "phone": phone.status()}

    def boot(to_s: float, credentials: str, token: str) -> None:
        """Start both again, with a clock that is wrong from the first moment on."""
        phone.stop()
        access_point.init("stop")
        assert procd.process
        procd.process.wait()
        clocks.set(to_s)
        access_point.init("start")
        phone.start(credentials, token)

    def token(role: str, name: str) -> str:
        return controller.do("enroll", role, name).splitlines()[0]

    # The first boot: no certificate yet.
    access_point.install_ipk(ipk)
    access_point.configure(
        "option enabled '1'", "list controller '127.0.0.1:50051'", f"option token '{token('access-point', NAME)}'",
        "list interface 'wlan0'",
    )  # fmt: skip
    access_point.init("start")
    phone.start("/run/phone-credentials", token("terminal", "phone"))
    wait_for("both in 1970", lambda: connections(1))
    found["enrolled in 1970"] = controller.do("enrolled")
    wait_for("the cell", lambda: BSSID in controller.do("cells", "--json"))

    # Another boot in 1970: their certificates are of the future.
    boot(FIRST_BOOT_S, "/run/phone-credentials", "")
    wait_for("both in 1970 again", lambda: connections(2))

    # NTP sets the clock while they are connected.
    pid = procd.process and procd.process.pid
    clocks.set(clocks.now_s())
    time.sleep(QUIET_S)
    found["connections after the clock was set"] = [log.read_text(encoding="utf-8").count(CONNECTED) for log in logs]
    found["went on"] = bool(procd.process and procd.process.pid == pid and phone.process and not phone.process.poll())
    found["status after the clock was set"] = statuses()

    # A boot far ahead; the phone has to enrol.
    boot(clocks.now_s() + AHEAD_S, "/run/other-credentials", token("terminal", "other-phone"))
    wait_for("complaints", lambda: all("to do" in text for text in statuses().values()))
    time.sleep(QUIET_S)
    found["status ahead"] = statuses()
    assert connections(2)
    clocks.set(clocks.now_s())
    found["set right again"] = time.time()
    wait_for("both with the right time", lambda: connections(3))
    found["status in the end"] = statuses()
    found["logs"] = {
        name: log.read_text(encoding="utf-8") for name, log in zip(("access point", "phone"), logs, strict=True)
    }
    return found


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")):
        mount(kind, place)
    os.environ["HOME"] = "/run"
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    given = Path("/proc/cmdline").read_text(encoding="utf-8")
    arguments = dict(re.findall(r"airbound_(ipk|phone|library|python|controller)=(\S+)", given))
    found = play(
        Path(arguments["ipk"]), arguments["phone"], arguments["library"], arguments["python"], arguments["controller"]
    )
    sys.stdout.write("RESULTS " + json.dumps(found) + "\n")


if __name__ == "__main__":
    power_off_after(main, ("agent", "phone-agent", "controller", "hostapd", "phone"))
