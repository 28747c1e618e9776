# SPDX-License-Identifier: Apache-2.0
"""Traffic for tests of switches: UDP or TCP at a rate, and what arrives of it. Each goes on until SIGTERM, so that a
test ends it when it has seen what it waits for, however long that takes.

Usage: python -m airbound_testing.packets send udp ADDRESS PORT PACKETS_PER_S [BYTES]    prints how many, at its end
       python -m airbound_testing.packets receive PORT      prints a line when it listens; at its end, once nothing has
                                                            come for a second, JSON: packets, bytes, seconds between the
                                                            first and the last, dscp, lost_in_a_row
       python -m airbound_testing.packets serve PORT        takes TCP connections and reads what they send
       python -m airbound_testing.packets upload ADDRESS PORT SECONDS   prints the bytes of so many seconds, as fast as
                                                                        TCP goes; then ten bytes a second
"""

import contextlib
import json
import signal
import socket
import sys
import threading
import time

BYTES = 1_000
READ_BYTES = 1 << 16
TICK_S = 0.1
QUIET_S = 1.0


class _Ended:
    """Whether SIGTERM came."""

    def __init__(self) -> None:
        self.value = False
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, *_: object) -> None:
        self.value = True


def send(address: str, port: int, packets_per_s: float, size: int = BYTES) -> int:
    """UDP at a rate; how many packets."""
    ended, number, start_s = _Ended(), 0, time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        while not ended.value:
            wait_s = start_s + number / packets_per_s - time.monotonic()
            if wait_s > 0:
                time.sleep(min(wait_s, TICK_S))
            if wait_s <= TICK_S:
                out.sendto(number.to_bytes(8, "big") + bytes(size - 8), (address, port))
                number += 1
    return number


def receive(port: int) -> dict[str, object]:
    """What arrives by UDP, and how many packets in a row did not: a gap in forwarding, however busy the machine is."""
    ended = _Ended()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        taken.bind(("", port))
        taken.settimeout(TICK_S)
        print("listening", flush=True)  # noqa: T201  # a program
        packets = octets = 0
        last, lost, marks = -1, 0, set[int]()
        first_s = last_s = 0.0
        quiet = 0  # ticks, since the end; each is waited for, so that a late process reads what is there
        while not ended.value or quiet < QUIET_S / TICK_S:
            try:
                data, ancillary, _, _ = taken.recvmsg(READ_BYTES, 64)
            except TimeoutError:
                quiet += ended.value
                continue
            last_s = time.monotonic()
            first_s = first_s or last_s
            number = int.from_bytes(data[:8], "big")
            lost = max(lost, number - last - 1 if last >= 0 else 0)
            packets, octets, last = packets + 1, octets + len(data), max(last, number)
            marks |= {value[0] >> 2 for _, kind, value in ancillary if kind == socket.IP_TOS}
    seconds = last_s - first_s
    return {"packets": packets, "bytes": octets, "seconds": seconds, "dscp": sorted(marks), "lost_in_a_row": lost}


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


def upload(address: str, port: int, seconds: float) -> None:
    """Bytes that TCP took; then few more, so that the connection goes on to be one that sends."""
    connection = _connected(address, port)
    sent, end_s = 0, time.monotonic() + seconds
    with connection:
        while time.monotonic() < end_s:
            sent += connection.send(bytes(READ_BYTES))
        print(sent, flush=True)  # noqa: T201  # a program
        ended = _Ended()
        while not ended.value:
            connection.send(bytes(1))
            time.sleep(TICK_S)


def _connected(address: str, port: int) -> socket.socket:
    """A connection, as soon as there is a server."""
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection((address, port))
        time.sleep(TICK_S)


def main(arguments: list[str]) -> None:
    """See above."""
    match arguments:
        case ["send", "udp", address, port, rate, *size]:
            print(send(address, int(port), float(rate), *map(int, size)))  # noqa: T201  # a program
        case ["receive", port]:
            print(json.dumps(receive(int(port))))  # noqa: T201
        case ["serve", port]:
            serve(int(port))
        case ["upload", address, port, seconds]:
            upload(address, int(port), float(seconds))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
