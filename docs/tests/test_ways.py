# SPDX-License-Identifier: Apache-2.0
"""The ways of docs/README.md, executed from their text: nobody needs more than ten commands.

The machine is a copy of this one (overlayfs in namespaces), where apt installs the packages. Stand-ins: `sudo`; the
laptop's radio; systemd, of which `systemctl` runs a unit's command as its user. The router is a root file system of
OpenWrt's layout with the real package: `airbound-ap join` and the init script are executed, while apk, uci and procd
are stand-ins. A router's agent needs a radio, so a simulated access point connects instead, by what the init script
says to procd.
"""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import blocks, commands
from machine import ROOT, WAIT_S, Machine

sys.path.insert(0, str(ROOT / "ap-firmware/openwrt/tests"))

from access_point import AccessPoint
from apk_file import Apk

PAGE = ROOT / "docs/README.md"
STRING = "airbound1:controller.example:50051:50053:TOKEN"
COMMANDS_MAX = 10
ADDRESS = "192.0.2.7"
"""The one of the machine's that `enroll` finds by itself."""
SUDO = '#!/bin/sh\nexec "$@"\n'
SYSTEMCTL = """#!/bin/sh
# enable --now UNIT
unit=/usr/lib/systemd/system/$3.service
user=$(sed -n 's/^User=//p' $unit)
user=${user:-root}
install -d -o $user -g $user -m 0755 /run/$(sed -n 's/^RuntimeDirectory=//p' $unit)
install -d -o $user -g $user -m 0700 /var/lib/$(sed -n 's/^StateDirectory=//p' $unit)
runuser -u $user -- $(sed -n 's/^ExecStart=//p' $unit) </dev/null >/var/log/$3 2>&1 &
"""


def section(title: str) -> list[str]:
    """The commands of a section, in their order."""
    text = PAGE.read_text(encoding="utf-8")
    found = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [command.text for block in blocks("docs/README.md", found) for command in commands(block)]


CONTROLLER, ROUTER, LAPTOP = section("A controller"), section("A home router"), section("A laptop")


class Installed(Machine):
    """A copy of this machine, to install packages on."""

    copied = "etc usr var"
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    def do(self, text: str, status: int = 0) -> str:
        """Run a command line; what it prints."""
        done = self.run(text)
        assert done.returncode == status, f"{text}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def until_listed(self, command: str, name: str) -> str:
        """What a command prints when a name is in it."""
        self.do(
            f"for i in $(seq {int(WAIT_S)}); do {command} | grep -q {name} && exit 0; sleep 1; done; {command}; exit 1"
        )
        return self.do(command)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What the reader has made, by file name."""
    folders = [Path(os.environ.get("AIRBOUND_PACKAGES", ROOT / "build/packages"))]
    if "AIRBOUND_PACKAGES" not in os.environ:
        subprocess.run([ROOT / "scripts/packages.sh", "x86_64", "deb-amd64"], check=True)
    if not list(folders[0].glob("airbound-controller_*_amd64.deb")):
        folders.append(tmp_path_factory.mktemp("controller"))
        subprocess.run([ROOT / "scripts/controller-package.sh", "--output", folders[1], "amd64"], check=True)
    patterns = ("*_amd64.deb", "x86_64/*.apk", "all/*.apk")
    return {path.name: path for folder in folders for pattern in patterns for path in folder.glob(pattern)}


@pytest.fixture
def machine(tmp_path: Path, packages: dict[str, Path]) -> Iterator[Installed]:
    """A machine with a controller, installed and started as the page says."""
    with Installed(tmp_path) as made:
        # What this machine itself has dpkg run changes more than the packages; that is none of the reader's.
        made.do("rmdir /etc/airbound; mount -t tmpfs none /etc/dpkg/dpkg.cfg.d")
        for name, content in {"sudo": SUDO, "systemctl": SYSTEMCTL}.items():
            made.do(f"cat >/usr/local/bin/{name} <<'END'\n{content}END\nchmod 755 /usr/local/bin/{name}")
        for name, path in packages.items():
            if name.endswith(".deb"):
                made.do(f"cp {path} .")
        install, *others = CONTROLLER
        assert install.startswith("sudo apt install ")
        made.do(install)
        made.do("systemctl enable --now airbound-controller")  # as systemd does when the package is installed
        made.do(
            "for i in $(seq 600); do airbound health && exit 0; sleep 1; done; cat /var/log/airbound-controller; exit 1"
        )
        for command in others:
            made.do(command)
        yield made


def joined_by(machine: Installed, enroll: str) -> str:
    """The string that `enroll` prints; with the address that this machine has in its network."""
    [found] = set(re.findall(r"airbound1:[\w.:-]+", machine.do(enroll)))
    assert found.startswith(f"airbound1:{ADDRESS}:50051:50053:")
    return found


def test_no_way_has_more_than_ten_commands() -> None:
    counts = {"router": len(CONTROLLER + ROUTER), "laptop": len(CONTROLLER + LAPTOP)}
    assert counts == {"router": 9, "laptop": 8}
    assert max(counts.values()) <= COMMANDS_MAX


def test_a_laptop_is_listed(machine: Installed) -> None:
    enroll, install, join, start, doctor, listing = LAPTOP
    string = joined_by(machine, enroll)
    machine.do(install)
    assert STRING in join
    machine.do(join.replace(STRING, string))
    assert machine.do("stat -c '%U %a' /etc/airbound/phone.conf") == "root 600\n"
    machine.do("echo interface = wlan0 >>/etc/airbound/phone.conf")  # a laptop has a radio, which is found
    machine.do(start)
    assert "laptop-1" in machine.until_listed(listing, "laptop-1")
    assert "running and connected" in machine.do(doctor)
    assert "terminal/laptop-1" in machine.do("airbound enrolled")


def install_apk(router: AccessPoint, path: Path) -> None:
    """What `apk add` does: unpack, run the script."""
    package = Apk(path.read_bytes())
    for name, file in package.files.items():
        to = router.root / name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(file.content)
        to.chmod(file.mode)
    script = router.root / "tmp/post-install"
    script.write_text(package.scripts["post-install"], encoding="utf-8")
    script.chmod(0o755)
    router.run(f"/{script.relative_to(router.root)}")


def test_a_router_reports(machine: Installed, packages: dict[str, Path], tmp_path: Path) -> None:
    enroll, install, join, restart, stations, check, control = ROUTER
    string = joined_by(machine, enroll)
    router = AccessPoint(tmp_path / "router")
    router.make()
    program, action, *options, agent, interface = install.split()
    assert (program, action, options) == ("apk", "add", ["--allow-untrusted"])
    for name in (agent, interface):
        install_apk(router, packages[Path(name).name])
    assert router.service() is None
    router.run("/bin/sh", "-c", join.replace(STRING, string))
    word, service, action = restart.split()
    assert word == "service"
    router.run(f"/etc/init.d/{service}", action)
    said = router.service()
    assert said is not None
    flags = said["command"]
    values = dict(itertools.pairwise(flags))
    assert (values["--controller"], values["--enroll"]) == (f"{ADDRESS}:50051", f"{ADDRESS}:50053")
    token = (router.root / values["--token-file"][1:]).read_text(encoding="utf-8").strip()
    where = f"{values['--controller']} {values['--enroll']}"
    machine.start(f"{ROOT}/.venv/bin/python {ROOT}/docs/tests/access_point.py {token} {where}")
    machine.until_listed(stations, "02:00:00:00:01:05")
    assert check == "airbound check"
    machine.do("airbound check --help")  # it takes ten minutes, and real traffic: docs/tests/commands.toml
    machine.do(control)
    assert "control" in machine.do("airbound mode")
