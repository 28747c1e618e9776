# SPDX-License-Identifier: Apache-2.0
"""A user of Redis's ACL with what the documentation lists and nothing more; TLS."""

import datetime
import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from airbound.store.options import StoreOptions
from airbound.store.redis.connections import Connections
from airbound.store.redis.store import RedisStore
from airbound.store.types import Claim, Place, StoreError
from airbound_testing.redis_servers import HOST, RedisCluster, RedisServer
from airbound_testing.stores import Replica

DOCUMENTATION = Path(__file__).parents[4] / "docs" / "store.md"
CELL, MAC = bytes.fromhex("020000000100"), bytes.fromhex("020000000001")
LONG_MS = 60_000
ONLY_CLUSTER = {"+asking", "+cluster|slots"}


def documented() -> list[str]:
    """The rules of the documentation's ACL SETUSER, without user and password."""
    found = re.search(r"ACL SETUSER airbound on >PASSWORD ([^`]*?)\n```", DOCUMENTATION.read_text(encoding="utf-8"))
    assert found is not None
    return found[1].replace("\\\n", " ").split()


async def use(options: StoreOptions) -> None:
    """All that a store does."""
    one = Replica("one", RedisStore(options))
    await one.start()
    store = one.store
    try:
        for number in range(2):
            await store.put("choice", f"{number}", b"value", ttl_ms=LONG_MS * number)
            await store.add("choice", f"{number} added", b"value", ttl_ms=LONG_MS * number)
            assert await store.replace("choice", f"{number}", b"value", b"other")
        assert await store.get("choice", "0") == b"other"
        assert len(await store.records("choice")) == 4
        for name in await store.records("choice"):
            await store.remove("choice", name)
        await store.put("pin", "short", b"value", ttl_ms=1)
        await store.put("pin", "long", b"value")
        await store.remove("pin", "long")
        (claim,) = await store.claim([CELL], ttl_ms=LONG_MS)
        assert isinstance(claim, Claim)
        assert await store.claim([CELL], ttl_ms=LONG_MS) == [claim]
        await store.write_state(CELL, claim.token, b"state", ttl_ms=LONG_MS)
        assert await store.read_state(CELL) == b"state"
        await store.place([(MAC, Place(CELL, claim.token, 0))], ttl_ms=LONG_MS)
        await store.arrive([MAC], ttl_ms=LONG_MS)
        await store.displace([MAC], CELL, claim.token)
        await store.depart([MAC])
        other = RedisStore(options)
        await other.start("other", lambda _: None, lambda: None)
        assert await other.claim([CELL], ttl_ms=LONG_MS) == [Claim(claim.token, mine=False)]
        await other.close()
        assert await store.release(CELL, claim.token)
        assert await store.send("one", b"message")
        await one.received(b"message")
    finally:
        await store.close()


def options(server: RedisServer | RedisCluster, folder: Path) -> StoreOptions:
    file = folder / "password"
    file.write_text("secret\n", encoding="utf-8")
    file.chmod(0o600)
    return StoreOptions(
        url=server.url, cluster=isinstance(server, RedisCluster), user="airbound", password_file=str(file)
    )


@pytest.fixture
def user(server: RedisServer) -> Iterator[None]:
    server.command("ACL", "SETUSER", "airbound", "reset", "on", ">secret", *documented())
    yield
    server.command("ACL", "DELUSER", "airbound")
    server.client.flushall()


@pytest.mark.usefixtures("user")
async def test_the_documented_rules_suffice(server: RedisServer, tmp_path: Path) -> None:
    await use(options(server, tmp_path))


async def test_the_documented_rules_suffice_in_a_cluster(cluster: RedisCluster, tmp_path: Path) -> None:
    for node in cluster.servers:
        node.command("ACL", "SETUSER", "airbound", "reset", "on", ">secret", *documented())
    await use(options(cluster, tmp_path))
    for node in cluster.servers:
        node.command("ACL", "DELUSER", "airbound")


@pytest.mark.usefixtures("user")
async def test_each_documented_rule_is_needed(server: RedisServer, tmp_path: Path) -> None:
    rules = documented()
    assert set(rules) >= ONLY_CLUSTER
    for rule in rules:
        if rule in ONLY_CLUSTER | {"resetkeys", "resetchannels", "-@all"}:
            continue
        server.command("SCRIPT", "FLUSH")
        server.client.flushall()
        rest = [other for other in rules if other != rule]
        server.command("ACL", "SETUSER", "airbound", "reset", "on", ">secret", *rest)
        with pytest.raises(StoreError, match=r"no permissions|NOPERM|can't run this command|can't access"):
            await use(options(server, tmp_path))


@pytest.mark.usefixtures("user")
async def test_a_wrong_password_is_named(server: RedisServer, tmp_path: Path) -> None:
    wrong = options(server, tmp_path)
    (tmp_path / "password").write_text("wrong", encoding="utf-8")
    with pytest.raises(StoreError, match="invalid username-password pair"):
        await use(wrong)
    (tmp_path / "password").unlink()
    with pytest.raises(StoreError, match=r"^store\.password_file = '.*/password': cannot be read: No such file"):
        await use(wrong)


async def test_a_password_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    nowhere = StoreOptions(url="redis://127.0.0.1:1", password_file=str(tmp_path / "password"))
    (tmp_path / "password").write_text("secret\n", encoding="utf-8")
    (tmp_path / "password").chmod(0o644)
    with pytest.raises(StoreError, match=r"^store\.password_file = '.*': mode 0644 gives others access"):
        await use(nowhere)


@pytest.mark.usefixtures("user")
async def test_a_password_that_is_changed_is_read_again(server: RedisServer, tmp_path: Path) -> None:
    connections = Connections(options(server, tmp_path), "one")
    await (await connections.open(HOST, server.port)).disconnect()
    server.command("ACL", "SETUSER", "airbound", "resetpass", ">other")
    with pytest.raises(StoreError, match="invalid username-password pair"):
        await connections.open(HOST, server.port)
    (tmp_path / "password").write_text("other\n", encoding="utf-8")
    await (await connections.open(HOST, server.port)).disconnect()


class Authority:
    """A CA in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.file = folder / f"{name}.pem"
        certificate = self._builder(self._name, self._key).add_extension(x509.BasicConstraints(True, None), True)  # noqa: FBT003
        self._write(self.file, certificate)

    def issue(self, name: str) -> tuple[Path, Path]:
        """A certificate for the loopback address, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))])
        files = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        self._write(files[0], self._builder(subject, key).add_extension(names, critical=False))
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return files

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        day = datetime.timedelta(days=1)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
        return builder.serial_number(x509.random_serial_number()).not_valid_before(now - day).not_valid_after(now + day)

    def _write(self, file: Path, builder: x509.CertificateBuilder) -> None:
        file.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


async def test_tls(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path, "ca"), Authority(tmp_path, "other-ca")
    certificate, key = authority.issue("server")
    mine = dict(zip(("certificate_file", "key_file"), map(str, authority.issue("client")), strict=True))
    foreign = dict(zip(("certificate_file", "key_file"), map(str, other.issue("foreign")), strict=True))
    server = RedisServer(tmp_path / "redis", tls=(authority.file, certificate, key))
    server.start()

    async def used(**more: Any) -> None:
        await use(StoreOptions(url=server.url, **more))

    try:
        assert server.url.startswith("rediss://")
        await used(ca_file=str(authority.file), **mine)
        with pytest.raises(StoreError, match="certificate verify failed"):
            await used(ca_file=str(other.file), **mine)
        with pytest.raises(StoreError, match="certificate verify failed"):
            await used(**mine)  # the system's CAs
        for wrong in ({}, foreign):
            with pytest.raises(StoreError, match=HOST):
                await used(ca_file=str(authority.file), **wrong)
        with pytest.raises(StoreError, match="missing"):
            await used(ca_file=str(tmp_path / "missing"), **mine)
        with pytest.raises(StoreError, match=HOST):
            await use(StoreOptions(url=server.url.replace("rediss", "redis")))
    finally:
        server.stop()
