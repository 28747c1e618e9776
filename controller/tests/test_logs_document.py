# SPDX-License-Identifier: Apache-2.0
"""docs/logs.md describes what a controller logs as JSON, and what `airbound events --json` prints: every line of a
controller that runs is held against it.
"""

import ast
import asyncio
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airbound.core.addresses import mac_from_text
from airbound.core.reasons import Code
from airbound.operator import cli, events_commands
from airbound.v1 import access_point_pb2, terminal_pb2
from airbound_testing.agents import WAIT_S, FakeAccessPoint, FakePhone
from airbound_testing.live import BSSID, MACS, QUEUE, upload

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/logs.md").read_text(encoding="utf-8")
TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float), "array": (list,)}
TYPES["boolean"] = (bool,)
START_WITHIN_S = 300.0
SEEN = access_point_pb2.StationDestination(
    address=bytes([10, 0, 4, 1]), connections=1, connections_sending=1, srtt_us=30_000, min_rtt_us=20_000
)
OVERRIDE = f'[[cell]]\nbssid = "{BSSID}"\nmode = "observe"\n'


def tables() -> Iterator[list[list[str]]]:
    """The rows of each table, without its head."""
    for block in re.findall(r"(?:^\|.*\n)+", DOCUMENT, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()]
        yield rows[2:]


LINE, REASON, BOUND, QUEUE_FIELDS, WINDOW_FIELDS, FLOW_FIELDS, KINDS, OTHER_KINDS = tables()
OBJECTS = {
    "reasons": REASON,
    "bounds": BOUND,
    "queues": QUEUE_FIELDS,
    "windows": WINDOW_FIELDS,
    "flows": FLOW_FIELDS,
}
LIVE = terminal_pb2.ClassPart(
    application_class=terminal_pb2.APPLICATION_CLASS_LIVE, connections=1, connections_sending=1, uids=[10073]
)
SEEN_NAMES = {row[0].strip("`") for row in KINDS}
KIND_NAMES = SEEN_NAMES | {row[0].strip("`") for row in OTHER_KINDS}  # these need TLS, replicas or a switch


def test_commands_know_the_kinds() -> None:
    assert sorted((*events_commands.KINDS, *events_commands.OTHER_KINDS)) == sorted(KIND_NAMES)


def check(fields: dict[str, Any], table: list[list[str]]) -> None:
    """Every field is documented, has its type, and is there if it always is."""
    known = {name.strip("`"): (TYPES[kind], when) for name, kind, when, _ in table}
    assert fields.keys() <= known.keys(), fields
    for name, (types, when) in known.items():
        if when == "always":
            assert name in fields, fields
        if name in fields:
            assert isinstance(fields[name], types), fields
            assert isinstance(fields[name], bool) == (types == TYPES["boolean"]), fields
    for name, inner in OBJECTS.items():
        for item in fields.get(name, []) if table is LINE else []:
            check(item, inner)


def check_line(fields: dict[str, Any]) -> None:
    check(fields, LINE)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields["time"])
    assert fields["level"] in {"info", "warning", "error"}
    assert fields["kind"] in KIND_NAMES
    assert ("bounds" in fields) == (fields["kind"] == "bounds")
    assert ("queues" in fields) == (fields["kind"] == "edca")
    assert ("windows" in fields) == (fields["kind"] == "windows")
    assert ("flows" in fields) == (fields["kind"] == "flows")
    for reason in fields.get("reasons", []):
        assert reason["code"].upper() in Code.__members__


def test_a_line_that_is_not_as_documented_is_found() -> None:
    good = {
        "time": "2026-01-31T12:03:04.120Z",
        "level": "info",
        "kind": "bounds",
        "subject": "x",
        "bounds": [],
        "why": "",
    }
    check_line(good)
    for change in (
        {"what": "bounds"}, {"time": "12:03"}, {"level": "debug"}, {"kind": "other"}, {"bounds": [{"min_segs": 1}]},
        {"reasons": [{"code": "none"}]}, {"subject": 1}, {"kind": "senders"}, {"reasons_left_out": True},
    ):  # fmt: skip
        with pytest.raises(AssertionError):
            check_line(good | change)
    for field in good:
        with pytest.raises((AssertionError, KeyError)):
            check_line({name: value for name, value in good.items() if name != field})


def kinds_in_the_code() -> Iterator[str]:
    """The second argument of each Note(...) and log.event(...)."""
    for file in sorted((ROOT / "controller/airbound").rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(getattr(call, "func", None), "id", getattr(getattr(call, "func", None), "attr", ""))
            if isinstance(call, ast.Call) and name in {"Note", "event", "note", "_record"} and len(call.args) > 1:
                kind = call.args[1]
                if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
                    yield kind.value.replace(" ", "_")


def test_every_kind_is_documented() -> None:
    assert set(kinds_in_the_code()) >= {"bounds", "connected", "refused", "listening"}
    assert set(kinds_in_the_code()) <= KIND_NAMES


async def airbound(*arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *("-m", "airbound", *arguments), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 3 * WAIT_S)
    assert process.returncode == cli.OK
    return out.decode()


class Process:
    """A controller whose log is read line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []

    async def until(self, kind: str, count: int = 1, **fields: Any) -> dict[str, Any]:
        """The line of that kind, with these fields, as the so manieth."""

        def found() -> list[dict[str, Any]]:
            return [line for line in self.lines if line["kind"] == kind and fields.items() <= line.items()]

        assert self.process.stderr is not None
        while len(found()) < count:
            text = await asyncio.wait_for(self.process.stderr.readline(), START_WITHIN_S)
            assert text, (kind, fields, self.lines)
            self.lines.append(json.loads(text))
        return found()[count - 1]


async def report(access_point: FakeAccessPoint, second: int, *sending: str) -> None:
    stations = [
        access_point_pb2.Station(
            mac=mac_from_text(mac),
            rx_packets=1000 * second,
            rx_bytes=1_534_000 * second,
            rx_bitrate_kbps=54_000,
            connected_time_ms=9000,
            destinations=[SEEN] if mac == MACS[2] else [],
        )
        for mac in sending
    ]
    edca = access_point_pb2.EdcaState(
        can_set=True, generation=access_point.generation, own=[QUEUE], stations=[QUEUE], wmm=True
    )
    await access_point.report(
        access_point_pb2.AccessPointReport(
            bssid=mac_from_text(BSSID),
            ssid=b"x",
            monotonic_us=second * 1_000_000,
            stations=stations,
            edca=edca,
            windows=access_point_pb2.WindowState(can_set=True, generation=access_point.windows_generation),
        )
    )


async def test_every_line_of_a_controller_is_as_documented_and_its_events_are_the_same(tmp_path: Path) -> None:
    config = tmp_path / "airbound.toml"
    patient = "[safety]\ncell_stale_ms = 600_000\nterminal_stale_ms = 600_000\nlease_ms = 60_000\n"
    write(config, patient)
    process = Process(
        await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "airbound", "controller", "--config", str(config), "--log", "json"),
            *("--listen", "127.0.0.1:0", "--operators", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--plain-text"),
            stderr=asyncio.subprocess.PIPE,
        )
    )
    try:
        await exercise(process, config, patient)
    finally:
        if process.process.returncode is None:
            process.process.kill()
            await process.process.communicate()


def write(config: Path, text: str) -> None:
    config.write_text(text, encoding="utf-8")


async def exercise(process: Process, config: Path, patient: str) -> None:
    """Have everything happen that can, and look at each line."""
    listening = await process.until("listening")
    agents, operators = listening["subject"], re.sub(".*operators on ", "", listening["why"])
    async with FakeAccessPoint(agents) as access_point, FakePhone(agents, MACS[0]) as phone:
        async with FakePhone(agents, MACS[1]) as other:
            for second in range(1, 4):
                await report(access_point, second, *MACS[:3])
            await process.until("senders")
            await process.until("windows")
            live = upload(30_000, 20_000)
            live.classes.append(LIVE)
            phone.takes_flows = True
            await phone.report(live, monotonic_us=1)
            await other.report(upload(30_000, 20_000), monotonic_us=1)
            await process.until("bounds", 2)
            await process.until("edca")
            await process.until("flows")
            arrived = terminal_pb2.Arrivals(arrivals_total=1, last_source=terminal_pb2.ARRIVAL_SOURCE_NL80211)
            await other.report(terminal_pb2.Destination(address=b"\x01"), monotonic_us=2, arrivals=arrived)
            await process.until("refused")
            await process.until("arrived")
        await process.until("disconnected")
        for arguments in (
            ("exempt", "192.0.2.7"), ("exempt", "192.0.2.7", "--off"), ("class", "192.0.2.7", "--uid", "10073", "bulk"),
            ("mode", "observe"),
        ):  # fmt: skip
            await airbound(*arguments, "--controller", operators, "--plain-text")
        await process.until("mode")
        for text in (f"{patient}lease = 1\n", f"{patient}[bdp]\ngain = 2.0\n[events]\nkept = 5\n{OVERRIDE}"):
            write(config, text)
            process.process.send_signal(signal.SIGHUP)
            await process.until("reload", 1 if "lease = 1" in text else 3)
        listed = await airbound("events", "--json", "--limit", "0", "--controller", operators, "--plain-text")
    process.process.send_signal(signal.SIGTERM)
    await process.until("stopping")
    events = [json.loads(line) for line in listed.splitlines()]
    for line in (*process.lines, *events):
        check_line(line)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))

    def without_clock(lines: list[dict[str, Any]]) -> Counter[str]:
        kept = [{name: line[name] for name in line if name not in {"time", "sequence"}} for line in lines]
        return Counter(json.dumps(line, sort_keys=True) for line in kept)

    assert without_clock(events) <= without_clock(process.lines)
    assert len(events) >= len([line for line in process.lines if line["kind"] not in {"stopping", "disconnected"}])
    seen = {line["kind"] for line in process.lines}
    # These need a defect, a reader that does not read, a sender that takes too much for seconds, a driver that reports
    # no rates, and a second access point.
    assert seen == SEEN_NAMES - {
        "failed",
        "log",
        "unlimited",
        "limited",
        "unbounded",
        "bounded",
        "crowded",
        "uncrowded",
        "assumed",
        "reported",
        "moved",
        "disputed",
    }
    await asyncio.wait_for(process.process.communicate(), WAIT_S)
