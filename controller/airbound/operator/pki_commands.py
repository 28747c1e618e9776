# SPDX-License-Identifier: Apache-2.0
"""The commands about certificates: `ca` where the authority is; `enroll`, `enrolled` and `revoke` at a controller;
`login` for operators elsewhere.
"""

import argparse
import datetime
import getpass
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from airbound.pki.identities import CLIENT_ROLES, DEFAULT_TRUST_DOMAIN
from airbound.pki.options import DEFAULT_ENROLLMENT

if TYPE_CHECKING:
    from airbound.operator.client import Client
    from airbound.operator.tls_files import TlsFiles
    from airbound.pki.authority import Authority
    from airbound.pki.directory import Directory
    from airbound.v1 import pki_pb2

PUBLIC_HOST_VARIABLE = "AIRBOUND_PUBLIC_HOST"
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_OPERATOR_DAYS, _CONTROLLER_DAYS, _SWITCH_DAYS = 30, 7, 30
_PUBLIC_PORT = DEFAULT_ENROLLMENT.rpartition(":")[2]


class CommandMaker(Protocol):
    """Makes a command's parser."""

    def __call__(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int],
        summary: str,
        *examples: str,
        parents: "tuple[argparse.ArgumentParser, ...]" = (),
    ) -> argparse.ArgumentParser:
        """A command that `run` runs."""


class Surroundings(Protocol):
    """What the command line gives its commands."""

    def output(self, text: str) -> int:
        """Print; the exit code."""

    def fail(self, error: Exception) -> int:
        """Print an error; the exit code for its kind."""

    def with_client(self, arguments: argparse.Namespace, do: "Callable[[Client], int]") -> int:
        """Do something with a connection to the controller; the exit code."""


def add(command: CommandMaker, client: argparse.ArgumentParser, around: Surroundings) -> None:
    """Add all of them; `client` has the options of commands that connect to a controller."""
    commands = _Commands(around)
    options = command(
        "enroll", commands.enroll, "make a token by which a device or a person gets a certificate",
        " access-point ap-roof", " terminal phone-17 --expires 7d", " terminal laptop-1 --out laptop-1.join",
        " operator alice --json", parents=(client,),
    )  # fmt: skip
    options.add_argument("role", choices=CLIENT_ROLES)
    options.add_argument("name", metavar="NAME", help="letters, digits and . - _, at most 64; stays with the device")
    options.add_argument("--uses", type=_positive, default=1, metavar="N", help="devices that may use it; default 1")
    options.add_argument(
        "--expires", type=_duration_s, default=86_400, metavar="TIME", help="such as 90m, 24h, 7d; default 24h"
    )
    options.add_argument(
        "--host", default=os.environ.get(PUBLIC_HOST_VARIABLE), metavar="HOST",
        help="by which devices reach the controller, for the string that they join by; default"
        f" ${PUBLIC_HOST_VARIABLE}, or the host of --controller",
    )  # fmt: skip
    options.add_argument(
        "--out", type=Path, metavar="FILE",
        help="write what the device joins by to a file that only you may read, and print no token",
    )  # fmt: skip
    options.add_argument("--force", action="store_true", help="give a file that is there another name")
    options = command(
        "enrolled", commands.enrolled, "list who has a certificate", "", " --role terminal --json", parents=(client,)
    )
    options.add_argument("--role", choices=CLIENT_ROLES, default="")
    options = command(
        "revoke", commands.revoke, "end certificates before their time, and the streams that were opened with them",
        " terminal/phone-17 --reason stolen", " 5f1d9c0e2b7a46d8a3c4e5f60718293a", parents=(client,),
    )  # fmt: skip
    options.add_argument("what", metavar="ROLE/NAME|SERIAL", help="as `airbound enrolled` shows them")
    options.add_argument("--reason", default="", help="free text, kept with the record")
    options = command(
        "move-cell", commands.move_cell, "have another access point report a cell",
        " 02:00:00:00:00:01 ap-roof", " 02:00:00:00:00:01 --next", parents=(client,),
    )  # fmt: skip
    options.add_argument("cell", metavar="CELL", help="the name of its access point, its SSID or its BSSID")
    chosen = options.add_mutually_exclusive_group(required=True)
    chosen.add_argument("name", nargs="?", default="", metavar="NAME", help="of the access point's certificate")
    chosen.add_argument("--next", action="store_true", help="the access point that reports the cell next, as at first")
    options = command(
        "login", commands.login, "get a certificate by a token, or another one by the one that is there",
        " --enroll controller.example:50053 --token TOKEN", " --renew --controller controller.example:50052",
        parents=(client,),
    )  # fmt: skip
    options.add_argument("--enroll", metavar="ADDR:PORT", help=f"default: port {_PUBLIC_PORT} of --controller")
    how = options.add_mutually_exclusive_group(required=True)
    how.add_argument("--token", help="as `airbound enroll operator NAME` printed it; - reads it from standard input")
    how.add_argument("--renew", action="store_true", help="by the certificate that is there")
    options.add_argument(
        "--role", choices=("operator", "switch"), default="operator", help="what the token was made for (operator)"
    )
    options.add_argument("--force", action="store_true", help="give files that are there another name")
    _add_authority(command, commands)


def _add_authority(command: CommandMaker, commands: "_Commands") -> None:
    top = command(
        "ca", commands.usage, "make the certificate authority, and certificates where its key is",
        " init", " show", " operator alice", " request --trust-domain wifi.example", " import signed.pem",
    )  # fmt: skip
    kinds = top.add_subparsers(metavar="COMMAND", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--directory", type=Path, metavar="DIR",
        help="of the authority; default $AIRBOUND_CA_DIR, /var/lib/airbound/ca for root,"
        " ~/.local/share/airbound/ca for others",
    )  # fmt: skip
    shared.add_argument("--passphrase-file", type=Path, metavar="FILE", help="whose line encrypts the key")
    shared.add_argument("--json", action="store_true", help="print JSON")

    def kind(name: str, run: Callable[[argparse.Namespace], int], summary: str, *examples: str) -> Any:
        made = kinds.add_parser(
            name,
            parents=[shared],
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog="\n".join(["examples:", *(f"  airbound ca {name}{example}" for example in examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    for name, run, summary in (
        ("init", commands.init, "make an authority of your own"),
        ("request", commands.request, "make a key, and a request that an authority of yours is to sign"),
    ):
        options = kind(name, run, summary, "", " --trust-domain wifi.example", " --encrypt")
        options.add_argument("--trust-domain", default=DEFAULT_TRUST_DOMAIN, metavar="NAME", help="default %(default)s")
        options.add_argument("--encrypt", action="store_true", help="ask for a passphrase; see --passphrase-file")
        options.add_argument("--force", action="store_true", help="give files that are there another name")
    options = kind(
        "import", commands.take, "take in the certificate that answers the request", " signed.pem --chain up.pem"
    )
    options.add_argument("certificate", type=Path, metavar="CERT", help="PEM; issuers may follow in the same file")
    options.add_argument("--chain", type=Path, metavar="FILE", help="PEM: its issuers, from below to above")
    options.add_argument("--force", action="store_true", help="give files that are there another name")
    kind("show", commands.show, "show the authority", "", " --json")
    operators = "default $AIRBOUND_TLS_DIR or ~/.config/airbound"
    summary = "make a key and a certificate for an operator"
    options = kind("operator", commands.operator, summary, " alice", " alice --out ./alice --days 7")
    _add_issue(options, _OPERATOR_DAYS, operators)
    summary = "make a key and a certificate for a controller on a machine that does not have the authority's key"
    options = kind("controller", commands.controller, summary, " replica-2 --out ./replica-2")
    _add_issue(options, _CONTROLLER_DAYS, "")
    summary = "make a key and a certificate for `airbound openflow`, or for a switch, whose name is its datapath"
    options = kind("switch", commands.switch, summary, " openflow-1 --out ./of", " 0000020000000001 --out ./br0")
    _add_issue(options, _SWITCH_DAYS, "")


def _add_issue(options: argparse.ArgumentParser, days: int, default_out: str) -> None:
    options.add_argument("name", metavar="NAME", help="letters, digits and . - _, at most 64")
    options.add_argument("--out", type=Path, metavar="DIR", required=not default_out, help=default_out or "required")
    options.add_argument("--days", type=_days, default=float(days), metavar="N", help=f"its life; default {days}")
    options.add_argument("--force", action="store_true", help="give files that are there another name")


def _joining(
    client: "Client", arguments: argparse.Namespace, answer: "pki_pb2.IssueTokenResponse"
) -> "tuple[str, str]":
    """What a device joins by, and a remark; empty if it has no `join`, or if nobody knows where it reaches the
    controller.
    """
    from airbound.endpoints import host_and_port
    from airbound.operator import join
    from airbound.operator.client import RefusedError

    host = join.host_of(arguments.controller) if arguments.host is None else arguments.host
    if not host or not answer.enrollment or arguments.role not in {"access-point", "terminal"}:
        return "", ""
    listen = next((value.value for value in client.configuration().values if value.key == "listen"), "")
    try:
        at, port = host_and_port(json.loads(listen))
        enrolment_at, enrolment_port = host_and_port(answer.enrollment)
        is_local = not join.is_loopback(host) and (join.is_loopback(at) or join.is_loopback(enrolment_at))
        return join.text(host, port, enrolment_port, answer.token), join.LOCAL if is_local else ""
    except ValueError as error:
        raise RefusedError(f"the token is made ({answer.token}), but not what a device joins by: {error}") from None


def _with_join(text: str, joining: str) -> str:
    """JSON with what a device joins by."""
    return json.dumps({**json.loads(text), "join": joining}, indent=2) if joining else text


def _code(joining: str, stream: TextIO) -> str:
    """The same as a QR code; empty if the output is no terminal, or a narrow one, or has no block characters."""
    from airbound.operator import color, qr

    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        return ""
    code = qr.text(joining, colours=color.is_wanted("auto", stream))
    try:
        code.encode(stream.encoding)
    except UnicodeEncodeError:
        return ""
    return code if qr.columns(code) <= shutil.get_terminal_size().columns else ""


class _Commands:
    """Each returns an exit code."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def usage(self, _arguments: argparse.Namespace) -> int:
        """`ca` alone: argparse asks for more before."""
        raise AssertionError

    def enroll(self, arguments: argparse.Namespace) -> int:
        """A token."""
        from airbound.operator import display, pki_display
        from airbound.pki import files

        def ask(client: "Client") -> int:
            if arguments.out is not None:  # before the token is made, which is shown once
                files.move_aside([arguments.out], force=arguments.force)
            answer = client.issue_token(arguments.role, arguments.name, arguments.uses, arguments.expires)
            joining, remark = _joining(client, arguments, answer)
            if arguments.out is not None:
                files.write(arguments.out, f"{joining or answer.token}\n".encode(), files.SECRET_MODE)
                answer.token = ""
            if arguments.json:
                return self._around.output(_with_join(display.as_json(answer), joining if answer.token else ""))
            into = "" if arguments.out is None else str(arguments.out)
            text = pki_display.token(answer, arguments.role, arguments.uses, joining, into=into, remark=remark)
            code = _code(joining, sys.stdout) if joining and not into else ""
            return self._around.output(f"{text}\n\n{code}" if code else text)

        return self._around.with_client(arguments, ask)

    def enrolled(self, arguments: argparse.Namespace) -> int:
        """The list."""
        from airbound.operator import display, pki_display

        def ask(client: "Client") -> int:
            answer = client.enrolled(arguments.role)
            return self._around.output(display.as_json(answer) if arguments.json else pki_display.enrolled(answer))

        return self._around.with_client(arguments, ask)

    def move_cell(self, arguments: argparse.Namespace) -> int:
        """Another access point for a cell."""
        from airbound.operator import display, names

        def ask(client: "Client") -> int:
            answer = client.move_cell(names.bssid_of(client, arguments.cell), arguments.name)
            previous = answer.previous_access_point or "nobody"
            return self._around.output(display.as_json(answer) if arguments.json else f"was {previous}'s")

        return self._around.with_client(arguments, ask)

    def revoke(self, arguments: argparse.Namespace) -> int:
        """Certificates of a name, or one."""
        from airbound.operator import display, names, pki_display
        from airbound.operator.client import NotFoundError
        from airbound.v1 import pki_pb2

        def ask(client: "Client") -> int:
            request = pki_pb2.RevokeRequest(reason=arguments.reason)
            if "/" in arguments.what:
                request.identity = arguments.what
            elif re.fullmatch("[0-9a-fA-F]+", arguments.what):
                request.serial = arguments.what
            else:
                raise NotFoundError(names.no_certificate(client, arguments.what))
            try:
                answer = client.revoke(request)
            except NotFoundError:
                raise NotFoundError(names.no_certificate(client, arguments.what)) from None
            return self._around.output(display.as_json(answer) if arguments.json else pki_display.revoked(answer))

        return self._around.with_client(arguments, ask)

    def login(self, arguments: argparse.Namespace) -> int:
        """A certificate of our own."""
        from airbound.operator import login, pki_display
        from airbound.operator.client import Client

        to = _tls_files(arguments)
        try:
            if arguments.renew:
                identity = to.load(_now())
                with Client(arguments.controller, arguments.timeout, identity) as client:
                    made = login.again(to, identity, client)
            else:
                token = sys.stdin.readline() if arguments.token == "-" else arguments.token  # noqa: S105  # no token
                host = arguments.controller.rpartition(":")[0]
                endpoint = arguments.enroll or f"{host}:{_PUBLIC_PORT}"
                role, force = arguments.role, arguments.force
                made = login.by_token(to, token, endpoint, arguments.timeout, role=role, force=force)
        except (ValueError, OSError) as error:
            return self._around.fail(error)
        end = pki_display.time_text(made.not_after_s)
        return self._show(
            arguments, {"identity": str(made.identity), "directory": str(to.path), "ends": end},
            f"{made.identity} until {end}, in {to.path}",
        )  # fmt: skip

    def init(self, arguments: argparse.Namespace) -> int:
        """An authority."""
        try:
            directory, passphrase = _directory(arguments), _new_passphrase(arguments)
            authority = directory.init(arguments.trust_domain, _now(), passphrase=passphrase, force=arguments.force)
        except ValueError as error:
            return self._around.fail(error)
        return self._show_authority(arguments, directory, authority)

    def request(self, arguments: argparse.Namespace) -> int:
        """A request for an authority's certificate."""
        try:
            directory, passphrase = _directory(arguments), _new_passphrase(arguments)
            directory.make_request(arguments.trust_domain, passphrase=passphrase, force=arguments.force)
        except ValueError as error:
            return self._around.fail(error)
        return self._show(
            arguments, {"request": str(directory.request)},
            f"{directory.request}: have it signed as an authority (CA:TRUE, pathlen:0, its URI kept), then: airbound ca"
            f" import CERT --directory {directory.path}",
        )  # fmt: skip

    def take(self, arguments: argparse.Namespace) -> int:
        """The answer to a request."""
        from airbound.pki import files

        try:
            directory = _directory(arguments)
            certificate, *chain = files.certificates(arguments.certificate)
            if arguments.chain:
                chain += files.certificates(arguments.chain)
            authority = directory.take_certificate(
                certificate, chain, _now(), passphrase=_passphrase(arguments, directory), force=arguments.force
            )
        except ValueError as error:
            return self._around.fail(error)
        return self._show_authority(arguments, directory, authority)

    def show(self, arguments: argparse.Namespace) -> int:
        """The authority."""
        try:
            directory = _directory(arguments)
            authority = directory.load(_now(), with_key=False)
        except ValueError as error:
            return self._around.fail(error)
        return self._show_authority(arguments, directory, authority)

    def operator(self, arguments: argparse.Namespace) -> int:
        """A certificate for an operator."""
        return self._issue(arguments, "operator")

    def controller(self, arguments: argparse.Namespace) -> int:
        """A certificate for a controller that has no authority's key."""
        return self._issue(arguments, "controller")

    def switch(self, arguments: argparse.Namespace) -> int:
        """A certificate for a switch, or for the process that switches connect to."""
        return self._issue(arguments, "switch")

    def _issue(self, arguments: argparse.Namespace, role: Any) -> int:
        from airbound.operator import pki_display
        from airbound.operator.tls_files import TlsFiles, default_directory
        from airbound.pki.authority import new_key
        from airbound.pki.certificates import serial_text
        from airbound.pki.identities import Identity

        to = TlsFiles(arguments.out or default_directory())
        try:
            directory, key = _directory(arguments), new_key()
            authority = directory.load(_now(), _passphrase(arguments, directory))
            identity, life = Identity(role, arguments.name), datetime.timedelta(days=arguments.days)
            certificate = authority.sign(identity, key.public_key(), life, _now())
            to.prepare(force=arguments.force)
            to.write(certificate, authority.trusted, key)
        except ValueError as error:
            return self._around.fail(error)
        serial = serial_text(certificate.serial_number)
        end = pki_display.time_text(certificate.not_valid_after_utc.timestamp())
        facts = {"identity": str(identity), "serial": serial, "directory": str(to.path), "ends": end}
        return self._show(arguments, facts, f"{identity} until {end}, serial {serial}, in {to.path}")

    def _show_authority(self, arguments: argparse.Namespace, directory: "Directory", authority: "Authority") -> int:
        from airbound.operator import pki_display

        facts = {
            "directory": str(directory.path),
            "trust_domain": authority.trust_domain,
            "fingerprint": authority.fingerprint.hex(),
            "ends": pki_display.time_text(authority.certificate.not_valid_after_utc.timestamp()),
            "signed_by": authority.certificate.issuer.rfc4514_string(),
            "key": directory.key_state(),
            "also_trusted": len(authority.also_trusted),
        }
        width = max(map(len, facts))
        text = "\n".join(f"{name.replace('_', ' ').ljust(width)}  {value}" for name, value in facts.items())
        return self._show(arguments, facts, text)

    def _show(self, arguments: argparse.Namespace, facts: dict[str, Any], text: str) -> int:
        return self._around.output(json.dumps(facts, indent=2) if arguments.json else text)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _tls_files(arguments: argparse.Namespace) -> "TlsFiles":
    from airbound.operator.tls_files import TlsFiles, default_directory

    return TlsFiles(arguments.tls_dir or default_directory())


def _directory(arguments: argparse.Namespace) -> "Directory":
    from airbound.pki.directory import Directory, default_directory

    return Directory(arguments.directory or default_directory())


def _passphrase(arguments: argparse.Namespace, directory: "Directory") -> bytes | None:
    """Of a key that is there; asked for only if it needs one and a person can answer."""
    from airbound.pki import files

    if arguments.passphrase_file:
        return files.passphrase(arguments.passphrase_file)
    if directory.key_state() == "encrypted" and sys.stdin.isatty():
        return getpass.getpass(f"passphrase of {directory.key}: ").encode()
    return None


def _new_passphrase(arguments: argparse.Namespace) -> bytes | None:
    from airbound.pki import files
    from airbound.pki.errors import PkiError

    if arguments.passphrase_file:
        return files.passphrase(arguments.passphrase_file)
    if not arguments.encrypt:
        return None
    if not sys.stdin.isatty():
        raise PkiError("--encrypt asks for a passphrase, and nobody can answer: --passphrase-file")
    first = getpass.getpass("passphrase: ")
    if not first or first != getpass.getpass("again: "):
        raise PkiError("no passphrase, or two different ones")
    return first.encode()


def _positive(text: str) -> int:
    if re.fullmatch(r"[0-9]{1,5}", text) and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1")


def _days(text: str) -> float:
    if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", text) and 0 < float(text) <= 397:  # noqa: PLR2004  # as in TlsOptions
        return float(text)
    raise argparse.ArgumentTypeError(f"{text!r}: expected days, above 0, at most 397")


def _duration_s(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,8})([smhd])", text)
    if found and int(found[1]):
        return int(found[1]) * _UNITS_S[found[2]]
    raise argparse.ArgumentTypeError(f"{text!r}: expected a time such as 90m, 24h or 7d")
