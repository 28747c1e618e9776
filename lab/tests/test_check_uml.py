# SPDX-License-Identifier: Apache-2.0
"""`airbound check` in a cell whose phones upload: it finds that Airbound makes round trips shorter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Cell

pytestmark = pytest.mark.uml


def test_a_check_finds_what_is_there(boot_cell: Callable[..., Cell]) -> None:
    cell = boot_cell(
        "airbound", phy="11g", ap="openwrt", kernel_line="6.12", terminals=3, wired_delays_ms=(16.0,),
        check_minutes=5, seconds=320,
    )  # fmt: skip
    found = cell.run.check
    assert found is not None
    assert found.pairs == 3
    assert found.rtt is not None
    assert found.rtt.sign == -1
    assert found.carried.sign >= 0
