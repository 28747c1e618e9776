#!/usr/bin/python3 -EB
# SPDX-License-Identifier: Apache-2.0
"""First process of the guest of test_new_owner_uml.py: plays somebody who installs the package on an access point.

The access point: a radio and hostapd, as OpenWrt runs it (user network, few capabilities), and a root file system of
OpenWrt's layout. The controller: this repository's, with mutual TLS. A phone associates. This file plays procd too: it
runs what the init script says, as the user and with the capabilities that it says, and starts it again.

The kernel's command line names the package, the controller's Python and its source: airbound_ipk=, airbound_python=,
airbound_controller=.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

from access_point import NETWORK, AccessPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

POWER_OFF = 0x4321FEDC  # LINUX_REBOOT_CMD_POWER_OFF
TIMEOUT_S = 60.0
POLL_S = 0.2
SSID = "new owner"
NAME = "kitchen"
BSSID, STATION = "02:00:00:00:00:00", "02:00:00:00:01:00"
"""Of the first and the second radio."""
HOSTAPD_PERMISSIONS = "-all,+net_admin,+net_bind_service,+net_raw"
HOSTAPD = f"""interface=wlan0
driver=nl80211
ssid={SSID}
hw_mode=g
channel=1
ctrl_interface=/run/ap/var/run/hostapd
"""
PHONE = f"""network={{
	ssid="{SSID}"
	key_mgmt=NONE
	scan_freq=2412
}}
"""
USER = {
    "passwd": "network:x:101:101:network:/var/run/network:/bin/false\n",
    "group": "network:x:101:\n",
}
OURS = {"var/run/procd", "var/log/messages"}
"""Of the stand-ins."""


def mount(kind: str, place: str) -> None:
    Path(place).mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", kind, kind, place], check=True)


def wait_for(what: str, condition: Any) -> Any:
    """The first true value of a function. Raises TimeoutError."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(POLL_S)
    raise TimeoutError(what)


def as_network(permissions: str) -> list[str]:
    """What runs a command as hostapd's user, with these capabilities only."""
    return [
        "setpriv", f"--reuid={NETWORK}", f"--regid={NETWORK}", "--clear-groups", f"--inh-caps={permissions}",
        f"--ambient-caps={permissions}", f"--bounding-set={permissions}", "--no-new-privs",
    ]  # fmt: skip


class Procd(threading.Thread):
    """Runs the service that the stand-in of procd.sh wrote down, until it is gone; again if it ends."""

    def __init__(self, access_point: AccessPoint) -> None:
        super().__init__(daemon=True)
        self.access_point = access_point
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self.log = Path("/run/agent.log")

    def run(self) -> None:
        while True:
            time.sleep(POLL_S)
            service = self.access_point.service()
            running = self.process is not None and self.process.poll() is None
            if service and not running:
                self.start_service(service)
            elif not service and self.process and running:
                self.process.terminate()
                self.process.wait()

    def start_service(self, service: dict[str, list[str]]) -> None:
        # chroot(2) needs a capability, which busybox's setpriv drops after it.
        inside = ["/bin/busybox", "setpriv", "--inh-caps=-sys_chroot", "--ambient-caps=-sys_chroot"]
        [capabilities] = service["capabilities"]
        allowed = json.loads((self.access_point.root / capabilities[1:]).read_text(encoding="utf-8"))["ambient"]
        names = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in allowed)
        assert (service["user"], service["no_new_privs"]) == (["network"], ["1"])
        command = [
            *as_network(f"-all,{names},+sys_chroot"), "chroot", str(self.access_point.root), *inside,
            *service["command"],
        ]  # fmt: skip
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.starts += 1


class Controller:
    """A controller with an authority, and its operator."""

    def __init__(self, python: str, source: str, environment: Mapping[str, str] | None = None) -> None:
        self.command = [python, "-P", "-m", "airbound"]
        self.environment = os.environ | (environment or {}) | {
            "PYTHONPATH": source, "AIRBOUND_CA_DIR": "/run/ca", "AIRBOUND_TLS_DIR": "/run/operator",
            "AIRBOUND_TLS__DIRECTORY": "/run/ca", "AIRBOUND_TLS__NAME": "controller",
        }  # fmt: skip
        self.do("ca", "init")
        self.do("ca", "operator", "owner")
        with Path("/run/controller.log").open("wb") as log:
            self.process = subprocess.Popen(
                [*self.command, "controller", "--metrics="], env=self.environment, stdout=log, stderr=log
            )
        wait_for("controller", lambda: "listening" in Path("/run/controller.log").read_text(encoding="utf-8"))

    def do(self, *words: str) -> str:
        done = subprocess.run(
            [*self.command, *words], env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


def start_radio(access_point: AccessPoint) -> None:
    """hostapd as OpenWrt runs it, and a phone."""
    Path("/run/hostapd.conf").write_text(HOSTAPD, encoding="utf-8")
    Path("/run/phone.conf").write_text(PHONE, encoding="utf-8")
    sockets = access_point.root / "var/run/hostapd"
    sockets.mkdir()
    os.chown(sockets, NETWORK, NETWORK)
    with Path("/run/hostapd.log").open("wb") as log:
        subprocess.Popen([*as_network(HOSTAPD_PERMISSIONS), "hostapd", "/run/hostapd.conf"], stdout=log, stderr=log)
    wait_for("hostapd", (sockets / "wlan0").exists)
    with Path("/run/phone.log").open("wb") as log:
        subprocess.Popen(["wpa_supplicant", "-Dnl80211", "-iwlan1", "-c/run/phone.conf"], stdout=log, stderr=log)


def processes() -> list[str]:
    """Command lines with the agent's name."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode()
        except FileNotFoundError:
            continue
        if "/usr/sbin/airbound-ap" in command:
            found.append(command)
    return found


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    names = before.keys() | after.keys()
    return sorted(name for name in names if before.get(name) != after.get(name) and name not in OURS)


def play(ipk: Path, python: str, source: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    access_point = AccessPoint(Path("/run/ap"))
    access_point.make()
    # OpenWrt has the user, and hostapd's directory, from wpad.
    for name, line in USER.items():
        with (access_point.root / "etc" / name).open("a", encoding="utf-8") as file:
            file.write(line)
    start_radio(access_point)
    mount("proc", str(access_point.root / "proc"))
    controller = Controller(python, source)
    before = access_point.files()
    procd = Procd(access_point)
    procd.start()

    access_point.install_ipk(ipk)
    found["starts after installation"] = procd.starts
    token = controller.do("enroll", "access-point", NAME).splitlines()[0]
    access_point.configure(
        "option enabled '1'", "list controller '127.0.0.1:50051'", f"option token '{token}'", "list interface 'wlan0'"
    )
    access_point.init("start")
    wait_for("the cell", lambda: BSSID in controller.do("cells", "--json"))
    wait_for("the station", lambda: STATION in controller.do("stations", BSSID, "--json"))
    found["cells"] = json.loads(controller.do("cells", "--json"))
    found["stations"] = json.loads(controller.do("stations", BSSID, "--json"))
    found["table"] = controller.do("cells")
    found["enrolled"] = controller.do("enrolled")
    assert procd.process
    status = Path(f"/proc/{procd.process.pid}/status").read_text(encoding="utf-8")
    fields = re.findall(r"^(Uid|CapEff|CapPrm):\s*(.*)$", status, re.MULTILINE)
    found["process"] = {name: value.split() for name, value in fields}
    found["status"] = access_point.run("/usr/sbin/airbound-ap", "status", "--state-dir", "/var/run/airbound-ap")

    # The token is used: what is there suffices from now on.
    access_point.configure("option enabled '1'", "list controller '127.0.0.1:50051'", "list interface 'wlan0'")
    access_point.init("reload")
    procd.process.send_signal(signal.SIGKILL)
    wait_for("second start", lambda: procd.starts == 2)
    wait_for("second stream", lambda: procd.log.read_text(encoding="utf-8").count("connected to the controller") == 2)

    access_point.remove_ipk()
    found["processes"] = processes()
    found["sockets"] = [line for line in Path("/proc/net/unix").read_text().splitlines() if "airbound-ap" in line]
    after = access_point.files()
    found["left by opkg"] = differences(before, after)
    access_point.run("rm", "-r", "/etc/airbound", "/etc/config/airbound")
    after = access_point.files()
    found["left"] = differences(before, after)
    return found


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")):
        subprocess.run(["mount", "-t", kind, kind, place], check=True)
    os.environ["HOME"] = "/run"
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    given = Path("/proc/cmdline").read_text(encoding="utf-8")
    arguments = dict(re.findall(r"airbound_(ipk|python|controller)=(\S+)", given))
    found = play(Path(arguments["ipk"]), arguments["python"], arguments["controller"])
    sys.stdout.write("RESULTS " + json.dumps(found) + "\n")


def power_off_after(play_all: Callable[[], None], logs: Iterable[str]) -> None:
    """Run what the guest is for, and end the guest; print what went wrong, with the ends of logs in /run."""
    try:
        play_all()
    except BaseException:  # noqa: BLE001  the first process must not end before the kernel
        traceback.print_exc()
        for log in logs:
            path = Path(f"/run/{log}.log")
            sys.stdout.write(f"{path}:\n{path.read_text(encoding='utf-8')[-3000:] if path.exists() else ''}\n")
    sys.stdout.flush()
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    power_off_after(main, ("agent", "controller", "hostapd", "phone"))
