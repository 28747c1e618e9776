# SPDX-License-Identifier: Apache-2.0
"""Bounds for an app and a destination together, by the agent's back end, on real connections of a patched kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .go_test_in_guest import assert_passes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.uml


@pytest.mark.parametrize("line", ["6.1", "6.12"])
def test_live_video_beside_an_upload_to_the_same_server_has_its_own_window(tmp_path: Path, line: str) -> None:
    package, name = "./phone-agent/apply/procfs", "TestTwoAppsToOneServerOfAPatchedKernel"
    assert_passes(package, name, tmp_path, line=line, loss="0%")
