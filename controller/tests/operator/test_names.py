# SPDX-License-Identifier: Apache-2.0
"""What operators may call cells, stations and terminals."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from airbound.operator import cli, names
from airbound.operator.client import NotFoundError, RefusedError
from airbound.v1 import operations_pb2, pki_pb2
from airbound_testing.live import BSSID, MACS, LiveController

PLAIN = ("--plain-text", "--timeout", "30")
OTHER = "02:00:00:00:00:02"


class Controller:
    """What these functions ask of a client."""

    def __init__(self, *cells: operations_pb2.Cell, terminals: tuple[str, ...] = (), enrolled: Any = None) -> None:
        self._cells, self._terminals, self._enrolled = cells, terminals, enrolled

    def cells(self) -> Any:
        return operations_pb2.ListCellsResponse(cells=self._cells)

    def stations(self, bssid: str) -> Any:
        address = "192.0.2.9" if bssid == BSSID else "2001:db8::9"
        return SimpleNamespace(stations=[operations_pb2.StationView(mac=MACS[0], ip_addresses=[address])])

    def terminals(self) -> Any:
        return SimpleNamespace(terminals=[SimpleNamespace(name=name) for name in self._terminals])

    def controller(self) -> Any:
        return SimpleNamespace(exempt=["gone"])

    def enrolled(self, _role: str) -> Any:
        if self._enrolled is None:
            raise RefusedError("no such service")
        return pki_pb2.ListEnrolledResponse(
            enrolled=[pki_pb2.Enrolled(role="terminal", name=name) for name in self._enrolled]
        )


ROOF = operations_pb2.Cell(bssid=BSSID, access_point="roof", ssid=b"Office")
YARD = operations_pb2.Cell(bssid=OTHER, access_point="yard", ssid=b"Office")


def asked(function: Callable[..., str], controller: Controller, *arguments: str, **options: Any) -> str:
    return function(controller, *arguments, **options)


@pytest.mark.parametrize(
    ("text", "cells", "bssid"),
    [
        ("", (ROOF,), BSSID),
        ("YARD", (ROOF, YARD), OTHER),
        ("office", (ROOF,), BSSID),
        ("02-00-00-00-00-0F", (ROOF,), "02:00:00:00:00:0f"),
        # Its access point's name counts before another cell's SSID.
        ("roof", (ROOF, operations_pb2.Cell(bssid=OTHER, ssid=b"roof")), BSSID),
    ],
)
def test_a_cell_by_its_names(text: str, cells: tuple[operations_pb2.Cell, ...], bssid: str) -> None:
    assert asked(names.bssid_of, Controller(*cells), text) == bssid


@pytest.mark.parametrize(
    ("text", "cells", "error", "message"),
    [
        ("", (), NotFoundError, "no access point has reported. To have one: `airbound enroll access-point NAME`"),
        ("", (ROOF, YARD), RefusedError, f"there are several cells: name one of {BSSID} (roof), {OTHER} (yard)"),
        ("office", (ROOF, YARD), RefusedError, f"several cells are called office: name one of {BSSID} (roof), {OTHER}"),
        ("rof", (ROOF, YARD), NotFoundError, "no cell is called rof; did you mean roof?"),
        ("kitchen", (ROOF, YARD), NotFoundError, "no cell is called kitchen"),
        ("\x1b[31m", (ROOF,), NotFoundError, "no cell is called ?[31m"),
    ],
)
def test_who_is_not_meant_is_said(
    text: str, cells: tuple[operations_pb2.Cell, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        asked(names.bssid_of, Controller(*cells), text)
    assert str(raised.value).startswith(message)
    assert ("did you mean" in str(raised.value)) == ("did you mean" in message)


def test_many_cells_do_not_fill_the_screen() -> None:
    cells = [operations_pb2.Cell(bssid=f"02:00:00:00:01:{number:02x}") for number in range(20)]
    with pytest.raises(RefusedError, match=r"\(\?\), 12 more$"):
        asked(names.bssid_of, Controller(*cells), "")


@pytest.mark.parametrize(("text", "mac"), [("192.0.2.9", MACS[0]), ("2001:db8:0::9", MACS[0]), ("192.0.2.8", "")])
def test_a_station_by_its_address(text: str, mac: str) -> None:
    assert asked(names.station_of, Controller(ROOF, YARD), text) == mac


def test_an_exemption_is_for_somebody_who_is_known() -> None:
    known = Controller(ROOF, terminals=("phone-1",), enrolled=("phone-2",))
    for text, kept in (("phone-1", "phone-1"), ("phone-2", "phone-2"), ("roof", BSSID), ("192.0.2.9", MACS[0])):
        assert asked(names.exempt_of, known, text, off=False) == kept
    for text in ("phone-3", "gone"):
        with pytest.raises(NotFoundError, match=f"no terminal is called {text}, connected or with a certificate"):
            asked(names.exempt_of, known, text, off=False)
    # Of who is gone an exemption can be ended.
    assert asked(names.exempt_of, known, "gone", off=True) == "gone"
    # In plain text nobody has a certificate.
    assert asked(names.exempt_of, Controller(ROOF), "phone-3", off=False) == "phone-3"
    with pytest.raises(NotFoundError, match="did you mean phone-2"):
        asked(names.terminal_of, Controller(enrolled=("phone-2", "tv")), "phome-2")


def test_a_certificate_that_there_is_not() -> None:
    known = Controller(enrolled=("phone-1", "tv"))
    for text in ("phone-1", "PHONE-1", "terminal/phone1", "terminl/phone-1"):
        assert names.no_certificate(known, text).endswith("; did you mean terminal/phone-1?")  # type: ignore[arg-type]
    assert names.no_certificate(known, "roof").endswith(  # type: ignore[arg-type]
        "roof is neither ROLE/NAME nor a serial number of a certificate; airbound enrolled lists them"
    )


async def test_commands_take_names(capsys: pytest.CaptureFixture[str]) -> None:
    async with LiveController() as live:
        await live.uploading(1)
        cell = live.runner.engine.cells[bytes.fromhex(BSSID.replace(":", ""))]
        cell.ssid = b"Office"

        async def run(*arguments: str) -> tuple[int, str, str]:
            code = await asyncio.to_thread(cli.main, [*arguments, "--controller", live.operators, *PLAIN])
            out, err = capsys.readouterr()
            return code, out, err

        for arguments in (("stations",), ("stations", "office"), ("terminals", "--cell", "office")):
            code, out, err = await run(*arguments)
            assert (code, err) == (0, "")
            assert MACS[0] in out
        assert (await run("explain", "office"))[1] == (await run("explain", BSSID))[1]
        code, _, err = await run("explain", "ofice")
        assert (code, "no terminal, station or cell is called ofice; did you mean Office?" in err) == (1, True)
        code, _, err = await run("explain", "02:00:00:00:09:09")
        said = "no terminal, station or cell has the address 02:00:00:00:09:09; airbound stations lists"
        assert (code, said in err) == (1, True)
        code, out, _ = await run("events", "--cell", "office")
        assert (code, BSSID in out) == (0, True)
        code, out, _ = await run("mode", "observe", "--cell", "Office")
        ends = f"; `airbound mode configured --cell {BSSID}` ends that\n"
        assert (code, out) == (0, f"observe (was control); bounds of 1 phone released{ends}")
        code, out, _ = await run("mode", "observe", "--cell", "02:00:00:00:aa:aa")
        said = "(no access point has reported the cell 02:00:00:00:aa:aa yet; airbound cells lists those that have)"
        assert (code, said in out) == (0, True)
        code, _, err = await run("mode", "control", "--cell", "kitchen")
        assert (code, "no cell is called kitchen" in err) == (1, True)
