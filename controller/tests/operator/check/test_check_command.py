# SPDX-License-Identifier: Apache-2.0
"""The command `airbound check` before its first turn."""

import argparse
from typing import TYPE_CHECKING, Any, cast

from airbound.operator import check_commands
from airbound.operator.events_commands import FAILED, Shell
from airbound.v1 import operations_pb2

if TYPE_CHECKING:
    from airbound.operator.client import Client

BSSID = "02:00:00:00:00:01"


class TimedMode:
    """A client of a controller in which an operator has set a cell's mode for a time; it sets no other."""

    def configuration(self) -> operations_pb2.GetConfigurationResponse:
        answer = operations_pb2.GetConfigurationResponse()
        answer.choices.add(key="mode", name="02:00:00:00:00:02", value="observe", until="2026-11-28 14:00:00 UTC")
        answer.choices.add(key="mode", name=BSSID, value="observe", until="2026-11-28 15:00:00 UTC")
        return answer


def test_a_mode_for_a_time_is_not_replaced() -> None:
    """A choice for a time has only one below it: a check would end it, and leave what stood before."""
    failed: list[tuple[Any, int]] = []

    def fail(text: object, code: int) -> int:
        failed.append((text, code))
        return code

    shell = Shell(lambda _arguments, _do: 0, lambda _text: None, fail)
    arguments = argparse.Namespace(cell=BSSID, minutes=10.0, json=False)
    assert check_commands._check(arguments, cast("Client", TimedMode()), shell) == FAILED
    [(text, _)] = failed
    assert "until 2026-11-28 15:00:00 UTC" in text
    assert f"airbound mode configured --cell {BSSID}" in text
