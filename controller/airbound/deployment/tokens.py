# SPDX-License-Identifier: Apache-2.0
"""Makes a token for each of several devices: `python -m airbound.deployment.tokens DIR ROLE/NAME...`

A device's token is the file DIR/NAME, which replaces an older one and which DIR's group may read. AIRBOUND_CONTROLLER
and AIRBOUND_TLS_DIR are those of operators' commands. A device that has a certificate does not use its token, so it
does no harm to make another one at each start; a token that is not used ends after an hour.

The load balancer may notice that a controller serves operators some seconds later than that it serves agents, so this
tries again for a minute.
"""

import datetime
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from airbound.operator.client import Client, RefusedError, UnreachableError
from airbound.operator.tls_files import ClientIdentity, TlsFiles, default_directory
from airbound.pki import files
from airbound.pki.errors import PkiError

CONTROLLER_VARIABLE = "AIRBOUND_CONTROLLER"
MODE = 0o640
USES = 1
LIFETIME_S = 3600
CALL_TIMEOUT_S = 10.0
UNREACHABLE_MAX_S = 60.0
AGAIN_AFTER_S = 1.0


def make(directory: Path, devices: Sequence[str], endpoint: str, identity: ClientIdentity) -> None:
    """Make a token for each of the devices (ROLE/NAME), and write it.

    Raises:
        UnreachableError, RefusedError: as all methods of a client.
        PkiError: a file cannot be written.
    """
    with Client(endpoint, CALL_TIMEOUT_S, identity) as client:
        for device in devices:
            role, _, name = device.partition("/")
            token = client.issue_token(role, name, USES, LIFETIME_S).token
            files.write(directory / name, f"{token}\n".encode(), MODE)


def main(
    argv: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Make them, and say for whom; the exit code."""
    directory, *devices = argv
    until_s = clock() + UNREACHABLE_MAX_S
    while True:
        try:
            identity = TlsFiles(default_directory()).load(datetime.datetime.now(datetime.UTC))
            make(Path(directory), devices, environment.get(CONTROLLER_VARIABLE, ""), identity)
        except UnreachableError as error:
            if clock() < until_s:
                sleep(AGAIN_AFTER_S)
                continue
            return _fail(error)
        except (PkiError, RefusedError) as error:
            return _fail(error)
        sys.stdout.write(f"tokens for {', '.join(devices)}\n")
        return 0


def _fail(error: Exception) -> int:
    sys.stderr.write(f"airbound: tokens: {error}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
