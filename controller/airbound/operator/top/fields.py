# SPDX-License-Identifier: Apache-2.0
"""Single values of cells, stations and terminals as they are shown."""

from airbound.operator.printable import printable
from airbound.v1 import operations_pb2

SILENT_MS = 3500  # an access point reports once a second; from here on the controller no longer decides for its cell
NONE = "-"
RATIO_LONG, RATIO_VERY_LONG = 3.0, 10.0  # RTT over minimum RTT
_MODES = {operations_pb2.MODE_OBSERVE: "observe", operations_pb2.MODE_CONTROL: "control"}
_CHANNEL_14_MHZ = 2484
_BANDS = ((5950, 5955, 7115), (5000, 5005, 5900), (2407, 2412, 2472))  # channel 0, first and last frequency in MHz
_CHANNEL_MHZ = 5


def channel(center_frequency_mhz: int) -> str:
    """The channel's number (IEEE Std 802.11-2020, annex E)."""
    if center_frequency_mhz == _CHANNEL_14_MHZ:
        return "14"
    for start, first, last in _BANDS:
        if first <= center_frequency_mhz <= last:
            return str((center_frequency_mhz - start) // _CHANNEL_MHZ)
    return NONE


def ssid(cell: operations_pb2.Cell) -> str:
    """The network's name, which may be any octets."""
    return printable(cell.ssid.decode(errors="replace"))


def mbps(bps: float) -> str:
    """Mb/s with one decimal, without the unit."""
    return f"{bps / 1e6:.1f}"


def ms(us: int) -> str:
    """Milliseconds with one decimal, without the unit."""
    return f"{us / 1000:.1f}" if us else NONE


def percent(share: float | None) -> str:
    """A share of 0 to 1."""
    return NONE if share is None else f"{share:.0%}"


def ratio(value: float | None) -> str:
    """An RTT ratio."""
    return NONE if not value else f"{value:.1f}" if value < 100 else f"{value:.0f}"  # noqa: PLR2004  # five columns


def ratio_style(value: float | None) -> str:
    """Long queues are marked, as Rich's styles have it."""
    return "" if value is None or value < RATIO_LONG else "yellow" if value < RATIO_VERY_LONG else "bold red"


def edca(cell: operations_pb2.Cell, *, short: bool) -> str:
    """AIFSN, and contention windows, of the queues that were set; `own` if the access point's own are in force."""
    if not cell.HasField("edca"):
        return NONE
    sent = cell.edca.sent
    return ",".join(f"{queue.aifsn}{'' if short else f' {queue.cw_min}-{queue.cw_max}'}" for queue in sent) or "own"


def state(cell: operations_pb2.Cell, age_ms: float) -> str:
    """What is done for a cell: its mode, or why nothing is."""
    if age_ms > SILENT_MS:
        return "silent"
    return "exempt" if cell.exempt else mode(cell.mode)


def mode(value: operations_pb2.Mode) -> str:
    """A mode's name."""
    return _MODES.get(value, "?")
