# SPDX-License-Identifier: Apache-2.0
"""For scripts/compose-test.sh: does a controller show what happens in a live cell?

Usage: compose_live.py METRICS_URL STATUS_FILE SECONDS. Each second it reads the status that the cell's guest writes
(what each phone's server received, the RTT in the phone's kernel) and the controller's metrics. At the end it prints,
for each phone and for the cell, both sides' figures and by how much the controller's are later; exit status 1 if they
differ by more than the limits below.

Usage: compose_live.py METRICS_URL SECONDS. Prints the median of the terminals' RTTs of each second, in ms.
"""

import bisect
import json
import re
import statistics
import sys
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

LAG_MAX_S = 5.0
LAGS_TRIED_S = (-5.0, 15.0)
"""Negative: the guest writes its status once a second, which may be later than a report."""
LAG_STEP_S = 0.25
THROUGHPUT_TOLERANCE = 0.05
THROUGHPUT_TOLERANCE_MBPS = 0.1
"""The more: what was sent within a second of the window's ends, by a phone that sends little."""
RTT_TOLERANCE = 0.05
RTT_PAIRS_MIN = 40
RTT_PAIR_MAX_S = 1.5
"""Samples of both sides that are further apart are not of the same moment: an agent reports once a second."""
PAYLOAD_OF_IP = 1448 / 1500
"""Of a full segment: stations' metrics count IP packets, the guest's figures what an application received."""
CELL = "the cell"

SAMPLE = re.compile(r"^(\w+)\{([^}]*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass
class Series:
    """Values with their times; of a counter, or cumulated, so that its slope is a rate."""

    times_s: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, at_s: float, value: float) -> None:
        """Add one that is later than all others."""
        self.times_s.append(at_s)
        self.values.append(value)

    def at(self, at_s: float) -> float:
        """Return the value at a moment, linear between those that are there."""
        after = bisect.bisect_left(self.times_s, at_s)
        if after == 0 or after == len(self.times_s):
            raise ValueError(f"nothing at {at_s}")
        (t0, t1), (v0, v1) = self.times_s[after - 1 : after + 1], self.values[after - 1 : after + 1]
        return v0 + (v1 - v0) * (at_s - t0) / (t1 - t0)


def window_s(earlier: Series, later: Series) -> tuple[float, float]:
    """From when until when both have values, also if `later` is moved."""
    return (
        max(earlier.times_s[0], later.times_s[0]) - LAGS_TRIED_S[0] + LAG_STEP_S,
        min(earlier.times_s[-1], later.times_s[-1]) - LAGS_TRIED_S[1] - LAG_STEP_S,
    )


def lag_s(earlier: Series, later: Series) -> float:
    """By how much `later` is best moved back to have the shape of `of`."""
    from_s, until_s = window_s(earlier, later)

    def mismatch(lag: float) -> float:
        apart = [
            later.at(t + lag) - v for t, v in zip(earlier.times_s, earlier.values, strict=True) if from_s < t < until_s
        ]
        return statistics.pvariance(apart)

    steps = range(*(int(lag / LAG_STEP_S) for lag in LAGS_TRIED_S))
    return min((step * LAG_STEP_S for step in steps), key=mismatch)


def growth(series: Series, from_s: float, until_s: float) -> float:
    """How much it grows between two moments."""
    return series.at(until_s) - series.at(from_s)


class Comparison:
    """Both sides' figures."""

    def __init__(self) -> None:
        self.guest: dict[str, Series] = {}  # Mbit received, by phone
        self.controller: dict[str, Series] = {}  # Mbit delivered, by terminal
        self.guest_rtt_ms: dict[str, Series] = {}
        self.controller_rtt_ms: dict[str, Series] = {}
        self._guest_s = 0.0
        self._guest_s_of_metrics = 0.0

    def add_status(self, at_s: float, status: dict[str, object]) -> None:
        """Take what the guest wrote, if it is new."""
        cell = status["cell"]
        assert isinstance(cell, dict)
        if cell["guest_s"] == self._guest_s:
            return
        seconds = cell["guest_s"] - self._guest_s if self._guest_s else 0.0
        self._guest_s = cell["guest_s"]
        total = 0.0
        for phone in cell["phones"]:
            total += phone["goodput_mbps"]
            if phone["agent"]:
                self._cumulate(self.guest, phone["name"], at_s, phone["goodput_mbps"] * seconds)
                if phone["srtt_ms"] is not None:
                    self.guest_rtt_ms.setdefault(phone["name"], Series()).add(at_s, phone["srtt_ms"])
        self._cumulate(self.guest, CELL, at_s, total * seconds)

    def add_metrics(self, at_s: float, text: str) -> None:
        """Take a page of metrics."""
        # Rates are those of the guest's clock, which may have lost some time.
        seconds = self._guest_s - self._guest_s_of_metrics if self._guest_s_of_metrics else 0.0
        self._guest_s_of_metrics = self._guest_s
        uplink_mbps = 0.0
        for metric, labels_text, value_text in SAMPLE.findall(text):
            labels, value = dict(LABEL.findall(labels_text)), float(value_text)
            if metric == "airbound_terminal_delivered_bytes_total":
                self.controller.setdefault(labels["terminal"], Series()).add(at_s, value * 8 / 1e6)
            elif metric == "airbound_terminal_rtt_seconds":
                self.controller_rtt_ms.setdefault(labels["terminal"], Series()).add(at_s, value * 1000)
            elif metric == "airbound_station_uplink_bytes_per_second":
                uplink_mbps += value * 8 / 1e6 * PAYLOAD_OF_IP
        self._cumulate(self.controller, CELL, at_s, uplink_mbps * seconds)

    @staticmethod
    def _cumulate(sums: dict[str, Series], name: str, at_s: float, more: float) -> None:
        series = sums.setdefault(name, Series())
        series.add(at_s, (series.values[-1] if series.values else 0.0) + more)

    def report(self) -> list[str]:
        """Print a line for each; return what is wrong."""
        wrong = (
            [] if set(self.guest) == set(self.controller) else [f"{set(self.guest) ^ set(self.controller)}: one side"]
        )
        for name in sorted(set(self.guest) & set(self.controller)):
            guest, controller = self.guest[name], self.controller[name]
            lag = lag_s(guest, controller)
            from_s, until_s = window_s(guest, controller)
            seconds = until_s - from_s
            here = growth(guest, from_s, until_s) / seconds
            there = growth(controller, from_s + lag, until_s + lag) / seconds
            line = f"{name}: guest {here:.2f} Mb/s, controller {there:.2f} Mb/s, {lag:g} s later"
            if abs(there - here) > THROUGHPUT_TOLERANCE * here + THROUGHPUT_TOLERANCE_MBPS:
                wrong.append(f"{name}: throughput")
            if lag > LAG_MAX_S:
                wrong.append(f"{name}: late")
            sys.stdout.write(f"    {line}\n")
        return wrong + self._report_rtt()

    def _report_rtt(self) -> list[str]:
        """The same for RTTs. They change within a second: compared is the ratio of two of the same moment."""
        of_guest: list[float] = []
        of_controller: list[float] = []
        for name in sorted(set(self.guest_rtt_ms) & set(self.controller_rtt_ms)):
            guest, controller = self.guest_rtt_ms[name], self.controller_rtt_ms[name]
            for at_s, value_ms in zip(controller.times_s, controller.values, strict=True):
                nearest = min(range(len(guest.times_s)), key=lambda i: abs(guest.times_s[i] - at_s))
                if abs(guest.times_s[nearest] - at_s) <= RTT_PAIR_MAX_S:
                    of_guest.append(guest.values[nearest])
                    of_controller.append(value_ms)
        if len(of_guest) < RTT_PAIRS_MIN:
            return [f"RTT: {len(of_guest)} pairs only"]
        ratios = [there / here for here, there in zip(of_guest, of_controller, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        sys.stdout.write(
            f"    RTT, {len(ratios)} pairs: guest {statistics.median(of_guest):.1f} ms, controller"
            f" {statistics.median(of_controller):.1f} ms (medians);"
            f" ratio {middle:.2f}, quartiles {low:.2f}, {high:.2f}\n"
        )
        return ["RTT"] if abs(middle - 1) > RTT_TOLERANCE else []


def main(arguments: Sequence[str]) -> int:
    """Compare, or show RTTs; the exit code."""
    url, *status_files, seconds_text = arguments
    comparison = Comparison()
    began_s = time.monotonic()
    while (now_s := time.monotonic()) < began_s + float(seconds_text):
        for file in status_files:
            comparison.add_status(now_s, json.loads(Path(file).read_text(encoding="utf-8")))
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  # http://, of our own test
            comparison.add_metrics(time.monotonic(), answer.read().decode())
        time.sleep(max(0.0, now_s + 1 - time.monotonic()))
    if not status_files:
        rtts_ms = [value for series in comparison.controller_rtt_ms.values() for value in series.values]
        sys.stdout.write(f"{statistics.median(rtts_ms):.0f}\n")
        return 0
    wrong = comparison.report()
    sys.stdout.write("".join(f"    DIFFERENT {what}\n" for what in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
