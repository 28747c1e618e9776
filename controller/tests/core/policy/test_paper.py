# SPDX-License-Identifier: Apache-2.0

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.parameters import PaperParameters, Parameters, TableName
from airbound.core.policy import PolicyInput, paper
from airbound.core.policy.paper_tables import BY_RATIO, BY_SENDERS, MaxMin, RttClass

# Copied from the paper's print, max/min.
TABLE_2 = """
| n | GB A | GB B | JB A | JB B |
| 1 | 21/20 | 63/62 | 90/80 | 555/250 |
| 2 | 16/15 | 63/62 | 80/60 | 300/300 |
| 3 | 11/10 | 46/45 | 60/50 | 400/250 |
| 4 | 9/8 | 36/35 | 40/30 | 200/120 |
| 5 | 7/6 | 28/27 | 25/20 | 150/100 |
| 6 | 5/4 | 23/22 | 20/10 | 100/80 |
| 7 | 4/3 | 21/20 | 12/8 | 80/70 |
| 8 | 3/2 | 17/16 | 8/5 | 70/50 |
| 9 | 2/1 | 15/14 | 7/3 | 50/30 |
| 10 | 2/1 | 14/13 | 4/2 | 35/20 |
"""

TABLE_3 = """
| GB A | | GB B | | JB A | | JB B | |
| 1 | 63/62 | 1 | 63/62 | 1 | 100/80 | 1 | 555/300 |
| 10 | 61/60 | 2 | 62/60 | 10 | 80/60 | 2 | 300/100 |
| 15 | 58/55 | 3 | 56/53 | 15 | 60/50 | 3 | 200/90 |
| 20 | 53/50 | 4 | 48/45 | 20 | 50/40 | 4 | 100/80 |
| 25 | 48/45 | 5 | 42/40 | 25 | 40/30 | 5 | 90/50 |
| 30 | 41/40 | 6 | 36/34 | 30 | 30/20 | 6 | 50/30 |
| 35 | 36/35 | 7 | 26/25 | 35 | 20/10 | 7 | 30/20 |
| 40 | 31/30 | 8 | 21/20 | 40 | 10/5 | 8 | 20/10 |
| 45 | 26/25 | 9 | 21/20 | 45 | 4/3 | 9 | 8/4 |
| 50 | 21/20 | 10 | 11/10 | 50 | 3/2 | 10 | 3/2 |
"""

COLUMNS: tuple[tuple[TableName, RttClass], ...] = (
    ("gingerbread", "A"),
    ("gingerbread", "B"),
    ("jelly-bean", "A"),
    ("jelly-bean", "B"),
)
TABLES = st.sampled_from(("gingerbread", "jelly-bean"))


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[1:]]


def max_min(text: str) -> MaxMin:
    maximum, minimum = text.split("/")
    return int(maximum), int(minimum)


def policy(table: TableName) -> paper.Paper:
    return paper.Paper(Parameters(policy="paper", paper=PaperParameters(table=table)))


def policy_input(n: int = 1, ratio: float = 1.0, min_rtt_us: int = 4_000, connections: int = 1) -> PolicyInput:
    return PolicyInput(
        active_senders=n,
        connections=connections,
        srtt_us=round(ratio * min_rtt_us),
        min_rtt_us=min_rtt_us,
        segment_bytes=1500,
        capacity_bps=20e6,
    )


@pytest.mark.parametrize("row", cells(TABLE_2), ids=lambda row: f"n={row[0]}")
def test_table_2_is_as_printed(row: list[str]) -> None:
    for column, text in zip(COLUMNS, row[1:], strict=True):
        assert paper.by_senders(*column, int(row[0])) == max_min(text)


@pytest.mark.parametrize("row", cells(TABLE_3), ids=lambda row: f"ratio={row[0]}")
def test_table_3_is_as_printed(row: list[str]) -> None:
    for column, ratio, text in zip(COLUMNS, row[0::2], row[1::2], strict=True):
        assert paper.by_ratio(*column, float(ratio)) == (int(ratio), max_min(text))


def test_tables_have_no_further_rows() -> None:
    assert set(BY_SENDERS) == set(BY_RATIO) == set(COLUMNS)
    assert {len(rows) for rows in BY_SENDERS.values()} == {len(rows) for rows in BY_RATIO.values()} == {10}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_ratio_row_applies_up_to_the_next(column: tuple[TableName, RttClass]) -> None:
    rows = BY_RATIO[column]
    for row, following in itertools.pairwise(rows):
        assert paper.by_ratio(*column, following[0] - 0.001) == row
    assert paper.by_ratio(*column, 1e6) == rows[-1]
    assert paper.by_ratio(*column, 0.5) == rows[0]


@pytest.mark.parametrize(("n", "row"), [(-1, 1), (0, 1), (1, 1), (10, 10), (11, 10), (1000, 10)])
def test_beyond_the_rows_the_nearest_holds(n: int, row: int) -> None:
    assert paper.by_senders("jelly-bean", "B", n) == BY_SENDERS["jelly-bean", "B"][row - 1]


@pytest.mark.parametrize(("min_rtt_us", "cls"), [(1, "A"), (99_999, "A"), (100_000, "B"), (256_500, "B")])
def test_classes_part_at_100_ms(min_rtt_us: int, cls: str) -> None:
    assert paper.rtt_class(min_rtt_us) == cls


@pytest.mark.parametrize(
    ("table", "n", "ratio", "min_rtt_us", "expected"),
    [
        ("jelly-bean", 10, 1.0, 256_500, (20, 35)),  # Table 2 is smaller
        ("jelly-bean", 1, 4.0, 256_500, (80, 100)),  # Table 3 is smaller
        ("jelly-bean", 1, 1.0, 256_500, (250, 555)),  # equal maxima: the smaller minimum
        ("jelly-bean", 2, 2.0, 256_500, (100, 300)),  # equal maxima, Table 3 has the smaller minimum
        ("jelly-bean", 1, 45.0, 4_000, (3, 4)),
        ("gingerbread", 1, 10.5, 4_000, (20, 21)),
        ("gingerbread", 10, 1.0, 4_000, (1, 2)),
    ],
)
def test_the_smaller_is_adopted(
    table: TableName, n: int, ratio: float, min_rtt_us: int, expected: tuple[int, int]
) -> None:
    assert policy(table).decide(policy_input(n, ratio, min_rtt_us)) == expected


def test_connections_split_the_range_but_not_below_two() -> None:
    assert policy("jelly-bean").decide(policy_input(10, 1.0, 256_500, connections=4)) == (5, 8)
    assert policy("jelly-bean").decide(policy_input(10, 1.0, 4_000, connections=4)) == (2, 2)
    assert policy("gingerbread").decide(policy_input(10, 1.0, 4_000, connections=4)) == (1, 2)


def test_the_formula_names_both_tables_and_the_adopted() -> None:
    text = policy("jelly-bean").formula(policy_input(10, 1.2, 256_500))
    for part in (
        "jelly-bean",
        "class B",
        "Table 2 n=10 35/20",
        "Table 3 ratio 1.2 (from 1) 555/300",
        "adopted Table 2",
    ):
        assert part in text
    assert "connections" not in text
    other = policy("jelly-bean").formula(policy_input(1, 4.0, 256_500, connections=2))
    assert "adopted Table 3 / 2 connections" in other


@given(
    table=TABLES,
    n=st.integers(1, 10_000),
    srtt_us=st.integers(0, 2**40),
    min_rtt_us=st.integers(1, 2**40),
    connections=st.integers(1, 1000),
)
def test_bounds_are_ordered_and_never_wider_than_the_tables(
    table: TableName, n: int, srtt_us: int, min_rtt_us: int, connections: int
) -> None:
    seen = PolicyInput(
        active_senders=n,
        connections=connections,
        srtt_us=srtt_us,
        min_rtt_us=min_rtt_us,
        segment_bytes=1500,
        capacity_bps=1e6,
    )
    verdict = policy(table).decide(seen)
    assert 1 <= verdict.min_segs <= verdict.max_segs
    cls = paper.rtt_class(min_rtt_us)
    assert verdict.max_segs <= paper.by_senders(table, cls, n)[0]
    assert verdict.max_segs <= paper.by_ratio(table, cls, seen.rtt_ratio)[1][0]
