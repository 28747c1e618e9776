# SPDX-License-Identifier: Apache-2.0
"""Tables 2 and 3 of Hayakawa, Yamaguchi and Oguchi, "Transmission-control middleware with RTT", as printed:
(max, min) in segments. Jelly Bean class B is not monotone at n = 2 and 3 in print, and stays so here.

Class A is a minimum RTT below 100 ms, class B one of 100 ms and above.
"""

from typing import Literal

from airbound.core.parameters import TableName

RttClass = Literal["A", "B"]
MaxMin = tuple[int, int]

CLASS_B_FROM_US = 100_000

# Table 2, by the number of active senders; the first row is n = 1.
BY_SENDERS: dict[tuple[TableName, RttClass], tuple[MaxMin, ...]] = {
    ("gingerbread", "A"): ((21, 20), (16, 15), (11, 10), (9, 8), (7, 6), (5, 4), (4, 3), (3, 2), (2, 1), (2, 1)),
    ("gingerbread", "B"): (
        (63, 62), (63, 62), (46, 45), (36, 35), (28, 27), (23, 22), (21, 20), (17, 16), (15, 14), (14, 13),
    ),
    ("jelly-bean", "A"): (
        (90, 80), (80, 60), (60, 50), (40, 30), (25, 20), (20, 10), (12, 8), (8, 5), (7, 3), (4, 2),
    ),
    ("jelly-bean", "B"): (
        (555, 250), (300, 300), (400, 250), (200, 120), (150, 100), (100, 80), (80, 70), (70, 50), (50, 30), (35, 20),
    ),
}  # fmt: skip

# Table 3, by RTT over minimum RTT; a row applies from its ratio up to the next.
BY_RATIO: dict[tuple[TableName, RttClass], tuple[tuple[int, MaxMin], ...]] = {
    ("gingerbread", "A"): (
        (1, (63, 62)), (10, (61, 60)), (15, (58, 55)), (20, (53, 50)), (25, (48, 45)),
        (30, (41, 40)), (35, (36, 35)), (40, (31, 30)), (45, (26, 25)), (50, (21, 20)),
    ),
    ("gingerbread", "B"): (
        (1, (63, 62)), (2, (62, 60)), (3, (56, 53)), (4, (48, 45)), (5, (42, 40)),
        (6, (36, 34)), (7, (26, 25)), (8, (21, 20)), (9, (21, 20)), (10, (11, 10)),
    ),
    ("jelly-bean", "A"): (
        (1, (100, 80)), (10, (80, 60)), (15, (60, 50)), (20, (50, 40)), (25, (40, 30)),
        (30, (30, 20)), (35, (20, 10)), (40, (10, 5)), (45, (4, 3)), (50, (3, 2)),
    ),
    ("jelly-bean", "B"): (
        (1, (555, 300)), (2, (300, 100)), (3, (200, 90)), (4, (100, 80)), (5, (90, 50)),
        (6, (50, 30)), (7, (30, 20)), (8, (20, 10)), (9, (8, 4)), (10, (3, 2)),
    ),
}  # fmt: skip
