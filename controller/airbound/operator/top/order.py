# SPDX-License-Identifier: Apache-2.0
"""An order of rows that follows values which change each second, and does not jump with each of them."""

from collections.abc import Mapping, Sequence


def steady(before: Sequence[str], values: Mapping[str, float], by: float) -> list[str]:
    """Keys of `values`, the largest first as far as values differ by more than `by`; those that differ by less stay as
    they were `before`. New ones come in at their places.
    """
    found = [key for key in before if key in values]
    for key in sorted(values.keys() - set(found)):
        place = next((index for index, other in enumerate(found) if values[other] < values[key]), len(found))
        found.insert(place, key)
    for end in range(1, len(found)):  # insertion sort: a row passes another only if it is larger by enough
        index = end
        while index and values[found[index]] - values[found[index - 1]] > by:
            found[index - 1], found[index] = found[index], found[index - 1]
            index -= 1
    return found
