# SPDX-License-Identifier: Apache-2.0
"""What an operator does in the guest: the certificate authority, tokens for the agents, revocations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from airbound_lab.guest.system import run, write

if TYPE_CHECKING:
    from airbound_lab.guest.components import Components

COMMANDS = "/run/lab/operator-commands.json"
NETNS = "controller"
"""The operator sits at the controller's machine."""


class Operator:
    """Carries out the commands of the plan, which has some only with TLS."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Read the plan, do nothing."""
        self._plan = plan["certificates"]

    def enrol(self, components: Components) -> None:
        """Make the authority, start the controller, make a token for each agent.

        Raises:
            GuestError: a command failed.
        """
        self._run(self._plan["authority"])
        components.with_controller(lambda: self._run(self._plan["tokens"]))

    def revoke(self, name: str) -> None:
        """Revoke an agent's certificates.

        Raises:
            GuestError: the command failed.
        """
        self._run(self._plan["revoke"][name])

    def _run(self, commands: list[dict[str, Any]]) -> None:
        write(COMMANDS, json.dumps(commands))
        run("operator", [*self._plan["python"], COMMANDS], NETNS, self._plan["environment"])


OPERATOR_ACTIONS = {"revoke": Operator.revoke}
"""By their names in scenarios."""
