# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.operator.top import fields
from airbound.v1 import access_point_pb2, operations_pb2


@pytest.mark.parametrize(
    ("mhz", "expected"),
    [
        (2412, "1"),
        (2437, "6"),
        (2472, "13"),
        (2484, "14"),
        (5180, "36"),
        (5825, "165"),
        (5955, "1"),
        (7115, "233"),
        (0, "-"),
        (900, "-"),
    ],
)
def test_channels(mhz: int, expected: str) -> None:
    assert fields.channel(mhz) == expected


def test_values() -> None:
    assert (fields.mbps(12_345_678), fields.ms(1500), fields.ms(0)) == ("12.3", "1.5", "-")
    assert (fields.percent(0.914), fields.percent(None), fields.percent(0.0)) == ("91%", "-", "0%")
    assert [fields.ratio(value) for value in (None, 0.0, 1.26, 99.94, 1234.5)] == ["-", "-", "1.3", "99.9", "1234"]
    assert [bool(fields.ratio_style(value)) for value in (None, 1.0, 3.0, 20.0)] == [False, False, True, True]
    assert fields.ssid(operations_pb2.Cell(ssid=b"a\x1b[2J\xff")) == "a?[2J\ufffd"


def test_edca() -> None:
    cell = operations_pb2.Cell()
    assert fields.edca(cell, short=True) == "-"
    cell.edca.SetInParent()
    assert fields.edca(cell, short=True) == "own"
    cell.edca.sent.append(access_point_pb2.Edca(aifsn=4, cw_min=15, cw_max=1023))
    assert (fields.edca(cell, short=True), fields.edca(cell, short=False)) == ("4", "4 15-1023")


def test_a_cell_is_silent_before_it_is_exempt_before_it_is_under_control() -> None:
    cell = operations_pb2.Cell(exempt=True, mode=operations_pb2.MODE_CONTROL)
    assert fields.state(cell, 5000) == "silent"
    assert fields.state(cell, 1000) == "exempt"
    assert fields.state(operations_pb2.Cell(mode=operations_pb2.MODE_OBSERVE), 1000) == "observe"
    assert fields.state(operations_pb2.Cell(), 1000) == "?"
