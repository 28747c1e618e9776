# SPDX-License-Identifier: Apache-2.0
"""A cell that was booted is kept for those that ask for the same, and for nobody else."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import kept_cells
import pytest
from kept_cells import Cells

from airbound_lab.errors import LabError
from airbound_lab.plan import guest_plan
from airbound_lab.run import boot, compiled, host, runs
from airbound_lab.settings.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def once(tmp_path: Path) -> Callable[[str], tuple[str, Path]]:
    """Ask for a cell; each boot leaves a line in `boots`, and one of its logs."""

    def run(logs: Path) -> str:
        with (tmp_path / "boots").open("a", encoding="utf-8") as file:
            file.write("booted\n")
        logs.mkdir()
        (logs / "console.log").write_text("ready", encoding="utf-8")
        return "figures"

    def ask(key: str) -> tuple[str, Path]:
        return Cells(tmp_path / "cells", tmp_path).once(key, run)  # type: ignore[arg-type, return-value]

    return ask


def boots(tmp_path: Path) -> int:
    return (tmp_path / "boots").read_text(encoding="utf-8").count("booted")


def test_equal_keys_are_booted_once(tmp_path: Path, once: Callable[[str], tuple[str, Path]]) -> None:
    run, logs = once("five phones")
    assert run == "figures"
    assert (logs / "console.log").read_text(encoding="utf-8") == "ready"
    assert once("five phones") == (run, logs)
    assert boots(tmp_path) == 1
    assert once("six phones")[1] != logs
    assert boots(tmp_path) == 2


def test_processes_that_ask_at_the_same_time_boot_once(tmp_path: Path, once: Callable[[str], object]) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=once, args=("five phones",)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert boots(tmp_path) == 1


def test_a_boot_that_failed_is_tried_again(tmp_path: Path, once: Callable[[str], tuple[str, Path]]) -> None:
    def fail(logs: Path) -> None:
        logs.mkdir()
        raise LabError("the guest ended early")

    with pytest.raises(LabError):
        Cells(tmp_path / "cells", tmp_path).once("five phones", fail)  # type: ignore[arg-type]
    assert once("five phones")[0] == "figures"


def test_a_fresh_cell_is_booted_each_time_and_kept_for_nobody(tmp_path: Path) -> None:
    cells = Cells(tmp_path / "cells", tmp_path / "fresh")
    logs = [cells.fresh(lambda logs: logs)[1] for _ in range(2)]  # type: ignore[arg-type, return-value]
    assert logs[0] != logs[1]
    assert cells.booted == 2
    assert not (tmp_path / "cells").exists()


class Host:
    """A host with programs of its own, whose files tests change."""

    def __init__(self, directory: Path) -> None:
        self.kernel = self.file(directory / "uml" / "linux", "kernel")
        self.build = directory / "build"
        for name in ("airbound-traffic", "airbound-ap", "airbound-phone", "airbound-load"):
            self.file(self.build / name, f"\x7fELF {name}").chmod(0o755)
        self.controller = directory / "controller"
        for name in ("daemon.py", "v1/terminal_pb2.py"):
            self.file(self.controller / "airbound" / name, f"# {name}\n")

    @staticmethod
    def file(path: Path, content: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def key(self, mode: str = "bdp", asked: tuple[object, ...] = (), seed: int = 1, **changes: object) -> str:
        """Hash of the inputs of a cell on this host."""
        programs = replace(host.programs((mode,), self.build), controller_source=str(self.controller))
        setting = runs.Setting(self.kernel, programs, 1, 900)
        parameters = Parameters(modes=(mode,), seeds=(seed,), **{"terminals": 2, **changes})  # type: ignore[arg-type]
        return kept_cells.key(runs.prepare(parameters, runs.Task(mode, seed), setting), self.kernel, asked)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host. Nothing is compiled: compiled modules are no input, since they follow from the others."""
    monkeypatch.setattr(compiled, "with_compiled", lambda programs: replace(programs, compiled=str(tmp_path)))
    return Host(tmp_path / "host")


def test_where_the_inputs_are_does_not_matter(made: Host, tmp_path: Path) -> None:
    assert Host(tmp_path / "a-host-at-another-path").key() == made.key()


def test_each_input_matters(made: Host) -> None:
    first = made.key()
    keys = [
        first,
        made.key("paper-gb"),
        made.key(seed=2),
        made.key(terminals=3),
        made.key(asked=("trace",)),
        made.key(wired_delays_ms=(7.0,)),
        made.key(kernel_line="6.12", phy="11ac-80"),
    ]
    for path in (
        made.kernel,
        made.build / "airbound-traffic",
        made.build / "airbound-ap",
        made.build / "airbound-phone",
        made.controller / "airbound" / "daemon.py",
        made.controller / "airbound" / "v1" / "terminal_pb2.py",
    ):
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        keys.append(made.key())
        path.write_bytes(before)
    assert len(set(keys)) == len(keys)
    assert made.key() == first


def test_what_a_cell_does_not_use_does_not_matter(made: Host) -> None:
    with_agents, without = made.key(), made.key("cubic")
    made.file(made.build / "airbound-load", "\x7fELF another")
    made.file(made.controller / "README.md", "not in the package")
    assert made.key() == with_agents
    made.file(made.build / "airbound-ap", "\x7fELF another")
    made.file(made.controller / "airbound" / "daemon.py", "pass\n")
    assert made.key("cubic") == without
    assert made.key() != with_agents


def test_what_lies_beside_a_script_matters(made: Host) -> None:
    made.file(made.build / "airbound-ap", '#!/bin/sh\nexec "$(dirname "$0")/agent"\n')
    first = made.key()
    made.file(made.build / "agent", "\x7fELF agent")
    assert made.key() != first


def packages(directory: Path, *, module: str = "1", command: str = "1") -> list[str]:
    """Inputs of a virtual environment with a package, and with one whose sources are elsewhere."""
    records = {
        "some-1.0": [f"some/module.py,sha256={module},9", f"../../../bin/some,sha256={command},9"],
        "airbound-0.1": ["__editable__.airbound-0.1.pth,sha256=1,9", f"airbound-0.1.dist-info/x,sha256={command},9"],
    }
    for name, lines in records.items():
        Host.file(directory / f"{name}.dist-info" / "RECORD", "\n".join(lines))
    return kept_cells._directory("packages1", directory, "")


def test_packages_matter_and_where_they_are_installed_does_not(tmp_path: Path) -> None:
    first = packages(tmp_path / "a")
    assert first == ["some-1.0.dist-info some/module.py,sha256=1,9"]
    assert packages(tmp_path / "b", command="2") == first
    assert packages(tmp_path / "c", module="2") != first


def test_programs_of_this_machine_matter(made: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made.key("cubic")
    made.file(tmp_path / "bin" / "dpkg-query", '#!/bin/sh\necho "hostapd 3:1.0"\n').chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    kept_cells._machine.cache_clear()
    assert made.key("cubic") != first
    kept_cells._machine.cache_clear()


def test_a_change_of_the_plan_by_a_test_matters(made: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made.key("cubic")
    plan = guest_plan.plan
    monkeypatch.setattr(guest_plan, "plan", lambda *given, **named: plan(*given, **named) | {"watchers": ["one"]})
    assert made.key("cubic") != first


def test_all_of_the_lab_that_a_run_is_made_of_is_an_input() -> None:
    # In a process of its own: this one has imported more.
    code = "import sys, airbound_lab.run.runs; print(*(m for m in sys.modules if m.startswith('airbound_lab.')))"
    environment = {"PYTHONPATH": str(host.REPOSITORY / "lab")}
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    parts = {module.split(".")[1] for module in printed.split()}
    assert parts <= {*kept_cells.LAB_PARTS, "errors"}
    assert {boot.GUEST_INIT.parent.name, host.GUEST_PROGRAMS.name} <= set(kept_cells.LAB_PARTS)
