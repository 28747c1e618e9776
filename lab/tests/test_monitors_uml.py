# SPDX-License-Identifier: Apache-2.0
"""Both monitors of the phone's agent, tcp_monitor and sock_diag, on the same connections of a patched kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .go_test_in_guest import assert_passes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.uml


def test_both_monitors_report_the_same(tmp_path: Path) -> None:
    package, name = "./phone-agent/monitor/sockdiag", "TestBothMonitorsOfAPatchedKernelAgree"
    assert_passes(package, name, tmp_path, line="6.1", loss="1%")
