# SPDX-License-Identifier: Apache-2.0
"""The controller's package for Debian and Ubuntu: what is in it, what Debian's tools find, and whether the controller
serves when it has been installed, without another command.

It is installed on a copy of this machine's own system (overlayfs in a mount namespace), without systemd: the test runs
the unit's command as the unit's user.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
UNIT = "usr/lib/systemd/system/airbound-controller.service"
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
EXPOSURE_MAX = 15
"""Tenths of systemd's points from 0 (no access) to 10."""
SHOWN_LINES = 9
"""The last lines of a failed command's output that an error shows: a run's summary shows twelve of an error."""


def output(*command: str | Path) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    end = "\n".join(done.stdout.splitlines()[-SHOWN_LINES:])
    assert done.returncode == 0, f"exit {done.returncode}\n{end}\n{command}"
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both are."""
    folder = tmp_path_factory.mktemp("packages")
    output(REPOSITORY / "scripts/controller-package.sh", "--output", folder)
    return folder


def package(packages: Path, architecture: str) -> Path:
    [found] = packages.glob(f"airbound-controller_*_{architecture}.deb")
    return found


@pytest.mark.parametrize("architecture", MACHINES)
def test_each_python_finds_modules_of_its_own(packages: Path, architecture: str) -> None:
    listed = [
        line.split()[5] for line in output("dpkg-deb", "--contents", package(packages, architecture)).splitlines()
    ]
    extensions = [name for name in listed if name.endswith(".so")]
    for python in PYTHONS:
        place = f"./usr/lib/airbound/lib/python{python}/site-packages/"
        tag = f".cpython-{python.replace('.', '')}-{MACHINES[architecture]}-linux-gnu.so"
        own = [name for name in extensions if name.startswith(place)]
        assert [name for name in own if not name.endswith(tag)] == []
        assert f"{place}grpc/_cython/cygrpc{tag}" in own
        assert f"{place}airbound.pth" in listed
    assert [name for name in extensions if "/common/" in name and not name.endswith(".abi3.so")] == []
    assert "./usr/lib/airbound/common/airbound/operator/cli.py" in listed


def test_the_same_sources_give_the_same_bytes(packages: Path, tmp_path: Path) -> None:
    output(REPOSITORY / "scripts/controller-package.sh", "--output", tmp_path, "amd64")
    assert package(tmp_path, "amd64").read_bytes() == package(packages, "amd64").read_bytes()


def test_debians_own_checker_finds_nothing(packages: Path) -> None:
    strict = ("--fail-on", "error,warning", "--suppress-tags", "bad-distribution-in-changes-file")
    assert output("lintian", "--allow-root", *strict, package(packages, "amd64")) == ""


def test_systemd_reads_the_unit_and_finds_it_closed(packages: Path, tmp_path: Path) -> None:
    output("dpkg-deb", "--extract", package(packages, "amd64"), tmp_path)
    # The program must be there, or systemd complains about that.
    text = (tmp_path / UNIT).read_text(encoding="utf-8")
    own = tmp_path / "airbound-controller.service"
    lines = [line for line in text.splitlines() if not line.startswith("Documentation=")]
    program = tmp_path / "usr/lib/airbound/bin/airbound"
    own.write_text("\n".join(lines).replace("/usr/bin/airbound", str(program)), encoding="utf-8")
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
mount -t proc proc "$1/all/proc"
mount --bind /dev "$1/all/dev"
mount -t tmpfs tmpfs "$1/all/run"
# What the machine itself has dpkg run, as needrestart does, changes more than the package.
mount -t tmpfs tmpfs "$1/all/etc/dpkg/dpkg.cfg.d"
ip link set lo up
cp "$2" "$1/all/test/package.deb"
PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1/all" /bin/sh -e -c "$3"
cd "$1/upper"
find . ! -type d -printf 'LEFT %P\\n'
"""
OF_DPKG = ("var/lib/dpkg/", "var/lib/systemd/deb-systemd-helper-", "var/log/", "var/cache/", "test/")
"""What dpkg changes with any package."""
USERS = re.compile(r"etc/(passwd|group|shadow|gshadow|subuid|subgid)-?|etc/\.pwd\.lock")


def on_a_copy_of_this_system(deb: Path, place: Path, commands: str) -> tuple[str, set[str]]:
    """Run commands, the package being /test/package.deb; what they print, and what they leave."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts and dpkg")
    printed = output("unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c", SCRIPT, "sh", place, deb, commands)
    left = {line.removeprefix("LEFT ") for line in printed.splitlines() if line.startswith("LEFT ")}
    return printed, {name for name in left if not name.startswith(OF_DPKG) and not USERS.fullmatch(name)}


PATIENT = "--timeout 60"  # a busy machine answers later than a person waits
INSTALLED = "dpkg -i /test/package.deb;"
SERVED = (
    # What systemd does before it starts the unit, and how.
    "install -d -o airbound -g airbound -m 0750 /run/airbound;"
    "command=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/airbound-controller.service);"
    "runuser -u airbound -- $command >/test/log 2>&1 & "
    "tries=0; until airbound health >/test/health 2>&1; do"
    " tries=$((tries + 1)); [ $tries -lt 600 ] || { cat /test/health /test/log; exit 1; }; sleep 0.1; done;"
)
ENDED = (  # as systemd waits for a unit's processes: the controller removes its front's directory last
    "pkill -u airbound; tries=0; while pgrep -u airbound >/dev/null; do"
    " tries=$((tries + 1)); [ $tries -lt 600 ] || { ps -u airbound -f; cat /test/log; exit 1; }; sleep 0.1; done;"
)


def test_installed_it_serves_and_makes_tokens_without_another_command(packages: Path, tmp_path: Path) -> None:
    printed, _ = on_a_copy_of_this_system(
        package(packages, "amd64"), tmp_path,
        INSTALLED + SERVED + f"airbound cells {PATIENT}; airbound enroll operator alice {PATIENT} >/test/made;"
        "head -n 1 /test/made >/test/token; airbound login --enroll 127.0.0.1:50053 --token - --tls-dir /test/alice"
        f" {PATIENT} </test/token; airbound enrolled {PATIENT};"
        "runuser -u nobody -- airbound cells || echo nobody $?; stat -c '%U %a %n' /var/lib/airbound/ca/*;"
        "/usr/lib/airbound/bin/python3 -I -c 'import airbound; print(*airbound.__path__)';" + ENDED,
    )  # fmt: skip
    assert "No access point has reported. " in printed
    assert re.search(r"^operator/alice +", printed, re.MULTILINE), printed
    assert re.search(r"^nobody [1-9]", printed, re.MULTILINE)  # who is not in the group does not reach the socket
    assert "/usr/lib/airbound/common/airbound\n" in printed
    assert "airbound 600 /var/lib/airbound/ca/authority-key.pem\n" in printed


def test_removed_it_leaves_its_authority_and_purged_nothing(packages: Path, tmp_path: Path) -> None:
    used = INSTALLED + SERVED + ENDED + "dpkg -r airbound-controller;"
    _, left = on_a_copy_of_this_system(package(packages, "amd64"), tmp_path, used)
    assert "etc/airbound/controller.toml" in left
    assert any(name.startswith("var/lib/airbound/ca/") for name in left)
    assert not any(name.startswith("usr/") for name in left), left
    _, left = on_a_copy_of_this_system(package(packages, "amd64"), tmp_path, used + "dpkg -P airbound-controller")
    assert left == set()


def test_an_upgrade_keeps_configuration_authority_and_certificates(packages: Path, tmp_path: Path) -> None:
    printed, _ = on_a_copy_of_this_system(
        package(packages, "amd64"), tmp_path,
        INSTALLED + "echo 'mode = \"observe\"' >/etc/airbound/controller.toml; sha256sum /var/lib/airbound/ca/*;"
        "dpkg -i /test/package.deb; cat /etc/airbound/controller.toml; sha256sum /var/lib/airbound/ca/*",
    )  # fmt: skip
    assert 'mode = "observe"\n' in printed
    sums = re.findall(r"^[0-9a-f]{64}  .*$", printed, re.MULTILINE)
    assert sums
    assert sums[: len(sums) // 2] == sums[len(sums) // 2 :]
