# SPDX-License-Identifier: Apache-2.0
"""Traffic for tests of switches: UDP or TCP at a rate, and what arrives of it.

Usage: python -m airbound_testing.packets send udp ADDRESS PORT PACKETS_PER_S SECONDS [BYTES]
       python -m airbound_testing.packets receive PORT SECONDS      prints JSON: packets, bytes, dscp, lost_in_a_row
       python -m airbound_testing.packets serve PORT                takes TCP connections and reads what they send
       python -m airbound_testing.packets upload ADDRESS PORT SECONDS       as fast as TCP goes
"""

import json
import socket
import sys
import threading
import time

BYTES = 1_000
READ_BYTES = 1 << 16


def send(address: str, port: int, packets_per_s: float, seconds: float, size: int = BYTES) -> None:
    """UDP at a rate."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        start_s = time.monotonic()
        for number in range(round(packets_per_s * seconds)):
            wait_s = start_s + number / packets_per_s - time.monotonic()
            if wait_s > 0:
                time.sleep(wait_s)
            out.sendto(number.to_bytes(8, "big") + bytes(size - 8), (address, port))


def receive(port: int, seconds: float) -> dict[str, object]:
    """What arrives by UDP, and how many packets in a row did not: a gap in forwarding, however busy the machine is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        taken.bind(("", port))
        taken.settimeout(0.2)
        packets = octets = 0
        last, lost, marks = -1, 0, set[int]()
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            try:
                data, ancillary, _, _ = taken.recvmsg(READ_BYTES, 64)
            except TimeoutError:
                continue
            number = int.from_bytes(data[:8], "big")
            lost = max(lost, number - last - 1 if last >= 0 else 0)
            packets, octets, last = packets + 1, octets + len(data), max(last, number)
            marks |= {value[0] >> 2 for _, kind, value in ancillary if kind == socket.IP_TOS}
        return {"packets": packets, "bytes": octets, "dscp": sorted(marks), "lost_in_a_row": lost}


def serve(port: int) -> None:
    """Read from a TCP socket."""
    with socket.create_server(("", port)) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_drain, args=(connection,), daemon=True).start()


def _drain(connection: socket.socket) -> None:
    with connection:
        while connection.recv(READ_BYTES):
            pass


def upload(address: str, port: int, seconds: float) -> int:
    """Bytes that TCP took."""
    sent, end_s = 0, time.monotonic() + seconds
    with socket.create_connection((address, port), timeout=10) as connection:
        while time.monotonic() < end_s:
            sent += connection.send(bytes(READ_BYTES))
    return sent


def main(arguments: list[str]) -> None:
    """See above."""
    match arguments:
        case ["send", "udp", address, port, rate, seconds, *size]:
            send(address, int(port), float(rate), float(seconds), *map(int, size))
        case ["receive", port, seconds]:
            print(json.dumps(receive(int(port), float(seconds))))  # noqa: T201  # a program
        case ["serve", port]:
            serve(int(port))
        case ["upload", address, port, seconds]:
            print(upload(address, int(port), float(seconds)))  # noqa: T201
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
