# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates survive the guest, and at any moment what is kept fits together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from airbound_lab.live.guest import credentials

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "host").mkdir()
    monkeypatch.setattr(credentials, "GUEST", str(tmp_path / "guest"))
    monkeypatch.setattr(credentials, "HOST", str(tmp_path / "host"))
    credentials.load("ap")
    (tmp_path / "guest" / "ap").mkdir(mode=0o700)
    return tmp_path / "guest" / "ap"


def put(directory: Path, **files: str) -> None:
    for name, text in files.items():
        (directory / f"{name.replace('_', '-')}.pem").write_text(text, encoding="ascii")


def kept(guest: Path) -> dict[str, str]:
    host = guest.parents[1] / "host" / "ap"
    return {path.name: path.read_text(encoding="ascii") for path in host.iterdir()} if host.exists() else {}


def test_a_device_that_is_not_enrolled_keeps_nothing(guest: Path) -> None:
    put(guest, key="half an enrolment")
    assert not credentials.save("ap")
    assert kept(guest) == {}


def test_what_was_saved_is_there_in_the_next_guest(guest: Path) -> None:
    put(guest, key="k", certificate="c", authorities="a")
    assert credentials.save("ap")
    assert not credentials.save("ap")
    for path in guest.iterdir():
        path.unlink()
    guest.rmdir()
    assert credentials.load("ap") == str(guest)
    assert {path.name: path.read_text(encoding="ascii") for path in guest.iterdir()} == kept(guest)
    assert guest.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in guest.iterdir()} == {0o600}


def test_a_renewal_leaves_a_set_that_fits_after_every_step(guest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(guest, key="old", certificate="of old", authorities="a")
    credentials.save("ap")
    seen = []
    replace = os.replace

    def watch(source: str, target: str) -> None:
        replace(source, target)
        seen.append(kept(guest))

    monkeypatch.setattr(os, "replace", watch)
    # As internal/credentials does: the next key, the certificate, then the key's final name.
    put(guest, next_key="new")
    credentials.save("ap")
    put(guest, certificate="of new")
    credentials.save("ap")
    (guest / "next-key.pem").rename(guest / "key.pem")
    credentials.save("ap")
    assert kept(guest) == {"key.pem": "new", "certificate.pem": "of new", "authorities.pem": "a"}
    # The same, seen only when it had ended.
    put(guest, key="newer", certificate="of newer")
    credentials.save("ap")
    assert kept(guest) == {"key.pem": "newer", "certificate.pem": "of newer", "authorities.pem": "a"}
    assert len(seen) >= 6
    for state in seen:
        wanted = state["certificate.pem"].removeprefix("of ")
        assert wanted in (state["key.pem"], state.get("next-key.pem"))
