# SPDX-License-Identifier: Apache-2.0
"""Results as rows of text; pure. The command line prints them, the report lays them out."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from airbound_lab.settings import variant
from airbound_lab.settings.radio import DEFAULT_PHY
from airbound_lab.settings.values import DEFAULT_KERNEL_LINE, WINDOW_SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airbound_lab.figures.results import Results, Run
    from airbound_lab.figures.senders import SenderFigures
    from airbound_lab.settings.parameters import Parameters

COLUMNS: tuple[tuple[str, str, int, Callable[[Run], float | None]], ...] = (
    ("total", "Mb/s", 2, lambda run: run.total_goodput_mbps),
    ("Jain", "", 3, lambda run: run.jain),
    ("RTT mean", "ms", 0, lambda run: run.rtt_mean_ms),
    ("RTT p95", "ms", 0, lambda run: run.rtt_p95_ms),
    ("RTT ratio", "", 1, lambda run: run.rtt_ratio),
    ("retransmits", "", 0, lambda run: run.retransmits),
)
"""Heading, unit, decimals, and where the figure is."""


SWITCH_NAMES = {"ovs": "Open vSwitch", "openflow": "OpenFlow", "meters": "OpenFlow with meters"}


def cell(values: Sequence[float | None], decimals: int, *, spread: bool = True) -> str:
    """One figure over the seeds: itself if there is one, otherwise median and, if wanted, range."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    median = f"{statistics.median(known):.{decimals}f}"
    if len(known) == 1 or not spread:
        return median
    return f"{median} [{min(known):.{decimals}f} .. {max(known):.{decimals}f}]"


def rows(results: Results) -> list[list[str]]:
    """Heading and one row per mode; with downloads one per direction as well."""
    columns = COLUMNS
    # Of phones with one rate, as on 802.11g, equal air is equal throughput.
    if results.parameters.phy != DEFAULT_PHY and any(run.air_jain is not None for run in results.runs):
        columns += (("Jain of air", "", 3, lambda run: run.air_jain),)
    if any(run.recovery_s is not None for run in results.runs):
        columns += (("recovery", "s", 0, lambda run: run.recovery_s),)
    if any(run.unconnected for run in results.runs):
        columns += (("unconnected", "flows", 0, lambda run: run.unconnected or 0),)
    if any(run.agentless_ratio is not None for run in results.runs):
        columns += (("without/with agent", "", 3, lambda run: run.agentless_ratio),)
    if any(_gap_max_ms(run) is not None for run in results.runs):
        columns += (("longest gap", "ms", 0, _gap_max_ms),)
    table = [["mode", *(f"{name} {unit}".strip() for name, unit, _, _ in columns)]]
    for mode in results.modes():
        runs = results.of_mode(mode)
        table.append([mode, *(cell([figure(run) for run in runs], decimals) for _, _, decimals, figure in columns)])
        for direction in runs[0].directions():
            totals = [run.directions()[direction] for run in runs]
            table.append(
                [
                    f"  {direction}",
                    cell([total.total_goodput_mbps for total in totals], 2),
                    cell([total.jain for total in totals], 3),
                    cell([total.rtt_mean_ms for total in totals], 0),
                    cell([total.rtt_p95_ms for total in totals], 0),
                    "",
                    cell([total.retransmits for total in totals], 0),
                    *[""] * (len(columns) - len(COLUMNS)),
                ]
            )
    return table


def _gap_max_ms(run: Run) -> float | None:
    """The longest time without a datagram of any phone that sends them all the time."""
    return max((phone.gap_max_ms for phone in run.phones if phone.gap_max_ms is not None), default=None)


def phone_rows(results: Results) -> list[list[str]]:
    """Heading and, per mode, the goodput of each phone (the median of the seeds)."""
    phones = range(results.parameters.terminals)
    table = [["Mb/s of phone", *(str(i + 1) for i in phones)]]
    for mode in results.modes():
        runs = results.of_mode(mode)
        table.append([mode, *(cell([run.phones[i].goodput_mbps for run in runs], 2, spread=False) for i in phones)])
        if runs[0].downlink is not None:
            down = [[run.phones[i].download for run in runs] for i in phones]
            table.append(
                [
                    "  down",
                    *(cell([d.goodput_mbps if d else None for d in downloads], 2, spread=False) for downloads in down),
                ]
            )
    return table


def sender_rows(results: Results) -> list[list[str]]:
    """Heading and a row per mode with agents: how well the controller knew who sent (medians of the seeds)."""
    columns: tuple[tuple[str, int, Callable[[SenderFigures], float | None]], ...] = (
        ("precision", 3, lambda found: found.precision),
        ("recall", 3, lambda found: found.recall),
        ("starts", 0, lambda found: found.starts),
        ("missed", 0, lambda found: found.starts_missed),
        ("delay ms", 0, lambda found: found.start_delay_ms),
        ("at most", 0, lambda found: found.start_delay_max_ms),
        ("stops", 0, lambda found: found.stops),
        ("missed", 0, lambda found: found.stops_missed),
        ("delay ms", 0, lambda found: found.stop_delay_ms),
        ("at most", 0, lambda found: found.stop_delay_max_ms),
    )
    table = [["who sends", *(name for name, _, _ in columns)]]
    for mode in results.modes():
        found = [run.senders for run in results.of_mode(mode) if run.senders is not None]
        if found:
            table.append(
                [mode, *(cell([value_of(one) for one in found], decimals) for _, decimals, value_of in columns)]
            )
        on_air = [run.air for run in found if run.air is not None]
        if on_air:
            table.append(
                [
                    "  on the air",
                    *(cell([value_of(one) for one in on_air], decimals) for _, decimals, value_of in columns),
                ]
            )
    return table


def text(table: list[list[str]]) -> str:
    """Lay out rows in columns, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        first, *others = (
            entry.ljust(width) if i == 0 else entry.rjust(width)
            for i, (entry, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)


def radio(parameters: Parameters) -> str:
    """What phones and access point are."""
    phones = "1 phone" if parameters.terminals == 1 else f"{parameters.terminals} phones"
    kind = "" if parameters.ap == "plain" else f", {parameters.ap} access point"
    return f"802.{parameters.phy}{kind}, {parameters.rate_control}, {phones}"


def describe(parameters: Parameters) -> str:
    """One line on what was run."""
    delays = ", ".join(f"{delay_ms:g}" for delay_ms in parameters.wired_delays_ms)
    phones = "1 phone" if parameters.terminals == 1 else f"{parameters.terminals} phones"
    count = len(parameters.seeds)
    seeds = f"seed {parameters.seeds[0]}" if count == 1 else f"{count} seeds: median [range]"
    window_s = parameters.seconds - parameters.warmup_seconds
    with_agent = sum(map(parameters.has_agent, range(1, parameters.terminals + 1)))
    if with_agent < parameters.terminals:
        phones += f", {with_agent} with an agent"
    more = "".join(
        f", {what}"
        for what, there in (
            (f"{parameters.access_points} access points", parameters.access_points > 1),
            (f"the first {parameters.ap_agents} with an agent", parameters.ap_agents is not None),
            ("on different channels", parameters.access_points > 1 and parameters.ap_channels == "different"),
            (f"deaf for {parameters.deaf_ms} ms", bool(parameters.deaf_ms)),
            (SWITCH_NAMES.get(parameters.switch, ""), parameters.ovs),
            ("no agent of the access point", not parameters.ap_agent),
            ("EDCA parameters cannot be set", not parameters.ap_edca),
            ("window clamp", parameters.window_clamp),
            (f"window scale {parameters.window_scale}", parameters.window_scale != WINDOW_SCALE),
            ("mutual TLS", parameters.tls),
            (f"{', '.join(f'{m:g}' for m in parameters.distances_m or ())} m away", parameters.distances_m is not None),
            ("interference", parameters.interference_us is not None),
            ("hidden stations", parameters.hidden is not None),
            (f"{parameters.ap} access point", parameters.ap != "plain"),
            (f"Linux {parameters.kernel_line}", parameters.kernel_line != DEFAULT_KERNEL_LINE),
            ("without AQL", not parameters.aql),
            ("live video marks its packets", parameters.live_marks),
        )
        if there
    )
    return (
        f"{parameters.scenario.name}: {phones}, {delays} ms on the wire, 802.{parameters.phy}, "
        f"{parameters.rate_control}{more}; {seeds}; {window_s} s measured after {parameters.warmup_seconds} s"
    )


def findings(results: Results) -> list[str]:
    """One sentence per mode, which compares it with the first mode that runs without Airbound."""
    modes = results.modes()
    reference = next((mode for mode in modes if not variant.has_agents(mode)), None)
    if reference is None:
        return []
    return [
        sentence for mode in modes if mode != reference and (sentence := _against(results, mode, reference)) is not None
    ]


def _against(results: Results, mode: str, reference: str) -> str | None:
    runs, runs_reference = results.of_mode(mode), results.of_mode(reference)
    total, total_reference = (
        statistics.median(run.total_goodput_mbps for run in several) for several in (runs, runs_reference)
    )
    if not total_reference:
        return None
    parts = [f"total {total:.1f} Mb/s, {_change(total, total_reference)} {reference}'s {total_reference:.1f}"]
    rtt_ms, rtt_reference_ms = (_median(several, lambda run: run.rtt_mean_ms) for several in (runs, runs_reference))
    if rtt_ms and rtt_reference_ms:
        parts.append(f"mean RTT {rtt_ms:.0f} ms, {_times(rtt_reference_ms / rtt_ms)} {rtt_reference_ms:.0f}")
    fair, fair_reference = (_median(several, lambda run: run.jain) for several in (runs, runs_reference))
    if fair is not None and fair_reference is not None:
        parts.append(f"Jain {fair:.3f} ({fair_reference:.3f})")
    return f"{mode}: {'; '.join(parts)}."


def _median(runs: list[Run], figure: Callable[[Run], float | None]) -> float | None:
    values = [value for run in runs if (value := figure(run)) is not None]
    return statistics.median(values) if values else None


def _change(value: float, reference: float) -> str:
    percent = (value / reference - 1) * 100
    if abs(percent) < 0.5:  # noqa: PLR2004  (what rounds to zero)
        return "as much as"
    return f"{abs(percent):.0f} % {'above' if percent > 0 else 'below'}"


def _times(factor: float) -> str:
    if factor >= 1.05:  # noqa: PLR2004  (what rounds to 1.0 times)
        return f"{factor:.1f} times below"
    if factor <= 1 / 1.05:
        return f"{1 / factor:.1f} times above"
    return "about the same as"


def missing_records(results: Results) -> list[str]:
    """One sentence for each trace that lacks records."""
    return [
        f"{run.mode}, seed {run.seed}, phone {number}: {phone.trace.lost} records, the oldest, are missing:"
        " the kernel's buffer was too small for so many seconds"
        for run in results.runs
        for number, phone in enumerate(run.phones, start=1)
        if phone.trace and phone.trace.lost
    ]
