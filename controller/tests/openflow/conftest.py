# SPDX-License-Identifier: Apache-2.0
"""The site of tests with real processes; its configuration may be a test's parameter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from airbound_testing.open_vswitch import OpenVSwitch
from airbound_testing.openflow_site import CONFIG, Site


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with OpenVSwitch(tmp_path / "ovs") as ovs:
        made = Site(ovs, getattr(request, "param", CONFIG))
        try:
            yield made
        finally:
            made.stop()
