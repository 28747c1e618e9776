# SPDX-License-Identifier: Apache-2.0
"""The traffic generator itself, over loopback in real time; nothing here depends on how fast the machine is."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from airbound_testing.ports import free_port

CLOCK = "clock t0_ns=0 seconds=1 interval_ms=500"


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "plan"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def run(traffic: Path, plan: Path) -> tuple[int, list[dict[str, Any]]]:
    result = subprocess.run([traffic, "run", plan], capture_output=True, text=True, timeout=300, check=False)
    assert result.stderr == ""
    return result.returncode, [json.loads(line) for line in result.stdout.splitlines()]


def samples_of(samples: list[dict[str, Any]], kind: str, name: str) -> list[dict[str, Any]]:
    return [sample for sample in samples if sample["kind"] == kind and sample["name"] == name]


def test_all_that_a_tcp_sender_had_acknowledged_was_received(traffic: Path, tmp_path: Path) -> None:
    at = f"protocol=tcp address=127.0.0.1:{free_port()}"
    plan = write(tmp_path, CLOCK, f"recv name=s {at}", f"send name=a {at} start_ms=50 stop_ms=400 congestion=reno")
    status, samples = run(traffic, plan)
    assert status == 0
    sent, received = samples_of(samples, "send", "a"), samples_of(samples, "recv", "s")
    # It stopped before the first sample, which therefore is also its last.
    assert [line["t_ms"] for line in sent] == [500]
    assert [line["t_ms"] for line in received] == [500, 1000]
    assert {line["source"] for line in received} == {"127.0.0.1"}
    # The acknowledgement of the SYN counts as one byte; what was under way may be received without being acknowledged.
    assert received[-1]["bytes"] >= sent[0]["acked_bytes"] - 1 > 100_000
    assert sent[0]["cwnd_segs"] > 0
    assert sent[0]["min_rtt_us"] > 0


def test_paced_udp_sends_at_its_rate(traffic: Path, tmp_path: Path) -> None:
    at = f"protocol=udp address=127.0.0.1:{free_port()}"
    send = f"send name=u {at} start_ms=0 stop_ms=1000 rate_kbps=800 payload_bytes=1000"
    status, samples = run(traffic, write(tmp_path, CLOCK, f"recv name=s {at}", send))
    assert status == 0
    # 800 kb/s are one datagram every 10 ms: 100 in a second, or 99 if the last falls on the end.
    assert samples_of(samples, "send", "u")[-1]["sent_bytes"] in (99_000, 100_000)
    assert samples_of(samples, "recv", "s")[-1]["bytes"] >= 98_000


def test_paced_tcp_sends_at_its_rate(traffic: Path, tmp_path: Path) -> None:
    at = f"protocol=tcp address=127.0.0.1:{free_port()}"
    # 1.2 Mb/s are 11,584 bytes every 77 ms; 40 Mb/s are 25,000 every 5 ms.
    sends = [
        f"send name={name} {at} start_ms=0 stop_ms=1000 rate_kbps={kbps}" for name, kbps in (("a", 1200), ("b", 40_000))
    ]
    status, samples = run(traffic, write(tmp_path, CLOCK, f"recv name=s {at}", *sends))
    assert status == 0
    slow, fast = (samples_of(samples, "send", name)[-1]["acked_bytes"] for name in ("a", "b"))
    # The acknowledgement of the SYN counts as one byte. A busy machine drops what a socket does not take.
    assert slow - 1 in (11 * 11_584, 12 * 11_584)
    assert 3_000_000 < fast <= 5_000_001


def test_the_longest_time_without_a_datagram_is_reported(traffic: Path, tmp_path: Path) -> None:
    at = f"protocol=udp address=127.0.0.1:{free_port()}"
    clock = "clock t0_ns=0 seconds=2 interval_ms=1000"
    # 10 ms apart, with 300 ms between them once, in the second second; a busy machine can only make it longer.
    sends = [
        f"send name={name} {at} start_ms={start} stop_ms={stop} rate_kbps=800 payload_bytes=1000"
        for name, start, stop in (("a", 0, 1200), ("b", 1500, 2000))
    ]
    status, samples = run(traffic, write(tmp_path, clock, f"recv name=s {at}", *sends))
    assert status == 0
    first, second = (line["gap_max_us"] for line in samples_of(samples, "recv", "s"))
    assert first > 9_000
    assert 300_000 < second < 1_000_000


def test_on_and_off_halve_the_rate(traffic: Path, tmp_path: Path) -> None:
    at = f"protocol=udp address=127.0.0.1:{free_port()}"
    send = f"send name=u {at} start_ms=0 stop_ms=1000 rate_kbps=800 payload_bytes=1000 on_ms=105 off_ms=100"
    status, samples = run(traffic, write(tmp_path, CLOCK, f"recv name=s {at}", send))
    assert status == 0
    assert 40_000 <= samples_of(samples, "send", "u")[-1]["sent_bytes"] <= 65_000


def test_udp_without_a_rate_sends_what_the_socket_takes(traffic: Path, tmp_path: Path) -> None:
    at = f"protocol=udp address=127.0.0.1:{free_port()}"
    send = f"send name=u {at} start_ms=0 stop_ms=100"
    status, samples = run(traffic, write(tmp_path, CLOCK, f"recv name=s {at}", send))
    assert status == 0
    assert samples_of(samples, "send", "u")[-1]["sent_bytes"] > 64 * 1470


def test_a_flow_that_cannot_connect_is_an_error_and_others_go_on(traffic: Path, tmp_path: Path) -> None:
    tcp = f"protocol=tcp address=127.0.0.1:{free_port()}"
    udp = f"protocol=udp address=127.0.0.1:{free_port()}"
    lines = (f"send name=a {tcp} start_ms=0 stop_ms=900", f"recv name=s {udp}")
    paced = f"send name=u {udp} start_ms=0 stop_ms=1000 rate_kbps=800"
    status, samples = run(traffic, write(tmp_path, CLOCK, *lines, paced))
    assert status == 1
    assert samples_of(samples, "error", "a") == [{"kind": "error", "name": "a", "error": "connect: Connection refused"}]
    assert samples_of(samples, "recv", "s")[-1]["bytes"] > 50_000


def test_a_flow_that_ends_while_it_connects_is_no_failure(traffic: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        with socket.create_connection(address):  # from now on nobody else has a handshake answered
            flow = f"send name=a protocol=tcp address={address[0]}:{address[1]} start_ms=0 stop_ms=400"
            status, samples = run(traffic, write(tmp_path, CLOCK, flow))
    assert status == 0
    assert samples_of(samples, "unconnected", "a") == [{"kind": "unconnected", "name": "a"}]
    assert [line["acked_bytes"] for line in samples_of(samples, "send", "a")] == [0]


def test_a_phone_may_send_again_after_it_stopped(traffic: Path, tmp_path: Path) -> None:
    at = f"protocol=tcp address=127.0.0.1:{free_port()}"
    flows = [f"send name=a {at} start_ms={start} stop_ms={start + 200}" for start in (0, 500)]
    status, samples = run(traffic, write(tmp_path, CLOCK, f"recv name=s {at}", *flows))
    assert status == 0
    assert [line["t_ms"] for line in samples_of(samples, "send", "a")] == [500, 1000]


SEND = "send name=a protocol=tcp address=1.2.3.4:5 start_ms=0 stop_ms=9"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dance", "line 2: 'dance' is none of clock, recv, send, watch"),
        ("recv name=s protocol=tcp", "line 2: a recv line needs address="),
        ("recv name=s protocol=sctp address=1.2.3.4:5", "line 2: protocol=sctp"),
        ("recv name=s protocol=tcp address=1.2.3.4", "line 2: address=1.2.3.4 has no port"),
        ("recv name=s protocol=tcp address=1.2.3:5", "line 2: address=1.2.3 is not"),
        ("recv name=s protocol=tcp address=1.2.3.4:0", "line 2: port=0"),
        ("recv name=s protocol=tcp address=1.2.3.4:99999", "line 2: port=99999"),
        ("recv name=s name=t protocol=tcp address=1.2.3.4:5", "line 2: 'name' is given twice"),
        ("recv name=s rate_kbps=1 protocol=tcp address=1.2.3.4:5", "line 2: 'rate_kbps' is not a key of a recv line"),
        ("recv name", "line 2: 'name' is not key=value"),
        ("watch name=.. interval_ms=1", "line 2: name=.. is not a name"),
        ("watch name= interval_ms=1", "line 2: name= is not a name"),
        ("watch name=s netns=../../etc/passwd interval_ms=1", "is not a name"),
        (f"watch name={'s' * 32} interval_ms=1", "is not a name of 1 to 31"),
        ("watch name=s interval_ms=0", "line 2: interval_ms=0"),
        ("watch name=s interval_ms=-1", "line 2: interval_ms=-1"),
        ("watch name=s interval_ms=1x", "line 2: interval_ms=1x"),
        ("watch name=s interval_ms=99999999999999999999999", "is not a number"),
        (f"{SEND} stop_ms=8", "line 2: 'stop_ms' is given twice"),
        (SEND.replace("stop_ms=9", "stop_ms=0"), "line 2: stop_ms must be after start_ms"),
        (f"{SEND} on_ms=1", "line 2: on_ms and off_ms belong together"),
        (f"{SEND} payload_bytes=9", "line 2: payload_bytes is for protocol=udp"),
        (f"{SEND} uid=0", "line 2: uid=0"),
        (f"{SEND} uid=4294967295", "line 2: uid=4294967295"),
        (f"{SEND} priority=x", "line 2: priority=x"),
        (SEND.replace("tcp", "udp") + " congestion=bbr", "line 2: congestion is for protocol=tcp"),
        ("recv name=s protocol=udp address=1.2.3.4:5 congestion=bbr", "line 2: congestion is for protocol=tcp"),
        (CLOCK, "line 2: a second clock line"),
        ("recv " + "x" * 600, "line 2: longer than"),
    ],
)
def test_a_wrong_plan_is_refused_by_line(traffic: Path, tmp_path: Path, line: str, message: str) -> None:
    result = subprocess.run(
        [traffic, "check", write(tmp_path, CLOCK, line)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert message in result.stderr


def test_a_plan_without_a_clock_is_refused(traffic: Path, tmp_path: Path) -> None:
    plan = write(tmp_path, "# nothing", "")
    result = subprocess.run([traffic, "check", plan], capture_output=True, text=True, check=False)
    assert (result.returncode, "no clock line" in result.stderr) == (2, True)


@pytest.mark.parametrize("item", [SEND, "recv name=a protocol=tcp address=127.0.0.1:1"])
def test_a_congestion_control_that_the_kernel_lacks_is_named(traffic: Path, tmp_path: Path, item: str) -> None:
    plan = write(tmp_path, CLOCK, f"{item} congestion=nonesuch")
    result = subprocess.run([traffic, "run", plan], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 1
    assert "a: cannot use congestion control nonesuch" in result.stderr


HEADER = "time_us state local remote uid ca_state cwnd_segs ssthresh_segs bound_min_segs bound_max_segs srtt_us"
LINE = "81234567 established 10.0.0.11:40312 10.0.4.1:5001 10073 open 42 2147483647 10 50 28123"


@pytest.fixture(scope="module")
def monitor_bounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that feeds standard input to monitor_bounds()."""
    folder = tmp_path_factory.mktemp("monitor")
    sources = Path(__file__).resolve().parents[1] / "traffic"
    main = folder / "main.c"
    main.write_text(
        '#include "traffic.h"\n'
        "int main(int n, char **argument) { static char text[65536]; struct bounds b; (void)n;\n"
        "text[fread(text, 1, sizeof(text) - 1, stdin)] = 0;\n"
        "if (!monitor_bounds(text, argument[1], &b)) return 1;\n"
        'printf("%llu %llu", (unsigned long long)b.min_segs, (unsigned long long)b.max_segs); return 0; }\n',
        encoding="utf-8",
    )
    program = folder / "monitor_bounds"
    flags = ["-fsanitize=address,undefined", "-g", f"-I{sources}"]
    subprocess.run(["cc", *flags, "-o", program, main, sources / "monitor.c"], check=True)
    return program


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{HEADER}\n{LINE}\n", "10 50"),
        (f"{HEADER}\n{LINE.replace('40312', '403120')}\n", None),
        (f"{HEADER}\n{LINE.replace('40312', '1')}\n{LINE}\n", "10 50"),
        # Columns may move: the header names them.
        ("bound_max_segs local bound_min_segs\n7 10.0.0.11:40312 5\n", "5 7"),
        # Truncated: without a newline, or in the middle of a line.
        (f"{HEADER}\n{LINE}", None),
        (f"{HEADER}\n{LINE[:40]}\n", None),
        (f"{HEADER}\n\n{LINE}\n", "10 50"),
        (HEADER, None),
        ("", None),
        ("time_us state\n1 established\n", None),
    ],
)
def test_the_monitor_line_of_a_connection(monitor_bounds: Path, text: str, found: str | None) -> None:
    result = subprocess.run(
        [monitor_bounds, "10.0.0.11:40312"], input=text, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert (result.stdout if result.returncode == 0 else None) == found


def test_it_has_the_same_bytes_wherever_the_checkout_is(traffic: Path, tmp_path: Path) -> None:
    elsewhere = shutil.copytree(Path(__file__).parents[1] / "traffic", tmp_path / "a-checkout-at-another-path")
    subprocess.run(["make", "-s", "-C", elsewhere, f"BUILD={tmp_path}"], check=True)
    assert (tmp_path / "airbound-traffic").read_bytes() == traffic.read_bytes()
