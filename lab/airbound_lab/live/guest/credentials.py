# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: PTH102, PTH103, PTH105, PTH108, PTH110, PTH112, PTH118, PTH123
# pathlib would cost the guest start-up time.
"""Keys and certificates of the guest's agents, kept on the host.

Agents require a directory of their own user, which is root in the guest; on the host the files belong to the user that
started the guest. So agents work on a copy in the guest's memory, which is written to the host whenever it changes.
"""

from __future__ import annotations

import os

GUEST = "/run/lab/credentials"
HOST = "/run/result/credentials"
KEY, NEXT_KEY = "key.pem", "next-key.pem"
FILES = (NEXT_KEY, "authorities.pem", "certificate.pem", KEY)
"""In the order of writing: as the agents write them, so what is there at any moment can be read by an agent."""


def load(name: str) -> str:
    """Copy a device's files into the guest, if there are any; return its directory."""
    directory = os.path.join(GUEST, name)
    os.makedirs(GUEST, mode=0o700, exist_ok=True)
    if not os.path.isdir(os.path.join(HOST, name)):
        return directory
    os.mkdir(directory, 0o700)
    for file in FILES:
        if (text := _read(os.path.join(HOST, name, file))) is not None:
            _write(os.path.join(directory, file), text)
    return directory


def save(name: str) -> bool:
    """Copy what has changed to the host; return whether anything had."""
    source, target = os.path.join(GUEST, name), os.path.join(HOST, name)
    if not all(os.path.exists(os.path.join(source, file)) for file in FILES[1:]):
        return False  # not enrolled yet
    os.makedirs(target, mode=0o700, exist_ok=True)
    wanted = {file: _read(os.path.join(source, file)) for file in FILES}
    kept = {file: _read(os.path.join(target, file)) for file in FILES}
    if wanted == kept:
        return False
    if wanted[NEXT_KEY] is None and wanted[KEY] != kept[KEY]:
        # A renewal that has ended since: as it would have been seen before its end.
        _write(os.path.join(target, NEXT_KEY), wanted[KEY] or b"")
    for file in FILES:
        if (text := wanted[file]) is not None and text != kept[file]:
            _write(os.path.join(target, file), text)
    if wanted[NEXT_KEY] is None and os.path.exists(os.path.join(target, NEXT_KEY)):
        os.unlink(os.path.join(target, NEXT_KEY))
    return True


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _write(path: str, text: bytes) -> None:
    """Replace a file as a whole, readable by its owner only."""
    new = f"{path}.new"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(fd, text)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(new, path)
