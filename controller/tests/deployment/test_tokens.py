# SPDX-License-Identifier: Apache-2.0
"""Tokens for several devices, of a real controller with TLS."""

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from airbound.deployment import tokens
from airbound.operator import cli
from airbound.operator.login import by_token
from airbound.operator.tls_files import TlsFiles
from airbound_testing.live import LiveController
from airbound_testing.pki import Site
from airbound_testing.ports import free_port

DEVICES = ("access-point/live-ap", "terminal/live-phone1")


class World:
    """A controller, an operator, and a directory for tokens."""

    def __init__(self, live: LiveController, directory: Path) -> None:
        self.live, self.directory = live, directory
        self.slept_s: list[float] = []

    async def make(self, *devices: str, endpoint: str = "") -> int:
        environment = {"AIRBOUND_CONTROLLER": endpoint or self.live.operators}
        arguments = [str(self.directory), *devices]
        return await asyncio.to_thread(
            tokens.main, arguments, environment, lambda: sum(self.slept_s), self.slept_s.append
        )

    def texts(self) -> dict[str, str]:
        return {path.name: path.read_text(encoding="ascii") for path in sorted(self.directory.iterdir())}


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setenv("AIRBOUND_CA_DIR", str(tmp_path / "ca"))
    monkeypatch.setenv("AIRBOUND_TLS_DIR", str(tmp_path / "operator"))
    site = Site(tmp_path / "ca")
    assert cli.main(["ca", "operator", "admin"]) == 0
    (tmp_path / "tokens").mkdir()
    async with (
        site.security() as security,
        LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()) as live,
    ):
        yield World(live, tmp_path / "tokens")


async def test_each_device_enrols_by_its_token_once(world: World, tmp_path: Path) -> None:
    assert await world.make(*DEVICES) == 0
    texts = world.texts()
    assert list(texts) == ["live-ap", "live-phone1"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in world.directory.iterdir()} == {0o640}
    for name, token in texts.items():
        to = TlsFiles(tmp_path / name)
        made = await asyncio.to_thread(by_token, to, token, world.live.running.enrollment, 30.0, force=False)
        assert made.identity.name == name


async def test_later_starts_make_others_also_for_who_is_enrolled(world: World, tmp_path: Path) -> None:
    enrolled = []
    for start in range(2):
        assert await world.make(*DEVICES) == 0
        token = world.texts()["live-ap"]
        to = TlsFiles(tmp_path / f"ap{start}")
        enrolled.append(await asyncio.to_thread(by_token, to, token, world.live.running.enrollment, 30.0, force=False))
    assert len({certificate.serial for certificate in enrolled}) == 2


async def test_a_controller_that_answers_late_is_waited_for(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert await world.make(*DEVICES, endpoint=f"127.0.0.1:{free_port()}") == 1
    assert sum(world.slept_s) == tokens.UNREACHABLE_MAX_S
    assert "no controller answers" in capsys.readouterr().err
    assert world.texts() == {}


async def test_what_is_wrong_is_not_tried_again(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await world.make("terminal/a b") == 1
    assert "'a b' is no name" in capsys.readouterr().err
    (tmp_path / "operator" / "certificate.pem").unlink()
    assert await world.make(*DEVICES) == 1
    assert "no certificate in" in capsys.readouterr().err
    assert world.slept_s == []
