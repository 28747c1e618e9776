# SPDX-License-Identifier: Apache-2.0
"""A controller whose authority's key is encrypted: [tls] passphrase_file."""

import datetime
from pathlib import Path

import pytest

from airbound.grpc.security import secure
from airbound.pki.directory import Directory
from airbound.pki.errors import PkiError
from airbound.pki.options import TlsOptions
from airbound.store.memory import Memory, MemoryStore


@pytest.fixture
def options(tmp_path: Path) -> TlsOptions:
    Directory(tmp_path / "ca").init("wifi.example", datetime.datetime.now(datetime.UTC), passphrase=b"s3cret")
    file = tmp_path / "passphrase"
    file.write_text("s3cret\n", encoding="utf-8")
    file.chmod(0o600)
    return TlsOptions(directory=str(tmp_path / "ca"), passphrase_file=str(file), name="test")


def test_the_passphrase_opens_the_key(options: TlsOptions) -> None:
    security = secure(options, MemoryStore(Memory()))
    assert (security.trust_domain, security.described()[0]) == ("wifi.example", "controller/test")


@pytest.mark.parametrize(
    ("text", "mode", "complaint"),
    [
        ("s3cret\n", 0o644, r"^tls\.passphrase_file = '.*': mode 0644 gives others access"),
        ("other\n", 0o600, "another passphrase"),
        ("", 0o600, r"^tls\.passphrase_file = '.*': is empty"),
    ],
)
def test_what_does_not_open_it_is_named(options: TlsOptions, text: str, mode: int, complaint: str) -> None:
    file = Path(options.passphrase_file)
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    with pytest.raises(PkiError, match=complaint):
        secure(options, MemoryStore(Memory()))
