# SPDX-License-Identifier: Apache-2.0
"""Classes that operators chose for terminals' applications, in place of those of the terminals' own tables.

A terminal reports what is of each class at an address, not what is of each application. So a choice for one of several
applications of a class there moves the application, and not what the class has delivered and queued: a live flow that
comes of it is taken to need `rate_bps`.
"""

from collections.abc import Iterable, Mapping

from airbound.core.addresses import Address, Mac, exempt_name, mac_text
from airbound.core.reports import APP_PARTS_MAX, APP_UIDS_MAX, AppPart

DEFAULT = 0  # airbound.v1.ApplicationClass
CLASS_WORDS = ("default", "live", "burst", "bulk", "background")  # by their numbers
OWN = "own"  # in place of such a word: the class that the terminal gives

Chosen = Mapping[int | None, int]
"""Classes by uid; None: those of all applications without one of their own."""


class ClassChoices:
    """Those of one controller, by a terminal's name or MAC."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[int | None, int]] = {}

    def choose(self, name: str, uid: int | None, application_class: int | None) -> int | None:
        """An operator chose, or by none ends that. The class that was chosen before; none if none was."""
        chosen = self._by_name.setdefault(name, {})
        before = chosen.pop(uid, None)
        if application_class is not None:
            chosen[uid] = application_class
        elif not chosen:
            del self._by_name[name]
        return before

    def find(self, name: str, mac: Mac) -> Chosen:
        """What counts for a terminal; a choice by its MAC goes before one by its name."""
        if not self._by_name:
            return {}
        return self._by_name.get(exempt_name(name), {}) | self._by_name.get(mac_text(mac), {})

    @property
    def all(self) -> dict[tuple[str, int | None], int]:
        """Each choice, by name and uid."""
        return {(name, uid): number for name, chosen in self._by_name.items() for uid, number in chosen.items()}


def reclassified(parts: Iterable[AppPart], chosen: Chosen) -> tuple[AppPart, ...]:
    """A terminal's parts of all classes, with the chosen classes in place of their own; none of the default class."""
    found = dict[tuple[Address, int], AppPart]()
    for part in parts:
        groups = dict[int, list[int]]()
        for uid in part.uids or (None,):  # None: all its connections have ended
            now = chosen.get(uid, chosen.get(None, part.application_class))
            groups.setdefault(now, []).extend([] if uid is None else [uid])
        for number, uids in groups.items():
            if number == DEFAULT:
                continue
            has_counters = len(groups) == 1 or number == part.application_class
            counters = (part.delivered_bytes, part.queued_bytes) if has_counters else (0, 0)
            mine = AppPart(part.address, number, part.connections_sending, *counters, tuple(uids))
            other = found.get((part.address, number))
            found[part.address, number] = mine if other is None else _together(mine, other)
    ordered = sorted(found.values(), key=lambda part: part.application_class)
    return tuple(part._replace(uids=part.uids[:APP_UIDS_MAX]) for part in ordered[:APP_PARTS_MAX])


def _together(one: AppPart, other: AppPart) -> AppPart:
    return one._replace(
        connections_sending=one.connections_sending + other.connections_sending,
        delivered_bytes=one.delivered_bytes + other.delivered_bytes,
        queued_bytes=one.queued_bytes + other.queued_bytes,
        uids=tuple(sorted({*one.uids, *other.uids})),
    )
