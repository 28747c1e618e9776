# SPDX-License-Identifier: Apache-2.0
"""Sends what no peer should send to the ports of a controller that it starts: octets that are no TLS, broken TLS
records and ClientHellos, HTTP/2 frames that are wrong or in the wrong place, gRPC messages with wrong prefixes and any
content. At agents', operators' and enrolment's ports, with certificates and without, while ordinary phones report.

Then it looks whether the controller still serves: whether the phones' reports are answered, an operator's command works
and a device is enrolled; whether memory, files and connections are back; whether its log has an exception. It ends with
1 if something of that is wrong, and prints what. What is sent follows from the seed and the number of the connection,
not from the time; `sends` is a hash of it.
"""

import argparse
import asyncio
import itertools
import json
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from abuse import Terminals, at, children, counted, rss_mb
from cryptography.hazmat.primitives import hashes

from airbound.pki import files
from airbound.pki.authority import new_key
from airbound.pki.identities import CertificateRole
from airbound.v1 import (
    enrollment_pb2,
    enrollment_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    pki_pb2,
    pki_pb2_grpc,
)
from airbound_testing import processes
from airbound_testing.agents import channel
from airbound_testing.fuzzing import PORTS, Fuzzer, Plan, Port, digest, plan
from airbound_testing.pki import Site, nobody, request
from airbound_testing.processes import Process
from airbound_testing.scrapes import scrape

EXAMPLES = """examples:
  fuzz.py                                    1,000 connections of seed 1
  fuzz.py --seed 7 --connections 50000       others, and more of them
  fuzz.py --seed 7 --seconds 3600            as many as an hour takes
  fuzz.py --seed 7 --first 1234 --connections 1 --show
                                             one connection of that seed again, and what it sends
  fuzz.py --front --port operators           with HAProxy before the ports; one port only
"""
ROLES: tuple[CertificateRole, ...] = ("terminal", "access-point", "switch", "operator")
SERVED_WITHIN_S = 120.0  # only a failure takes that long
REPORTS_EACH = 3  # that must be answered afterwards, of each phone
PARTS = 10  # of a run, after each of which memory is noted
ENDLESS = 10**9
NOT_WELL = re.compile(
    r"Traceback|Exception|exception was never|^E\d{4}.*(?:assert|check failed)|ASSERTION|SIG(?:SEGV|ABRT)|core dumped",
    re.MULTILINE | re.IGNORECASE,
)


class Serving:
    """Whether a controller serves those who do as they should."""

    def __init__(self, process: Process, site: Site, terminals: Terminals, phones: int) -> None:
        self._process, self._site, self._terminals, self._phones = process, site, terminals, phones
        self._enrolled = 0

    async def check(self, running: "asyncio.Task[None]") -> list[str]:
        """What does not work, in words."""
        checks: dict[str, Callable[[], Any]] = {
            "phones' reports are answered": lambda: self._phones_are_answered(running),
            "an operator's command works": self._operator,
            "a device is enrolled": self._enrol,
        }
        found = []
        for name, check in checks.items():
            try:
                async with asyncio.timeout(SERVED_WITHIN_S):
                    await check()
            except Exception as error:  # noqa: BLE001  # whatever it is, it is the finding
                found.append(f"no longer so: {name}: {type(error).__name__} {error}".splitlines()[0])
        return found

    async def _phones_are_answered(self, running: "asyncio.Task[None]") -> None:
        before = len(self._terminals.waited_s)
        while len(self._terminals.waited_s) < before + REPORTS_EACH * self._phones:
            if running.done():
                running.result()
            await asyncio.sleep(0.1)

    async def _operator(self) -> None:
        secured = self._site.client("operator", "me").secured()
        async with channel(self._process.operators, secured) as to:
            stub: Any = operations_pb2_grpc.OperationsServiceStub(to)
            [cell async for cell in stub.ListCells(operations_pb2.ListCellsRequest())]

    async def _enrol(self) -> None:
        self._enrolled += 1
        async with channel(self._process.operators, self._site.client("operator", "me").secured()) as to:
            admin: Any = pki_pb2_grpc.EnrollmentAdminServiceStub(to)
            asked = pki_pb2.IssueTokenRequest(role="terminal", name=f"new{self._enrolled}")
            token = (await admin.IssueToken(asked)).token
        async with channel(self._process.enrollment, nobody(self._site.authority)) as to:
            stub: Any = enrollment_pb2_grpc.EnrollmentServiceStub(to)
            message = enrollment_pb2.EnrollRequest(token=token, request=request(new_key(), hashes.SHA256()))
            answer = await stub.Enroll(message, timeout=SERVED_WITHIN_S, wait_for_ready=True)
            if not answer.credentials.certificate:
                raise ValueError("no certificate")


def with_certificates(directory: Path, site: Site) -> dict[str, Path]:
    """A directory for each role whose certificate the fuzzer has."""
    found: dict[str, Path] = {}
    for role in ROLES:
        found[role], client = directory / role, site.client(role, "fuzzer")
        found[role].mkdir()
        files.write(found[role] / "certificate.pem", files.pem([client.certificate]))
        files.write(found[role] / "key.pem", files.key_pem(client.key))
    return found


def open_files(pid: int) -> int:
    """Of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def settled(pid: int, most: int) -> int:
    """How many files a process has open, once they are no more than so many, or after a while."""
    try:
        async with asyncio.timeout(SERVED_WITHIN_S):
            while open_files(pid) > most:  # noqa: ASYNC110  # a process, not a task
                await asyncio.sleep(0.5)
    except TimeoutError:
        pass
    return open_files(pid)


def wrong_in(log: str) -> list[str]:
    """Lines of a log that show an exception, or a failed assertion."""
    return [line for line in log.splitlines() if NOT_WELL.search(line)]


@asynccontextmanager
async def started(arguments: argparse.Namespace) -> AsyncIterator[tuple[Process, Site, Terminals, Fuzzer, Any]]:
    """A controller, phones that report, and who fuzzes it."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = Site(directory / "ca")
        limits = "[limits]\nstreams_per_address_max = 0\nlog_lines_per_s = 10000.0\nhandshake_s = 5.0\n"
        limits += "idle_connection_s = 5.0\nfirst_report_s = 5.0\nconnections_per_address_warned = 0\n"
        limits += "[events]\nkept = 1000\n"  # 10,000 sets of the phones take 20 MB, in four minutes
        made = processes.controller_with_tls(directory, site.directory.path, limits, front=arguments.front)
        process = await stack.enter_async_context(made)
        targets: dict[Port, str] = {
            "agents": process.target, "operators": process.operators, "enrollment": process.enrollment,
        }  # fmt: skip
        fuzzer = Fuzzer(targets, with_certificates(directory, site))
        terminals = Terminals(process.target, site, arguments.terminals)
        running = asyncio.create_task(terminals.run(stack))
        try:
            yield process, site, terminals, fuzzer, running
        finally:
            running.cancel()
            await asyncio.wait([running])


async def fuzz(arguments: argparse.Namespace, show: Callable[[str], None]) -> dict[str, Any]:
    """The whole of it; `findings` is what is wrong."""
    ports: tuple[Port, ...] = tuple(arguments.port or PORTS)
    last = arguments.first + arguments.connections
    sent = digest(
        plan(arguments.seed, number, ports) for number in range(arguments.first, min(last, arguments.first + 10_000))
    )
    async with started(arguments) as (process, site, terminals, fuzzer, running):
        serving = Serving(process, site, terminals, arguments.terminals)
        findings = [f"before anything was sent, {text}" for text in await serving.check(running)]
        before, files_before = await every_port(process), open_files(process.pid)
        helpers, memory_mb = children(process.pid), [round(rss_mb(process.pid), 1)]
        terminals.waited_s.clear()
        terminals.unanswered = 0
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        until_s = None if arguments.seconds is None else began_s + arguments.seconds
        numbers = iter(range(arguments.first, last))
        part = 1_000 if arguments.connections == ENDLESS else max(1, -(-arguments.connections // PARTS))
        while (until_s is None or loop.time() < until_s) and process.running():
            plans: list[Plan] = [plan(arguments.seed, number, ports) for number in itertools.islice(numbers, part)]
            if not plans:
                break
            await fuzzer.run(iter(plans), arguments.at_once, until_s)
            memory_mb.append(round(rss_mb(process.pid), 1))
            show(f"{fuzzer.connections:,} connections, {memory_mb[-1]:.0f} MB")
        took_s = loop.time() - began_s
        waited_s, unanswered = list(terminals.waited_s), terminals.unanswered
        if not process.running():
            findings.append(f"the controller ended: {process.log.read_text(encoding='utf-8')[-2_000:]}")
            after, files_after = before, 0
        else:
            findings += await serving.check(running)
            files_after = await settled(process.pid, files_before + arguments.files_more)
            after = await every_port(process)
            if files_after > files_before + arguments.files_more:
                findings.append(f"{files_after} files are open, {files_before} were")
            if children(process.pid) != helpers:
                findings.append(f"its processes were {helpers}, and are {children(process.pid)}")
        memory_mb.append(round(rss_mb(process.pid), 1))
        grown_mb = memory_mb[-1] - memory_mb[0]
        if grown_mb > arguments.memory_mb:
            findings.append(f"its memory grew by {grown_mb:.0f} MB")
        wrong = wrong_in(process.log.read_text(encoding="utf-8", errors="replace"))
        findings += [f"its log has: {line[:300]}" for line in wrong[:10]]
    return {
        "seed": arguments.seed, "first": arguments.first, "connections": fuzzer.connections, "sends": sent,
        "front": arguments.front, "octets": fuzzer.octets, "seconds": round(took_s, 1), "findings": findings,
        "memory_mb": memory_mb, "memory_grown_mb": round(grown_mb, 1), "files": [files_before, files_after],
        "phones": {
            "answered": len(waited_s), "unanswered_within_5_s": unanswered,
            "p50_ms": round(at(waited_s, 0.5), 1), "p99_ms": round(at(waited_s, 0.99), 1),
        },
        "outcomes": {name: dict(counts) for name, counts in sorted(fuzzer.did.items())},
        "counted": {name: value - before.get(name, 0) for name, value in after.items() if value > before.get(name, 0)},
    }  # fmt: skip


async def every_port(process: Process) -> dict[str, float]:
    """The counters of refusals and ended connections."""
    samples = await scrape(process.metrics)
    found: dict[str, float] = {}
    for port in PORTS:
        found |= counted(samples, port)
    return found


def text(found: dict[str, Any]) -> str:
    """For a terminal."""
    outcomes = sum((Counter(counts) for counts in found["outcomes"].values()), Counter[str]())
    phones, memory_mb, files = found["phones"], found["memory_mb"], found["files"]
    names = ", ".join(
        f"{name.removeprefix('airbound_')} {value:.0f}" for name, value in sorted(found["counted"].items())
    )
    return f"""\
{found["connections"]:,} connections from number {found["first"]} of seed {found["seed"]} (sends {found["sends"]}), \
{found["octets"]:,} octets, in {found["seconds"]:.0f} s
  {", ".join(f"{name} {count:,}" for name, count in outcomes.most_common())}
  phones meanwhile: {phones["answered"]:,} reports answered, median {phones["p50_ms"]:.1f} ms, \
p99 {phones["p99_ms"]:.0f} ms; {phones["unanswered_within_5_s"]} not within 5 s
  memory {memory_mb[0]:.0f} MB before, {memory_mb[-1]:.0f} MB after; files {files[0]}, {files[1]}
  counted: {names}
""" + ("\n".join(f"WRONG: {one}" for one in found["findings"]) or "  and the controller serves as before")


def shown(one: Plan) -> str:
    """What a connection sends, in hexadecimal."""
    head = f"{one.number}: {one.name}, {one.path!r}, then {one.linger_s:g} s, {'reset' if one.resets else 'closed'}"
    return "\n".join([head, *(f"  {piece.hex()}" for piece in one.pieces if piece)])


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    parser.add_argument("--connections", metavar="N", type=int, help="default 1000, or those that --seconds takes")
    parser.add_argument("--seconds", type=float, help="begin none after so long; default: no limit")
    parser.add_argument("--first", metavar="NUMBER", type=int, default=0, help="of the first one; default %(default)s")
    parser.add_argument("--port", action="append", choices=PORTS, help="only this one; may be given twice")
    parser.add_argument("--at-once", metavar="N", type=int, default=16, help="connections; default %(default)s")
    parser.add_argument("--terminals", metavar="N", type=int, default=10, help="phones; default %(default)s")
    parser.add_argument("--front", action="store_true", help="HAProxy before the ports of agents and operators")
    parser.add_argument("--memory-mb", type=float, default=64.0, help="that it may grow by; default %(default)g")
    parser.add_argument("--files-more", metavar="N", type=int, default=16, help="that stay open; default %(default)s")
    parser.add_argument("--show", action="store_true", help="print what is sent, at most 100 connections of it")
    parser.add_argument("--json", metavar="FILE", type=Path, help="to write what was found to")
    given = parser.parse_args(words)
    if given.connections is None:
        given.connections = 1_000 if given.seconds is None else ENDLESS
    for name, least in (("connections", 1), ("at_once", 1), ("terminals", 1), ("first", 0)):
        if getattr(given, name) < least:
            parser.error(f"--{name.replace('_', '-')}: {getattr(given, name)} is below {least}")
    return given


def main(words: list[str] | None = None) -> int:
    """The exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    arguments = parse(words)
    if arguments.show:
        numbers = range(arguments.first, arguments.first + min(arguments.connections, 100))
        print("\n".join(shown(plan(arguments.seed, number, tuple(arguments.port or PORTS))) for number in numbers))
    found = asyncio.run(fuzz(arguments, lambda line: print(line, file=sys.stderr, flush=True)))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(text(found))
    return 1 if found["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
