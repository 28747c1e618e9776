# SPDX-License-Identifier: Apache-2.0
"""What is in the packages of every architecture, and that the same sources give the same bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
from access_point import NATIVE, OPENWRT, REPOSITORY, members
from apk_file import Apk

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "0.1.0-r1"
FILES = OPENWRT / "airbound-ap/files"
SCRIPTS = OPENWRT / "airbound-ap/scripts"
INSTALLED = {
    "etc/capabilities/airbound-ap.json": (0o644, FILES / "airbound-ap.capabilities.json"),
    "etc/capabilities/airbound-ap-windows.json": (0o644, FILES / "airbound-ap-windows.capabilities.json"),
    "etc/config/airbound": (0o600, FILES / "airbound.config"),
    "etc/init.d/airbound-ap": (0o755, FILES / "airbound-ap.init"),
    "lib/upgrade/keep.d/airbound-ap": (0o644, FILES / "airbound-ap.keep"),
}
PROGRAM = "usr/sbin/airbound-ap"
ARCHITECTURES = [
    line.split()[0]
    for line in (OPENWRT / "architectures.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
# Machine, class and order of bytes in the header of an ELF file: elf(5).
ELF = {"mips": (8, 1, ">"), "mipsle": (8, 1, "<"), "arm": (40, 1, "<"), "arm64": (183, 2, "<"), "amd64": (62, 2, "<")}
PT_INTERP = 3
SHT_SYMTAB, SHT_RELA, SHT_REL = 2, 4, 9


@pytest.fixture(params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def only(directory: Path, ending: str) -> Path:
    [path] = directory.glob(f"*{ending}")
    return path


def goarch(architecture: str) -> str:
    for line in (OPENWRT / "architectures.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{architecture} "):
            return line.split()[1]
    raise KeyError(architecture)


def section_types(program: bytes, bits: int, order: str) -> set[int]:
    """Of the sections. Their names do not tell: the programs for BPF inside have a `.symtab` of their own."""
    start = struct.unpack_from(f"{order}{'I' if bits == 1 else 'Q'}", program, 32 if bits == 1 else 40)[0]
    size, count = struct.unpack_from(f"{order}HH", program, 46 if bits == 1 else 58)
    assert count
    return {struct.unpack_from(f"{order}I", program, start + i * size + 4)[0] for i in range(count)}


def check_program(program: bytes, architecture: str) -> None:
    """Of this architecture, static and without symbols."""
    machine, bits, order = ELF[goarch(architecture)]
    assert program[:4] == b"\x7fELF"
    assert (program[4], program[5]) == (bits, 2 if order == ">" else 1)
    assert struct.unpack_from(f"{order}H", program, 18) == (machine,)
    assert not section_types(program, bits, order) & {SHT_SYMTAB, SHT_RELA, SHT_REL}
    offset = struct.unpack_from(f"{order}{'I' if bits == 1 else 'Q'}", program, 28 if bits == 1 else 32)[0]
    size, count = struct.unpack_from(f"{order}HH", program, 42 if bits == 1 else 54)
    kinds = [struct.unpack_from(f"{order}I", program, offset + i * size)[0] for i in range(count)]
    assert PT_INTERP not in kinds


def test_the_ipk_has_these_files_and_these_metadata(packages: Path, architecture: str) -> None:
    path = only(packages / architecture, ".ipk")
    assert path.name == f"airbound-ap_{VERSION}_{architecture}.ipk"
    archive = path.read_bytes()
    with members(archive, "data.tar.gz") as data:
        files = {member.name.removeprefix("./"): member for member in data if member.isfile()}
        assert files.keys() == {*INSTALLED, PROGRAM}
        for name, (mode, source) in INSTALLED.items():
            content = data.extractfile(files[name])
            assert content
            assert (files[name].mode & 0o7777, content.read()) == (mode, source.read_bytes())
        program = data.extractfile(files[PROGRAM])
        assert program
        check_program(program.read(), architecture)
        assert files[PROGRAM].mode & 0o7777 == 0o755
        assert {(member.uid, member.gid) for member in data} == {(0, 0)}
        assert len({member.mtime for member in data}) == 1
    with members(archive, "control.tar.gz") as control:
        texts = {}
        for member in control:
            content = control.extractfile(member)
            assert content
            texts[member.name] = content.read()
        assert {member.name for member in control if member.mode & 0o111} == {"./postinst", "./prerm", "./postrm"}
    assert texts["./conffiles"] == b"/etc/config/airbound\n"
    for name, script in (("postinst", "post-install"), ("prerm", "pre-remove"), ("postrm", "post-remove")):
        assert texts[f"./{name}"] == (SCRIPTS / f"{script}.sh").read_bytes()
    fields = dict(line.split(": ", 1) for line in texts["./control"].decode().splitlines())
    assert fields["Package"] == "airbound-ap"
    assert fields["Version"] == VERSION
    assert fields["Architecture"] == architecture
    assert fields["Require-User"] == "network=101:network=101"
    assert "Depends" not in fields
    assert "$" not in "".join(fields.values())


def test_the_apk_has_the_same_files_and_openwrts_own(packages: Path, architecture: str) -> None:
    path = only(packages / architecture, ".apk")
    # An index of a repository has this name.
    assert path.name == f"airbound-ap-{VERSION}.apk"
    apk = Apk(path.read_bytes())
    assert apk.info["name"] == "airbound-ap"
    assert apk.info["version"] == VERSION
    assert apk.info["arch"] == architecture
    assert apk.info["license"] == "Apache-2.0"
    assert apk.depends == []
    with members(only(packages / architecture, ".ipk").read_bytes(), "data.tar.gz") as data:
        for member in data:
            content = data.extractfile(member)
            name = member.name.removeprefix("./")
            if content:
                assert apk.files[name] == (member.mode & 0o7777, ("root", "root"), member.mtime, content.read())
    own = {name: file for name, file in apk.files.items() if name.startswith("lib/apk/packages/")}
    digest = hashlib.sha256((FILES / "airbound.config").read_bytes()).hexdigest()
    listed = own.pop("lib/apk/packages/airbound-ap.list").content.decode().split()
    assert {name: file.content.decode() for name, file in own.items()} == {
        "lib/apk/packages/airbound-ap.conffiles": "/etc/config/airbound\n",
        "lib/apk/packages/airbound-ap.conffiles_static": f"/etc/config/airbound {digest}\n",
        "lib/apk/packages/airbound-ap.rusers": "network=101:network=101\n",
    }
    assert {f"/{name}" for name in apk.files} - set(listed) == {
        "/lib/apk/packages/airbound-ap.conffiles", "/lib/apk/packages/airbound-ap.conffiles_static",
    }  # fmt: skip
    assert set(listed) <= {f"/{name}" for name in apk.files}
    assert set(apk.directories.values()) == {0o755}
    assert apk.installed_size == sum(len(file.content) for file in apk.files.values())
    assert apk.scripts == {
        "post-install": (SCRIPTS / "post-install.sh").read_text(encoding="utf-8"),
        "post-upgrade": (SCRIPTS / "post-install.sh").read_text(encoding="utf-8"),
        "pre-deinstall": (SCRIPTS / "pre-remove.sh").read_text(encoding="utf-8"),
        "post-deinstall": (SCRIPTS / "post-remove.sh").read_text(encoding="utf-8"),
    }


def test_the_source_tarball_has_all_modules_and_no_tests(packages: Path) -> None:
    listing = subprocess.check_output(["tar", "-tzf", only(packages, ".tar.gz")], text=True).splitlines()
    assert {name.partition("/")[0] for name in listing} == {"airbound-0.1.0"}
    names = {name.partition("/")[2] for name in listing}
    assert {"LICENSE", "go.mod", "VERSION", "vendor/modules.txt", "ap-firmware/cmd/airbound-ap/main.go"} <= names
    assert not [name for name in names if name.endswith("_test.go") and not name.startswith("vendor/")]


def test_another_place_time_umask_and_language_give_the_same_bytes(packages: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "quite another place"
    excluded = ("build", "out", ".venv", ".mypy_cache", ".ruff_cache", ".hypothesis", ".pytest_cache")
    copy = [f"--exclude=/{name}" for name in excluded]
    subprocess.run(["rsync", "-r", "--links", "--perms", *copy, f"{REPOSITORY}/", elsewhere], check=True)
    (elsewhere / ".venv").symlink_to(REPOSITORY / ".venv")
    for directory, _, names in os.walk(elsewhere / "ap-firmware"):
        for name in names:
            os.utime(f"{directory}/{name}", (1, 1))
    # Another owner's copy: git would refuse it otherwise.
    environment = os.environ | {
        "TZ": "Pacific/Auckland", "LANG": "tr_TR.UTF-8",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(elsewhere),
    }  # fmt: skip
    built = tmp_path / "built"
    subprocess.run(
        [elsewhere / "scripts/packages.sh", "--output", built, "--programs", tmp_path / "programs", NATIVE],
        check=True, env=environment, umask=0o077,
    )  # fmt: skip
    for ours in (
        only(packages, ".tar.gz"),
        *sorted((packages / NATIVE).iterdir()),
        *sorted((packages / "all").iterdir()),
    ):
        theirs = built / ours.relative_to(packages)
        assert hashlib.sha256(theirs.read_bytes()).hexdigest() == hashlib.sha256(ours.read_bytes()).hexdigest(), ours
    shutil.rmtree(elsewhere)


def test_scripts_are_ones_that_busybox_can_read() -> None:
    scripts = [*SCRIPTS.glob("*.sh"), FILES / "airbound-ap.init"]
    assert len(scripts) == 4
    for script in scripts:
        subprocess.run(["/bin/busybox", "ash", "-n", script], check=True)
        assert script == FILES / "airbound-ap.init" or script.stat().st_mode & stat.S_IXUSR
