# SPDX-License-Identifier: Apache-2.0
"""The command `airbound` with each time of replicas and of Redis multiplied: leases, renewals, how long is waited.

On a busy machine everything is late by a second or two, more than these leave. With another unit of time they leave
more, and the rules between them are the same.

    python -m airbound_testing.unhurried FACTOR COMMAND...
"""

import importlib
import pkgutil
import re
import sys

from airbound import replica
from airbound.core.cell import state
from airbound.operator import cli
from airbound.store import redis

TIMES = re.compile(r"_?[A-Z][A-Z_]*_(S|MS|US)")


def multiply(factor: int) -> None:
    """Change the constants whose names say that they are times."""
    for package in (replica, redis):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for name, value in list(vars(module).items()):
                if TIMES.fullmatch(name):
                    setattr(module, name, factor * value)
    state.RELAYED_MS *= factor


if __name__ == "__main__":
    multiply(int(sys.argv[1]))
    sys.exit(cli.main(sys.argv[2:]))
