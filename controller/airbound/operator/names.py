# SPDX-License-Identifier: Apache-2.0
"""What operators call cells and stations, in place of their BSSIDs and MAC addresses: the name of the access point, the
SSID, an IP address.
"""

from __future__ import annotations

import difflib
from ipaddress import ip_address
from typing import TYPE_CHECKING

from airbound.core.addresses import mac_from_text, mac_text
from airbound.operator.client import NotFoundError, RefusedError
from airbound.operator.printable import printable
from airbound.operator.values import NO_ACCESS_POINT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound.operator.client import Client
    from airbound.v1 import operations_pb2

LISTED_MAX = 8  # names in an error
NEAR_MAX = 3


def bssid_of(client: Client, text: str) -> str:
    """The BSSID of a cell by its BSSID, the name of its access point, or its SSID, in this order, the last two in upper
    or lower case; of the only cell, if the text is empty. A BSSID need not be that of a cell that has reported.

    Raises:
        NotFoundError: no cell is called that, or there is none.
        RefusedError: several are.
        UnreachableError: as the client's.
    """
    if _is_mac(text):
        return mac_text(mac_from_text(text))
    cells = client.cells().cells
    if not text:
        if not cells:
            raise NotFoundError(NO_ACCESS_POINT)
        return _only("there are several cells: name one of", cells)
    wanted = text.casefold()
    for name_of in (_access_point, _ssid):
        found = [cell for cell in cells if name_of(cell).casefold() == wanted]
        if found:
            return _only(f"several cells are called {printable(text)}: name one of", found)
    known = {name for cell in cells for name in (_access_point(cell), _ssid(cell)) if name}
    raise NotFoundError(f"no cell is called {printable(text)}{did_you_mean(text, known)}")


def chosen_bssid(client: Client, text: str) -> str:
    """The same; empty for an empty text, as without the option."""
    return bssid_of(client, text) if text else ""


def explain(
    client: Client, text: str
) -> (
    operations_pb2.ExplainTerminalResponse | operations_pb2.ExplainCellResponse | operations_pb2.ExplainStationResponse
):
    """What `Client.explain` finds; else the station with that IP address, or the cell that is called that.

    Raises:
        NotFoundError: there is nothing of that name; the error has names that are like it.
        UnreachableError, RefusedError: as the client's.
    """
    try:
        return client.explain(text)
    except NotFoundError:
        if _is_mac(text):
            missing = f"no terminal, station or cell has the address {text}; airbound stations lists those of a cell"
            raise NotFoundError(missing) from None
        mac = station_of(client, text)
        if mac:
            return client.explain(mac)
        try:
            return client.explain_cell(bssid_of(client, text))
        except NotFoundError:
            near = did_you_mean(text, known_names(client))
            raise NotFoundError(f"no terminal, station or cell is called {printable(text)}{near}") from None


def _is_mac(text: str) -> bool:
    try:
        mac_from_text(text)
    except ValueError:
        return False
    return True


def station_of(client: Client, text: str) -> str:
    """The MAC address of a station by its IP address; empty if the text is none, or if no cell has it.

    Raises:
        UnreachableError, RefusedError: as the client's.
    """
    try:
        wanted = ip_address(text)
    except ValueError:
        return ""
    for cell in client.cells().cells:
        for station in client.stations(cell.bssid).stations:
            if wanted in map(ip_address, station.ip_addresses):
                return station.mac
    return ""


def exempt_of(client: Client, text: str, *, off: bool) -> str:
    """What an exemption is to be kept under: a MAC address or BSSID, or a terminal's name. A terminal need not be
    connected, but where there are certificates it must have one, so that a mistyped name exempts nobody silently.

    Raises:
        NotFoundError: nobody is called that.
        RefusedError: several cells are.
        UnreachableError: as the client's.
    """
    if _is_mac(text) or (off and text in client.controller().exempt):
        return text
    if text in {terminal.name for terminal in client.terminals().terminals}:
        return text
    try:
        return bssid_of(client, text)
    except NotFoundError:
        return station_of(client, text) or terminal_of(client, text)


def terminal_of(client: Client, text: str) -> str:
    """The same name, of a terminal that is connected or has a certificate; any where there are no certificates.

    Raises:
        NotFoundError: no terminal is called that.
        UnreachableError: as the client's.
    """
    if _is_mac(text) or text in {terminal.name for terminal in client.terminals().terminals}:
        return text
    try:
        enrolled = {found.name for found in client.enrolled("terminal").enrolled}
    except RefusedError:  # in plain text
        return text
    if text in enrolled:
        return text
    near = did_you_mean(text, known_names(client) | enrolled)
    raise NotFoundError(f"no terminal is called {printable(text)}, connected or with a certificate{near}")


def no_certificate(client: Client, text: str) -> str:
    """What to say of a certificate that there is not, by ROLE/NAME or what was taken for it.

    Raises:
        UnreachableError, RefusedError: as the client's.
    """
    known: dict[str, list[str]] = {}
    for found in client.enrolled("").enrolled:
        known.setdefault(found.name.casefold(), []).append(f"{found.role}/{found.name}")
    close = difflib.get_close_matches(text.rpartition("/")[2].casefold(), known, n=NEAR_MAX)
    near = " or ".join(printable(identity) for name in close for identity in known[name])
    what = (
        f"no certificate or token of {printable(text)} is known that has not ended"
        if "/" in text
        else f"{printable(text)} is neither ROLE/NAME nor a serial number of a certificate"
    )
    return f"{what}; did you mean {near}?" if near else f"{what}; airbound enrolled lists them"


def known_names(client: Client) -> set[str]:
    """What terminals and cells are called.

    Raises:
        UnreachableError, RefusedError: as the client's.
    """
    cells = client.cells().cells
    names = {terminal.name for terminal in client.terminals().terminals}
    return names | {name for cell in cells for name in (_access_point(cell), _ssid(cell)) if name}


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """The end of an error about a name that there is not."""
    by_case = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(text.casefold(), by_case, n=NEAR_MAX)
    return f"; did you mean {' or '.join(printable(by_case[name]) for name in near)}?" if near else ""


def _only(several: str, cells: Sequence[operations_pb2.Cell]) -> str:
    if len(cells) == 1:
        return cells[0].bssid
    listed = [f"{cell.bssid} ({printable(_access_point(cell) or _ssid(cell)) or '?'})" for cell in cells[:LISTED_MAX]]
    more = [f"{len(cells) - LISTED_MAX} more"] if len(cells) > LISTED_MAX else []
    raise RefusedError(f"{several} {', '.join([*listed, *more])}")


def _access_point(cell: operations_pb2.Cell) -> str:
    return cell.access_point


def _ssid(cell: operations_pb2.Cell) -> str:
    return cell.ssid.decode(errors="replace")
