# SPDX-License-Identifier: Apache-2.0

import copy
import itertools
import logging
import threading
from pathlib import Path

import pytest

from airbound.config import ConfigError, cell_overrides
from airbound.configuration.layers import Loaded, load
from airbound.core.addresses import mac_text
from airbound.core.engine import Engine
from airbound.metrics.hooks import Configuration
from airbound.runtime import reload
from airbound.runtime.in_force import InForce
from airbound.runtime.reload import Reloader
from airbound.runtime.runner import Runner
from airbound_testing.agents import WAIT_S
from airbound_testing.stores import eventually

ONE, TWO, THREE = "192.0.2.1", "192.0.2.2", "192.0.2.3"


class Bench:
    """A runner that was started with a file, and the file."""

    def __init__(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self.caplog = caplog
        self.file = path / "airbound.toml"
        self.write(f"exempt = ['{ONE}']")
        loaded = load(self.file)
        config = loaded.config
        self.runner = Runner(Engine(config.parameters, config.mode, config.exempt, cell_overrides(config)))
        self.settings = self.runner.engine.settings
        self.in_force = InForce(loaded)
        self.now_s = 1000.0
        self.record = Configuration(clock_s=lambda: self.now_s)
        self.reloader = Reloader(self.runner, self.in_force, lambda: load(self.file), record=self.record)

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    async def reload(self) -> list[str]:
        """What is logged of it."""
        self.caplog.clear()
        self.reloader.reload()
        await self.reloader.finished()
        return [record.getMessage() for record in self.caplog.records if record.__dict__["what"] == "reload"]


@pytest.fixture
async def bench(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Bench:
    return Bench(tmp_path, caplog)


async def test_the_file_is_in_force_and_what_changed_is_logged(bench: Bench) -> None:
    bench.write(f"exempt = ['{TWO}']\nmode = 'observe'\n[bdp]\ngain = 2.0\n")
    (line,) = await bench.reload()
    assert set(line.split("; ")) == {
        f"exempt ('{ONE}',) -> ('{TWO}',)",
        "mode control -> observe",
        "bdp.gain 1.0 -> 2.0",
    }
    assert (bench.settings.mode, bench.settings.parameters.bdp.gain) == ("observe", 2.0)
    assert bench.settings.exempt == {TWO}
    assert await bench.reload() == ["nothing changed"]


@pytest.mark.parametrize("text", ["[bdp]\ngian = 2.0", "[bdp", "[bdp]\ngain = nan", None])
async def test_a_file_with_an_error_changes_nothing(bench: Bench, text: str | None) -> None:
    before, engine = bench.settings.parameters, copy.deepcopy(bench.runner.engine.modes.__dict__)
    config = bench.in_force.config
    if text is None:
        bench.file.unlink()
    else:
        bench.write(text)
    (line,) = await bench.reload()
    assert line.startswith(f"{bench.file}: ")
    assert line.endswith("; the configuration before stays in force")
    assert bench.settings.parameters == before
    assert bench.runner.engine.modes.__dict__ == engine
    assert bench.in_force.config == config
    assert line.startswith(bench.in_force.error)
    assert bench.in_force.failures_total == 1
    bench.write("[bdp]\ngain = 2.0")
    await bench.reload()
    assert bench.settings.parameters.bdp.gain == 2.0


async def test_a_reload_is_of_the_whole_file_or_changes_nothing(bench: Bench) -> None:
    """With one wrong character anywhere in it."""
    bssid = bytes([2, 0, 0, 0, 0, 1])
    good = f"exempt = ['{ONE}']\nmode = 'observe'\n[bdp]\ngain = 2\n[[cell]]\nbssid = '{mac_text(bssid)}'\nedca = {{}}"

    def in_force() -> tuple[object, ...]:
        engine = bench.runner.engine
        match = engine.settings.match, engine._registry.overrides.match(bssid, b"")
        return (
            bench.in_force.config,
            engine.settings.parameters,
            engine.settings.mode,
            set(engine.settings.exempt),
            match,
        )

    refused = 0
    for position, character in itertools.product(range(len(good)), "x=['"):
        bench.write(good)
        await bench.reload()
        before = in_force()
        bench.write(good[:position] + character + good[position + 1 :])
        await bench.reload()
        try:
            config = load(bench.file).config
        except ConfigError as error:
            refused += 1
            assert (bench.in_force.error, in_force()) == (str(error), before)  # noqa: PT017  # either outcome is right
        else:
            assert (bench.in_force.error, bench.in_force.config.parameters) == ("", config.parameters)
            assert in_force()[1:3] == (config.parameters, config.mode)
            assert in_force()[3] == set(config.exempt)
    assert refused > len(good)


async def test_what_an_operator_chose_stays_where_the_file_did_not_change(bench: Bench) -> None:
    bench.runner.set_mode("observe")
    bench.runner.set_exempt(ONE, exempt=False)
    bench.runner.set_exempt(THREE, exempt=True)
    bench.write(f"exempt = ['{ONE}']\n[bdp]\ngain = 2.0\n")
    await bench.reload()
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
    before = getattr(bench.in_force.config, key)
    assert (await bench.reload())[1:] == [f"{key} takes effect at the next start"]
    assert getattr(bench.in_force.config, key) == before != getattr(bench.in_force.loaded.config, key)


async def test_without_a_file_there_is_nothing_to_read(bench: Bench) -> None:
    bench.reloader = Reloader(bench.runner, bench.in_force, None)
    assert await bench.reload() == ["there is no file: the controller was started without --config"]


async def test_a_file_system_that_does_not_answer_stops_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "READ_S", 0.01)
    answers, reads = threading.Event(), list[int]()

    def read() -> Loaded:
        reads.append(threading.get_ident())
        answers.wait()
        return load(bench.file)

    bench.reloader = Reloader(bench.runner, bench.in_force, read, record=bench.record)
    bench.write("mode = 'observe'")
    (line,) = await bench.reload()
    assert line.startswith("the file cannot be read within 0.01 s: its file system does not answer; ")
    (line,) = await bench.reload()
    assert line.startswith("the file is still being read since an earlier SIGHUP: ")
    assert (len(reads), bench.record.errors_total, bench.settings.mode) == (1, 2, "control")
    assert threading.get_ident() not in reads
    answers.set()
    monkeypatch.setattr(reload, "READ_S", WAIT_S)
    await eventually(lambda: not bench.reloader._is_read, "it ends")
    assert bench.settings.mode == "control"  # what came too late does not count
    await bench.reload()
    assert bench.settings.mode == "observe"


async def test_while_a_file_is_read_it_is_to_be_read_once_more_at_most(bench: Bench) -> None:
    go_on, reads = threading.Event(), 0

    def read() -> Loaded:
        nonlocal reads
        reads += 1
        go_on.wait()
        return load(bench.file)

    bench.reloader = Reloader(bench.runner, bench.in_force, read)
    bench.reloader.reload()
    await eventually(lambda: reads == 1, "it is read")
    for _ in range(500):
        bench.reloader.reload()
    go_on.set()
    await bench.reloader.finished()
    assert reads == 2


async def test_overrides_of_cells_are_in_force_and_an_operators_choice_for_a_cell_stays(bench: Bench) -> None:
    bssid = bytes([2, 0, 0, 0, 0, 1])
    bench.runner.set_mode("control", bytes([2, 0, 0, 0, 0, 2]))
    bench.write(f"exempt = ['{ONE}']\n[[cell]]\nbssid = ['02:00:00:00:00:01', '02:00:00:00:00:02']\nmode = 'observe'")
    assert await bench.reload() == [
        "cell.0.bssid None -> ('02:00:00:00:00:01', '02:00:00:00:00:02'); cell.0.mode None -> observe"
    ]
    assert bench.runner.mode(bssid) == "observe"
    assert bench.runner.mode(bytes([2, 0, 0, 0, 0, 2])) == bench.runner.mode() == "control"
    bench.write(f"exempt = ['{ONE}']")
    await bench.reload()
    assert bench.runner.mode(bssid) == "control"


async def test_what_an_operator_chose_ends_where_the_file_changed(bench: Bench) -> None:
    bench.runner.set_mode("observe")
    bench.runner.set_exempt(TWO, exempt=False)
    bench.runner.set_exempt(THREE, exempt=True)
    bench.write(f"exempt = ['{ONE}', '{TWO}']")
    await bench.reload()
    assert (bench.runner.choices.mode is None, list(bench.runner.choices.exempt)) == (False, [THREE])
    assert bench.settings.exempt == {ONE, TWO, THREE}
    bench.write(f"mode = 'observe'\nexempt = ['{ONE}', '{TWO}']")
    await bench.reload()
    bench.write(f"mode = 'control'\nexempt = ['{ONE}', '{TWO}']")
    await bench.reload()
    assert bench.runner.choices.mode is None
    assert bench.settings.mode == "control"


async def test_what_is_in_force_and_since_when_is_on_record(bench: Bench) -> None:
    record = bench.record
    first = record.digest
    assert (record.applied_at_s, record.errors_total) == (1000.0, 0)
    bench.now_s = 2000.0
    bench.write("[bdp]\ngain = nan")
    await bench.reload()
    assert (record.digest, record.applied_at_s, record.errors_total) == (first, 1000.0, 1)
    bench.write("[bdp]\ngain = 2.0")
    await bench.reload()
    assert record.digest != first
    assert (record.applied_at_s, record.errors_total) == (2000.0, 1)
    bench.write(f"exempt = ['{ONE}']\n# another text of the same configuration")
    await bench.reload()
    assert record.digest == first
