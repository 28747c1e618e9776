# SPDX-License-Identifier: Apache-2.0
"""What a controller shows: signed here and made again, or read from files."""

import datetime
import os
from pathlib import Path

import pytest
from cryptography import x509

from airbound.pki import files
from airbound.pki.authority import Authority, new_key
from airbound.pki.directory import Directory
from airbound.pki.errors import PkiError
from airbound.pki.identities import Identity
from airbound.pki.server_identity import FromFiles, Issued, ServerIdentity

DOMAIN = "wifi.example"
START = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)
REPLICA = Identity("controller", "replica")


class Clock:
    """The test's time."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime.datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    made = Directory(tmp_path / "ca")
    made.init(DOMAIN, START)
    return made


def issued(directory: Directory, clock: Clock) -> Issued:
    return Issued(directory, directory.load(START), "test", 6 * DAY, clock)


def certain(identity: ServerIdentity | None) -> ServerIdentity:
    assert identity is not None
    return identity


def test_it_is_made_again_at_two_thirds_of_its_life(directory: Directory, clock: Clock) -> None:
    source = issued(directory, clock)
    first = certain(source.read())
    assert first.certificate.identity == Identity("controller", "test")
    assert first.certificate.not_after_s == int((START + 6 * DAY).timestamp())
    leaf, authority = x509.load_pem_x509_certificates(first.chain)
    assert authority == source.authority.certificate == x509.load_pem_x509_certificate(first.roots)
    leaf.verify_directly_issued_by(authority)
    clock.now = START + 4 * DAY - datetime.timedelta(seconds=1)
    assert source.read() is None
    clock.now = START + 4 * DAY
    second = certain(source.read())
    assert second.certificate.serial != first.certificate.serial
    assert second.key != first.key
    assert source.read() is None


def test_it_is_made_again_when_the_clock_was_ahead_and_is_put_back(directory: Directory, clock: Clock) -> None:
    source = issued(directory, clock)
    clock.now = START + 2 * DAY
    first = certain(source.read())
    begins = x509.load_pem_x509_certificates(first.chain)[0].not_valid_before_utc
    assert begins > START
    clock.now = begins
    assert source.read() is None
    clock.now = START
    second = certain(source.read())
    assert second.certificate.serial != first.certificate.serial
    assert x509.load_pem_x509_certificates(second.chain)[0].not_valid_before_utc <= START
    assert source.read() is None


def test_the_life_is_not_longer_than_that_of_the_authority(directory: Directory, clock: Clock) -> None:
    source = issued(directory, clock)
    clock.now = directory.load(START).certificate.not_valid_after_utc - 3 * DAY
    first = certain(source.read())
    assert first.certificate.not_after_s == (clock.now + 3 * DAY).timestamp()
    clock.now += 2 * DAY
    assert source.read() is not None


def test_others_that_are_trusted_are_read_when_the_file_changes(directory: Directory, clock: Clock) -> None:
    source = issued(directory, clock)
    first = certain(source.read())
    other = Directory(directory.path.with_name("other")).init(DOMAIN, START)
    files.write(directory.also_trusted, files.pem([other.certificate]))
    second = certain(source.read())
    assert second.roots == first.roots + files.pem([other.certificate])
    assert source.authority.trusted == [directory.load(START).certificate, other.certificate]
    files.write(directory.also_trusted, b"rubbish")
    with pytest.raises(PkiError, match="no certificates in PEM"):
        source.read()
    directory.also_trusted.unlink()
    assert certain(source.read()).roots == first.roots


class Files:
    """The three files of a controller that has no authority's key."""

    def __init__(self, path: Path, directory: Directory) -> None:
        path.mkdir()
        self.authority: Authority = directory.load(START)
        self.certificate, self.key, self.trusted = path / "certificate.pem", path / "key.pem", path / "authorities.pem"
        files.write(self.trusted, files.pem([self.authority.certificate]))

    def write(self, identity: Identity = REPLICA) -> None:
        key = new_key()
        files.write(self.key, files.key_pem(key), files.SECRET_MODE)
        files.write(self.certificate, files.pem([self.authority.sign(identity, key.public_key(), DAY, START)]))


@pytest.fixture
def three(tmp_path: Path, directory: Directory) -> Files:
    made = Files(tmp_path / "replica", directory)
    made.write()
    return made


def from_files(three: Files, clock: Clock) -> FromFiles:
    return FromFiles(three.certificate, three.key, three.trusted, clock)


def test_files_are_read_again_when_they_change(three: Files, clock: Clock) -> None:
    source = from_files(three, clock)
    first = certain(source.read())
    assert first.certificate.identity == Identity("controller", "replica")
    assert len(x509.load_pem_x509_certificates(first.chain)) == 2  # with the authority, for enrolment
    assert source.authority.key is None
    assert source.authority.trust_domain == DOMAIN
    assert source.read() is None
    three.write()
    second = certain(source.read())
    assert second.certificate.serial != first.certificate.serial
    os.utime(three.certificate, ns=(0, 0))
    assert certain(source.read()) == second


def test_files_that_are_replaced_one_after_the_other(three: Files, clock: Clock) -> None:
    source = from_files(three, clock)
    certain(source.read())
    before = three.key.read_bytes()
    three.write()
    after = three.key.read_bytes()
    files.write(three.key, before, files.SECRET_MODE)
    with pytest.raises(PkiError, match="is not the key of"):
        source.read()
    files.write(three.key, after, files.SECRET_MODE)
    assert source.read() is not None


def test_files_that_cannot_be_used(three: Files, clock: Clock, tmp_path: Path) -> None:
    three.key.chmod(0o640)
    assert from_files(three, clock).read() is not None  # as a group may read what an orchestrator mounts
    three.key.chmod(0o644)
    with pytest.raises(PkiError, match="others may read it"):
        from_files(three, clock).read()
    three.write(Identity("terminal", "a"))
    with pytest.raises(PkiError, match="is for terminal/a: a controller's is needed"):
        from_files(three, clock).read()
    three.write()
    other = Directory(tmp_path / "other").init(DOMAIN, START)
    files.write(three.trusted, files.pem([other.certificate]))
    with pytest.raises(PkiError, match="is not signed by an authority in"):
        from_files(three, clock).read()
    files.write(three.trusted, three.certificate.read_bytes())
    with pytest.raises(PkiError, match="may not sign certificates"):
        from_files(three, clock).read()
    three.trusted.unlink()
    with pytest.raises(PkiError, match="cannot be read: No such file"):
        from_files(three, clock).read()
    with pytest.raises(PkiError, match="not read yet"):
        _ = from_files(three, clock).authority
