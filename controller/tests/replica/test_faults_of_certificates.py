# SPDX-License-Identifier: Apache-2.0
"""Real replicas, a real store, agents in real time, and one fault after another: those of certificates."""

from pathlib import Path

import pytest

from airbound_testing.fault_table import OF_CERTIFICATES, Fault, endure, name

pytestmark = pytest.mark.long


@pytest.mark.parametrize("fault", OF_CERTIFICATES, ids=name)
async def test_nobody_is_released_no_lease_ends_and_no_cell_has_two_owners(fault: Fault, tmp_path: Path) -> None:
    await endure(fault, tmp_path)
