# SPDX-License-Identifier: Apache-2.0
"""The order of the cells that report one station."""

from collections.abc import Iterable

from airbound.store.types import Place


def latest_first(places: Iterable[Place]) -> tuple[Place, ...]:
    """The latest association first; of two at once, the one in the greater epoch."""
    return tuple(sorted(places, key=lambda place: (place.age_ms, -place.token.epoch, place.bssid)))
