# SPDX-License-Identifier: Apache-2.0

import logging
from pathlib import Path

import pytest

from airbound.config import load
from airbound.core.engine import Engine
from airbound.edges.hub import Hub
from airbound.edges.reload import Reloader
from airbound.edges.store import MemoryStore
from airbound.testing.scenario import mac


class Bench:
    """A hub that was started with a file, and the file."""

    def __init__(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self.caplog = caplog
        self.file = path / "airbound.toml"
        self.write(f"exempt = ['{mac(1)}']")
        config = load(self.file)
        store = MemoryStore(frozenset(config.exempt))
        self.hub = Hub(Engine(config.parameters, store.exempt()), store)
        self.reloader = Reloader(self.hub, config, lambda: load(self.file))

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    def reload(self) -> list[str]:
        """What the log says of it."""
        self.caplog.clear()
        self.reloader.reload()
        return [record.getMessage() for record in self.caplog.records if record.__dict__["what"] == "reload"]


@pytest.fixture
async def bench(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Bench:
    return Bench(tmp_path, caplog)


async def test_what_the_file_says_now_holds_and_the_log_says_what_changed(bench: Bench) -> None:
    bench.write(f"exempt = ['{mac(2)}']\nmode = 'observe'\n[bdp]\ngain = 2.0\n")
    (line,) = bench.reload()
    assert line == f"exempt ('{mac(1)}',) -> ('{mac(2)}',); mode control -> observe; bdp.gain 1.25 -> 2.0"
    engine = bench.hub.engine
    assert (engine.mode, engine.parameters.bdp.gain) == ("observe", 2.0)
    assert (engine.is_exempt(mac(1)), engine.is_exempt(mac(2))) == (False, True)
    assert bench.reload() == ["nothing changed"]


@pytest.mark.parametrize("text", ["[bdp]\ngian = 2.0", "[bdp", None])
async def test_a_file_with_an_error_changes_nothing(bench: Bench, text: str | None) -> None:
    before = bench.hub.engine.parameters
    if text is None:
        bench.file.unlink()
    else:
        bench.write(text)
    (line,) = bench.reload()
    assert line.startswith(f"{bench.file}: ")
    assert line.endswith("; the configuration before holds")
    assert bench.hub.engine.parameters == before
    bench.write("[bdp]\ngain = 2.0")
    bench.reload()
    assert bench.hub.engine.parameters.bdp.gain == 2.0


async def test_what_an_operator_chose_stays_where_the_file_did_not_change(bench: Bench) -> None:
    bench.hub.set_mode("observe")
    bench.hub.set_exempt(mac(1), exempt=False)
    bench.hub.set_exempt(mac(3), exempt=True)
    bench.write(f"exempt = ['{mac(1)}']\n[bdp]\ngain = 2.0\n")
    bench.reload()
    engine = bench.hub.engine
    assert engine.mode == "observe"
    assert (engine.is_exempt(mac(1)), engine.is_exempt(mac(3))) == (False, True)


async def test_what_takes_a_restart_is_said(bench: Bench) -> None:
    bench.write(f"exempt = ['{mac(1)}']\nlisten = '127.0.0.1:1'\nlog = 'json'\n")
    assert bench.reload()[1:] == ["listen takes effect at the next start", "log takes effect at the next start"]


async def test_without_a_file_there_is_nothing_to_read(bench: Bench) -> None:
    bench.reloader = Reloader(bench.hub, load(bench.file), None)
    assert bench.reload() == ["there is no file to read again: the controller was started without --config"]
