# SPDX-License-Identifier: Apache-2.0
"""A real controller, and what a phone has."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from module_support import HEADER, Controller


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    started = Controller(tmp_path_factory.mktemp("controller"))
    yield started
    started.end()


@pytest.fixture
def phone(tmp_path: Path) -> Path:
    """A directory with a kernel's files."""
    net = tmp_path / "kernel" / "net"
    net.mkdir(parents=True)
    (net / "tcp_cwnd_bounds").touch()
    (net / "tcp_monitor").write_text(HEADER, encoding="utf-8")
    return tmp_path
