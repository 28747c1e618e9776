# SPDX-License-Identifier: GPL-2.0
"""Random transactions for /proc/net/tcp_cwnd_bounds and a model of their effect on a table; no input or output.

`apply` follows the grammar in kernel/README.md, not the kernel's parser, so that it finds errors in the parser.
"""

from __future__ import annotations

import random
import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

RULES_MAX = 256
TRANSACTION_BYTES_MAX = 24576
SEGS_MAX = 65535
UID_MAX = 4294967294

# Range by selector, as read back, in the order in which the selectors were first set.
Table = dict[str, tuple[int, int]]

_V4MAPPED = 0xFFFF << 32
_LEADING_ZEROS = re.compile(r"\b0+(?=[0-9a-fA-F]{4}\b)")
_NUMBER = re.compile(r"[0-9]+\Z", re.ASCII)


class RefusedError(Exception):
    """The name of the error that the kernel must return."""


def text_of(table: Table) -> str:
    return "".join(f"{selector} {least} {most}\n" for selector, (least, most) in table.items())


def apply(table: Table, data: bytes) -> Table:
    """The table after one write() of `data`; RefusedError with the errno's name if it is refused."""
    if len(data) > TRANSACTION_BYTES_MAX:
        raise RefusedError("EFBIG")
    if not data.endswith(b"\n") or b"\0" in data:
        raise RefusedError("EINVAL")
    after = dict(table)
    for line in data[:-1].decode("latin-1").split("\n"):
        if line == "flush":
            after = {}
            continue
        selector, least, most = _rule(line)
        if selector not in after and len(after) == RULES_MAX:
            raise RefusedError("ENOSPC")
        after[selector] = (least, most)
    return after


def _rule(line: str) -> tuple[str, int, int]:
    fields = line.split(" ")
    match fields:
        case ["all", least, most]:
            selector = "all"
        case ["dst", prefix, least, most]:
            selector = f"dst {_prefix(prefix)}"
        case ["uid", uid, least, most]:
            if _number(uid) > UID_MAX:
                raise RefusedError("EINVAL")
            selector = f"uid {_number(uid)}"
        case ["uid", uid, "dst", prefix, least, most]:
            if _number(uid) > UID_MAX:
                raise RefusedError("EINVAL")
            selector = f"uid {_number(uid)} dst {_prefix(prefix)}"
        case _:
            raise RefusedError("EINVAL")
    low, high = _number(least), _number(most)
    if not 1 <= low <= high <= SEGS_MAX:
        raise RefusedError("ERANGE")
    return selector, low, high


def _number(text: str) -> int:
    if not _NUMBER.match(text):
        raise RefusedError("EINVAL")
    return int(text)


def _ipv4(text: str) -> int:
    """Four decimal numbers; the kernel accepts leading zeros, as in any other number."""
    numbers = [_number(part) for part in text.split(".")]
    if len(numbers) != 4 or max(numbers) > 255:
        raise RefusedError("EINVAL")
    return int.from_bytes(bytes(numbers))


def _prefix(text: str) -> str:
    address, slash, length_text = text.partition("/")
    if not slash:
        raise RefusedError("EINVAL")
    length = _number(length_text)
    try:
        if ":" not in address:
            value, length = _V4MAPPED | _ipv4(address), length + 96
        else:
            if "%" in address:
                raise RefusedError("EINVAL")
            # The kernel also accepts leading zeros beyond the four digits of RFC 4291.
            value = int(IPv6Address(_LEADING_ZEROS.sub("", address)))
    except AddressValueError as error:
        raise RefusedError("EINVAL") from error
    if length > 128 or value & ((1 << (128 - length)) - 1):
        raise RefusedError("EINVAL")
    if length >= 96 and value >> 32 == 0xFFFF:
        return f"{IPv4Address(value & 0xFFFFFFFF)}/{length - 96}"
    return f"{IPv6Address(value)}/{length}"


class Generator:
    """Random transactions, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def valid(self, *, rules_max: int = 12) -> bytes:
        """A transaction that replaces all rules and is never refused."""
        count = self._random.choice([0, 1, self._random.randint(1, rules_max), RULES_MAX])
        return ("flush\n" + "".join(self._unique_lines(count))).encode()

    def full(self) -> bytes:
        """A transaction that sets the largest table."""
        return ("flush\n" + "".join(self._unique_lines(RULES_MAX))).encode()

    def any(self) -> bytes:
        """A transaction that is valid, nearly valid, of maximal size, or random bytes."""
        draw = self._random.random()
        if draw < 0.30:
            return self.valid()
        if draw < 0.55:
            return "".join(self._line() for _ in range(self._random.randint(1, 6))).encode()
        if draw < 0.85:
            return self._damaged()
        if draw < 0.95:
            return self._near_limits()
        return self._random.randbytes(self._random.choice([0, 1, 7, 100, 5000]))

    def _unique_lines(self, count: int) -> list[str]:
        lines: dict[str, str] = {}
        while len(lines) < count:
            line = self._line(valid=True)
            lines[line.rsplit(" ", 2)[0]] = line
        return list(lines.values())

    def _line(self, *, valid: bool = False) -> str:
        r = self._random
        if not valid and r.random() < 0.1:
            return "flush\n"
        kind = r.random()
        if kind < 0.1:
            selector = "all"
        elif kind < 0.3:
            selector = self._owner()
        elif kind < 0.7:
            selector = self._destination()
        else:
            selector = f"{self._owner()} {self._destination()}"
        least = r.choice([1, 2, 10, r.randint(1, SEGS_MAX), SEGS_MAX])
        most = r.randint(least, SEGS_MAX)
        return f"{selector} {least} {most}\n"

    def _owner(self) -> str:
        r = self._random
        return f"uid {r.choice([0, 1, 10073, UID_MAX, r.randint(0, UID_MAX)])}"

    def _destination(self) -> str:
        r = self._random
        if r.random() < 0.5:
            length = r.choice([0, 1, 8, 24, 31, 32])
            value = r.getrandbits(32) >> (32 - length) << (32 - length) if length else 0
            return f"dst {IPv4Address(value)}/{length}"
        length = r.choice([0, 1, 32, 64, 80, 127, 128])
        value = r.getrandbits(128) >> (128 - length) << (128 - length) if length else 0
        address = IPv6Address(value)
        return f"dst {r.choice([address.compressed, address.exploded])}/{length}"

    def _damaged(self) -> bytes:
        """A valid transaction with a byte changed, removed, doubled or moved, or truncated."""
        r = self._random
        data = bytearray("".join(self._line() for _ in range(r.randint(1, 4))).encode())
        at = r.randrange(len(data))
        match r.randrange(6):
            case 0:
                data[at] = r.choice(b" \n\0/:.%-+0129afx\xff")
            case 1:
                del data[at]
            case 2:
                data.insert(at, data[at])
            case 3:
                del data[at:]
            case 4:
                data.insert(at, r.choice(b" \n\0/:.%-+0129afx\xff"))
            case _:
                other = r.randrange(len(data))
                data[at], data[other] = data[other], data[at]
        return bytes(data)

    def _near_limits(self) -> bytes:
        """Near the limits of the table and of the text."""
        r = self._random
        if r.random() < 0.5:
            return ("flush\n" + "".join(self._unique_lines(RULES_MAX + r.choice([-1, 0, 1])))).encode()
        line = b"all 1 2\n"
        size = TRANSACTION_BYTES_MAX + r.choice([-8, -1, 0, 1, 8])
        return line * (size // len(line)) + (b"\n" if size % len(line) else b"")
