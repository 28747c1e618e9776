# SPDX-License-Identifier: Apache-2.0
"""Mutual TLS in the guest: where keys and tokens are, and what makes them; pure.

As in an installation: `airbound ca` makes the authority and an operator's certificate, `airbound enroll` a token for
the access point and for each phone, all before any agent starts. An agent enrols with its token when it starts for the
first time, over the air if it is a phone's. All dates are of the guest's clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

AUTHORITY_DIRECTORY = "/run/lab/ca"
OPERATOR_DIRECTORY = "/run/lab/operator"
OPERATOR_NAME = "lab"
CONTROLLER_NAME = "lab-controller"

NO_CPU_RANDOMNESS = {"OPENSSL_ia32cap": "~0x4000000000000000:~0x40000"}
"""OpenSSL and gRPC's BoringSSL take no random numbers from the processor (RDRAND, bit 62; RDSEED, bit 18 of the second
word), only from the guest's kernel, whose random numbers follow from the seed. A signature is one to three octets
longer or shorter by chance, and so are the frames that it is sent in."""

PLAIN_TEXT = ("--plain-text",)

_ACCESS_POINT_ROLE, _PHONE_ROLE = "access-point", "terminal"


def role_and_name(component: str) -> str:
    """What the certificate of an agent says, as `airbound revoke` takes it."""
    return f"{_ACCESS_POINT_ROLE if component.startswith('ap') else _PHONE_ROLE}/{component}"


def agent_options(component: str) -> tuple[str, ...]:
    """Options of an agent that has a token, and later its certificate."""
    return ("--token-file", _token_file(component), "--credentials-dir", f"/run/lab/{component}.credentials")


def controller_environment() -> dict[str, str]:
    """Of a controller with the authority's key."""
    return {
        "AIRBOUND_TLS__DIRECTORY": AUTHORITY_DIRECTORY,
        "AIRBOUND_TLS__NAME": CONTROLLER_NAME,
        **NO_CPU_RANDOMNESS,
    }


def plan(python: tuple[str, ...], environment: Mapping[str, str], script: str, agents: Iterable[str]) -> dict[str, Any]:
    """The part of the guest's plan with the commands that an operator would type.

    `authority` comes before the controller starts, `tokens` when it runs, `revoke` of an agent when the time line says
    so. Each is a list of commands for one process: the words after `airbound`, and the file that gets what the command
    prints, if that is to be kept.
    """
    return {
        # -P: what is beside the script must not take the place of Python's own modules.
        "python": [*python, "-P", script],
        "environment": {
            **environment,
            "AIRBOUND_CA_DIR": AUTHORITY_DIRECTORY,
            "AIRBOUND_TLS_DIR": OPERATOR_DIRECTORY,
            **NO_CPU_RANDOMNESS,
        },
        "authority": [
            {"words": ["ca", "init"], "output": None},
            {"words": ["ca", "operator", OPERATOR_NAME], "output": None},
        ],
        "tokens": [
            {"words": ["enroll", *role_and_name(agent).split("/")], "output": _token_file(agent)} for agent in agents
        ],
        "revoke": {agent: [{"words": ["revoke", role_and_name(agent)], "output": None}] for agent in agents},
    }


def _token_file(component: str) -> str:
    return f"/run/lab/{component}.token"
