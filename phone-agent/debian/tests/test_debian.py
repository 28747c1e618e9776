# SPDX-License-Identifier: Apache-2.0
"""The packages for Debian and Ubuntu: what is in them, what tools of Debian find, how they are installed and removed.

They are installed on this machine's own system: on a copy that vanishes with the test (overlayfs in a mount namespace).
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
VERSION = "0.1.0-1"
UNIT = "usr/lib/systemd/system/airbound-phone.service"
PHONE, HANDOVER = "airbound-phone", "airbound-handover"
PHONE_FILES = {
    "./etc/airbound/phone.conf": "-rw-------",
    f"./{UNIT}": "-rw-r--r--",
    "./usr/sbin/airbound-phone": "-rwxr-xr-x",
    "./usr/share/doc/airbound-phone/changelog.Debian.gz": "-rw-r--r--",
    "./usr/share/doc/airbound-phone/copyright": "-rw-r--r--",
    "./usr/share/lintian/overrides/airbound-phone": "-rw-r--r--",
    "./usr/share/man/man8/airbound-phone.8.gz": "-rw-r--r--",
}
HANDOVER_FILES = {
    "./usr/bin/airbound-handover": "-rwxr-xr-x",
    "./usr/share/doc/airbound-handover/changelog.Debian.gz": "-rw-r--r--",
    "./usr/share/doc/airbound-handover/copyright": "-rw-r--r--",
    "./usr/share/lintian/overrides/airbound-handover": "-rw-r--r--",
    "./usr/share/man/man1/airbound-handover.1.gz": "-rw-r--r--",
}
FILES = {PHONE: PHONE_FILES, HANDOVER: HANDOVER_FILES}
CONTROL = {
    PHONE: {"conffiles", "control", "md5sums", "postinst", "postrm", "prerm"},
    HANDOVER: {"control", "md5sums"},
}
EXPOSURE_MAX = 25
"""Tenths of systemd's points from 0 (no access) to 10."""
BOOKKEEPING = ("var/lib/dpkg/", "var/lib/systemd/deb-systemd-helper-", "var/log/", "var/cache/", "test/")
"""What dpkg changes with any package."""


def deb(name: str, architecture: str) -> Path:
    made = os.environ.get("AIRBOUND_PACKAGES")
    if made is None:
        subprocess.run([REPOSITORY / "scripts/packages.sh", f"deb-{architecture}"], check=True)
        made = str(REPOSITORY / "build/packages")
    return Path(made) / f"{name}_{VERSION}_{architecture}.deb"


@pytest.fixture(scope="module")
def native() -> Path:
    return deb(PHONE, "amd64")


@pytest.fixture(scope="module")
def native_handover() -> Path:
    return deb(HANDOVER, "amd64")


def output(*command: str | Path) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, (command, done.stdout)
    return done.stdout


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
@pytest.mark.parametrize("name", FILES)
def test_files_modes_and_metadata(name: str, architecture: str, tmp_path: Path) -> None:
    package = deb(name, architecture)
    listed = [line.split() for line in output("dpkg-deb", "--contents", package).splitlines()]
    assert {line[1] for line in listed} == {"root/root"}
    assert {line[5]: line[0] for line in listed if not line[5].endswith("/")} == FILES[name]
    fields = dict(
        line.split(": ", 1) for line in output("dpkg-deb", "--field", package).splitlines() if not line.startswith(" ")
    )
    assert (fields["Package"], fields["Version"], fields["Architecture"]) == (name, VERSION, architecture)
    assert "Depends" not in fields
    output("dpkg-deb", "--control", package, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == CONTROL[name]
    if "conffiles" in CONTROL[name]:
        assert (tmp_path / "conffiles").read_text(encoding="utf-8") == "/etc/airbound/phone.conf\n"


@pytest.mark.parametrize("name", FILES)
def test_debians_own_checker_finds_nothing(name: str) -> None:
    strict = ("--fail-on", "error,warning", "--suppress-tags", "bad-distribution-in-changes-file")
    assert output("lintian", "--allow-root", *strict, deb(name, "amd64")) == ""


@pytest.mark.parametrize(("name", "page"), [(PHONE, "man8/airbound-phone.8"), (HANDOVER, "man1/airbound-handover.1")])
def test_the_manual_page_has_every_command_and_no_flag_that_there_is_not(name: str, page: str, tmp_path: Path) -> None:
    output("dpkg-deb", "--extract", deb(name, "amd64"), tmp_path)
    [program] = tmp_path.glob(f"usr/*bin/{name}")
    [text] = (gzip.decompress(path.read_bytes()).decode() for path in tmp_path.glob(f"usr/share/man/{page}.gz"))
    text = text.replace("\\-", "-")
    listed = output(program, "--help").partition("Commands:\n")[2].partition("\n\n")[0]
    commands = [line.split()[0] for line in listed.splitlines()]
    assert len(commands) > 1
    assert [command for command in commands if not re.search(rf"\b{command}\b", text)] == []
    flags = "".join(output(program, command, "--help") for command in commands) + "--help"
    # The flag package of Go lists them with one dash.
    assert [flag for flag in re.findall(r"--([a-z-]+)", text) if not re.search(rf"-{flag}\b", flags)] == []


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
cp "$2" "$1/all/test/package.deb"
PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1/all" /bin/sh -e -c "$3"
cd "$1/upper"
find . ! -type d -printf 'LEFT %P\\n'
find . -type d -empty -printf 'LEFT %P/\\n'
"""


def on_a_copy_of_this_system(package: Path, place: Path, commands: str) -> tuple[str, set[str]]:
    """Run commands, the package being /test/package.deb; what they print, and what they change."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts and dpkg")
    printed = output("unshare", "--mount", "sh", "-c", SCRIPT, "sh", place, package, commands)
    left = {line.removeprefix("LEFT ") for line in printed.splitlines() if line.startswith("LEFT ")}
    new = {name for name in left if not (name.endswith("/") and Path("/", name).is_dir())}
    return printed, {name for name in new if not name.startswith(BOOKKEEPING)}


def test_installed_it_is_neither_enabled_nor_configured(native: Path, tmp_path: Path) -> None:
    printed, left = on_a_copy_of_this_system(
        native, tmp_path,
        "dpkg -i /test/package.deb; airbound-phone status || echo status $?;"
        "! ls -l /etc/systemd/system/*/airbound-phone.service; airbound-phone run || echo run $?",
    )  # fmt: skip
    assert "status 3\n" in printed
    assert "--controller is missing" in printed
    assert "run 2\n" in printed
    assert {f"./{name}" for name in left} == PHONE_FILES.keys()


def test_removed_it_leaves_configuration_and_key_and_purged_nothing(native: Path, tmp_path: Path) -> None:
    used = (
        "dpkg -i /test/package.deb; echo 'controller = 192.0.2.1:50051' >>/etc/airbound/phone.conf;"
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
        "dpkg -i /test/package.deb; echo 'mac = 02:00:00:00:00:01' >>/etc/airbound/phone.conf;"
        "dpkg -i /test/package.deb; tail -n 1 /etc/airbound/phone.conf; stat -c %a /etc/airbound/phone.conf",
    )  # fmt: skip
    assert "mac = 02:00:00:00:00:01\n600\n" in printed


PIPE = (
    "dpkg -i /test/package.deb; mkfifo /test/listening;"
    "airbound-handover receive --listen 127.0.0.1:0 --plain-text >/test/received 2>/test/listening & receiver=$!;"
    "read -r _ _ address </test/listening;"
    "echo a record | airbound-handover send --to $address --plain-text; wait $receiver; cat /test/received"
)


def test_what_is_sent_by_the_installed_handover_arrives_and_removed_it_leaves_nothing(
    native_handover: Path, tmp_path: Path
) -> None:
    printed, left = on_a_copy_of_this_system(native_handover, tmp_path, PIPE)
    assert "a record\n" in printed
    assert {f"./{name}" for name in left} == HANDOVER_FILES.keys()
    _, left = on_a_copy_of_this_system(
        native_handover, tmp_path, "dpkg -i /test/package.deb; dpkg -r airbound-handover; dpkg -P airbound-handover"
    )
    assert left == set()
