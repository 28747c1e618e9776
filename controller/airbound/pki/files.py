# SPDX-License-Identifier: Apache-2.0
"""Files with secrets: written whole or not at all, for their owner only, and never over others."""

import contextlib
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from airbound.config import ConfigError
from airbound.configuration.secret import read_secret
from airbound.pki.errors import PkiError

DIRECTORY_MODE, SECRET_MODE, PUBLIC_MODE = 0o700, 0o600, 0o644
OTHERS = 0o077
OTHERS_OR_GROUP_WRITE = 0o027
FILE_BYTES_MAX = 1 << 20


def make_directory(path: Path) -> None:
    """Make it for its owner only.

    Raises:
        PkiError: it cannot be made, or is open to others.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise PkiError(f"{path}: cannot be made: {error.strerror}") from error
    if mode & OTHERS:
        raise PkiError(f"{path}: open to others (mode {mode:04o}): chmod 700 {path}")


def write(path: Path, content: bytes, mode: int = PUBLIC_MODE) -> None:
    """Replace the file, if there is one, in one step.

    Raises:
        PkiError: it cannot be written.
    """
    # A name of our own process: of two that write at once the later one is in force, whole.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)  # whatever the umask is
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise PkiError(f"{path}: cannot be written: {error.strerror}") from error


def move_aside(paths: list[Path], *, force: bool) -> None:
    """See that none of these is there; with `force` those that are get another name.

    Raises:
        PkiError: one is there, or cannot be renamed.
    """
    there = [path for path in paths if path.exists()]
    if there and not force:
        raise PkiError(f"{there[0]} is there already: --force gives it another name and makes a new one")
    suffix = datetime.now(UTC).strftime(".before-%Y%m%dT%H%M%S.%f")
    for path in there:
        try:
            path.rename(path.with_name(path.name + suffix))
        except OSError as error:
            raise PkiError(f"{path}: cannot be renamed: {error.strerror}") from error


def read(path: Path, *, forbidden: int = 0) -> bytes:
    """The whole file.

    Raises:
        PkiError: it cannot be read, is absurdly large, or its mode has one of the forbidden bits.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise PkiError(f"{path}: cannot be read: {error.strerror}") from error
    if mode & forbidden:
        raise PkiError(f"{path}: others may read it (mode {mode:04o}): chmod 600 {path}")
    if len(content) > FILE_BYTES_MAX:
        raise PkiError(f"{path}: more than {FILE_BYTES_MAX} bytes")
    return content


def certificates(path: Path) -> list[x509.Certificate]:
    """The certificates in a PEM file, at least one.

    Raises:
        PkiError: it cannot be read or has something else.
    """
    content = read(path)
    try:
        return x509.load_pem_x509_certificates(content)
    except (ValueError, x509.InvalidVersion) as error:
        raise PkiError(f"{path}: no certificates in PEM: {error}") from error


def private_key(path: Path, passphrase: bytes | None = None, *, forbidden: int = OTHERS) -> ec.EllipticCurvePrivateKey:
    """A key in PEM (PKCS#8), ECDSA P-256.

    Raises:
        PkiError: it cannot be read or decrypted, is of another kind, or others may read it.
    """
    content = read(path, forbidden=forbidden)
    try:
        key = serialization.load_pem_private_key(content, passphrase)
    except TypeError as error:  # a passphrase that is missing, or one for a key that is not encrypted
        if passphrase is not None:
            return private_key(path, None, forbidden=forbidden)
        raise PkiError(f"{path}: the key is encrypted: --passphrase-file, or [tls] passphrase_file") from error
    except ValueError as error:
        wrong = "no private key in PEM" if passphrase is None else "no private key in PEM, or another passphrase"
        raise PkiError(f"{path}: {wrong}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise PkiError(f"{path}: a key of another kind: ECDSA P-256 is needed")
    return key


def passphrase(path: Path, key: str = "--passphrase-file") -> bytes:
    """The one line of a file; `key` names in errors the option that names it.

    Raises:
        PkiError: it cannot be read, is no such file, or others may read it.
    """
    try:
        return read_secret(path, key).encode()
    except ConfigError as error:
        raise PkiError(str(error)) from error


def key_pem(key: ec.EllipticCurvePrivateKey, passphrase: bytes | None = None) -> bytes:
    """A key as `private_key` reads it."""
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def pem(certificates: list[x509.Certificate]) -> bytes:
    """Certificates one after the other."""
    return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates)
