# SPDX-License-Identifier: Apache-2.0
"""RTTs to one destination, as metrics show them."""

from typing import NamedTuple


class Rtt(NamedTuple):
    """The RTTs to one destination."""

    ratio: float
    srtt_s: float
    min_rtt_s: float
