# SPDX-License-Identifier: Apache-2.0
"""What is made at the first start. Here all belongs to the user that runs the test: scripts/compose-test.sh has the
users of the containers.
"""

import asyncio
import datetime
import os
import re
import stat
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from airbound.deployment.first_start import OPERATOR_LIFE, OWNERS, FirstStart, main, users
from airbound.operator.tls_files import TlsFiles
from airbound.pki.directory import Directory
from airbound.pki.errors import PkiError
from airbound.store.options import StoreOptions
from airbound.store.redis.store import RedisStore
from airbound_testing.ports import free_port
from airbound_testing.processes import Process
from airbound_testing.redis_servers import HOST, RedisServer

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
DOCUMENTATION = Path(__file__).parents[3] / "docs" / "store.md"


@pytest.fixture
def volumes(tmp_path: Path) -> Path:
    for name in OWNERS:
        (tmp_path / name).mkdir(mode=0o755)
    return tmp_path


def start(volumes: Path, now: datetime.datetime = NOW, trust_domain: str = "wifi.example") -> list[str]:
    made = FirstStart(volumes, dict.fromkeys(OWNERS, os.geteuid()), now)
    made.run(trust_domain)
    return made.made


def contents(volumes: Path) -> dict[str, bytes]:
    return {str(path.relative_to(volumes)): path.read_bytes() for path in sorted(volumes.rglob("*")) if path.is_file()}


def test_everything_is_made_for_its_owner_only(volumes: Path) -> None:
    made = start(volumes)
    assert [re.sub(r"[ ,].*", "", what) for what in made] == [
        "authority", "password", "password", "certificate", "certificate",
    ]  # fmt: skip
    assert sorted(contents(volumes)) == [
        "ca/authority-key.pem", "ca/authority.pem", "grafana/admin-password",
        "openflow/authorities.pem", "openflow/certificate.pem", "openflow/key.pem",
        "operator/authorities.pem", "operator/certificate.pem", "operator/key.pem",
        "redis/users.acl", "store/password",
    ]  # fmt: skip
    assert {stat.S_IMODE((volumes / name).stat().st_mode) for name in OWNERS} == {0o700}
    secret = ("ca/authority-key.pem", "grafana/admin-password", "operator/key.pem", "redis/users.acl", "store/password")
    assert {stat.S_IMODE((volumes / name).stat().st_mode) for name in secret} == {0o600}


def test_the_operator_is_the_authority_s(volumes: Path) -> None:
    start(volumes)
    authority = Directory(volumes / "ca").load(NOW)
    identity = TlsFiles(volumes / "operator").load(NOW)
    assert (authority.trust_domain, str(identity.certificate.identity)) == ("wifi.example", "operator/admin")
    assert str(TlsFiles(volumes / "openflow").load(NOW).certificate.identity) == "switch/openflow"


def test_a_second_start_changes_nothing(volumes: Path) -> None:
    start(volumes)
    before = contents(volumes)
    assert start(volumes, trust_domain="other.example") == []
    assert contents(volumes) == before


def test_passwords_are_not_those_of_another_installation(volumes: Path) -> None:
    start(volumes)
    first = contents(volumes)
    for name in ("store/password", "grafana/admin-password"):
        (volumes / name).unlink()
    start(volumes)
    second = contents(volumes)
    assert all(first[name] != second[name] and len(second[name]) > 40 for name in ("store/password", "redis/users.acl"))
    assert second["store/password"] != second["grafana/admin-password"] != first["grafana/admin-password"]


def test_an_operator_s_certificate_is_made_again_in_time(volumes: Path) -> None:
    start(volumes)
    before = contents(volumes)
    assert start(volumes, NOW + 0.6 * OPERATOR_LIFE) == []
    for later in (0.7, 3.0):
        operator, openflow = start(volumes, NOW + later * OPERATOR_LIFE)
        assert operator.startswith("certificate of operator/admin until ")
        assert openflow.startswith("certificate of switch/openflow until ")
    after = contents(volumes)
    assert before["ca/authority.pem"] == after["ca/authority.pem"]
    assert before["operator/certificate.pem"] != after["operator/certificate.pem"]


def test_an_authority_whose_key_is_elsewhere_or_encrypted_signs_nothing(volumes: Path) -> None:
    (volumes / "ca").chmod(0o700)
    Directory(volumes / "ca").init("wifi.example", NOW, passphrase=b"s3cret")
    assert [what.partition(" ")[0] for what in start(volumes)] == ["password", "password"]
    (volumes / "ca" / "authority-key.pem").unlink()
    assert start(volumes) == []


def test_without_grafana(volumes: Path) -> None:
    (volumes / "grafana").rmdir()
    start(volumes)
    assert not (volumes / "grafana").exists()


def test_a_damaged_authority_is_not_replaced(volumes: Path) -> None:
    start(volumes)
    (volumes / "ca" / "authority.pem").write_text("x", encoding="utf-8")
    (volumes / "operator" / "certificate.pem").unlink()
    with pytest.raises(PkiError, match=r"authority\.pem: no certificates in PEM"):
        start(volumes)
    assert (volumes / "ca" / "authority.pem").read_text(encoding="utf-8") == "x"


def test_what_is_wrong_is_said(volumes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # An ordinary user cannot give the folders away, and this folder is not open to those that root gives them to.
    assert main([str(volumes)]) == 1
    assert capsys.readouterr().err.startswith("airbound: first start: ")


def connected(server: RedisServer, user: str, password: str) -> Redis:
    return Redis(host=HOST, port=server.port, username=user, password=password)


def test_redis_takes_the_users(tmp_path: Path) -> None:
    documented = re.search(r"ACL SETUSER airbound on >PASSWORD ([^`]*?)\n```", DOCUMENTATION.read_text("utf-8"))
    assert documented is not None
    lines = users("s3cret").splitlines()
    assert lines[0].split()[4:] == documented[1].replace("\\\n", " ").split()
    # The default user is the test's own.
    (tmp_path / "users.acl").write_text("\n".join([*lines[:2], "user default on nopass ~* &* +@all\n"]), "utf-8")
    server = RedisServer(tmp_path, "--aclfile", str(tmp_path / "users.acl")).start()
    try:
        with connected(server, "airbound", "s3cret") as controller:
            assert controller.set("airbound:x", "1")
            with pytest.raises(NoPermissionError):
                controller.config_get("dir")
        with connected(server, "health", "any") as health:
            assert health.ping()
            with pytest.raises(NoPermissionError):
                health.get("airbound:x")
        with (
            connected(server, "airbound", "other") as wrong,
            pytest.raises(AuthenticationError),
        ):
            wrong.ping()
    finally:
        server.stop()


async def test_nobody_else_gets_in_and_what_was_written_survives(tmp_path: Path) -> None:
    """Redis repeats transactions of its append-only file, as which scripts are written, by the rights of `default`."""
    (tmp_path / "users.acl").write_text(users("s3cret"), "utf-8")
    (tmp_path / "s3cret").write_text("s3cret\n", "utf-8")
    (tmp_path / "s3cret").chmod(0o600)
    port = free_port()
    argv = ["redis-server", "--bind", HOST, "--port", str(port), "--dir", str(tmp_path), "--appendonly", "yes"]
    redis = Process([*argv, "--aclfile", str(tmp_path / "users.acl")], port, tmp_path / "redis.log")
    options = StoreOptions(url=f"redis://{HOST}:{port}", user="airbound", password_file=str(tmp_path / "s3cret"))
    for expected in ({}, {"one": b"value"}):
        async with redis:
            with Redis(host=HOST, port=port) as anybody, pytest.raises(AuthenticationError):
                await asyncio.to_thread(anybody.ping)
            store = RedisStore(options)
            await store.start("one", lambda _: None, lambda: None)
            assert await store.records("kind") == expected
            await store.put("kind", "one", b"value", ttl_ms=600_000)
            await store.close()
