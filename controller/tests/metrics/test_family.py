# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.metrics.family import Family
from airbound.metrics.table import Column, Table
from airbound_testing.scrapes import Samples

COUNTER = Family("airbound_x_bytes_total", "counter", "Bytes.", ("a",))
INFO = Family("airbound_x_info", "info", "About x.", ("a",))
GAUGE = Family("airbound_y", "gauge", "Y.", ("a",))


@pytest.mark.parametrize(
    ("family", "text", "openmetrics"),
    [
        (
            COUNTER,
            "# HELP airbound_x_bytes_total Bytes.\n# TYPE airbound_x_bytes_total counter\n",
            "# HELP airbound_x_bytes Bytes.\n# TYPE airbound_x_bytes counter\n# UNIT airbound_x_bytes bytes\n",
        ),
        (
            INFO,
            "# HELP airbound_x_info About x.\n# TYPE airbound_x_info gauge\n",
            "# HELP airbound_x About x.\n# TYPE airbound_x info\n",
        ),
        (
            GAUGE,
            "# HELP airbound_y Y.\n# TYPE airbound_y gauge\n",
            "# HELP airbound_y Y.\n# TYPE airbound_y gauge\n",
        ),
    ],
)
def test_what_stands_above_the_samples_is_as_the_format_has_it(family: Family, text: str, openmetrics: str) -> None:
    assert family.header(openmetrics=False) == text
    assert family.header(openmetrics=True) == openmetrics


def test_lines_of_samples_leave_out_what_has_no_value() -> None:
    labels = ['{a="1"} ', '{a="2"} ', '{a="3"} ']
    assert b"".join(GAUGE.lines(labels, [1, None, 2.5])) == b'airbound_y{a="1"} 1\nairbound_y{a="3"} 2.5\n'
    assert GAUGE.lines(labels, [None] * 3) == []


def test_many_lines_come_in_chunks() -> None:
    labels = [f'{{a="{number}"}} ' for number in range(5000)]
    chunks = GAUGE.lines(labels, range(5000))
    assert len(chunks) == 3
    samples = Samples(GAUGE.header(openmetrics=False) + b"".join(chunks).decode())
    assert len(samples.by_series) == 5000
    assert samples.value("airbound_y", a="4999") == 4999


def test_a_summarys_quantiles_stand_side_by_side() -> None:
    summary = Family("airbound_z", "summary", "Z.", ("a", "quantile"))
    table = Table(
        [Column(GAUGE, float), Column(summary, lambda value: value, 1), Column(summary, lambda value: 2 * value, 2)]
    )
    for number in (1, 2):
        table.add(
            (f'{{a="{number}"}} ', f'{{a="{number}",quantile="0.5"}} ', f'{{a="{number}",quantile="1"}} '), number
        )
    (_, _), (family, chunks) = table.lines()
    assert family is summary
    assert b"".join(chunks).decode().splitlines() == [
        'airbound_z{a="1",quantile="0.5"} 1',
        'airbound_z{a="1",quantile="1"} 2',
        'airbound_z{a="2",quantile="0.5"} 2',
        'airbound_z{a="2",quantile="1"} 4',
    ]


def test_a_metric_of_no_objects_has_no_lines() -> None:
    assert list(Table([Column(GAUGE, float)]).lines()) == [(GAUGE, [])]
