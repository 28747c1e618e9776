# SPDX-License-Identifier: Apache-2.0
"""The Makefile for OpenWrt's build system, read with small stand-ins for what it includes, not with OpenWrt's own."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from access_point import OPENWRT
from test_packages import INSTALLED, PROGRAM, SCRIPTS

if TYPE_CHECKING:
    from pathlib import Path

FEED = OPENWRT / "airbound-ap"
RULES = """BUILD_DIR := $(TOPDIR)/build
INCLUDE_DIR := $(TOPDIR)/include
INSTALL_DIR := install -d -m0755
INSTALL_BIN := install -m0755
INSTALL_CONF := install -m0600
INSTALL_DATA := install -m0644
GO_ARCH_DEPENDS := @(mips||x86_64)
"""
# As OpenWrt's, this one is evaluated, so that what the Makefile defines is expanded.
PACKAGE = """define BuildPackage
  $(eval $(Package/$(1)))
  export POSTRM := $$(Package/$(1)/postrm)
  export CONFFILES := $$(Package/$(1)/conffiles)
  export FACTS := $(PKG_NAME) $(PKG_VERSION) $(PKG_RELEASE) $(GO_PKG_BUILD_PKG) $(USERID) $(PKG_BUILD_DIR)
install:
\t$$(call Package/$(1)/install,$(DEST))
postrm conffiles facts:
\t@printenv $$(shell echo $$@ | tr a-z A-Z)
endef
"""
GOLANG = """GO_PKG_BUILD_BIN_DIR := $(TOPDIR)/bin
define GoBinPackage
endef
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """What OpenWrt's Makefiles are in."""
    for name, text in (
        ("rules.mk", RULES),
        ("include/package.mk", PACKAGE),
        ("feeds/packages/lang/golang/golang-package.mk", GOLANG),
        ("bin/airbound-ap", "program"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def make(top: Path, target: str) -> str:
    command = ["make", "-s", "-C", FEED, f"TOPDIR={top}", f"DEST={top}/dest", target]
    return subprocess.check_output(command, text=True)


def test_it_installs_the_files_that_make_packages_installs(top: Path) -> None:
    make(top, "install")
    found = {
        str(path.relative_to(top / "dest")): (path.stat().st_mode & 0o777, path.read_bytes())
        for path in (top / "dest").rglob("*")
        if path.is_file()
    }
    # OpenWrt's build system makes keep.d of the conffiles.
    expected = {name: (mode, source.read_bytes()) for name, (mode, source) in INSTALLED.items() if "keep.d" not in name}
    assert found == {**expected, PROGRAM: (0o755, b"program")}


def test_scripts_configuration_and_names_are_the_same(top: Path) -> None:
    assert make(top, "postrm") == (SCRIPTS / "post-remove.sh").read_text(encoding="utf-8")
    keep = INSTALLED["lib/upgrade/keep.d/airbound-ap"][1].read_text(encoding="utf-8")
    assert make(top, "conffiles") == f"/etc/config/airbound\n{keep}"
    module = "github.com/airbound/airbound/ap-firmware/cmd/airbound-ap"
    assert make(top, "facts").split() == [
        "airbound-ap", "0.1.0", "1", module, "network=101:network=101", f"{top}/build/airbound-0.1.0",
    ]  # fmt: skip
