# SPDX-License-Identifier: GPL-2.0
"""One upload, printed sample by sample; identical on kernels that behave the same.

    flow.py CONGESTION_CONTROL RTT_MS

In virtual time a run depends only on the kernel, the seed and this program. There is no random loss, but the queue of
the bottleneck is short, so that loss and recovery occur. One boot runs one upload.
"""

from __future__ import annotations

import socket
import sys
import time

from support import Link, sleep_until_s

TCP_INFO_BYTES = 512  # more than any kernel returns


def main(cc: str, rtt_ms: int) -> None:
    # Printed at the end, because writing to the console takes host time.
    lines = []
    with Link(rate_mbit=20, rtt_ms=rtt_ms, limit=100, tcp_only=True) as link:
        listener = link.listen()
        # Start at a fixed time: two kernels may take different times to boot.
        sleep_until_s(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 10**9 + 2)
        sock, peer = link.dial(listener, cc=cc)
        link.upload(sock, peer)
        for _ in range(200):
            time.sleep(0.1)
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
            lines.append(f"flow {cc} {rtt_ms} {info.hex()}")
    print("\n".join(lines))


main(sys.argv[1], int(sys.argv[2]))
