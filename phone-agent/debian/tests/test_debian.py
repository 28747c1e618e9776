# SPDX-License-Identifier: Apache-2.0
"""The package for Debian and Ubuntu: what is in it, what tools of Debian find, installed and removed without a trace.

It is installed on this machine's own system: on a copy that vanishes with the test (overlayfs in a mount namespace).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
VERSION = "0.1.0-1"
UNIT = "usr/lib/systemd/system/airbound-phone.service"
FILES = {
    "./etc/airbound/phone.conf": "-rw-------",
    f"./{UNIT}": "-rw-r--r--",
    "./usr/sbin/airbound-phone": "-rwxr-xr-x",
    "./usr/share/doc/airbound-phone/changelog.Debian.gz": "-rw-r--r--",
    "./usr/share/doc/airbound-phone/copyright": "-rw-r--r--",
    "./usr/share/lintian/overrides/airbound-phone": "-rw-r--r--",
    "./usr/share/man/man8/airbound-phone.8.gz": "-rw-r--r--",
}
EXPOSURE_MAX = 25
"""Tenths of systemd's points from 0 (no access) to 10."""
BOOKKEEPING = ("var/lib/dpkg/", "var/lib/systemd/deb-systemd-helper-", "var/log/", "var/cache/", "test/")
"""What dpkg changes with any package."""


def deb(architecture: str) -> Path:
    made = os.environ.get("AIRBOUND_PACKAGES")
    if made is None:
        subprocess.run([REPOSITORY / "scripts/packages.sh", f"deb-{architecture}"], check=True)
        made = str(REPOSITORY / "build/packages")
    return Path(made) / f"airbound-phone_{VERSION}_{architecture}.deb"


@pytest.fixture(scope="module", params=["amd64", "arm64"])
def package(request: pytest.FixtureRequest) -> Path:
    return deb(request.param)


@pytest.fixture(scope="module")
def native() -> Path:
    return deb("amd64")


def output(*command: str | Path) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, (command, done.stdout)
    return done.stdout


def test_files_modes_and_metadata(package: Path) -> None:
    listed = [line.split() for line in output("dpkg-deb", "--contents", package).splitlines()]
    assert {line[1] for line in listed} == {"root/root"}
    assert {line[5]: line[0] for line in listed if not line[5].endswith("/")} == FILES
    fields = dict(
        line.split(": ", 1) for line in output("dpkg-deb", "--field", package).splitlines() if not line.startswith(" ")
    )
    assert (fields["Package"], fields["Version"]) == ("airbound-phone", VERSION)
    assert package.name == f"airbound-phone_{VERSION}_{fields['Architecture']}.deb"
    assert "Depends" not in fields
    assert output("dpkg-deb", "--info", package, "conffiles") == "/etc/airbound/phone.conf\n"


def test_debians_own_checker_finds_nothing(native: Path) -> None:
    strict = ("--fail-on", "error,warning", "--suppress-tags", "bad-distribution-in-changes-file")
    assert output("lintian", "--allow-root", *strict, native) == ""


def test_systemd_reads_the_unit_and_finds_it_closed(native: Path, tmp_path: Path) -> None:
    subprocess.run(["dpkg-deb", "--extract", native, tmp_path], check=True)
    # The program must be there, or systemd complains about that.
    text = (tmp_path / UNIT).read_text(encoding="utf-8")
    own = tmp_path / "airbound-phone.service"
    lines = [line for line in text.splitlines() if not line.startswith("Documentation=")]
    own.write_text("\n".join(lines).replace("/usr/sbin/", f"{tmp_path}/usr/sbin/"), encoding="utf-8")
    # systemd reads the units of the machine as well, and names those that it complains about by their paths there.
    complaints = output("systemd-analyze", "verify", "--man=no", own).splitlines()
    assert [line for line in complaints if not line.startswith(("/lib/systemd/", "/usr/lib/systemd/"))] == []
    threshold = f"--threshold={EXPOSURE_MAX}"
    output("systemd-analyze", "security", "--no-pager", "--offline=true", threshold, own)


SCRIPT = """set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/all"
mount -t overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" overlay "$1/all"
mkdir "$1/all/test"
mount --bind /dev "$1/all/dev"
# What the machine itself has dpkg run, as needrestart does, changes more than the package.
mount -t tmpfs tmpfs "$1/all/etc/dpkg/dpkg.cfg.d"
cp "$2" "$1/all/test/airbound-phone.deb"
PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1/all" /bin/sh -e -c "$3"
cd "$1/upper"
find . ! -type d -printf 'LEFT %P\\n'
find . -type d -empty -printf 'LEFT %P/\\n'
"""


def on_a_copy_of_this_system(package: Path, place: Path, commands: str) -> tuple[str, set[str]]:
    """Run commands, the package being /test/airbound-phone.deb; what they print, and what they change."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts and dpkg")
    printed = output("unshare", "--mount", "sh", "-c", SCRIPT, "sh", place, package, commands)
    left = {line.removeprefix("LEFT ") for line in printed.splitlines() if line.startswith("LEFT ")}
    new = {name for name in left if not (name.endswith("/") and Path("/", name).is_dir())}
    return printed, {name for name in new if not name.startswith(BOOKKEEPING)}


def test_installed_it_is_neither_enabled_nor_configured(native: Path, tmp_path: Path) -> None:
    printed, left = on_a_copy_of_this_system(
        native, tmp_path,
        "dpkg -i /test/airbound-phone.deb; airbound-phone status || echo status $?;"
        "! ls -l /etc/systemd/system/*/airbound-phone.service; airbound-phone run || echo run $?",
    )  # fmt: skip
    assert "status 3\n" in printed
    assert "--controller is missing" in printed
    assert "run 2\n" in printed
    assert {f"./{name}" for name in left} == FILES.keys()


def test_removed_it_leaves_configuration_and_key_and_purged_nothing(native: Path, tmp_path: Path) -> None:
    used = (
        "dpkg -i /test/airbound-phone.deb; echo 'controller = 192.0.2.1:50051' >>/etc/airbound/phone.conf;"
        "mkdir -m 700 -p /var/lib/airbound-phone; echo key >/var/lib/airbound-phone/key.pem;"
        "DPKG_MAINTSCRIPT_PACKAGE=airbound-phone deb-systemd-helper enable airbound-phone.service;"
        "dpkg -r airbound-phone;"
    )
    _, left = on_a_copy_of_this_system(native, tmp_path, used)
    # The last one masks the service, so that a link that enables it does no harm.
    assert left == {
        "etc/airbound/phone.conf",
        "var/lib/airbound-phone/key.pem",
        "etc/systemd/system/airbound-phone.service",
    }
    _, left = on_a_copy_of_this_system(native, tmp_path, used + "dpkg -P airbound-phone")
    assert left == set()


def test_an_upgrade_keeps_what_the_owner_has_configured(native: Path, tmp_path: Path) -> None:
    printed, _ = on_a_copy_of_this_system(
        native, tmp_path,
        "dpkg -i /test/airbound-phone.deb; echo 'mac = 02:00:00:00:00:01' >>/etc/airbound/phone.conf;"
        "dpkg -i /test/airbound-phone.deb; tail -n 1 /etc/airbound/phone.conf; stat -c %a /etc/airbound/phone.conf",
    )  # fmt: skip
    assert "mac = 02:00:00:00:00:01\n600\n" in printed
