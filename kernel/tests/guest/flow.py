# SPDX-License-Identifier: GPL-2.0
"""One upload per congestion control, printed sample by sample: the same on every kernel that behaves the same.

In virtual time a run is a function of the kernel and of this program alone. There is no random loss: the queue of the
bottleneck is short, so that senders meet loss, recovery and undo all the same.
"""

from __future__ import annotations

import socket
import time

from support import Link

FIRST_FIELDS = 200  # bytes of struct tcp_info: everything up to and including the byte and segment counts


def main() -> None:
    for cc in ("cubic", "bbr", "reno"):
        for rtt_ms in (4, 256):
            with Link(rate_mbit=20, rtt_ms=rtt_ms, limit=100) as link:
                sock, peer = link.dial(link.listen(), cc=cc)
                link.upload(sock, peer)
                for _ in range(200):
                    time.sleep(0.1)
                    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, FIRST_FIELDS)
                    print("flow", cc, rtt_ms, info.hex())


main()
