# SPDX-License-Identifier: Apache-2.0

import logging
from pathlib import Path

import pytest

from airbound.config import load
from airbound.core.engine import Engine
from airbound.metrics.hooks import Configuration
from airbound.runtime.reload import Reloader
from airbound.runtime.runner import Runner

ONE, TWO, THREE = "192.0.2.1", "192.0.2.2", "192.0.2.3"


class Bench:
    """A runner that was started with a file, and the file."""

    def __init__(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self.caplog = caplog
        self.file = path / "airbound.toml"
        self.write(f"exempt = ['{ONE}']")
        config = load(self.file)
        self.runner = Runner(Engine(config.parameters, config.mode, config.exempt))
        self.settings = self.runner.engine.settings
        self.now_s = 1000.0
        self.record = Configuration(clock_s=lambda: self.now_s)
        self.reloader = Reloader(self.runner, config, lambda: load(self.file), self.record)

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    def reload(self) -> list[str]:
        """What is logged of it."""
        self.caplog.clear()
        self.reloader.reload()
        return [record.getMessage() for record in self.caplog.records if record.__dict__["what"] == "reload"]


@pytest.fixture
async def bench(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Bench:
    return Bench(tmp_path, caplog)


async def test_the_file_is_in_force_and_what_changed_is_logged(bench: Bench) -> None:
    bench.write(f"exempt = ['{TWO}']\nmode = 'observe'\n[bdp]\ngain = 2.0\n")
    (line,) = bench.reload()
    assert set(line.split("; ")) == {
        f"exempt ('{ONE}',) -> ('{TWO}',)",
        "mode control -> observe",
        "bdp.gain 1.0 -> 2.0",
    }
    assert (bench.settings.mode, bench.settings.parameters.bdp.gain) == ("observe", 2.0)
    assert bench.settings.exempt == {TWO}
    assert bench.reload() == ["nothing changed"]


@pytest.mark.parametrize("text", ["[bdp]\ngian = 2.0", "[bdp", "[bdp]\ngain = nan", None])
async def test_a_file_with_an_error_changes_nothing(bench: Bench, text: str | None) -> None:
    before = bench.settings.parameters
    if text is None:
        bench.file.unlink()
    else:
        bench.write(text)
    (line,) = bench.reload()
    assert line.startswith(f"{bench.file}: ")
    assert line.endswith("; the configuration before stays in force")
    assert bench.settings.parameters == before
    bench.write("[bdp]\ngain = 2.0")
    bench.reload()
    assert bench.settings.parameters.bdp.gain == 2.0


async def test_what_an_operator_chose_stays_where_the_file_did_not_change(bench: Bench) -> None:
    bench.runner.set_mode("observe")
    bench.runner.set_exempt(ONE, exempt=False)
    bench.runner.set_exempt(THREE, exempt=True)
    bench.write(f"exempt = ['{ONE}']\n[bdp]\ngain = 2.0\n")
    bench.reload()
    assert bench.settings.mode == "observe"
    assert bench.settings.exempt == {THREE}


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("listen = '127.0.0.1:1'", "listen"),
        ("operators = ['unix:/run/x']", "operators"),
        ("log = 'json'", "log"),
        ("[limits]\nreports_per_s = 5.0", "limits"),
        ("[metrics]\nlisten = ''", "metrics"),
    ],
)
async def test_what_takes_effect_at_the_next_start_is_logged_as_such(bench: Bench, line: str, key: str) -> None:
    bench.write(f"exempt = ['{ONE}']\n{line}\n")
    assert bench.reload()[1:] == [f"{key} takes effect at the next start"]


async def test_without_a_file_there_is_nothing_to_read(bench: Bench) -> None:
    bench.reloader = Reloader(bench.runner, load(bench.file), None)
    assert bench.reload() == ["there is no file: the controller was started without --config"]


async def test_what_is_in_force_and_since_when_is_on_record(bench: Bench) -> None:
    record = bench.record
    first = record.digest
    assert (record.applied_at_s, record.errors_total) == (1000.0, 0)
    bench.now_s = 2000.0
    bench.write("[bdp]\ngain = nan")
    bench.reload()
    assert (record.digest, record.applied_at_s, record.errors_total) == (first, 1000.0, 1)
    bench.write("[bdp]\ngain = 2.0")
    bench.reload()
    assert record.digest != first
    assert (record.applied_at_s, record.errors_total) == (2000.0, 1)
    bench.write(f"exempt = ['{ONE}']\n# another text of the same configuration")
    bench.reload()
    assert record.digest == first
