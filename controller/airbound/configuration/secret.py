# SPDX-License-Identifier: Apache-2.0
"""Secrets: never values of the configuration, but files that its keys name, `password_file`.

A configuration file is copied, mailed, kept in a repository, and shown by `airbound config show`; a variable of the
environment can be read in /proc and is inherited by every program. A file has an owner and a mode.
"""

import os
import stat
from pathlib import Path

from airbound.config import ConfigError

SECRET_MAX_BYTES = 4_096
FORBIDDEN_MODE = 0o027  # others: everything; the group: to write


def read_secret(path: Path, key: str, max_bytes: int = SECRET_MAX_BYTES) -> str:
    """The text in a file without the end of its last line; `key` names in errors which key of the configuration that
    is. The file may be a link, as Kubernetes makes them.

    Raises:
        ConfigError: the file cannot be read, is none, is empty, too large or no text, or others than its owner and its
            group have access. The error never has the file's content.
    """
    origin = f"{key} = {str(path)!r}"
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError(f"{origin}: is no file")
            mode = stat.S_IMODE(status.st_mode)
            if mode & FORBIDDEN_MODE:
                raise ConfigError(f"{origin}: mode {mode:04o} gives others access; make it 0600, or 0640 for a group")
            octets = file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigError(f"{origin}: cannot be read: {error.strerror or error}") from error
    if len(octets) > max_bytes:
        raise ConfigError(f"{origin}: has more than {max_bytes} bytes")
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{origin}: is no text in UTF-8") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text or not text.isprintable():
        raise ConfigError(f"{origin}: {'is empty' if not text else 'has more than one line, or control characters'}")
    return text


def _without_waiting(path: str, flags: int) -> int:
    """A descriptor, as `open` wants its opener; a pipe must not keep us waiting."""
    return os.open(path, flags | os.O_NONBLOCK)
