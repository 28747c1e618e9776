# SPDX-License-Identifier: Apache-2.0
"""Samples of times before a Prometheus started, as the rules would have recorded them: blocks that promtool makes."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

DAY_S = 86_400.0
STEP_S = 15.0
_CARRIED, _RTT, _SENDERS = (
    "airbound_cell_throughput_bytes_per_second",
    "airbound_cell_rtt_seconds",
    "airbound_cell_active_senders",
)


class Stretch(NamedTuple):
    """A time in which the same number of stations sent, in one mode."""

    samples: int
    senders: int
    bytes_per_s: float
    rtt_s: float
    mode: str


class Past(NamedTuple):
    """Stretches of a cell that follow each other, a sample each STEP_S."""

    bssid: str
    from_s: float  # Unix time
    stretches: Sequence[Stretch]


def write(directory: Path, pasts: Sequence[Past]) -> None:
    """Write them as blocks of a Prometheus that has its data in a directory and does not run yet.

    Raises:
        RuntimeError: promtool is not installed.
        subprocess.CalledProcessError: promtool refuses them.
    """
    program = shutil.which("promtool")
    if program is None:
        raise RuntimeError("there is no promtool; it is in Debian's package prometheus")
    directory.mkdir(parents=True, exist_ok=True)
    file = directory.with_suffix(".openmetrics")
    file.write_text(_openmetrics(pasts), encoding="utf-8")
    subprocess.run([program, "tsdb", "create-blocks-from", "openmetrics", file, directory], check=True,
                   capture_output=True)  # fmt: skip


def _openmetrics(pasts: Sequence[Past]) -> str:
    """The text: all samples of a record stand together."""
    records: dict[str, list[str]] = {}
    for past in pasts:
        for at_s, stretch in _times(past):
            values = {_CARRIED: stretch.bytes_per_s, _RTT: stretch.rtt_s, _SENDERS: stretch.senders}
            labels = f'bssid="{past.bssid}",mode="{stretch.mode}"'
            for metric, value in values.items():
                name = f"bssid_mode:{metric}:while_several_send"
                records.setdefault(name, []).append(f"{name}{{{labels}}} {value} {at_s:.3f}")
            for metric in (_CARRIED, _RTT):
                name = f"bssid_mode_senders:{metric}:while_several_send"
                more = f'{labels},senders="{stretch.senders}"'
                records.setdefault(name, []).append(f"{name}{{{more}}} {values[metric]} {at_s:.3f}")
            name = f"bssid:{_CARRIED}:sum"
            records.setdefault(name, []).append(f'{name}{{bssid="{past.bssid}"}} {stretch.bytes_per_s} {at_s:.3f}')
    lines = [line for name, samples in records.items() for line in (f"# TYPE {name} gauge", *samples)]
    return "\n".join([*lines, "# EOF", ""])


def _times(past: Past) -> Iterator[tuple[float, Stretch]]:
    at_s = past.from_s
    for stretch in past.stretches:
        for _ in range(stretch.samples):
            yield at_s, stretch
            at_s += STEP_S
