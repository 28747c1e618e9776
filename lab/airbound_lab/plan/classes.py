# SPDX-License-Identifier: Apache-2.0
"""The phones' tables of applications, and who is the user of what a phone sends; pure.

Each start of something with a class has a user of its own, as an app on a phone has, and all phones have the same
table, which names them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airbound_lab.settings.parameters import Parameters
    from airbound_lab.settings.scenario import Action

TABLE_FILE = "/run/lab/applications.table"
FIRST_UID = 10_001
"""Android's apps begin at 10000."""


def uid_of(parameters: Parameters, action: Action) -> int | None:
    """Return the user of what an action starts; None for what has no class."""
    actions = parameters.scenario.classed_actions() if parameters.classes else []
    return FIRST_UID + actions.index(action) if action in actions else None


def table(parameters: Parameters) -> str | None:
    """Return the phones' table; None if nothing has a class."""
    actions = parameters.scenario.classed_actions() if parameters.classes else []
    lines = [f"{action.class_name()} uid {FIRST_UID + number}\n" for number, action in enumerate(actions)]
    return "".join(lines) or None
