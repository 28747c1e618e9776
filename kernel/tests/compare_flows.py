# SPDX-License-Identifier: GPL-2.0
"""Compare the samples of guest/flow.py of two kernels: compare_flows.py BASE PATCHED.

cubic and reno: every count and window is the same in every sample, and RTTs are within RTT_TOLERANCE_US. A reading of
the clock by any process moves virtual time on by 256 ns, and two kernels differ in what runs in the background.

bbr draws lots and paces by the nanosecond, which makes chaos of those 256 ns. There the totals are compared, by what
one and the same kernel gives with different seeds: bytes within 0.13 %, the mean of the sampled RTTs within 7 %.
"""

from __future__ import annotations

import sys
from pathlib import Path

RTT_TOLERANCE_US = 10
BBR_BYTES_TOLERANCE = 0.002
BBR_RTT_TOLERANCE = 0.1
SAMPLES = 200

# offsets in struct tcp_info
EXACT = {
    "state": 0,
    "unacked": 24,
    "sacked": 28,
    "lost": 32,
    "retrans": 36,
    "ssthresh": 76,
    "cwnd": 80,
    "total_retrans": 100,
    "bytes_acked": 120,
    "delivered": 192,
    "snd_wnd": 228,
}
RTTS = {"rtt": 68, "min_rtt": 148}


def read(path: str) -> tuple[str, list[bytes]]:
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    if len(lines) != SAMPLES:
        sys.exit(f"FAIL: {len(lines)} samples in {path}, not {SAMPLES}")
    return lines[0][1], [bytes.fromhex(line[3]) for line in lines]


def u32(sample: bytes, offset: int) -> int:
    return int.from_bytes(sample[offset : offset + 4], "little")


def differences(base: list[bytes], patched: list[bytes]) -> list[str]:
    found = []
    for i, (a, b) in enumerate(zip(base, patched, strict=True)):
        found += [
            f"sample {i}: {name} {u32(a, at)} and {u32(b, at)}"
            for name, at in EXACT.items()
            if u32(a, at) != u32(b, at)
        ]
        found += [
            f"sample {i}: {name} {u32(a, at)} and {u32(b, at)} us"
            for name, at in RTTS.items()
            if abs(u32(a, at) - u32(b, at)) > RTT_TOLERANCE_US
        ]
    return found


def differences_of_totals(base: list[bytes], patched: list[bytes]) -> list[str]:
    def mean_rtt(samples: list[bytes]) -> float:
        return sum(u32(sample, RTTS["rtt"]) for sample in samples) / len(samples)

    found = []
    for name, a, b, tolerance in (
        (
            "bytes acknowledged",
            u32(base[-1], EXACT["bytes_acked"]),
            u32(patched[-1], EXACT["bytes_acked"]),
            BBR_BYTES_TOLERANCE,
        ),
        ("mean RTT", mean_rtt(base), mean_rtt(patched), BBR_RTT_TOLERANCE),
    ):
        if abs(a - b) > tolerance * a:
            found.append(f"{name}: {a:.0f} and {b:.0f}")
    return found


def main(base_path: str, patched_path: str) -> None:
    cc, base = read(base_path)
    _, patched = read(patched_path)
    found = differences_of_totals(base, patched) if cc == "bbr" else differences(base, patched)
    if found:
        sys.exit("\n".join([*found[:10], f"FAIL: {len(found)} differences"]))


main(sys.argv[1], sys.argv[2])
