# SPDX-License-Identifier: Apache-2.0
"""One line of English for a reason: for the log and for the operators' commands. Programs read codes.

The template of each code is its option in proto/airbound/v1/reason.proto; docs/reasons.md describes templates.
"""

import datetime
import re
from collections.abc import Mapping
from typing import Any

from airbound import log_fields
from airbound.core.reasons import Reason
from airbound.v1 import reason_pb2

_TEMPLATES: dict[str, str] = {
    name.removeprefix("REASON_CODE_").lower(): value.GetOptions().Extensions[reason_pb2.text]
    for name, value in reason_pb2.ReasonCode.DESCRIPTOR.values_by_name.items()
}
_OPTIONAL = re.compile(r"\[(.*?)]")
_PLACE = re.compile(r"\{(\w+):?(\w*)}")
_PER_UNIT = {"ratio": 1, "ms": 1e3, "mbps": 1e6, "percent": 0.01}
_DECIMAL_UP_TO, _YEAR_10000_S = 1e15, 253_402_300_800


def text(reason: Reason) -> str:
    """One line for a person."""
    return sentence(log_fields.of_reason(reason))


def sentence(fields: Mapping[str, Any]) -> str:
    """The same of a reason's fields (docs/logs.md), also of those whose code this program does not know."""
    template = _TEMPLATES.get(fields["code"], f"code {fields['code']}[: {{subject}}]")
    made = []
    for number, part in enumerate(_OPTIONAL.split(template)):
        is_optional = number % 2 == 1
        if not is_optional or all(name in fields for name, _ in _PLACE.findall(part)):
            made.append(_PLACE.sub(lambda place: _value(fields.get(place[1]), place[2]), part))
    return "".join(made)


def _value(value: str | float | None, form: str) -> str:
    if value is None or isinstance(value, str):
        return value or "?"
    if form == "time" and 0 <= value < _YEAR_10000_S:
        return datetime.datetime.fromtimestamp(int(value), datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    scaled = value / _PER_UNIT.get(form, 1)
    return f"{scaled:.1f}" if form in _PER_UNIT and abs(scaled) < _DECIMAL_UP_TO else f"{scaled:.15g}"
