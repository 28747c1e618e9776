# SPDX-License-Identifier: Apache-2.0
"""From the traffic generator's samples to the figures of a run; pure.

The measured window is (warm-up, end]. Goodput is what the receivers got. The RTT figures pool the smoothed RTT of all
TCP senders, once a second. The RTT ratio is RTT over the smallest RTT that *any* phone measured to the same server in
the whole run, since a phone that starts in a full cell never measures the true minimum.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import LabError
from airbound_lab.figures.results import DirectionTotal, Download, PhoneResult, RulesChange, Run, Series
from airbound_lab.plan.topology import DOWN
from airbound_lab.settings import modes, variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from airbound_lab.plan.topology import Phone, Topology
    from airbound_lab.records.airtime import Airtime
    from airbound_lab.settings.scenario import Direction, Flow

MEGA = 1e6
DIGITS = 6
"""Decimals kept in results: enough for a byte a second, and short enough to read."""

RECOVERED = 0.9
"""A total of this share of its later mean is back."""

RTT_UNKNOWN_US = 2**32 - 1
"""The kernel's minimum RTT before the first sample is this or 0."""


@dataclass(slots=True)
class Samples:
    """The generator's samples, by kind."""

    received_bytes: dict[str, dict[int, int]] = field(default_factory=dict)
    """By source address of uploads or name of downloads, then by second: cumulative bytes."""
    sent: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    """By name of the flow, then by second: the sender's line."""
    gaps_us: dict[str, dict[int, int]] = field(default_factory=dict)
    """By source address of uploads, then by second: the longest time between two datagrams that ended in it."""
    rules: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    """By phone name: (seconds, rules) at each change."""
    errors: list[str] = field(default_factory=list)
    unconnected: int = 0
    """Flows that ended before their connection was established."""


def parse(lines: Iterable[str]) -> Samples:
    """Read the generator's JSON lines; LabError names the line that is not one."""
    samples = Samples()
    for number, line in enumerate(lines, start=1):
        try:
            data = json.loads(line)
            name, kind = data["name"], data["kind"]
            if kind == "error":
                samples.errors.append(f"{name}: {data['error']}")
                continue
            if kind == "unconnected":
                samples.unconnected += 1
                continue
            t_ms = data["t_ms"]
            if kind == "recv":
                # Of a download, the source is a server of several phones.
                at = samples.received_bytes.setdefault(name if name.endswith(DOWN) else data["source"], {})
                # Several receivers (TCP and UDP) may have bytes of one phone: they are added up.
                at[t_ms // 1000] = at.get(t_ms // 1000, 0) + data["bytes"]
                if "gap_max_us" in data and not name.endswith(DOWN):
                    samples.gaps_us.setdefault(data["source"], {})[t_ms // 1000] = data["gap_max_us"]
            elif kind == "send":
                samples.sent.setdefault(name, {})[t_ms // 1000] = data
            elif kind == "rules":
                samples.rules.setdefault(name, []).append((t_ms / 1000, data["rules"]))
            else:
                raise LabError(f"samples, line {number}: unknown kind {kind!r}")
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(f"samples, line {number}: not a sample ({error!r}): {line[:120]!r}") from error
    return samples


def jain(rates: Sequence[float]) -> float | None:
    """Jain's fairness index: 1 if all rates are equal, 1/n if one has everything; None if all are 0."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares > 0 else None


def p95(values: Sequence[float]) -> float | None:
    """The value below which 95 % of the values are, linear between neighbours; None of nothing."""
    if len(values) < 2:  # noqa: PLR2004  (quantiles() needs two)
        return values[0] if values else None
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean; None of nothing."""
    return statistics.fmean(values) if values else None


def figures(cell: Topology, mode: str, seed: int, samples: Samples) -> Run:
    """Compute every figure of one run, but its cost."""
    parameters = cell.parameters
    base_rtt_ms = _base_rtt_ms(cell, samples)
    flows = parameters.scenario.flows(parameters.terminals, parameters.seconds, seed)
    phones = tuple(_phone(cell, phone, samples, base_rtt_ms, flows) for phone in cell.phones)
    sharing = _sharing(cell, flows)
    window = slice(parameters.warmup_seconds, parameters.seconds)
    up = [(("up", i) in sharing, phone) for i, phone in enumerate(phones, start=1)]
    down = [(("down", i) in sharing, phone.download) for i, phone in enumerate(phones, start=1) if phone.download]
    directions: dict[Direction, DirectionTotal] = {"up": _total(up, window), "down": _total(down, window)}
    every = [phone.series for phone in phones] + [download.series for _, download in down]
    rtts_ms = [rtt for series in every for rtt in series.srtt_ms[window] if rtt is not None]
    ratios = [ratio for series in every for ratio in series.rtt_ratio[window] if ratio is not None]
    return Run(
        mode=mode,
        seed=seed,
        total_goodput_mbps=_rounded(sum(total.total_goodput_mbps for total in directions.values())),
        jain=min((total.jain for total in directions.values() if total.jain is not None), default=None),
        rtt_mean_ms=_rounded_if_known(mean(rtts_ms)),
        rtt_p95_ms=_rounded_if_known(p95(rtts_ms)),
        rtt_ratio=_rounded_if_known(mean(ratios)),
        retransmits=sum(total.retransmits for total in directions.values()),
        wall_seconds=0.0,
        phones=phones,
        uplink=directions["up"] if down else None,
        downlink=directions["down"] if down else None,
        recovery_s=_recovery_s(cell, mode, every),
        unconnected=samples.unconnected or None,
        agentless_ratio=_agentless_ratio(
            cell, mode, {index: phones[index - 1] for direction, index in sorted(sharing) if direction == "up"}
        ),
    )


def _sharing(cell: Topology, flows: Sequence[Flow]) -> set[tuple[Direction, int]]:
    """Direction and phone of each flow of the measured window, but for those at a rate of their own: they are not meant
    to have a share as large as the others'.
    """
    warmup_ms = cell.parameters.warmup_seconds * 1000
    return {
        (flow.direction, flow.phone) for flow in flows if flow.stop_ms > warmup_ms and flow.action.rate_mbps is None
    }


def air_jain(cell: Topology, seed: int, counted: Mapping[str, Airtime]) -> float | None:
    """Jain's index of the air times of those that share it, if the access point counted them from before the start."""
    parameters = cell.parameters
    flows = parameters.scenario.flows(parameters.terminals, parameters.seconds, seed)
    mac_of = {phone.index: phone.mac for phone in cell.phones}
    times_us = list[int]()
    for direction, phone in sorted(_sharing(cell, flows)):
        found = counted.get(mac_of[phone])
        if found is None or found.connected_s < parameters.seconds:
            return None
        times_us.append(found.up_us if direction == "up" else found.down_us)
    return _rounded_if_known(jain(times_us)) if times_us else None


def air_s(cell: Topology, counted: Mapping[str, Airtime]) -> list[float | None]:
    """Seconds on the air by phone, both ways; None of one that the access point counts nothing of."""
    found = (counted.get(phone.mac) for phone in cell.phones)
    return [None if one is None else _rounded((one.up_us + one.down_us) / MEGA) for one in found]


def _agentless_ratio(cell: Topology, mode: str, sharing: Mapping[int, PhoneResult]) -> float | None:
    """Mean goodput of those that share the uplink without an agent over that of those with one."""
    if not variant.has_agents(mode):
        return None
    has_agent = cell.parameters.has_agent
    without, with_one = (
        mean([phone.goodput_mbps for index, phone in sharing.items() if has_agent(index) == having])
        for having in (False, True)
    )
    return _rounded(without / with_one) if without is not None and with_one else None


def _total(flows: Sequence[tuple[bool, PhoneResult | Download]], window: slice) -> DirectionTotal:
    """Figures of one direction; each flow with whether it counts for Jain's index."""
    rtts_ms = [rtt for _, flow in flows for rtt in flow.series.srtt_ms[window] if rtt is not None]
    return DirectionTotal(
        total_goodput_mbps=_rounded(sum(flow.goodput_mbps for _, flow in flows)),
        jain=_rounded_if_known(jain([flow.goodput_mbps for shares, flow in flows if shares])),
        rtt_mean_ms=_rounded_if_known(mean(rtts_ms)),
        rtt_p95_ms=_rounded_if_known(p95(rtts_ms)),
        retransmits=sum(flow.retransmits for _, flow in flows),
    )


def _recovery_s(cell: Topology, mode: str, every: Sequence[Series]) -> float | None:
    """Time from a late start of the controller until the total is back; None if it is not started late."""
    parameters = cell.parameters
    start_s = parameters.scenario.late_components(parameters.terminals).get("controller")
    if start_s is None or not modes.parse(mode).has_agents:
        return None
    return recovery_s([sum(values) for values in zip(*(series.goodput_mbps for series in every), strict=True)], start_s)


def recovery_s(totals_mbps: Sequence[float], start_s: float) -> float | None:
    """Seconds from a start until the total, second by second, first reaches 90 % of its later mean.

    The later mean is that over the second half of what follows the start, the earlier one that over the second half of
    what precedes it. None if 90 % of the later mean are no more than the earlier one: nothing has recovered.
    """
    first = math.ceil(start_s)
    later = totals_mbps[first + (len(totals_mbps) - first) // 2 :]
    earlier = totals_mbps[first // 2 : first]
    wanted = RECOVERED * statistics.fmean(later) if later else 0.0
    if not wanted or (earlier and wanted <= statistics.fmean(earlier)):
        return None
    return next((i + 1 - start_s for i in range(first, len(totals_mbps)) if totals_mbps[i] >= wanted), None)


def _base_rtt_ms(cell: Topology, samples: Samples) -> dict[str, float]:
    """The smallest RTT that any phone measured, by server."""
    smallest: dict[str, float] = {}
    for phone in cell.phones:
        server = cell.server_of(phone).name
        for line in (*samples.sent.get(phone.name, {}).values(), *samples.sent.get(phone.download, {}).values()):
            rtt_us = line.get("min_rtt_us", 0)
            if 0 < rtt_us < RTT_UNKNOWN_US:
                smallest[server] = min(smallest.get(server, rtt_us / 1000), rtt_us / 1000)
    return smallest


def _phone(
    cell: Topology, phone: Phone, samples: Samples, base_rtt_ms: dict[str, float], flows: Sequence[Flow]
) -> PhoneResult:
    parameters = cell.parameters
    downloads = any(flow.phone == phone.index and flow.direction == "down" for flow in flows)
    base_ms = base_rtt_ms.get(cell.server_of(phone).name)
    goodput_mbps, retransmits, series = _flow(cell, samples, phone.address, phone.name, base_ms)
    return PhoneResult(
        wired_delay_ms=parameters.wired_delay_ms(phone.index),
        goodput_mbps=goodput_mbps,
        retransmits=retransmits,
        series=series,
        rules=tuple(RulesChange(t_s, tuple(rules.splitlines())) for t_s, rules in samples.rules.get(phone.name, [])),
        download=Download(*_flow(cell, samples, phone.download, phone.download, base_ms)) if downloads else None,
        gap_max_ms=_gap_max_ms(cell, phone, samples, series, flows),
    )


def _gap_max_ms(cell: Topology, phone: Phone, samples: Samples, series: Series, flows: Sequence[Flow]) -> float | None:
    """The longest time without a datagram of a phone in the measured window, if it never pauses by itself."""
    warmup_s, end_s = cell.parameters.warmup_seconds, cell.parameters.seconds
    uploads = [flow for flow in flows if flow.phone == phone.index and flow.direction == "up"]
    if len(uploads) != 1 or uploads[0].action.protocol != "udp":
        return None
    flow = uploads[0]
    paced = flow.action.rate_mbps is not None and flow.action.on_s is None
    if not paced or flow.start_ms > warmup_s * 1000 or flow.stop_ms < end_s * 1000:
        return None
    ended_us = [gap for second, gap in samples.gaps_us.get(phone.address, {}).items() if second > warmup_s]
    # A time without datagrams that has not ended is only seen by the seconds that have none.
    silent_s = len(list(itertools.takewhile(lambda mbps: not mbps, reversed(series.goodput_mbps[warmup_s:]))))
    return _rounded(max([*ended_us, silent_s * 1_000_000]) / 1000)


def _flow(
    cell: Topology, samples: Samples, received_as: str, sent_as: str, base_ms: float | None
) -> tuple[float, int, Series]:
    """Goodput and retransmits over the measured window, and the series, of a phone's traffic in one direction."""
    received, sent = samples.received_bytes.get(received_as, {}), samples.sent.get(sent_as, {})
    total_bytes, counted = [0], 0
    retransmits_total, retransmits_before, retransmits = 0, 0, [0]
    rows: list[dict[str, Any]] = []
    for second in range(1, cell.parameters.seconds + 1):
        counted = received.get(second, counted)
        goodput_mbps = _rounded((counted - total_bytes[-1]) * 8 / MEGA)
        total_bytes.append(counted)
        line = sent.get(second, {})
        if "retransmits" in line:
            # A new flow counts from zero again.
            grown = line["retransmits"] - retransmits_before
            retransmits_total += grown if grown >= 0 else line["retransmits"]
            retransmits_before = line["retransmits"]
        retransmits.append(retransmits_total)
        srtt_us = line.get("srtt_us", 0)
        min_rtt_us = line.get("min_rtt_us", 0)
        rows.append(
            {
                "t_s": second,
                "goodput_mbps": goodput_mbps,
                "cwnd_segs": line.get("cwnd_segs"),
                "bound_min_segs": line.get("bound_min_segs") or None,
                "bound_max_segs": line.get("bound_max_segs") or None,
                "srtt_ms": srtt_us / 1000 if srtt_us else None,
                "min_rtt_ms": min_rtt_us / 1000 if 0 < min_rtt_us < RTT_UNKNOWN_US else None,
                "rtt_ratio": _rounded(srtt_us / 1000 / base_ms) if srtt_us and base_ms else None,
            }
        )
    warmup_s, end_s = cell.parameters.warmup_seconds, cell.parameters.seconds
    return (
        _rounded((total_bytes[end_s] - total_bytes[warmup_s]) * 8 / MEGA / (end_s - warmup_s)),
        retransmits[end_s] - retransmits[warmup_s],
        Series(**{name: tuple(row[name] for row in rows) for name in rows[0]}),
    )


def _rounded(value: float) -> float:
    return round(value, DIGITS)


def _rounded_if_known(value: float | None) -> float | None:
    return None if value is None else _rounded(value)
