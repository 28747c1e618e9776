# SPDX-License-Identifier: Apache-2.0
"""Files that have a secret."""

import os
from pathlib import Path

import pytest

from airbound.config import ConfigError
from airbound.configuration.secret import SECRET_MAX_BYTES, read_secret


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_bytes(b"s3cret\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o600, 0o640])
def test_a_secret_is_its_line(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert read_secret(file, "store.password_file") == "s3cret"


@pytest.mark.parametrize(
    ("octets", "text"), [(b"a b", "a b"), (b" a\r\n", " a"), ("é".encode(), "é"), (b"x" * SECRET_MAX_BYTES, "x" * 4096)]
)
def test_only_the_end_of_the_line_is_left_out(file: Path, octets: bytes, text: str) -> None:
    file.write_bytes(octets)
    assert read_secret(file, "k") == text


def test_a_link_is_followed(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file)
    assert read_secret(link, "k") == "s3cret"


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o620, 0o644, 0o666])
def test_others_may_not_have_access(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        read_secret(file, "store.password_file")
    said = f"store.password_file = '{file}': mode {mode:04o} gives others access; make it 0600, or 0640 for a group"
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("octets", "complaint"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"a\nb\n", "has more than one line, or control characters"),
        (b"a\0b", "has more than one line, or control characters"),
        (b"a\n\n", "has more than one line, or control characters"),
        (b"\xff\xfes3cret", "is no text in UTF-8"),
        (b"x" * (SECRET_MAX_BYTES + 1), "has more than 4096 bytes"),
    ],
)
def test_what_is_no_secret_is_refused_without_being_shown(file: Path, octets: bytes, complaint: str) -> None:
    file.write_bytes(octets)
    with pytest.raises(ConfigError) as caught:
        read_secret(file, "k")
    assert str(caught.value) == f"k = '{file}': {complaint}"
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("pipe", "is no file"),
        (".", "cannot be read: Is a directory"),
        ("nowhere", "cannot be read: No such file"),
        ("password", "mode 0644 gives others access"),
    ],
)
def test_what_cannot_be_read_leaves_no_descriptor_open(file: Path, name: str, complaint: str) -> None:
    os.mkfifo(file.with_name("pipe"), 0o600)
    file.chmod(0o644)
    before = _descriptors()
    with pytest.raises(ConfigError, match=complaint):
        read_secret(file.parent / name, "k")
    assert _descriptors() <= before


def _descriptors() -> set[str]:
    """Of this process, with the one that lists them."""
    return set(os.listdir("/proc/self/fd"))  # noqa: PTH208
