# SPDX-License-Identifier: Apache-2.0
"""What an operator's choice did: what phones, stations and access points had in force before it and have after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airbound.operator.printable import printable
from airbound.operator.values import mode_name

if TYPE_CHECKING:
    from airbound.operator.client import Client
    from airbound.v1 import operations_pb2

_KINDS = (
    ("bounds of", "phone", "phones"),
    ("windows of", "station", "stations"),
    ("EDCA parameters of", "access point", "access points"),
)


class Sent(NamedTuple):
    """To how many something was sent that has not been released."""

    phones: int
    stations: int
    access_points: int


def sent(client: Client, bssid: str = "") -> Sent:
    """What is sent in a cell, or in all.

    Raises:
        UnreachableError, RefusedError: as the client's.
    """
    cells = [cell for cell in client.cells().cells if bssid in {"", cell.bssid}]
    terminals = client.terminals().terminals
    return Sent(
        sum(bool(terminal.bounds_sent) and bssid in {"", terminal.bssid} for terminal in terminals),
        sum(len({limit.station for limit in cell.windows.sent}) for cell in cells),
        sum(bool(cell.edca.sent or cell.edca.sent_stations) for cell in cells),
    )


def difference(before: Sent, after: Sent) -> str:
    """What was released and what was set: `bounds of 3 phones released`; `nothing was in force` if neither."""
    words = []
    for (what, one, several), was, now in zip(_KINDS, before, after, strict=True):
        count = abs(was - now)
        if count:
            words.append(f"{what} {count} {one if count == 1 else several} {'released' if now < was else 'set'}")
    if words:
        return ", ".join(words)
    return "nothing was in force" if not any(after) else "what is in force stays"


def unreported(client: Client, bssid: str) -> str:
    """What is to be added if a choice is kept for a cell that nobody has reported: it may be mistyped.

    Raises:
        UnreachableError, RefusedError: as the client's.
    """
    if not bssid or any(cell.bssid == bssid for cell in client.cells().cells):
        return ""
    return f" (no access point has reported the cell {bssid} yet; airbound cells lists those that have)"


def mode_set(answer: operations_pb2.SetModeResponse, wanted: str, cell: str, lasts: str, did: str) -> str:
    """The mode now, the one before, what that `did`, and what ends it. `cell`: a BSSID, or empty for all."""
    now = mode_name(answer.mode) if answer.mode else wanted
    was = mode_name(answer.previous_mode)
    text = f"{now} (as before)" if was == now else f"{now} (was {was})"
    if lasts:
        return f"{text}; {did}; ends by itself in {lasts}"
    if now != "observe" or wanted == "configured":
        return f"{text}; {did}"
    return f"{text}; {did}; `airbound mode {f'configured --cell {cell}' if cell else 'control'}` ends that"


def exempted(name: str, answer: operations_pb2.ExemptTerminalResponse, did: str, *, off: bool) -> str:
    """Whether it is exempt now and was before, what that `did`, and what ends it."""
    name = printable(name)
    state = f"{name} {'under control' if off else 'exempt'}"
    same = answer.previously_exempt != off
    was = "as before" if same else f"was {'exempt' if answer.previously_exempt else 'under control'}"
    return f"{state} ({was}); {did}{'' if off else f'; `airbound exempt {name} --off` ends that'}"
