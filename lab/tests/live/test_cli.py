# SPDX-License-Identifier: Apache-2.0
"""`airbound-lab live` without a guest: what it refuses, what it waits for, --check."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from airbound_lab import cli
from airbound_lab.errors import UsageError
from airbound_lab.live import cli as live
from airbound_lab.live import service as services
from airbound_lab.live import status as statuses
from airbound_lab.live.guest_process import Guest
from airbound_lab.live.plan import Programs
from airbound_lab.live.service import Service
from airbound_lab.live.settings import Settings
from airbound_lab.run import host

HERE = "127.0.0.1:50051"
NOWHERE = Path("/nowhere")
PROGRAMS = Programs("/nowhere", "/nowhere", "/nowhere")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--controller: needed"),
        (["--controller", "here"], "not HOST:PORT"),
        (["--controller", HERE, "--plain-text", "--tokens", "."], "--plain-text excludes --tokens"),
        (["--controller", HERE, "--plain-text", "--enroll", HERE], "--plain-text excludes --enroll"),
        (["--controller", HERE, "--tokens", "none"], "there is no directory"),
        (["--controller", HERE, "--terminals", "0", "--without-agent", "0"], "--terminals and --without-agent"),
        (["--controller", HERE, "--name", "a/b"], "--name"),
        (["--controller", HERE, "--window-clamp", "--no-window-clamp"], "--window-clamp excludes"),
        (["--controller", HERE, "--ap", "openwrt", "--kernel-line", "6.1"], "ap: openwrt: Linux 6.1 has no queues"),
        (["--controller", HERE, "--ap", "openwrt"], "is Linux 6.1.192, but --kernel-line is 6.12"),
        (["--controller", HERE, "--kernel-line", "6.12"], "is Linux 6.1.192, but --kernel-line is 6.12"),
    ],
)
def test_what_is_wrong_is_refused(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("airbound-ap", "airbound-phone", "airbound-link", "linux"):
        (tmp_path / name).write_text("#!/bin/sh\necho 6.1.192\n", encoding="ascii")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(live._programs, "__defaults__", (tmp_path,))
    monkeypatch.setenv(host.KERNEL_VARIABLE, str(tmp_path / "linux"))
    assert cli.main(["live", *words]) == 2
    assert says in capsys.readouterr().err


def test_check_has_the_status_of_a_cell_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = ["live", "--check", "--state", str(tmp_path)]
    assert cli.main(check) == 1
    for state, written_s, wanted in (("running", time.time(), 0), ("waiting", time.time(), 1), ("running", 0.0, 1)):
        found = statuses.document(written_s, state, 1)
        (tmp_path / statuses.FILE).write_text(json.dumps(found), encoding="utf-8")
        assert cli.main(check) == wanted
        assert capsys.readouterr().out == f"{state}\n"


def test_the_health_check_is_the_same_and_imports_little(tmp_path: Path) -> None:
    """It runs every few seconds, and to import all of the lab takes most of a second."""
    (tmp_path / statuses.FILE).write_text(json.dumps(statuses.document(time.time(), "running", 1)), encoding="utf-8")
    code = "import runpy, sys; runpy.run_module('airbound_lab.live.check', run_name='__main__')"
    done = [
        subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONPATH": str(host.REPOSITORY / "lab")},
        )
        for words in (
            ["-m", "airbound_lab.live.check", str(tmp_path)],
            ["-m", "airbound_lab.live.check", str(tmp_path / "none")],
            ["-c", f"{code}; sys.exit('pydantic' in sys.modules)", str(tmp_path)],
        )
    ]
    assert [(check.returncode, check.stdout) for check in done] == [(0, "running\n"), (1, ""), (0, "running\n")]
    assert "cannot read" in done[1].stderr


def test_a_state_directory_has_one_cell(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        fcntl.flock(first, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="runs already"):
            live._lock(second, tmp_path)


def service(directory: Path) -> Service:
    return Service(Settings(HERE, terminals=1, without_agent=0), NOWHERE, PROGRAMS, directory)


def test_devices_without_certificates_need_tokens(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no certificate of live-ap, live-phone1 yet"):
        service(tmp_path / "state").run(threading.Event(), None)


def test_tokens_that_do_not_come_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "TOKEN_WAIT_S", 0.0)
    monkeypatch.setattr(services, "STATUS_S", 0.01)
    (tmp_path / "live-ap").write_text("token\n", encoding="ascii")
    with pytest.raises(UsageError, match="has no token of live-phone1;"):
        service(tmp_path / "state").run(threading.Event(), tmp_path)


def test_a_guest_starts_when_all_tokens_are_there_and_again_when_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(services, "STATUS_S", 0.01)
    monkeypatch.setattr(services, "RESTART_S", (0.01, 0.01))
    stop, state = threading.Event(), tmp_path / "state"
    boots = []

    class Failing(Guest):
        def __init__(self, *_: object) -> None:
            boots.append([path.read_text(encoding="ascii") for path in sorted((state / "tokens").iterdir())])
            if len(boots) == 1:
                raise OSError("no space left")
            if len(boots) == 3:
                stop.set()

        def failure(self) -> str | None:
            return "the guest ended"

        def stop(self) -> bool:
            return True

        def end(self) -> None:
            pass

    monkeypatch.setattr(services, "Guest", Failing)
    late = threading.Timer(0.2, (tmp_path / "live-phone1").write_text, ("second\n",))
    (tmp_path / "live-ap").write_text("first\n", encoding="ascii")
    late.start()
    service(state).run(stop, tmp_path)
    late.join()
    assert boots == [["first\n", "second\n"]] * 3
    out = capsys.readouterr().out
    assert "waiting for tokens" in out
    assert out.count("cannot boot the guest: no space left") == 1
    assert out.count("the guest ended") == 1
    assert {path.stat().st_mode & 0o777 for path in (state / "tokens").iterdir()} == {0o600}
    assert json.loads((state / statuses.FILE).read_text(encoding="utf-8"))["state"] == "stopped"
