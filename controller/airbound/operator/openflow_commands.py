# SPDX-License-Identifier: Apache-2.0
"""`airbound openflow`: its options, and how it is run."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from airbound.config import DEFAULT_LISTEN, LogStyle
from airbound.core.openflow_parameters import switch_of_text
from airbound.endpoints import endpoint

if TYPE_CHECKING:
    from airbound.openflow.process import Options

DEFAULT_OPENFLOW = "127.0.0.1:6653"
CONNECTIONS, CONNECTIONS_OF_ADDRESS, COPIES_PER_S, FLOWS = 256, 16, 200, 8_192
LINES_PER_S = 100.0


def add(
    command: Callable[..., argparse.ArgumentParser],
    run: Callable[[argparse.Namespace], int],
    *,
    plain_text: bool,
) -> None:
    """Add the command; `plain_text` is whether the environment asks for it."""
    options = command(
        "openflow", run, "run the process between access points' OpenFlow switches and the controller",
        " --tls-dir /var/lib/airbound/openflow --listen 0.0.0.0:6653 --controller controller.example:50051",
        " --plain-text --bridge 0000020000000001=02:00:00:00:00:01",
    )  # fmt: skip
    options.add_argument(
        "--listen", type=_endpoint, default=DEFAULT_OPENFLOW, metavar="ADDR:PORT",
        help=f"for switches; default {DEFAULT_OPENFLOW}",
    )  # fmt: skip
    options.add_argument(
        "--controller", type=_endpoint, default=DEFAULT_LISTEN, metavar="ADDR:PORT",
        help=f"where the controller listens for agents; default {DEFAULT_LISTEN}",
    )  # fmt: skip
    options.add_argument(
        "--bridge", type=_bridge, action="append", default=[], metavar="DATAPATH=BSSID",
        help="which cell a switch is of; more than once for more",
    )  # fmt: skip
    options.add_argument(
        "--station-port", action="append", default=[], metavar="NAME",
        help="a port of switches behind which there are stations, such as phy0-ap0: needed where no access point's"
        " agent reports them; more than once for more",
    )  # fmt: skip
    options.add_argument(
        "--tls-dir", type=Path, metavar="DIR",
        help="with certificate.pem (of role switch), key.pem, authorities.pem; default $AIRBOUND_TLS_DIR or"
        " ~/.config/airbound",
    )  # fmt: skip
    options.add_argument(
        "--plain-text", action="store_true", default=plain_text, help="no TLS, on both sides: for a lab"
    )
    for flag, default, text in (
        ("--connections-max", CONNECTIONS, "connections of switches"),
        ("--connections-per-address-max", CONNECTIONS_OF_ADDRESS, "of them, those from one address"),
        ("--packet-ins-per-s", COPIES_PER_S, "copies of packets that are taken from one switch, a second"),
        ("--flows-max", FLOWS, "flows of one switch that count traffic"),
    ):
        options.add_argument(flag, type=_positive, default=default, metavar="N", help=f"{text}; default {default}")
    options.add_argument("--log", choices=get_args(LogStyle), default="text", help="default text")


def _endpoint(text: str) -> str:
    try:
        return endpoint(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _bridge(text: str) -> tuple[int, bytes]:
    try:
        return switch_of_text(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _positive(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= 6 and int(text):  # noqa: PLR2004  # a million at most
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1")


def options_of(arguments: argparse.Namespace) -> "Options":
    """What the process is given."""
    from airbound.openflow.front import FrontLimits
    from airbound.openflow.process import Options
    from airbound.openflow.switch import Limits
    from airbound.operator.tls_files import TlsFiles, default_directory

    copies = arguments.packet_ins_per_s
    return Options(
        listen=arguments.listen,
        controller=arguments.controller,
        tls=None if arguments.plain_text else TlsFiles(arguments.tls_dir or default_directory()),
        bridges=dict(arguments.bridge),
        limits=Limits(flows=arguments.flows_max, copies_per_s=copies, station_ports=frozenset(arguments.station_port)),
        front=FrontLimits(arguments.connections_max, arguments.connections_per_address_max, copies),
    )


def run(arguments: argparse.Namespace, fail: Callable[[object, int], int]) -> int:
    """Run it; returns only if os-ken is not installed."""
    try:
        from airbound.openflow import process
    except ImportError as error:
        return fail(f"{error}: pip install 'airbound[openflow]'", 1)
    import asyncio

    from airbound.pki.errors import PkiError
    from airbound.runtime import log

    opened, code = log.set_up(arguments.log, lines_per_s=LINES_PER_S), 0
    try:
        asyncio.run(process.serve(options_of(arguments)))
    except PkiError as error:
        code = fail(error, 2)
    except OSError as error:
        code = fail(f"{arguments.listen}: {error.strerror or error}", 1)
    opened.close()
    return process.leave(code)
