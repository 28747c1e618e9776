# SPDX-License-Identifier: Apache-2.0
"""Reads an .apk of apk-tools 3, following apk-v3(5) and the numbers of fields in apk-tools' apk_adb.h."""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import NamedTuple

INFO = {1: "name", 2: "version", 4: "description", 5: "arch", 6: "license", 7: "origin", 8: "maintainer", 9: "url"}
ID, INSTALLED_SIZE, DEPENDS = 3, 12, 15
SCRIPTS = {3: "post-install", 4: "pre-deinstall", 5: "post-deinstall", 7: "post-upgrade"}
BLOB_LENGTH = {0x8: "<B", 0x9: "<H", 0xA: "<I"}
OBJECT, SMALL, INT_32, INT_64 = 0xE, 0x1, 0x2, 0x3
DATABASE, DATA = 0, 2


class InstalledFile(NamedTuple):
    """A file of the package."""

    mode: int
    owner: tuple[str, str]
    modified_s: int
    content: bytes


class Database:
    """Values of a database by their words."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.root = struct.unpack_from("<I", content, 4)[0]

    def blob(self, word: int) -> bytes:
        if word == 0:
            return b""
        form = BLOB_LENGTH[word >> 28]
        offset = word & 0xFFFFFFF
        (length,) = struct.unpack_from(form, self.content, offset)
        begin = offset + struct.calcsize(form)
        return self.content[begin : begin + length]

    def text(self, word: int) -> str:
        return self.blob(word).decode()

    def number(self, word: int) -> int:
        kind, value = word >> 28, word & 0xFFFFFFF
        if kind == SMALL:
            return value
        found: int = struct.unpack_from({INT_32: "<I", INT_64: "<Q"}[kind], self.content, value)[0]
        return found

    def fields(self, word: int) -> list[int]:
        """Fields from 1 on; what is left out at the end is 0."""
        if word == 0:
            return [0] * 32
        assert word >> 28 == OBJECT
        offset = word & 0xFFFFFFF
        (count,) = struct.unpack_from("<I", self.content, offset)
        return [0, *struct.unpack_from(f"<{count - 1}I", self.content, offset + 4), *[0] * 32]


class Apk:
    """What is in an .apk; AssertionError if it contradicts itself."""

    def __init__(self, encoded: bytes) -> None:
        assert encoded[:4] == b"ADBd"
        plain = zlib.decompress(encoded[4:], -15)
        assert plain[:8] == b"ADB.pckg"
        blocks = list(self._blocks(plain[8:]))
        assert [kind for kind, _ in blocks] == [DATABASE, *[DATA] * (len(blocks) - 1)]
        data = {struct.unpack_from("<II", content): content[8:] for _, content in blocks[1:]}
        database = Database(blocks[0][1])
        package = database.fields(database.root)
        info = database.fields(package[1])
        self.info = {name: database.text(info[number]) for number, name in INFO.items()}
        self.installed_size = database.number(info[INSTALLED_SIZE])
        self.depends = [self._dependency(database, word) for word in database.fields(info[DEPENDS]) if word]
        scripts = database.fields(package[3])
        self.scripts = {name: database.text(scripts[number]) for number, name in SCRIPTS.items()}
        self.directories: dict[str, int] = {}
        self.files: dict[str, InstalledFile] = {}
        self._read_paths(database, package[2], data)
        assert not data, "blocks of no file"
        self._check_id(database.content, database.blob(info[ID]))

    @staticmethod
    def _dependency(database: Database, word: int) -> str:
        name, version, match = database.fields(word)[1:4]
        assert (version, match) == (0, 0), "a dependency on a version"
        return database.text(name)

    @staticmethod
    def _blocks(rest: bytes) -> list[tuple[int, bytes]]:
        found = []
        while rest:
            (word,) = struct.unpack_from("<I", rest)
            length = word & 0x3FFFFFFF
            found.append((word >> 30, rest[4:length]))
            padded = (length + 7) // 8 * 8
            assert rest[length:padded] == bytes(padded - length)
            rest = rest[padded:]
        return found

    def _read_paths(self, database: Database, paths: int, data: dict[tuple[int, int], bytes]) -> None:
        for i, directory in enumerate(word for word in database.fields(paths) if word):
            name, acl, files = database.fields(directory)[1:4]
            path = database.text(name)
            self.directories[path] = database.number(database.fields(acl)[1])
            for j, file in enumerate(word for word in database.fields(files) if word):
                name, acl, size, modified, digest = database.fields(file)[1:6]
                mode, user, group = database.fields(acl)[1:4]
                content = data.pop((i + 1, j + 1), b"")
                assert len(content) == database.number(size)
                assert hashlib.sha256(content).digest() == database.blob(digest)
                self.files[f"{path}/{database.text(name)}".lstrip("/")] = InstalledFile(
                    database.number(mode),
                    (database.text(user), database.text(group)),
                    database.number(modified),
                    content,
                )

    @staticmethod
    def _check_id(content: bytes, identity: bytes) -> None:
        """The id is the digest of the metadata with zeros in its place."""
        assert content.count(identity) == 1
        without = content.replace(identity, bytes(len(identity)))
        assert hashlib.sha256(without).digest()[: len(identity)] == identity
