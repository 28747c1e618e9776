# SPDX-License-Identifier: Apache-2.0
"""Metrics of access points' OpenFlow switches, by their datapaths: as many as cells, at most."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client.metrics_core import Metric

from airbound.core.addresses import mac_text
from airbound.core.switches import Switch
from airbound.metrics.family import Family

_LABELS = ("switch",)
INFO = Family("airbound_switch_info", "gauge", "1; the cell that the switch is of.", ("switch", "bssid"))
STATIONS = Family("airbound_switch_stations", "gauge", "Stations that the switch counts.", _LABELS)
SENDERS = Family("airbound_switch_active_senders", "gauge", "Of them, those that send, by the switch.", _LABELS)
FLOWS = Family("airbound_switch_flows", "gauge", "Flows of Airbound in the switch.", _LABELS)
METERS = Family("airbound_switch_meters", "gauge", "Meters of Airbound in the switch.", _LABELS)
IN_FORCE = Family("airbound_switch_rules_in_force", "gauge", "1: the switch has the rules that it was sent.", _LABELS)
COPIES = Family("airbound_switch_packet_ins_total", "counter", "Copies of packets since it connected.", _LABELS)
COPIES_DROPPED = Family("airbound_switch_packet_ins_dropped_total", "counter", "Of them, those left out.", _LABELS)
MALFORMED = Family("airbound_switch_malformed_total", "counter", "Messages of the switch that were refused.", _LABELS)
ERRORS = Family("airbound_switch_errors_total", "counter", "Errors that the switch answered with.", _LABELS)
METER_DROPPED = Family("airbound_switch_meter_dropped_bytes_total", "counter", "Bytes that meters dropped.", _LABELS)

FAMILIES = (
    INFO, STATIONS, SENDERS, FLOWS, METERS, IN_FORCE, COPIES, COPIES_DROPPED, MALFORMED, ERRORS, METER_DROPPED,
)  # fmt: skip


class SwitchSample(NamedTuple):
    """One switch."""

    name: str
    bssid: str
    values: tuple[int, ...]  # of the families without INFO


def sample(switch: Switch) -> SwitchSample:
    """A copy, taken in the event loop."""
    report, sent = switch.report, switch.rules_lease.sent
    bssid = mac_text(switch.bound_to) if switch.bound_to else ""
    if report is None:
        return SwitchSample(switch.name, bssid, (0,) * (len(FAMILIES) - 1))
    in_force = sent is not None and bool(sent.entries) and report.generation == sent.generation
    return SwitchSample(
        switch.name,
        bssid,
        (
            len(switch.rates.stations), switch.rates.active_senders, report.flows, report.meters, int(in_force),
            report.packet_ins_total, report.packet_ins_dropped_total, report.malformed_total, report.errors_total,
            report.meter_dropped_bytes,
        ),
    )  # fmt: skip


def metrics(
    switches: Sequence[SwitchSample], labelled: Callable[[Family, Mapping[tuple[str, ...], float]], Metric]
) -> Iterator[Metric]:
    """All of them."""
    yield labelled(INFO, {(switch.name, switch.bssid): 1 for switch in switches})
    for number, family in enumerate(FAMILIES[1:]):
        yield labelled(family, {(switch.name,): switch.values[number] for switch in switches})
