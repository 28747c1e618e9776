# SPDX-License-Identifier: Apache-2.0
"""Octets of connections where the kernel shows none."""

import pytest

from airbound.grpc import octet_watch
from airbound.grpc.octet_watch import OctetWatch
from airbound.grpc.ports import AGENTS


async def test_where_the_kernel_lists_no_sockets_nothing_is_kept_of_connections(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(_port: int) -> list[object]:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(octet_watch, "received", refused)
    watch = OctetWatch()
    watch.ports = {AGENTS: (50051,)}
    for port in range(100):
        watch.called(AGENTS, (bytes([192, 0, 2, 1]), port))
        await watch.look()
    assert len(watch.accounts[AGENTS]) == 0
    assert [record.getMessage() for record in caplog.records if "cannot be counted" in record.getMessage()] == [
        "their octets cannot be counted: [Errno 1] Operation not permitted"
    ]
