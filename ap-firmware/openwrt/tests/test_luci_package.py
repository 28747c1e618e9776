# SPDX-License-Identifier: Apache-2.0
"""What is in the packages of the LuCI application, and that installing and removing them leaves LuCI no old menu."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from access_point import REPOSITORY, members
from apk_file import Apk
from test_packages import VERSION, only

if TYPE_CHECKING:
    from pathlib import Path

    from access_point import AccessPoint

NAME = "luci-app-airbound"
DEPENDS = {"luci-base", "airbound-ap", "rpcd-mod-iwinfo"}
LUCI = REPOSITORY / "ap-firmware/luci"
RELOAD = (LUCI / "scripts/reload.sh").read_text(encoding="utf-8")
LIST = f"lib/apk/packages/{NAME}.list"


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, bytes]:
    """The files that install.sh installs."""
    subprocess.run([LUCI / "install.sh", tmp_path], check=True)
    return {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_the_ipk_has_these_files_and_these_metadata(packages: Path, installed: dict[str, bytes]) -> None:
    path = only(packages / "all", ".ipk")
    assert path.name == f"{NAME}_{VERSION}_all.ipk"
    archive = path.read_bytes()
    with members(archive, "data.tar.gz") as data:
        found = {}
        for member in data:
            content = data.extractfile(member)
            if content:
                found[member.name.removeprefix("./")] = content.read()
                assert member.mode & 0o7777 == 0o644
        assert found == installed
        assert {(member.uid, member.gid) for member in data} == {(0, 0)}
        assert len({member.mtime for member in data}) == 1
    with members(archive, "control.tar.gz") as control:
        texts = {}
        for member in control:
            content = control.extractfile(member)
            assert content
            texts[member.name] = content.read().decode()
        assert {member.name for member in control if member.mode & 0o111} == {"./postinst", "./postrm"}
    assert texts["./postinst"] == texts["./postrm"] == RELOAD
    assert texts["./conffiles"].split() == []
    fields = dict(line.split(": ", 1) for line in texts["./control"].splitlines())
    assert fields["Package"] == NAME
    assert fields["Version"] == VERSION
    assert fields["Architecture"] == "all"
    assert set(fields["Depends"].split(", ")) == DEPENDS
    assert "$" not in "".join(fields.values())


def test_the_apk_has_the_same_files_and_a_list_of_them(packages: Path, installed: dict[str, bytes]) -> None:
    path = only(packages / "all", ".apk")
    assert path.name == f"{NAME}-{VERSION}.apk"
    apk = Apk(path.read_bytes())
    assert apk.info["name"] == NAME
    assert apk.info["version"] == VERSION
    assert apk.info["arch"] == "noarch"
    assert apk.info["license"] == "Apache-2.0"
    assert apk.depends == sorted(DEPENDS)
    own = apk.files.pop(LIST)
    assert own.content.decode().split() == sorted(f"/{name}" for name in (*installed, LIST))
    assert {name: file.content for name, file in apk.files.items()} == installed
    assert {(file.mode, file.owner) for file in (own, *apk.files.values())} == {(0o644, ("root", "root"))}
    assert set(apk.directories.values()) == {0o755}
    assert {name: text for name, text in apk.scripts.items() if text} == {
        "post-install": RELOAD, "post-upgrade": RELOAD, "post-deinstall": RELOAD,
    }  # fmt: skip


def test_it_is_installed_and_removed_and_luci_reads_menu_and_rights_anew(
    access_point: AccessPoint, packages: Path
) -> None:
    rpcd = access_point.root / "etc/init.d/rpcd"
    rpcd.write_text('#!/bin/sh\necho "rpcd $1" >>/tmp/told\n', encoding="utf-8")
    rpcd.chmod(0o755)
    caches = [access_point.root / "tmp" / name for name in ("luci-indexcache.1", "luci-modulecache/x")]
    before = access_point.files()
    menu = access_point.root / "usr/share/luci/menu.d/luci-app-airbound.json"
    for change, stays in (
        (lambda: access_point.install_ipk(only(packages / "all", ".ipk")), True),
        (lambda: access_point.remove_ipk(NAME), False),
    ):
        for cache in caches:
            cache.parent.mkdir(exist_ok=True)
            cache.write_text("old", encoding="utf-8")
        change()
        assert not any(cache.exists() for cache in caches)
        assert menu.exists() == stays
    assert (access_point.root / "tmp/told").read_text() == "rpcd reload\n" * 2
    after = access_point.files()
    assert {name for name, what in after.items() if before.get(name) != what} == {"tmp/told"}
