# SPDX-License-Identifier: Apache-2.0
"""Text for people of an event, from the fields that log_fields makes of it: what is in force now, and why."""

from collections.abc import Callable, Mapping
from typing import Any

from airbound import reason_text
from airbound.core import edca

SHOWN = 8  # reasons, bounds or limits of one event

Fields = Mapping[str, Any]


def what(fields: Fields) -> str:
    """The bounds, EDCA parameters, limits of windows or flows that were sent; empty for an event without them."""
    if "bounds" in fields:
        return _some(fields, "bounds", _bound) or "released"
    if "queues" in fields:
        own = [edca.text(**queue) for queue in fields["queues"]]
        stations = [f"stations' {edca.text(**queue)}" for queue in fields.get("announced", [])]
        return "; ".join(own + stations) or "released"
    for name, text in (("windows", _window), ("flows", _flow)):
        if name in fields:
            return _some(fields, name, text) or "released"
    return ""


def why(fields: Fields) -> str:
    """The reasons in words; empty without any."""
    return _some(fields, "reasons", reason_text.sentence, "; ")


def _bound(fields: Fields) -> str:
    whose = f" of uid {fields['uid']}" if "uid" in fields else ""
    return f"{fields['min_segs']}..{fields['max_segs']} segs{whose} to {fields.get('destination', 'all')}"


def _window(fields: Fields) -> str:
    return f"{fields['station']} {fields['max_bytes']} bytes to {fields.get('destination', 'all')}"


def _flow(fields: Fields) -> str:
    whose = f"uid {fields['uid']}" if "uid" in fields else "all"
    done = [
        *([f"as {fields['category']}"] if "category" in fields else []),
        *([f"{fields['admitted_us_per_s'] / 1e4:.1f} % of the air admitted"] if "admitted_us_per_s" in fields else []),
        *([f"UDP at {fields['udp_bps'] / 1e6:.1f} Mb/s"] if "udp_bps" in fields else []),
    ]
    return f"{whose} to {fields.get('destination', 'all')} {' '.join(done)}".rstrip()


def _some(fields: Fields, name: str, text: Callable[[Fields], str], separator: str = ", ") -> str:
    items = fields.get(name, [])
    more = len(items[SHOWN:]) + fields.get(f"{name}_left_out", 0)
    return separator.join([*map(text, items[:SHOWN]), *([f"and {more} more"] if more else [])])
