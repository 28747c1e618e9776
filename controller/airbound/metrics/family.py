# SPDX-License-Identifier: Apache-2.0
"""One metric: its name, type and help, and its samples as text.

The lines of samples are the same in Prometheus's text format and in OpenMetrics; what stands above them is not.
prometheus_client's own exposition takes 5 to 20 times as long for each sample, so it is used for what is few: a
controller's own metrics. Lines of cells, stations and terminals are joined here, in calls of C code over whole columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram", "info", "summary"]

_UNITS = ("seconds", "bytes", "ratio", "segments", "hertz")
_LINES_AT_ONCE = 2_000  # one join takes the interpreter from the event loop until it is done: half a millisecond


@dataclass(frozen=True, slots=True)
class Family:
    """A metric as in its samples: a counter's name ends in _total, an info's in _info."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()

    @property
    def base(self) -> str:
        """The name in OpenMetrics."""
        match self.kind:
            case "counter":
                return self.name.removesuffix("_total")
            case "info":
                return self.name.removesuffix("_info")
            case _:
                return self.name

    @property
    def unit(self) -> str:
        """The unit that the name ends in; empty if there is none."""
        return next((unit for unit in _UNITS if self.base.endswith(f"_{unit}")), "")

    def header(self, *, openmetrics: bool) -> str:
        """What stands above the samples."""
        if not openmetrics:
            kind = "gauge" if self.kind == "info" else self.kind
            return f"# HELP {self.name} {self.help}\n# TYPE {self.name} {kind}\n"
        unit = f"# UNIT {self.base} {self.unit}\n" if self.unit else ""
        return f"# HELP {self.base} {self.help}\n# TYPE {self.base} {self.kind}\n{unit}"

    def lines(self, labels: Sequence[str], values: Sequence[float | None]) -> list[bytes]:
        """The lines of samples, in chunks. `labels` are sets of labels that end in a space, a value's at the same
        place; None is no sample. Values are finite.
        """
        if None in values:
            labels = [label for label, value in zip(labels, values, strict=True) if value is not None]
            values = [value for value in values if value is not None]
        chunks = []
        for start in range(0, len(values), _LINES_AT_ONCE):
            end = start + _LINES_AT_ONCE
            chunk = f"\n{self.name}".join(map(str.__add__, labels[start:end], map(repr, values[start:end])))
            chunks.append(f"{self.name}{chunk}\n".encode())
        return chunks
