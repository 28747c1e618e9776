# SPDX-License-Identifier: Apache-2.0
import datetime
import stat
from pathlib import Path

import pytest

from airbound.grpc.security import secure
from airbound.pki import files
from airbound.pki.certificates import Certificate
from airbound.pki.identities import DEFAULT_TRUST_DOMAIN, identity_of_text
from airbound.pki.options import TlsOptions
from airbound.store.memory import Memory, MemoryStore
from airbound_testing.identities import LIFETIME, Identities
from airbound_testing.live import MACS, LiveController

DAY = datetime.timedelta(days=1)


def test_what_is_there_stays_until_it_is_about_to_end(tmp_path: Path) -> None:
    identities, now = Identities(tmp_path / "ids"), datetime.datetime.now(datetime.UTC)
    assert identities.make(2, 3, now) == 1 + 2 + 3
    first = files.certificates(tmp_path / "ids" / "terminals.pem")
    assert identities.make(2, 3, now) == 0
    assert identities.make(1, 5, now) == 2
    found = files.certificates(tmp_path / "ids" / "terminals.pem")
    assert found[:3] == first
    names = [Certificate.from_x509(certificate, DEFAULT_TRUST_DOMAIN).identity for certificate in found]
    assert names == [identity_of_text(f"terminal/load-{number}") for number in range(5)]
    assert len({certificate.public_key().public_numbers() for certificate in found}) == 5  # type: ignore[union-attr]
    assert stat.S_IMODE((tmp_path / "ids" / "terminals.pem").stat().st_mode) == 0o600
    assert identities.make(2, 5, now + LIFETIME - DAY / 2) == 1 + 2 + 5


def test_there_are_so_many_clients(tmp_path: Path) -> None:
    identities = Identities(tmp_path / "ids")
    identities.make(1, 2)
    with pytest.raises(IndexError):
        identities.client("terminal", 2)


async def test_a_controller_takes_them(tmp_path: Path) -> None:
    identities = Identities(tmp_path / "ids")
    identities.make(1, 1)
    store = MemoryStore(Memory())
    await store.start("one", lambda _: None, lambda: None)
    security = secure(TlsOptions(directory=str(identities.authority.path), enrollment=""), store)
    async with security.kept_current(), LiveController(
        security=security, secured=lambda role, _: identities.client(role, 0)
    ) as live:  # fmt: skip
        await live.report(idle=tuple(MACS[:1]))
        await live.phone(0)
        await live.report(idle=tuple(MACS[:1]))

        async def both() -> bool:
            return live.runner.streams == 2

        await live.until(both)
        names = {str(session.stream.principal.name) for session in live.runner._sessions.values()}
        assert names == {"load-0"}
        assert await live.cells()  # an operator with a certificate
    await store.close()
