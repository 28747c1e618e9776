# SPDX-License-Identifier: Apache-2.0
"""Graphs of one line of text: a value's last minutes, a share, a window within its bounds."""

import math
from array import array
from collections.abc import Iterable

SAMPLES_MAX = 300  # one a second
_LEVELS = "▁▂▃▄▅▆▇█"
_FULL, _EMPTY = "#", "-"


class Series:
    """The last values of something, one a second. Single precision is enough to draw, and a controller may have
    thousands of cells.
    """

    __slots__ = ("_values", "total")

    def __init__(self, values: Iterable[float | None] = ()) -> None:
        self._values = array("f")
        self.total = 0  # values that were ever taken
        for value in values:
            self.add(value)

    def add(self, value: float | None) -> None:
        """Take the next value; none for a second without one."""
        if len(self._values) >= SAMPLES_MAX:
            self._values.pop(0)
        self._values.append(math.nan if value is None else value)
        self.total += 1

    def columns(self, width: int) -> list[float | None]:
        """The means of as many columns, the newest last; each has as many seconds as `width` of them need for all
        SAMPLES_MAX. None for a column without a value. A second stays with the same others while the columns move.
        """
        each = math.ceil(SAMPLES_MAX / width)
        before = self.total - len(self._values)
        means = list[float | None]()
        start = -(before % each)
        while start < len(self._values):
            known = [value for value in self._values[max(0, start) : start + each] if not math.isnan(value)]
            means.append(sum(known) / len(known) if known else None)
            start += each
        return means[-width:]

    def largest(self) -> float:
        """The largest value; 0 if there is none."""
        return max((value for value in self._values if not math.isnan(value)), default=0.0)


def sparkline(series: Series, width: int, top: float, bottom: float = 0.0) -> str:
    """A series in `width` columns, the newest value at the right end."""
    if width <= 0:
        return ""
    return "".join(_column(mean, top, bottom) for mean in series.columns(width)).rjust(width)


def _column(mean: float | None, top: float, bottom: float) -> str:
    if mean is None:
        return " "
    share = (mean - bottom) / (top - bottom) if top > bottom else 0.0
    return _LEVELS[min(len(_LEVELS) - 1, max(0, int(share * len(_LEVELS))))]


def bar(share: float, width: int) -> str:
    """`[###-----]`: a share of 0 to 1, in `width` columns with the brackets."""
    inner = max(0, width - 2)
    full = min(inner, max(0, round(share * inner)))
    return f"[{_FULL * full}{_EMPTY * (inner - full)}]"


def window_bar(min_segs: int, max_segs: int, cwnd_segs: int, width: int) -> str:
    """A congestion window within its bounds, `[####----] 9`: the left end is the smaller bound, the right end the
    larger. A window outside of them is marked: `<` if it is below, `>` if it is above.
    """
    if cwnd_segs < min_segs:
        mark, share = "<", 0.0
    elif cwnd_segs > max_segs:
        mark, share = ">", 1.0
    else:
        mark, share = "", (cwnd_segs - min_segs + 1) / (max_segs - min_segs + 1)
    return f"{bar(share, width)} {mark}{cwnd_segs}"
