# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ASYNC230, PTH123, T201
# pathlib would cost the guest start-up time. The result is what is printed.
"""Transactions of one byte by HTTP: server and clients, as in `airbound-benchmark` (phone-agent/benchmark), octet by
octet; needs Python's standard library alone.

    http_transactions.py serve READY_FILE ADDRESS:PORT...
    http_transactions.py fetch ADDRESS:PORT CLIENTS one|each SECONDS

`GET /N` is answered by the octet N modulo 256. `fetch` has so many clients at the same time; each begins a transaction
when its last one has ended, on `one` connection that stays or on one for `each` transaction, which the server ends.
With `each` a transaction includes the connection's beginning and end. For each that has ended a line on standard
output, by the monotonic clock:

    CLIENT BEGAN_NS ENDED_NS

A wrong answer, or a connection that fails, is a line `error: WHAT`, and exit status 1. There is no time limit for an
answer; the benchmark has one of 10 s. The file READY_FILE is made when the server listens.
"""

from __future__ import annotations

import asyncio
import sys
import time

CLOSE = "Connection: close\r\n"
HEAD_BYTES_MAX = 8192


class WrongAnswerError(Exception):
    """The server has answered, but not as it has to."""


def answer(head: str) -> tuple[bytes, bool]:
    """Return the answer to a request's head, and whether the connection stays."""
    first, *rest = head.split("\r\n")
    kept = not any(line.lower() == CLOSE.strip().lower() for line in rest)
    method, _, target = first.removesuffix(" HTTP/1.1").partition(" ")
    number = target.removeprefix("/")
    known = method == "GET" and first.endswith(" HTTP/1.1") and number.isascii() and number.isdigit()
    status, body = ("200 OK", bytes([int(number) & 0xFF])) if known else ("400 Bad Request", b"?")
    fields = f"Content-Type: application/octet-stream\r\nContent-Length: 1\r\n{'' if kept else CLOSE}"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n".encode() + body, kept


async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of a connection."""
    kept = True
    try:
        while kept:
            head = await reader.readuntil(b"\r\n\r\n")
            text, kept = answer(head.decode("latin-1"))
            writer.write(text)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
        pass  # the client has gone, or has sent what is no request; it says so itself
    writer.close()


async def serve(ready_file: str, addresses: list[str]) -> None:
    """Serve at all addresses, for ever."""
    servers = [
        await asyncio.start_server(serve_one, host, int(port), limit=HEAD_BYTES_MAX)
        for host, _, port in (address.partition(":") for address in addresses)
    ]
    with open(ready_file, "w", encoding="utf-8"):
        pass
    await asyncio.gather(*(server.serve_forever() for server in servers))


def request(address: str, number: int, *, kept: bool) -> bytes:
    """Return a request for the octet of a number."""
    return f"GET /{number} HTTP/1.1\r\nHost: {address}\r\n{'' if kept else CLOSE}\r\n".encode()


async def read_answer(reader: asyncio.StreamReader, number: int, *, kept: bool) -> None:
    """Read the answer for a number.

    Raises:
        WrongAnswerError: it is another one, or the connection ended before.
    """
    try:
        status, *fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        octet = (await reader.readexactly(1))[0]
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise WrongAnswerError(f"no answer to /{number}: {error}") from error
    if not status.startswith("HTTP/1.1 200 ") or "Content-Length: 1" not in fields:
        raise WrongAnswerError(f"the answer to /{number} is {status!r}, {fields}")
    if octet != number & 0xFF:
        raise WrongAnswerError(f"the octet {octet} for /{number}")
    # On a connection that ends, what is behind the octet shows whether it was the only one.
    if not kept and await reader.read(1):
        raise WrongAnswerError(f"more than one octet for /{number}")


async def fetch_always(client: int, address: str, *, kept: bool) -> None:
    """Do one transaction after the other.

    Raises:
        WrongAnswerError: an answer was wrong.
        OSError: a connection failed.
    """
    host, _, port = address.partition(":")
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    number = 0
    while True:
        began_ns = time.monotonic_ns()
        reader, writer = streams or await asyncio.open_connection(host, int(port))
        writer.write(request(address, number, kept=kept))
        await read_answer(reader, number, kept=kept)
        if kept:
            streams = reader, writer
        else:
            writer.close()
        print(client, began_ns, time.monotonic_ns(), flush=True)
        number += 1


async def fetch(address: str, clients: int, *, kept: bool, seconds: float) -> None:
    """Have several clients fetch for so long; raises as `fetch_always`."""
    tasks = [asyncio.create_task(fetch_always(client, address, kept=kept)) for client in range(clients)]
    ended, running = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in running:
        task.cancel()
    for task in ended:
        task.result()


def main() -> None:
    """Serve or fetch."""
    command, first, *rest = sys.argv[1:]
    if command == "serve":
        asyncio.run(serve(first, rest))
    clients, connections, seconds = rest
    try:
        asyncio.run(fetch(first, int(clients), kept=connections == "one", seconds=float(seconds)))
    except (WrongAnswerError, OSError) as error:
        print(f"error: {error}", flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
