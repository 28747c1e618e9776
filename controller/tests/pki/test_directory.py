# SPDX-License-Identifier: Apache-2.0
"""The files of an authority: modes, nothing lost, encryption, a certificate that is signed elsewhere."""

import datetime
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa

from airbound.pki import files
from airbound.pki.authority import new_key
from airbound.pki.certificates import key_usage
from airbound.pki.directory import Directory, default_directory
from airbound.pki.errors import PkiError
from airbound.pki.identities import DEFAULT_TRUST_DOMAIN, Identity

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(tmp_path / "above" / "ca")


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_the_key_is_for_its_owner_only_whatever_the_umask_is(directory: Directory) -> None:
    made = directory.init(DEFAULT_TRUST_DOMAIN, NOW)
    assert mode(directory.path) == 0o700
    assert mode(directory.key) == 0o600
    assert mode(directory.certificate) == 0o644
    assert sorted(path.name for path in directory.path.iterdir()) == ["authority-key.pem", "authority.pem"]
    loaded = directory.load(NOW)
    assert loaded.certificate == made.certificate
    assert loaded.trust_domain == DEFAULT_TRUST_DOMAIN
    assert loaded.key is not None


def test_an_authority_is_not_overwritten(directory: Directory) -> None:
    first = directory.init(DEFAULT_TRUST_DOMAIN, NOW)
    key = directory.key.read_bytes()
    for again in (
        lambda: directory.init(DEFAULT_TRUST_DOMAIN, NOW),
        lambda: directory.make_request(DEFAULT_TRUST_DOMAIN),
    ):
        with pytest.raises(PkiError, match="is there already: --force"):
            again()
    assert directory.load(NOW).certificate == first.certificate
    assert directory.key.read_bytes() == key
    second = directory.init("other.example", NOW, force=True)
    assert directory.load(NOW).certificate == second.certificate != first.certificate
    kept = [path for path in directory.path.iterdir() if ".before-" in path.name]
    assert sorted(path.name.partition(".before-")[0] for path in kept) == ["authority-key.pem", "authority.pem"]
    assert key in [path.read_bytes() for path in kept]
    assert all(mode(path) == 0o600 for path in kept if "key" in path.name)


def test_an_encrypted_key(directory: Directory) -> None:
    directory.init(DEFAULT_TRUST_DOMAIN, NOW, passphrase=b"s3cret")
    assert directory.key_state() == "encrypted"
    assert b"ENCRYPTED" in directory.key.read_bytes()
    assert directory.load(NOW, b"s3cret").key is not None
    assert directory.load(NOW, with_key=False).key is None
    with pytest.raises(PkiError, match="the key is encrypted: --passphrase-file"):
        directory.load(NOW)
    with pytest.raises(PkiError, match="another passphrase"):
        directory.load(NOW, b"secret")


def test_a_passphrase_that_a_plain_key_does_not_need(directory: Directory) -> None:
    directory.init(DEFAULT_TRUST_DOMAIN, NOW)
    assert directory.key_state() == "not encrypted"
    assert directory.load(NOW, b"s3cret").key is not None


def test_the_passphrase_is_the_line_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "passphrase"
    file.write_bytes(b"a b \r\n")
    file.chmod(0o600)
    assert files.passphrase(file) == b"a b "
    file.chmod(0o604)
    with pytest.raises(PkiError, match=r"^--passphrase-file = '.*': mode 0604 gives others access"):
        files.passphrase(file)
    file.chmod(0o600)
    file.write_bytes(b"a\nmore\n")
    with pytest.raises(PkiError, match=r"^tls\.passphrase_file = '.*': has more than one line"):
        files.passphrase(file, "tls.passphrase_file")


@pytest.mark.parametrize("wrong", [0o640, 0o604, 0o620])
def test_a_key_that_others_may_read_is_not_used(directory: Directory, wrong: int) -> None:
    directory.init(DEFAULT_TRUST_DOMAIN, NOW)
    directory.key.chmod(wrong)
    with pytest.raises(PkiError, match="chmod 600"):
        directory.load(NOW)


@pytest.mark.parametrize("wrong", [0o750, 0o701])
def test_a_directory_that_is_open_to_others_is_not_used(directory: Directory, wrong: int) -> None:
    directory.path.mkdir(parents=True)
    directory.path.chmod(wrong)
    with pytest.raises(PkiError, match="chmod 700"):
        directory.init(DEFAULT_TRUST_DOMAIN, NOW)
    assert not list(directory.path.iterdir())


def test_files_that_do_not_belong_together(directory: Directory, tmp_path: Path) -> None:
    with pytest.raises(PkiError, match="airbound ca init --directory"):
        directory.load(NOW)
    directory.init(DEFAULT_TRUST_DOMAIN, NOW)
    other = Directory(tmp_path / "other")
    other.init(DEFAULT_TRUST_DOMAIN, NOW)
    directory.certificate.write_bytes(other.certificate.read_bytes())
    with pytest.raises(PkiError, match="is not the key of"):
        directory.load(NOW)
    directory.certificate.write_bytes(b"")
    with pytest.raises(PkiError, match="no certificates in PEM"):
        directory.load(NOW)


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_key_file_with_something_else(directory: Directory, content: bytes) -> None:
    directory.init(DEFAULT_TRUST_DOMAIN, NOW)
    directory.key.write_bytes(content)
    with pytest.raises(PkiError, match="no private key in PEM"):
        directory.load(NOW)


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PkiError, match="cannot be made"):
        Directory(tmp_path / "file" / "ca").init(DEFAULT_TRUST_DOMAIN, NOW)


def test_a_file_that_is_no_file(directory: Directory) -> None:
    directory.init(DEFAULT_TRUST_DOMAIN, NOW)
    directory.also_trusted.mkdir()
    with pytest.raises(PkiError, match="cannot be read: Is a directory"):
        directory.load(NOW)
    with pytest.raises(PkiError, match="cannot be written"):
        files.write(directory.also_trusted, b"")


def test_where_it_is_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRBOUND_CA_DIR", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_directory() == Path("/var/lib/airbound/ca")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/nowhere")
    assert default_directory() == Path("/nowhere/.local/share/airbound/ca")
    monkeypatch.setenv("AIRBOUND_CA_DIR", "/elsewhere")
    assert default_directory() == Path("/elsewhere")


# A certificate that another authority signs


class Upper:
    """An authority of somebody else, with a key of its kind."""

    def __init__(self, name: str, above: "Upper | None" = None) -> None:
        self.key = rsa.generate_private_key(65537, 2048)
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        signer = above or self
        self.certificate = self._build(self.name, signer, self.key.public_key(), 2).sign(signer.key, hashes.SHA256())

    def _build(self, subject: x509.Name, signer: "Upper", key: object, length: int) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .serial_number(x509.random_serial_number())
            .issuer_name(signer.name)
            .subject_name(subject)
            .not_valid_before(NOW - DAY)
            .not_valid_after(NOW + 100 * DAY)
            .public_key(key)  # type: ignore[arg-type]
            .add_extension(x509.BasicConstraints(ca=True, path_length=length), critical=True)
            .add_extension(key_usage(signs=True), critical=True)
        )

    def answer(self, request: x509.CertificateSigningRequest, *, with_uri: bool = True) -> x509.Certificate:
        builder = self._build(request.subject, self, request.public_key(), 0)
        if with_uri:
            wanted = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
            builder = builder.add_extension(wanted.value, critical=False)
        return builder.sign(self.key, hashes.SHA256())


@pytest.fixture(scope="module")
def root() -> Upper:
    return Upper("root")


@pytest.fixture(scope="module")
def upper(root: Upper) -> Upper:
    return Upper("upper", root)


def test_an_authority_whose_certificate_is_signed_elsewhere(directory: Directory, upper: Upper, root: Upper) -> None:
    request = directory.make_request("wifi.example", passphrase=b"x")
    assert request.is_signature_valid
    assert mode(directory.key) == 0o600
    assert x509.load_pem_x509_csr(directory.request.read_bytes()) == request
    with pytest.raises(PkiError, match="no authority is there"):
        directory.load(NOW, b"x")
    chain = [upper.certificate, root.certificate]
    taken = directory.take_certificate(upper.answer(request), chain, NOW, passphrase=b"x")
    loaded = directory.load(NOW, b"x")
    assert loaded.certificate == taken.certificate
    assert loaded.chain == taken.chain == tuple(chain)
    assert loaded.trust_domain == "wifi.example"
    assert loaded.trusted == [loaded.certificate]  # not whom else those above sign
    signed = loaded.sign(Identity("terminal", "a"), new_key().public_key(), DAY, NOW)
    signed.verify_directly_issued_by(loaded.certificate)


def test_a_certificate_that_does_not_answer_the_request(directory: Directory, upper: Upper, root: Upper) -> None:
    request = directory.make_request("wifi.example")
    right = upper.answer(request)
    other = Directory(directory.path.with_name("other")).make_request("wifi.example")
    for certificate, chain, complaint in (
        (upper.answer(other), [], "for another key"),
        (right, [root.certificate], "is not signed by CN=root"),
        (right, [upper.certificate, upper.certificate], "CN=upper is not signed by CN=upper"),
        (upper.answer(request, with_uri=False), [], "no URI"),
    ):
        with pytest.raises(PkiError, match=complaint):
            directory.take_certificate(certificate, chain, NOW)
    assert not directory.certificate.exists()
    directory.take_certificate(right, [], NOW)
    with pytest.raises(PkiError, match="is there already"):
        directory.take_certificate(right, [], NOW)
