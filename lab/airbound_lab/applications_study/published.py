# SPDX-License-Identifier: Apache-2.0
"""What Kumatani et al. printed (2012, table 2): interruptions of live video in ten trials of 90 s; pure.

The mean of the second row is printed as 3.7; it is 3.3. The lengths are those of the 24 skips.
"""

from __future__ import annotations

SKIPPED = (2, 1, 2, 1, 1, 2, 10, 1, 2, 2)
CONTINUED = (4, 5, 2, 2, 2, 2, 0, 4, 6, 6)
SKIPPED_S = (
    (1, 2),
    (2,),
    (2, 3),
    (7,),
    (2,),
    (1, 2),
    (1, 2, 2, 3, 3, 4, 9, 10, 10, 13),
    (4,),
    (1, 7),
    (1, 2),
)
NEEDED_MBPS = 0.3
"""What Ustream named as the least; 0.5 to 0.7 for high quality."""
FEW, MANY = 3, 10
"""Interruptions of a trial, the fewest and the most of the ten."""
FEWEST_PHONES = 3
"""Of figure 8."""
