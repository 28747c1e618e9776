# SPDX-License-Identifier: Apache-2.0
"""Real replicas, a real Redis, agents in real time, and one fault after another. How long it takes until bounds are
right again is for `controller/benchmarks/faults.py` to print; here only that they are.
"""

from pathlib import Path

import pytest

from airbound.testing.fault_site import Site
from airbound.testing.fault_table import FAULTS, Fault
from airbound.testing.faults import logs


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
async def test_nobody_is_released_no_lease_ends_and_no_cell_has_two_owners(fault: Fault, tmp_path: Path) -> None:
    async with Site(tmp_path, fault.equipment) as site:
        await fault.prepared(site)
        try:
            outcome = await site.fleet.endure(lambda: fault.happens(site))
        except TimeoutError:
            pytest.fail(f"bounds are not right again\n{logs(site.controllers)}")
        told = f"{outcome}\n{logs(site.controllers)}"
        assert (outcome.released, outcome.expired, outcome.owned_twice, outcome.clamped) == (0, 0, 0, 0), told
        assert outcome.epochs or len(site.controllers) == 1, told
        for epochs in outcome.epochs.values():
            assert epochs == sorted(epochs), told
