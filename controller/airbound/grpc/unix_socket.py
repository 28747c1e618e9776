# SPDX-License-Identifier: Apache-2.0
"""The place of a Unix socket in the file system. gRPC removes whatever socket is at its path before it binds, answered
or not, and again when it stops; who may connect, it leaves to the umask.

A lock file beside the socket is held from before the socket is bound until its server has stopped: of two controllers
that start at the same moment one is refused, and none removes the other's socket when it stops. The file stays, since
removing a lock file is a race of its own.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

CONNECT_TIMEOUT_S = 1.0
SOCKET_MODE, LOCK_MODE = 0o660, 0o600


def path_of(endpoint: str) -> Path:
    """The path of unix:/PATH as gRPC takes it: %20 is a space."""
    return Path(unquote(endpoint.partition(":")[2]))


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Have the path to ourselves. What is there must be nothing, or a socket that nobody answers on.

    Raises:
        OSError: it is not ours; the text says why.
    """
    lock = Path(f"{path}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, LOCK_MODE)
    except OSError as error:
        raise OSError(error.errno, f"{lock}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OSError(errno.EADDRINUSE, "a controller listens there already") from error
        _refuse_answered(path)
        yield
    finally:
        os.close(descriptor)


def _refuse_answered(path: Path) -> None:
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise OSError(errno.EEXIST, "what is there is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(CONNECT_TIMEOUT_S)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return  # whose it was has ended
        except (BlockingIOError, TimeoutError):
            pass  # more wait to be answered than it takes
    raise OSError(errno.EADDRINUSE, "somebody answers there")


@contextlib.contextmanager
def for_owner_and_group() -> Iterator[None]:
    """Within this, a socket is made for its owner and group only. The umask is the whole process's: when a controller
    starts, nothing else of it makes files.
    """
    before = os.umask(0o777 & ~SOCKET_MODE)
    try:
        yield
    finally:
        os.umask(before)
