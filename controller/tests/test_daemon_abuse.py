# SPDX-License-Identifier: Apache-2.0
"""A controller in a process of its own, whose metrics have why handshakes failed: gRPC reports that in its log only."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from airbound.pki.authority import create
from airbound.pki.identities import DEFAULT_TRUST_DOMAIN
from airbound_testing import processes
from airbound_testing.abuse import Abuser
from airbound_testing.agents import WAIT_S, FakePhone
from airbound_testing.live import MACS, upload
from airbound_testing.pki import Site, nobody
from airbound_testing.processes import Process
from airbound_testing.scrapes import scrape

SECOND = datetime.timedelta(seconds=1)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "ca")


@pytest.fixture
async def process(tmp_path: Path, site: Site) -> AsyncIterator[Process]:
    limits = "[limits]\nhandshake_s = 10.0\nidle_connection_s = 10.0\n"  # a busy machine takes a second for a handshake
    async with processes.controller_with_tls(tmp_path, site.directory.path, limits) as made:
        yield made


async def value(process: Process, name: str, at_least: float, **labels: str) -> float:
    """A metric once it has come so far."""
    async with asyncio.timeout(WAIT_S):
        while (found := (await scrape(process.metrics)).value(name, **labels)) < at_least:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    return found


async def test_why_handshakes_failed_is_counted_and_not_written(process: Process, site: Site) -> None:
    other = create(DEFAULT_TRUST_DOMAIN, site.now())
    strangers = {
        "no_certificate": nobody(site.authority),
        "unknown_authority": site.client("terminal", "x", by=other).secured(),
        "certificate_expired": site.client("terminal", "x", -SECOND).secured(),
        "not_tls": None,
    }
    name = "airbound_handshakes_failed_total"
    for secured in strangers.values():
        async with FakePhone(process.target, MACS[0], secured) as phone:
            await asyncio.wait_for(phone.ended.wait(), WAIT_S)
    for reason in strangers:
        assert await value(process, name, 1, reason=reason) >= 1  # gRPC's client may try again
    assert await value(process, name, 0, reason="other") == 0
    assert "Handshake failed" not in process.log.read_text(encoding="utf-8")


async def test_connections_and_handshakes_are_in_the_metrics(process: Process, site: Site) -> None:
    abuser = Abuser(process.target)
    async with FakePhone(process.target, MACS[0], site.client("terminal", "phone").secured()) as phone:
        await phone.report(upload(), monotonic_us=1)
        await phone.until(lambda: phone.reporting.interval_ms != 0)
        await abuser.many(abuser.half_open, 50)
        await abuser.many(abuser.handshake, 50)
        # The process was asked whether it listens by a connection, too.
        ended = await value(process, "airbound_connections_ended_without_call_total", 100, port="agents")
        assert ended in {100, 101}
        assert await value(process, "airbound_handshakes_total", ended, port="agents") == ended + 1
        assert await value(process, "airbound_connections_with_call_total", 1, port="agents") == 1
        assert await value(process, "airbound_connections", 1, port="agents") == 1
        assert await value(process, "airbound_handshakes_failed_total", 50, reason="no_certificate") == 50
        assert phone.error is None
    abuser.close_all()
