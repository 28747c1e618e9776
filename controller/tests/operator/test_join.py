# SPDX-License-Identifier: Apache-2.0
"""The string by which a device joins: what is made here is what the agents read."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from airbound.operator import join, pki_display
from airbound.pki.tokens import EnrollmentToken
from airbound.v1 import pki_pb2

GOOD = json.loads((Path(__file__).parents[3] / "internal/identity/testdata/join.json").read_text(encoding="utf-8"))[
    "good"
]


@pytest.mark.parametrize("row", GOOD)
def test_the_agents_read_what_is_made(row: dict[str, str]) -> None:
    host, _, port = row["controller"].rpartition(":")
    token = row["text"].rpartition(":")[2]
    assert EnrollmentToken.of_text(token).text() == token
    enrolment_port = int(row["enrolment"].rpartition(":")[2])
    for each in (host, host.strip("[]")):
        assert join.text(each, int(port), enrolment_port, token) == row["text"]


@pytest.mark.parametrize("host", ["", "a b", "a'b", "a:b", "é.example", "a/b", "a\nb"])
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="is no name or address of a host"):
        join.text(host, 1, 2, "T")


@pytest.mark.parametrize(
    ("operators", "host"),
    [
        ("controller.example:50052", "controller.example"),
        ("192.0.2.7:50052", "192.0.2.7"),
        ("[2001:db8::7]:50052", "2001:db8::7"),
        # The end of a tunnel perhaps.
        ("127.0.0.1:50052", ""),
        ("[::1]:50052", ""),
        ("localhost:50052", ""),
    ],
)
def test_devices_reach_the_host_that_operators_reach(operators: str, host: str) -> None:
    assert join.host_of(operators) == host


def test_beside_a_unix_socket_the_host_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Probe(socket.socket):
        def connect(self, address: Any) -> None:
            asked.append(address)
            if address[0] == "192.0.2.1":
                raise OSError("no route")

        def getsockname(self) -> Any:
            return ("2001:db8::7", 0, 0, 0)

    monkeypatch.setattr(socket, "socket", Probe)
    assert join.host_of("unix:/run/airbound/operators.sock") == "2001:db8::7"
    assert asked == [("192.0.2.1", 9), ("2001:db8::1", 9)]


def test_the_token_stays_the_first_line() -> None:
    answer = pki_pb2.IssueTokenResponse(token="T" * 66, enrollment="0.0.0.0:50053")
    lines = pki_display.token(answer, "terminal", 1, "airbound1:x:1:2:T").splitlines()
    assert lines[0] == "T" * 66
    assert lines[2] == "or, with the controller's address, on the device:"
    assert "join" not in pki_display.token(answer, "operator", 1)


@pytest.mark.parametrize(
    ("role", "commands"),
    [
        ("access-point", ["echo airbound1:x:1:2:T | airbound-ap join - && service airbound-ap restart"]),
        (
            "terminal",
            [
                "echo airbound1:x:1:2:T | sudo airbound-phone join - && sudo systemctl enable --now airbound-phone",
                "echo airbound1:x:1:2:T | adb shell su -c '/data/adb/modules/airbound/airbound join -'",
            ],
        ),
    ],
)
def test_each_kind_of_device_has_its_line(role: str, commands: list[str]) -> None:
    answer = pki_pb2.IssueTokenResponse(enrollment="0.0.0.0:50053")
    shown = pki_display.token(answer, role, 1, "airbound1:x:1:2:T").splitlines()
    assert [line for line in shown if line.endswith(tuple(commands))] == shown[3 : 3 + len(commands)]


def test_what_is_in_a_file_is_not_shown() -> None:
    answer = pki_pb2.IssueTokenResponse(token="", enrollment="0.0.0.0:50053")
    shown = pki_display.token(answer, "terminal", 1, "airbound1:x:1:2:secret", into="a b.join")
    assert "secret" not in shown
    assert shown.splitlines()[0] == "a b.join"
    assert "cat 'a b.join' | sudo airbound-phone join -" in shown
