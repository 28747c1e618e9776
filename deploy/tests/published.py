# SPDX-License-Identifier: Apache-2.0
"""For scripts/compose-test.sh: reads what `docker compose config` prints, of either kind of Compose.

Without an argument: who publishes which ports where, in one line. With --image SERVICE: the image of that service.
"""

import re
import sys
from typing import Any

import yaml


def port(entry: str | dict[str, Any]) -> str:
    """ADDRESS:PORT of the host."""
    if isinstance(entry, dict):
        return f"{entry.get('host_ip', '0.0.0.0')}:{entry['published']}"  # noqa: S104  # what Compose means without one
    found = re.fullmatch(r"([0-9.]+):([0-9]+):[0-9]+(/tcp)?", entry)
    return f"{found[1]}:{found[2]}" if found else entry


def main(arguments: list[str]) -> str:
    """What is asked for."""
    services = yaml.safe_load(sys.stdin.read())["services"]
    if arguments:
        return str(services[arguments[1]]["image"])
    published = {name: sorted(map(port, service.get("ports", ()))) for name, service in services.items()}
    return ", ".join(f"{name} {' '.join(ports)}" for name, ports in sorted(published.items()) if ports)


sys.stdout.write(f"{main(sys.argv[1:])}\n")
