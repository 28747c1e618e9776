# SPDX-License-Identifier: Apache-2.0
"""A live cell with a controller on this machine, by mutual TLS: enrolment, bounds, modes, restarts, the end.

How long anything takes depends on this machine; what is waited for is awaited as long as it takes, up to LIMIT_S.
"""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airbound.operator import cli
from airbound_lab.live.programme import activities
from airbound_lab.run import host
from airbound_testing.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.uml

LIMIT_S = 300.0
POLL_S = 0.5
HERE = "127.0.0.1"
TERMINALS = 2
LARGE_BYTES = 50_000_000
DEVICES = ("live-ap", "live-phone1", "live-phone2")


def seed_of_large_files() -> int:
    """A seed with which both phones with an agent begin with a large file: they send for as long as the test needs."""
    for seed in count(1):
        firsts = [list(islice(activities(seed, phone), 2))[1] for phone in range(1, TERMINALS + 1)]
        if all(first.kind == "file" and first.items_bytes[0] >= LARGE_BYTES for first in firsts):
            return seed
    raise AssertionError


@dataclass
class Bench:
    """A directory with an authority, and the controller that runs with it."""

    directory: Path
    agents_port: int
    operators_port: int
    enrolment_port: int

    @property
    def environment(self) -> dict[str, str]:
        """For the commands."""
        return os.environ | {
            "PYTHONPATH": str(host.REPOSITORY / "controller"),
            "AIRBOUND_CA_DIR": str(self.directory / "ca"),
            "AIRBOUND_TLS_DIR": str(self.directory / "operator"),
        }

    def run(self, *words: str) -> str:
        """Run one of airbound's commands, in this process; return what it prints.

        To start Python and to import gRPC for each takes more of the processor than cell and controller together.
        """
        printed, errors = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(errors):
            for name, value in self.environment.items():
                patch.setenv(name, value)
            status = cli.main(words)
        assert status == 0, (words, printed.getvalue(), errors.getvalue())
        return printed.getvalue()

    def ask(self, *words: str) -> Any:
        """Run an operator's command; return its JSON."""
        return json.loads(self.run(*words, "--json", "--controller", f"{HERE}:{self.operators_port}"))

    def terminals(self) -> dict[str, dict[str, Any]]:
        """The terminals that are connected, by name."""
        return {terminal["name"]: terminal for terminal in self.ask("terminals")["terminals"]}

    def classes(self, name: str) -> set[str]:
        """Of what a terminal has reported of its applications."""
        destinations = self.ask("explain", name)["destinations"]
        return {part["application_class"] for destination in destinations for part in destination["classes"]}

    def certificates(self) -> dict[str, int]:
        """How many certificates each device was given."""
        return {
            entry["name"]: len(entry["certificates"])
            for entry in self.ask("enrolled")["enrolled"]
            if entry["name"] in DEVICES
        }


@dataclass
class Live:
    """A live cell."""

    process: subprocess.Popen[bytes]
    state: Path

    def status(self) -> dict[str, Any]:
        """Its status file; empty before there is one."""
        try:
            found: dict[str, Any] = json.loads((self.state / "status.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found

    def log(self) -> str:
        """What it printed, and the ends of the guest's logs."""
        logs = [self.state.parent / "live.log", *sorted((self.state / "log").glob("*.log"))]
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)

    def wait_for(self, what: str, happened: Callable[[], Any]) -> Any:
        """Wait until something is true; return it."""
        deadline = time.monotonic() + LIMIT_S
        while not (found := happened()):
            assert self.process.poll() is None, f"the cell ended while {what} was awaited\n{self.log()}"
            assert time.monotonic() < deadline, f"{what}: not within {LIMIT_S:g} s\n{self.log()}"
            time.sleep(POLL_S)
        return found

    def stop(self) -> int:
        """End it with SIGTERM; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_S)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A controller."""
    made = Bench(tmp_path_factory.mktemp("live"), free_port(), free_port(), free_port())
    (made.directory / "controller.toml").write_text(
        f'listen = "{HERE}:{made.agents_port}"\noperators = ["{HERE}:{made.operators_port}"]\n'
        f'[tls]\nenrollment = "{HERE}:{made.enrolment_port}"\n'
        '[metrics]\nlisten = ""\n[identity]\nmatch_addresses = false\n'
        # A machine that is busy makes the cell slow; it is not to be taken for dead.
        "[safety]\nlease_ms = 60000\ncell_stale_ms = 60000\nterminal_stale_ms = 60000\n",
        encoding="utf-8",
    )
    made.run("ca", "init")
    made.run("ca", "operator", "test")
    command = [sys.executable, "-m", "airbound", "controller", "--config", str(made.directory / "controller.toml")]
    with (made.directory / "controller.log").open("wb") as log:
        controller = subprocess.Popen(command, env=made.environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + LIMIT_S
        while True:
            with socket.socket() as probe:
                if probe.connect_ex((HERE, made.operators_port)) == 0:
                    break
            assert controller.poll() is None, (made.directory / "controller.log").read_text(encoding="utf-8")
            assert time.monotonic() < deadline
            time.sleep(POLL_S)
        (made.directory / "tokens").mkdir()
        for name in DEVICES:
            role = "access-point" if name == "live-ap" else "terminal"
            token = made.run("enroll", role, name, "--controller", f"{HERE}:{made.operators_port}")
            (made.directory / "tokens" / name).write_text(token, encoding="utf-8")
        yield made
    finally:
        controller.terminate()
        controller.wait(LIMIT_S)


@pytest.fixture
def boot_live(bench: Bench) -> Iterator[Callable[..., Live]]:
    """Starts a live cell of two phones with an agent and one without; all have one state directory."""
    host.check_tools()
    host.kernel(None)
    started: list[Live] = []

    def boot(*options: str) -> Live:
        command = [
            *(sys.executable, "-m", "airbound_lab", "live"),
            *("--controller", f"{HERE}:{bench.agents_port}", "--enroll", f"{HERE}:{bench.enrolment_port}"),
            *("--state", str(bench.directory / "state"), "--terminals", str(TERMINALS)),
            *("--seed", str(seed_of_large_files()), *options),
        ]
        environment = os.environ | {"PYTHONPATH": str(host.REPOSITORY / "lab")}
        with (bench.directory / "live.log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        started.append(Live(process, bench.directory / "state"))
        return started[-1]

    yield boot
    for live in started:
        if live.process.poll() is None:
            live.stop()


def bounded(bench: Bench) -> dict[str, Any]:
    """The terminals that have reported that bounds are in force; empty unless both have."""
    found = {name: t for name, t in bench.terminals().items() if int(t["bounds_generation_in_force"]) > 0}
    return found if set(found) == set(DEVICES[1:]) and all(t["bounds_sent"] for t in found.values()) else {}


def released(bench: Bench) -> bool:
    """Whether both phones are connected, and have reported the empty set that was sent."""
    terminals = bench.terminals()
    return set(terminals) == set(DEVICES[1:]) and all(
        not t["bounds_sent"] and t["bounds_generation_in_force"] == t["bounds_generation_sent"]
        for t in terminals.values()
    )


def test_devices_enrol_are_bounded_by_mode_and_end_at_sigterm(bench: Bench, boot_live: Callable[..., Live]) -> None:
    live = boot_live("--tokens", str(bench.directory / "tokens"))
    live.wait_for("bounds of both phones", lambda: bounded(bench))
    assert bench.certificates() == dict.fromkeys(DEVICES, 1)
    [cell] = bench.ask("cells")["cells"]
    assert cell["stations"] == TERMINALS + 1
    assert cell["access_point"] == "live-ap"
    # Both phones upload a file.
    for name in DEVICES[1:]:
        live.wait_for("the class of a file", lambda name=name: "APPLICATION_CLASS_BULK" in bench.classes(name))

    bench.ask("mode", "observe")
    live.wait_for("release in mode observe", lambda: released(bench))
    bench.ask("mode", "control")
    live.wait_for("bounds again", lambda: bounded(bench))

    status = live.status()
    assert status["state"] == "running"
    assert status["boots"] == 1
    assert status["time"]["guest_s"] > 0
    phones = {phone["name"]: phone for phone in status["cell"]["phones"]}
    assert [phones[name]["agent"] for name in ("live-phone1", "live-phone2", "live-phone3")] == [True, True, False]
    assert live.stop() == 0, live.log()
    assert live.status()["state"] == "stopped"
    live_log = (bench.directory / "live.log").read_text(encoding="utf-8")
    assert "live-phone1 uploads a file" in live_log


def test_identities_survive_and_a_guest_that_ends_is_booted_again(bench: Bench, boot_live: Callable[..., Live]) -> None:
    live = boot_live()  # no tokens: the certificates of the first start
    live.wait_for("both phones", lambda: len(bench.terminals()) == TERMINALS)
    assert bench.certificates() == dict.fromkeys(DEVICES, 1)

    [kernel] = [pid for pid in children(live.process.pid) if "init.py" in arguments(pid)]
    os.kill(kernel, signal.SIGKILL)
    live.wait_for("a second guest", lambda: live.status()["boots"] == 2 and live.status()["state"] == "running")
    live.wait_for("both phones again", lambda: len(bench.terminals()) == TERMINALS)
    assert bench.certificates() == dict.fromkeys(DEVICES, 1)
    assert live.stop() == 0, live.log()


def children(pid: int) -> list[int]:
    """Process ids of a process's children."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]


def arguments(pid: int) -> str:
    """Command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
