# SPDX-License-Identifier: Apache-2.0
"""Orders of faults around two replicas in virtual time. `controller/benchmarks/fault_orders.py` tries more of them."""

import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbound.store.types import StoreError
from airbound_testing import fault_orders
from airbound_testing.fault_orders import FAULTS, GAPS_S, Fault, FaultyStore, endure

ORDERS = st.lists(st.sampled_from(FAULTS), min_size=2, max_size=4)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "airbound")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_a_cell_has_its_owner_again_after_a_fault_and_never_two(fault: Fault) -> None:
    for gap_s in GAPS_S:
        assert endure((fault,), gap_s) == []


@settings(max_examples=60)
@given(ORDERS, st.sampled_from(GAPS_S))
def test_and_after_any_order_of_faults(order: list[Fault], gap_s: float) -> None:
    assert endure(order, gap_s) == []


def test_an_order_has_the_same_end_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a store that grants nobody a cell for good is found out."""

    async def refuses(store: FaultyStore, name: str) -> None:
        if name == "claim" and store.fault == "well":
            raise StoreError("no")

    monkeypatch.setattr(FaultyStore, "_begin", refuses)
    monkeypatch.setattr(fault_orders, "set_fault", lambda _, store, __: setattr(store, "fault", "well"))
    first, second = (endure(FAULTS[:2], 0.3) for _ in range(2))
    assert first == second
    assert "not right" in first[0]
