# SPDX-License-Identifier: Apache-2.0
"""Draws all dashboards from simulated agents at two real controllers. Usage: ... DIRECTORY [SECONDS]"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from airbound_dashboards.api import Prometheus
from airbound_dashboards.chosen import Span
from airbound_dashboards.generate import BOARDS
from airbound_dashboards.live.site import CONTROLLED, Observed, site
from airbound_dashboards.picture.cli import draw_all

RULES = Path(__file__).parents[2] / "rules"
CYCLE_S = (25.0, 20.0)
SETTLED_S = 75.0  # windows of a minute are full
OBSERVED = Observed(after_s=SETTLED_S + 30, for_s=50)
WANTED = {"bssid": CONTROLLED, "terminal": "phone-3"}


async def main(out: Path, seconds: float) -> None:
    """Run the cells for so many seconds, then draw."""
    with tempfile.TemporaryDirectory() as directory:
        async with site(Path(directory), sorted(RULES.glob("*.yml")), CYCLE_S, OBSERVED) as running:
            await asyncio.sleep(SETTLED_S + seconds)
            now_s = time.time()
            span = Span(now_s - seconds, now_s, 2.0, scrape_s=2.0)
            prometheus = Prometheus(running.prometheus)
            for file in await asyncio.to_thread(
                draw_all, prometheus, span, out, list(BOARDS), WANTED, "simulated agents, real controllers"
            ):
                print(file)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 150.0))  # noqa: PLR2004
