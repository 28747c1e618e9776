# SPDX-License-Identifier: Apache-2.0
"""Packages as `scripts/packages.sh` made them, and access points to install them on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from access_point import NATIVE, REPOSITORY, AccessPoint


@pytest.fixture(scope="session")
def packages() -> Path:
    """The directory of packages: AIRBOUND_PACKAGES, else made here for one architecture."""
    made = os.environ.get("AIRBOUND_PACKAGES")
    if made is None:
        subprocess.run([REPOSITORY / "scripts/packages.sh", NATIVE], check=True)
        made = str(REPOSITORY / "build/packages")
    return Path(made)


@pytest.fixture(scope="session")
def ipk(packages: Path) -> Path:
    """The package of this machine's architecture."""
    [path] = (packages / NATIVE).glob("*.ipk")
    return path


@pytest.fixture
def access_point(tmp_path: Path) -> AccessPoint:
    """One that has no package yet."""
    if os.geteuid() != 0:
        pytest.skip("needs root: chroot and chown")
    access_point = AccessPoint(tmp_path / "root")
    access_point.make()
    return access_point


@pytest.fixture(scope="module")
def first_installed(tmp_path_factory: pytest.TempPathFactory, ipk: Path) -> AccessPoint:
    """The one that the others are copied from."""
    if os.geteuid() != 0:
        pytest.skip("needs root: chroot and chown")
    access_point = AccessPoint(tmp_path_factory.mktemp("first") / "root")
    access_point.make()
    access_point.install_ipk(ipk)
    return access_point


@pytest.fixture
def installed(first_installed: AccessPoint, tmp_path: Path) -> AccessPoint:
    """One with the package, as it is after `opkg install`."""
    subprocess.run(["cp", "-a", first_installed.root, tmp_path / "root"], check=True)
    return AccessPoint(tmp_path / "root")
