# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the documentation, with LuCI's own modules and theme.

Usage: python -m luci_pages.pictures LUCI_SOURCE DIRECTORY
"""

import json
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from luci_pages.browser import browser
from luci_pages.permissions import Permissions
from luci_pages.recording import recorded
from luci_pages.router import UPTIME_S, Output, Router, default_config
from luci_pages.site import RIGHTS, Modules, serve

WIDTH = 1024
SINCE_SWITCH_S, SINCE_CHECK_S = 1900, 2600


def _connected() -> Output:
    account = json.loads(recorded("connected").stdout)
    now = datetime.now(UTC)
    for view in account["agents"]:
        view["state"]["last_report_us"] = UPTIME_S * 1_000_000
        if "before" in view["state"]:
            view["state"]["before"]["ended_monotonic_us"] = (UPTIME_S - SINCE_SWITCH_S) * 1_000_000
        if "check" in view["state"]:
            view["state"]["check"]["asked_monotonic_us"] = (UPTIME_S - SINCE_CHECK_S) * 1_000_000
        view["credentials"]["not_after"] = (now + timedelta(days=20.5)).isoformat()
        view["credentials"]["next_renewal"] = (now + timedelta(days=8.5)).isoformat()
    return Output(json.dumps(account))


def main() -> None:
    """Draws luci-status.png and luci-settings.png."""
    source, directory = Path(sys.argv[1]), Path(sys.argv[2])
    config = default_config()
    config["main"]["window_clamp"] = "1"
    config["main"]["interface"] = ["phy0-ap0", "phy1-ap0"]
    router = Router(
        Permissions.of_file(RIGHTS),
        output=_connected,
        config=config,
        service={"instances": {"instance1": {"running": True, "pid": 2417}}},
        hints={
            "02:00:00:00:01:07": {"name": "attic-camera"},
            "02:00:00:00:01:01": {"name": "annas-phone"},
            "02:00:00:00:01:02": {"name": "laptop"},
            "02:00:00:00:01:03": {"name": "television"},
        },
        wireless={name: {"mode": "Master", "ssid": "Attic"} for name in ("phy0-ap0", "phy1-ap0")},
    )
    with (
        tempfile.TemporaryDirectory() as profile,
        browser(Path(profile)) as page,
        serve(router, Modules(source)) as url,
    ):
        for name, ready in (("status", "#airbound-bss"), ("settings", ".cbi-map .cbi-value")):
            page.open(f"{url}/{name}", ready)
            page.picture(directory / f"luci-{name}.png", WIDTH)


if __name__ == "__main__":
    main()
