# SPDX-License-Identifier: GPL-2.0
"""Compare the samples of guest/flow.py of two kernels: compare_flows.py BASE PATCHED.

Each sample of TCP_INFO (windows, RTTs, rates, counts and queues) must be the same, byte by byte. Status 1 if one
differs, 2 if samples are missing.
"""

from __future__ import annotations

import sys
from pathlib import Path

SAMPLES = 200

# Names of fields by their offset in struct tcp_info (include/uapi/linux/tcp.h).
NAMES = {
    24: "unacked",
    36: "retrans",
    68: "rtt_us",
    72: "rttvar_us",
    76: "ssthresh",
    80: "cwnd",
    100: "total_retrans",
    104: "pacing_rate",
    120: "bytes_acked",
    148: "min_rtt_us",
    160: "delivery_rate",
    192: "delivered",
}


def read(path: str) -> list[bytes]:
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    if len(lines) != SAMPLES:
        sys.stderr.write(f"FAIL: {len(lines)} samples in {path}, not {SAMPLES}\n")
        sys.exit(2)
    return [bytes.fromhex(line[3]) for line in lines]


def u32(sample: bytes, offset: int) -> int:
    return int.from_bytes(sample[offset : offset + 4], "little")


def differences(base: list[bytes], patched: list[bytes]) -> list[str]:
    return [
        f"sample {i}: {NAMES.get(at, f'byte {at}')}: {u32(a, at)} and {u32(b, at)}"
        for i, (a, b) in enumerate(zip(base, patched, strict=True))
        for at in range(0, max(len(a), len(b)), 4)
        if a[at : at + 4] != b[at : at + 4]
    ]


def main(base_path: str, patched_path: str) -> None:
    found = differences(read(base_path), read(patched_path))
    if found:
        sys.exit("\n".join([*found[:10], f"FAIL: {len(found)} differences"]))


main(sys.argv[1], sys.argv[2])
