# SPDX-License-Identifier: Apache-2.0
"""What well-behaved terminals notice of abuse: the time from a terminal's report to the bounds that follow, of a
controller with mutual TLS in a process of its own, without abuse and with each kind of it. Who abuses it is a process
of its own as well.

Prints one row for each kind: median and 99th percentile of that time, the largest, how many reports were answered,
what the controller counted, and the most memory that it, and the processes that it starts, had meanwhile. Of several
rounds, each kind in turn with none, the medians; `without` is the 99th percentile of none. All share the machine's
cores: the abuser takes time from the others, too.
"""

import argparse
import asyncio
import json
import math
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

from airbound.core.addresses import mac_from_text
from airbound.pki import files
from airbound.pki.identities import CertificateRole
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing import processes
from airbound_testing.agents import FakeAccessPoint, FakePhone
from airbound_testing.pki import Site
from airbound_testing.processes import Process
from airbound_testing.scrapes import Samples, scrape

BSSID = "02:00:00:00:00:01"
REPORTS_PER_S = 4.0
ANSWER_WITHIN_S = 5.0
PACKETS_PER_S = 200
MEMORY_EVERY_S = 0.2
SETTLE_S = 8.0  # a count of connections is taken every 5 s


class Kind(NamedTuple):
    """One kind of abuse: how many of it at once or in all."""

    name: str
    kind: str = ""
    count: int = 0
    certificate: bool = False
    role: CertificateRole = "terminal"  # of the certificate
    port: str = "agents"


KINDS = (
    Kind("none"),
    Kind("1,000 half-open connections", "half-open", 1_000, certificate=True),
    Kind("1,000 streams without a report, one certificate", "stream", 1_000, certificate=True),
    Kind("10,000 handshakes without a certificate", "handshake", 10_000),
    Kind("10,000 connections with garbage", "garbage", 10_000, certificate=True),
    Kind("100 slow readers, one certificate", "slow-reader", 100, certificate=True),
    Kind("64 streams that report 256 destinations each, one certificate", "destinations", 64, certificate=True),
    Kind(
        "16 streams that report 2,048 new stations each, one certificate",
        "stations",
        16,
        certificate=True,
        role="access-point",
    ),
    Kind("none, afterwards"),
)
FLOODS = {
    "continuation": "CONTINUATION", "rapid-reset": "rapid reset", "settings": "SETTINGS", "ping": "PING and PRIORITY",
    "window-update": "WINDOW_UPDATE", "empty-data": "empty DATA",
}  # fmt: skip
COUNTERS = (
    "airbound_handshakes_total", "airbound_handshakes_failed_total", "airbound_connections_ended_without_call_total",
    "airbound_refusals_total", "airbound_connections_closed_total",
    "airbound_connections_excessive_total", "airbound_enrollment_processes_total",
)  # fmt: skip


def kinds(connections: list[int]) -> list[Kind]:
    """All of them, floods with each number of connections."""
    found = list(KINDS[:-1])
    for count in connections:
        found += [
            Kind(f"{name}, enrolment, {count:,} connections", kind, count, port="enrollment")
            for kind, name in FLOODS.items()
        ]
        found += [
            Kind(f"{name}, agents' port, one certificate, {count:,} connections", kind, count, certificate=True)
            for kind, name in FLOODS.items()
        ]
        found.append(Kind(f"CONTINUATION, agents' port, no certificate, {count:,} connections", "continuation", count))
    return [*found, KINDS[-1]]


class Terminals:
    """An access point, and phones that always have a new destination: bounds for it are the answer to a report."""

    def __init__(self, target: str, site: Site, count: int) -> None:
        self._access_point = FakeAccessPoint(target, site.client("access-point", "ap").secured())
        self._macs = [f"02:00:00:00:01:{number:02x}" for number in range(count)]
        self._phones = [
            FakePhone(target, mac, site.client("terminal", f"phone{number}").secured())
            for number, mac in enumerate(self._macs)
        ]
        self.waited_s: list[float] = []
        self.unanswered = 0

    async def run(self, stack: AsyncExitStack) -> None:
        """Connect, and report until cancelled."""
        for agent in (self._access_point, *self._phones):
            await stack.enter_async_context(agent)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._cell())
            for number, phone in enumerate(self._phones):
                group.create_task(self._phone(phone, number / len(self._phones)))

    async def _cell(self) -> None:
        second = 0
        while True:
            second += 1
            packets = second * PACKETS_PER_S
            stations = [
                access_point_pb2.Station(
                    mac=mac_from_text(mac), rx_packets=packets, rx_bytes=packets * 1534, tx_packets=packets // 2,
                    tx_bytes=packets * 43, connected_time_ms=second * 1000,
                )
                for mac in self._macs
            ]  # fmt: skip
            us = second * 1_000_000
            survey = access_point_pb2.ChannelSurvey(active_us=us, busy_us=us * 9 // 10)
            report = access_point_pb2.AccessPointReport(
                bssid=mac_from_text(BSSID), ssid=b"bench", monotonic_us=us, stations=stations, survey=survey
            )
            await self._access_point.report(report)
            await asyncio.sleep(1)

    async def _phone(self, phone: FakePhone, phase: float) -> None:
        await asyncio.sleep(3 + phase / REPORTS_PER_S)
        number = 0
        while True:
            number += 1
            destination = terminal_pb2.Destination(
                address=bytes([10, 0, number // 250 % 250, number % 250 + 1]), connections=1, connections_sending=1,
                srtt_us=30_000, min_rtt_us=20_000, mss_bytes=1448,
            )  # fmt: skip
            sets, began_s = phone.sets, time.perf_counter()
            await phone.report(destination, monotonic_us=time.monotonic_ns() // 1000)
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    await phone.until(lambda sets=sets: phone.sets > sets)  # type: ignore[misc]
                self.waited_s.append(time.perf_counter() - began_s)
            except TimeoutError:
                self.unanswered += 1
            await asyncio.sleep(max(0.0, 1 / REPORTS_PER_S - (time.perf_counter() - began_s)))


def counted(samples: Samples, port: str) -> dict[str, float]:
    """The counters that abuse of a port moves, those of a reason with its name."""
    found = {}
    for (name, labels), value in samples.by_series.items():
        if name in COUNTERS and dict(labels).get("port", port) == port:
            found[f"{name}{{{','.join(label for _, label in labels)}}}"] = value
    return found


class Memory:
    """The most that a process, and those that it has started, had."""

    def __init__(self, process: Process) -> None:
        self._pid = process.pid
        self.most_mb = self.children_most_mb = 0.0

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            self.most_mb = max(self.most_mb, rss_mb(self._pid))
            self.children_most_mb = max(self.children_most_mb, sum(map(rss_mb, children(self._pid))))
            await asyncio.sleep(MEMORY_EVERY_S)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def rss_mb(pid: int) -> float:
    """Memory of a process; none of one that has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024 if "VmRSS:" in status else 0


def at(values: list[float], part: float) -> float:
    """A quantile, in milliseconds; not a number if nothing was answered."""
    if not values:
        return math.nan
    return 1000 * sorted(values)[min(len(values) - 1, int(part * len(values)))]


async def measured(kind: Kind, process: Process, terminals: Terminals, evil: Path, seconds: float) -> dict[str, Any]:
    """One kind of abuse while the terminals report."""
    before, memory = counted(await scrape(process.metrics), kind.port), Memory(process)
    watching = asyncio.create_task(memory.watch())
    rss_before_mb = rss_mb(process.pid)
    terminals.waited_s.clear()
    terminals.unanswered = 0
    did: dict[str, int] = {}
    if kind.kind:
        target = process.enrollment if kind.port == "enrollment" else process.target
        argv = ["-m", "airbound_testing.abuse", kind.kind, target, str(kind.count), str(seconds)]
        abuser = await asyncio.create_subprocess_exec(
            sys.executable,
            *argv,
            *([str(evil / kind.role)] if kind.certificate else []),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await abuser.communicate()
        did = json.loads(out)
    else:
        await asyncio.sleep(seconds)
    waited_s, unanswered = list(terminals.waited_s), terminals.unanswered
    await asyncio.sleep(SETTLE_S)
    watching.cancel()
    await asyncio.wait([watching])
    after = counted(await scrape(process.metrics), kind.port)
    return {
        "kind": kind.name,
        "p50_ms": at(waited_s, 0.5), "p99_ms": at(waited_s, 0.99), "largest_ms": at(waited_s, 1),
        "answered": len(waited_s), "unanswered": unanswered,
        "counted": {name: value - before.get(name, 0) for name, value in after.items() if value > before.get(name, 0)},
        "rss_before_mb": rss_before_mb, "rss_most_mb": memory.most_mb, "children_most_mb": memory.children_most_mb,
        "abuser": did,
    }  # fmt: skip


def middle(rounds: list[dict[str, Any]], without: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of several rounds; counts are those of all, memory is the most."""
    found = dict(rounds[0])
    for key in ("p50_ms", "p99_ms", "largest_ms"):
        found[key] = statistics.median(one[key] for one in rounds)
    for key in ("answered", "unanswered"):
        found[key] = sum(one[key] for one in rounds)
    for key in ("rss_most_mb", "children_most_mb"):
        found[key] = max(one[key] for one in rounds)
    for key in ("counted", "abuser"):
        found[key] = sum((Counter(one[key]) for one in rounds), Counter[str]())
    found["without_p99_ms"] = statistics.median(one["p99_ms"] for one in without) if without else None
    return found


def row(found: dict[str, Any]) -> str:
    """For a table in Markdown."""
    counts = ", ".join(
        f"{name.removeprefix('airbound_')} {value:.0f}" for name, value in sorted(found["counted"].items())
    )
    times = " | ".join(f"{found[key]:.1f}" for key in ("p50_ms", "p99_ms", "largest_ms"))
    without = "" if found["without_p99_ms"] is None else f"{found['without_p99_ms']:.1f}"
    memory = f"{found['rss_before_mb']:.0f} to {found['rss_most_mb']:.0f} MB, {found['children_most_mb']:.0f} MB"
    return (
        f"| {found['kind']} | {times} | {without} | {found['answered']} | {found['unanswered']} | {memory} | {counts} |"
    )


async def main(arguments: argparse.Namespace) -> None:
    """All kinds, one after the other, with one controller."""
    found = []
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = Site(directory / "ca")
        roles: tuple[CertificateRole, ...] = ("terminal", "access-point")
        for role in roles:
            evil, client = directory / role, site.client(role, "evil")
            evil.mkdir()
            files.write(evil / "authorities.pem", files.pem([site.authority.certificate]))
            files.write(evil / "certificate.pem", files.pem([client.certificate]))
            files.write(evil / "key.pem", files.key_pem(client.key))
        limits = "[limits]\nreports_per_s = 100.0\nstreams_per_address_max = 0\n"
        made = processes.controller_with_tls(directory, site.directory.path, limits, front=arguments.front)
        process = await stack.enter_async_context(made)
        terminals = Terminals(process.target, site, arguments.terminals)
        running = asyncio.create_task(terminals.run(stack))
        await asyncio.sleep(5)
        print(
            "| abuse | p50, ms | p99, ms | largest, ms | without | answered | unanswered | memory, children | counted |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        for kind in kinds(arguments.connections):
            if not arguments.words or not kind.kind or any(word in kind.name for word in arguments.words):
                rounds, without = [], []
                for _ in range(arguments.rounds):
                    if kind.kind and arguments.rounds > 1:
                        without.append(await measured(KINDS[0], process, terminals, directory, arguments.seconds))
                    rounds.append(await measured(kind, process, terminals, directory, arguments.seconds))
                found.append(middle(rounds, without))
                print(row(found[-1]), flush=True)
            if running.done():
                running.result()
        running.cancel()
        await asyncio.wait([running])
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", metavar="WORD", nargs="*", help="only kinds whose name has one of these, and none")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each kind; default %(default)g")
    parser.add_argument("--terminals", type=int, default=10, help="that report; default %(default)s")
    parser.add_argument(
        "--connections",
        metavar="N,N",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[64],
        help="of floods, each number in turn; default 64",
    )
    parser.add_argument("--rounds", type=int, default=1, help="of each kind, in turn with none; default %(default)s")
    parser.add_argument("--front", action="store_true", help="HAProxy before the ports of agents and operators")
    parser.add_argument("--json", metavar="FILE", type=Path, help="to write the rows to, with what the abuser did")
    given = parser.parse_args()
    names = [kind.name for kind in kinds(given.connections)]
    unknown = [word for word in given.words if not any(word in name for name in names)]
    if unknown:
        parser.error(f"no kind has {unknown[0]!r} in its name: {'; '.join(names)}")
    asyncio.run(main(given))
