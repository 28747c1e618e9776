# SPDX-License-Identifier: Apache-2.0
"""A root file system of OpenWrt's layout, in which packages are installed and removed as opkg and apk do.

Its shell and tools are busybox, as on OpenWrt. What OpenWrt brings besides is in root/: small stand-ins. procd's writes
down what an init script says about its service; who uses this module plays procd.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

REPOSITORY = Path(__file__).parents[3]
OPENWRT = REPOSITORY / "ap-firmware/openwrt"
NATIVE = "x86_64"
"""OpenWrt's name of this machine's architecture."""
STAND_INS = Path(__file__).with_name("root")
BUSYBOX = Path("/bin/busybox")
DIRECTORIES = ("bin", "dev", "etc/config", "etc/init.d", "etc/rc.d", "lib", "proc", "root", "sbin", "tmp",
               "usr/lib/opkg/info", "usr/sbin", "var/log", "var/run")  # fmt: skip
USERS = "root:x:0:0:root:/root:/bin/ash\n"
GROUPS = "root:x:0:\n"
CONFIG = "etc/config/airbound"
UJAIL = "sbin/ujail"
NETWORK = 101
"""User and group `network`, hostapd's."""
SMALL_BYTES = 1 << 16


def members(archive: bytes, name: str) -> tarfile.TarFile:
    """An archive inside an .ipk, which is itself one."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as outer:
        inner = outer.extractfile(f"./{name}")
        assert inner
        return tarfile.open(fileobj=io.BytesIO(inner.read()))


class AccessPoint:
    """The root file system in a directory; commands run in it by chroot(2), so as root."""

    def __init__(self, directory: Path) -> None:
        self.root = directory

    def make(self) -> None:
        """Fill the directory, as OpenWrt is without the package."""
        directory = self.root
        for name in DIRECTORIES:
            (directory / name).mkdir(parents=True, exist_ok=True)
        os.mknod(directory / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        shutil.copy(BUSYBOX, directory / "bin/busybox")
        for applet in subprocess.check_output([BUSYBOX, "--list-full"], text=True).split():
            link = directory / applet
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists():
                link.symlink_to("/bin/busybox")
        for stand_in in STAND_INS.rglob("*"):
            if stand_in.is_file():
                to = directory / stand_in.relative_to(STAND_INS)
                to.parent.mkdir(parents=True, exist_ok=True)
                to.unlink(missing_ok=True)
                shutil.copy(stand_in, to)
        (directory / "etc/passwd").write_text(USERS, encoding="utf-8")
        (directory / "etc/group").write_text(GROUPS, encoding="utf-8")
        self.add_ujail()

    def add_ujail(self) -> None:
        (self.root / UJAIL).write_text("#!/bin/false\n", encoding="utf-8")
        (self.root / UJAIL).chmod(0o755)

    def run(self, *command: str, environment: Mapping[str, str] | None = None, status: int | None = 0) -> str:
        """Run a command in the root file system; its output. Its exit status must be `status`, if that is given."""
        done = subprocess.run(
            ["chroot", self.root, *command], capture_output=True, text=True, check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **(environment or {})},
        )  # fmt: skip
        assert status is None or done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def install_ipk(self, ipk: Path) -> None:
        """What `opkg install` does: unpack, note the files, run the script."""
        archive = ipk.read_bytes()
        package = ipk.name.partition("_")[0]
        info = self.root / "usr/lib/opkg/info"
        data_member = ["tar", "-xzOf", ipk, "./data.tar.gz"]
        unpack = [
            "tar",
            "-xzpf",
            "-",
            "--numeric-owner",
            "--no-overwrite-dir",
            "--warning=no-timestamp",
            "-C",
            self.root,
        ]
        subprocess.run(unpack, input=subprocess.check_output(data_member), check=True)
        with members(archive, "data.tar.gz") as data:
            files = [f"/{member.name.removeprefix('./')}" for member in data if member.isfile()]
        with members(archive, "control.tar.gz") as control:
            for member in control:
                if member.isfile():
                    source = control.extractfile(member)
                    assert source
                    path = info / f"{package}.{Path(member.name).name}"
                    path.write_bytes(source.read())
                    path.chmod(member.mode)
        (info / f"{package}.list").write_text("".join(f"{name}\n" for name in files), encoding="utf-8")
        self._run_script(f"{package}.postinst", "configure")

    def remove_ipk(self, package: str = "airbound-ap") -> None:
        """What `opkg remove` does: run the scripts, remove the files but configuration that was changed."""
        info = self.root / "usr/lib/opkg/info"
        self._run_script(f"{package}.prerm", "remove")
        conffiles = info / f"{package}.conffiles"
        kept = conffiles.read_text(encoding="utf-8").split() if conffiles.exists() else []
        for name in (info / f"{package}.list").read_text(encoding="utf-8").split():
            if name not in kept:
                (self.root / name[1:]).unlink()
                self._remove_empty(Path(name[1:]).parent)
        self._run_script(f"{package}.postrm", "remove")
        for path in info.glob(f"{package}.*"):
            path.unlink()

    def _run_script(self, name: str, action: str) -> None:
        if (self.root / "usr/lib/opkg/info" / name).exists():
            self.run(f"/usr/lib/opkg/info/{name}", action)

    def _remove_empty(self, directory: Path) -> None:
        """Remove it and those above it, as far as they are empty and no part of OpenWrt."""
        while str(directory) not in DIRECTORIES and directory.name and not any((self.root / directory).iterdir()):
            (self.root / directory).rmdir()
            directory = directory.parent

    def configure(self, *lines: str) -> None:
        """Replace the configuration."""
        text = "config airbound 'main'\n" + "".join(f"\t{line}\n" for line in lines)
        (self.root / CONFIG).write_text(text, encoding="utf-8")

    def init(self, action: str) -> str:
        """Run the init script; what it printed."""
        return self.run("/etc/init.d/airbound-ap", action)

    def service(self) -> dict[str, list[str]] | None:
        """What procd was told to run, by parameter; None if nothing."""
        path = self.root / "var/run/procd/airbound-ap"
        if not path.exists():
            return None
        told: dict[str, list[str]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, _, value = line.partition("\t")
            told.setdefault(kind, []).append(value)
        return told

    def log(self) -> str:
        """What was logged."""
        path = self.root / "var/log/messages"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def files(self) -> dict[str, str]:
        """All files but those of /proc, and what each is: type, mode, owner, and the content of small ones."""
        found = {}
        for directory, directories, names in os.walk(self.root):
            if Path(directory) == self.root:
                directories.remove("proc")
            for name in (*directories, *names):
                path = Path(directory, name)
                status = path.lstat()
                content = ""
                if path.is_symlink():
                    content = str(path.readlink())
                elif path.is_file():
                    is_small = status.st_size < SMALL_BYTES  # others are programs
                    content = path.read_text(encoding="utf-8") if is_small else str(status.st_size)
                what = f"{status.st_mode:o} {status.st_uid}:{status.st_gid} {content}"
                found[str(path.relative_to(self.root))] = what
        return found
