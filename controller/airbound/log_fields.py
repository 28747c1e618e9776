# SPDX-License-Identifier: Apache-2.0
"""What the JSON log says of an event, and `airbound events --json` as well: codes and values under stable names.
docs/logs.md describes them.
"""

from collections.abc import Mapping
from typing import Any

from airbound.core.addresses import address_text, mac_text
from airbound.core.edca import Category, Edca
from airbound.core.effects import Bound, Flow, Note, WindowLimit
from airbound.core.reasons import Reason

VALUES = ("before", "after", "limit")


def note(note: Note, reasons_most: int, bounds_most: int) -> dict[str, Any]:
    """The fields of an event, with so many of its reasons and bounds; of the others their number."""
    fields: dict[str, Any] = {"kind": note.kind, "subject": note.subject}
    if note.terminal:
        fields["terminal"] = note.terminal
    if note.cell:
        fields["cell"] = mac_text(note.cell)
    if note.reasons:
        fields |= _list("reasons", [of_reason(reason) for reason in note.reasons[:reasons_most]], len(note.reasons))
    if note.bounds is not None:
        fields |= _list("bounds", [_bound(bound) for bound in note.bounds[:bounds_most]], len(note.bounds))
    if note.queues is not None:
        fields["queues"] = [_queue(queue) for queue in note.queues if not queue.announced]
        announced = [_queue(queue) for queue in note.queues if queue.announced]
        fields |= {"announced": announced} if announced else {}
    if note.windows is not None:
        fields |= _list("windows", [_window(limit) for limit in note.windows[:bounds_most]], len(note.windows))
    if note.flows is not None:
        fields |= _list("flows", [_flow(entry) for entry in note.flows[:bounds_most]], len(note.flows))
    return fields


def of_reason(source: Reason) -> dict[str, Any]:
    """The fields of a reason."""
    values = {name: value for name in VALUES if (value := getattr(source, name)) is not None}
    return reason(source.code.name.lower(), source.subject, values)


def reason(code: str, subject: str, values: Mapping[str, float]) -> dict[str, Any]:
    """One reason: the name of its code in lower case, and those of its values that it has."""
    numbers = {name: int(value) if float(value).is_integer() else value for name, value in values.items()}
    return {"code": code, **({"subject": subject} if subject else {}), **numbers}


def bound(destination: str, min_segs: int, max_segs: int, uid: int | None = None) -> dict[str, Any]:
    """One bound; without a destination it is for all connections, with a uid for one application's."""
    whose = {**({"destination": destination} if destination else {}), **({} if uid is None else {"uid": uid})}
    return {**whose, "min_segs": min_segs, "max_segs": max_segs}


def queue(
    category: str, aifsn: int, cw_min: int, cw_max: int, txop_limit: int, *, admission: bool = False
) -> dict[str, Any]:
    """EDCA parameters of one queue."""
    fields = {"category": category, "aifsn": aifsn, "cw_min": cw_min, "cw_max": cw_max, "txop_limit": txop_limit}
    return fields | ({"admission": True} if admission else {})


def window(station: str, destination: str, max_bytes: int) -> dict[str, Any]:
    """One limit of a station's windows; without a destination it is for all connections."""
    return {"station": station, **({"destination": destination} if destination else {}), "max_bytes": max_bytes}


def flow(uid: int | None, destination: str, category: str, admitted_us_per_s: int, udp_bps: int) -> dict[str, Any]:
    """What a terminal does with one of its flows."""
    return {
        **({} if uid is None else {"uid": uid}),
        **({"destination": destination} if destination else {}),
        **({"category": category} if category else {}),
        **({"admitted_us_per_s": admitted_us_per_s} if admitted_us_per_s else {}),
        **({"udp_bps": udp_bps} if udp_bps else {}),
    }


def category_name(category: int) -> str:
    """An access category as in the log; empty for none."""
    return Category(category).name.lower() if category else ""


def _list(name: str, items: list[Any], count: int) -> dict[str, Any]:
    left_out = count - len(items)
    return {name: items, **({f"{name}_left_out": left_out} if left_out else {})}


def _bound(source: Bound) -> dict[str, Any]:
    return bound(address_text(source.address) if source.address else "", source.min_segs, source.max_segs, source.uid)


def _queue(source: Edca) -> dict[str, Any]:
    category = source.category.name.lower()
    return queue(category, source.aifsn, source.cw_min, source.cw_max, source.txop_limit, admission=source.admission)


def _window(source: WindowLimit) -> dict[str, Any]:
    return window(mac_text(source.mac), address_text(source.address) if source.address else "", source.max_bytes)


def _flow(source: Flow) -> dict[str, Any]:
    destination = address_text(source.address) if source.address else ""
    return flow(source.uid, destination, category_name(source.category), source.admitted_us_per_s, source.udp_bps)
