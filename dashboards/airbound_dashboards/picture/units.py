# SPDX-License-Identifier: Apache-2.0
"""Values as Grafana writes them, by its names of units."""

import math

_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SUFFIX = {"bps": "b/s", "bytes": "B", "ops": "/s", "cps": "/s", "dBm": "dBm", "short": ""}
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3_600, 60


def text(value: float, unit: str, decimals: int | None = None) -> str:
    """A value with its unit."""
    if math.isnan(value):
        return ""
    if unit == "percentunit":
        return f"{_number(100 * value, decimals)}%"
    if unit == "s":
        return _seconds(value, decimals)
    if unit == "none":
        return _number(value, 0 if abs(value) >= 100 else decimals)  # noqa: PLR2004
    suffix = _SUFFIX.get(unit, unit)
    for factor, prefix in _LARGE:
        if abs(value) >= factor and unit != "dBm":
            return _joined(_number(value / factor, decimals), prefix + suffix)
    return _joined(_number(value, decimals), suffix)


def _joined(number: str, unit: str) -> str:
    return f"{number} {unit}" if unit and not unit.startswith("/") else f"{number}{unit}"


def _number(value: float, decimals: int | None) -> str:
    """At most three significant digits, unless decimals are given."""
    if decimals is not None:
        return f"{value:.{decimals}f}"
    digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    rounded = f"{value:.{min(digits, 6)}f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def _seconds(value: float, decimals: int | None) -> str:
    size = abs(value)
    if size >= 2 * _DAY_S:
        return f"{_number(value / _DAY_S, decimals)} days"
    if size >= 2 * _HOUR_S:
        return f"{_number(value / _HOUR_S, decimals)} h"
    if size >= 2 * _MINUTE_S:
        return f"{_number(value / _MINUTE_S, decimals)} min"
    if size >= 1 or size == 0:
        return f"{_number(value, decimals)} s"
    if size >= 1e-3:  # noqa: PLR2004  # a millisecond
        return f"{_number(1e3 * value, decimals)} ms"
    return f"{_number(1e6 * value, decimals)} \N{MICRO SIGN}s"
