# SPDX-License-Identifier: Apache-2.0
"""Writes the dashboards as Grafana reads them. Usage: python -m airbound_dashboards.generate DIRECTORY"""

import json
import sys
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Panel

from airbound_dashboards.boards.cell import cell
from airbound_dashboards.boards.controller import controller
from airbound_dashboards.boards.fleet import fleet
from airbound_dashboards.boards.terminal import terminal

BOARDS = {"cell": cell, "terminal": terminal, "fleet": fleet, "controller": controller}


def texts() -> dict[str, str]:
    """JSON of each dashboard, by the name of its file without ending."""
    made = {}
    for name, board in BOARDS.items():
        model = board().build()
        for number, panel in enumerate(model.panels or (), 1):
            if isinstance(panel, Panel):
                panel.id_val = number  # the same in each generation, as links to a panel need it
        made[name] = json.dumps(model, cls=JSONEncoder, indent=2, sort_keys=True) + "\n"
    return made


def write(directory: Path) -> None:
    """Write the files; those of dashboards that there are no more are removed."""
    directory.mkdir(parents=True, exist_ok=True)
    made = {f"{name}.json": text for name, text in texts().items()}
    for file in directory.glob("*.json"):
        if file.name not in made:
            file.unlink()
    for name, text in made.items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
