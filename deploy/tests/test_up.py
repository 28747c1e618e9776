# SPDX-License-Identifier: Apache-2.0
"""What `scripts/up.sh` leaves behind when Compose fails, and which Compose it takes.

Docker, Compose and Go are stand-ins; those of Docker and Compose have files as their state.
"""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DOCKER = """#!/bin/bash
set -eu
case "$1 ${2:-}" in
"info "*) ;;
"compose version") exit 1 ;;
"ps "*) cat "$STATE/container" ;;
"inspect "*) echo healthy ;;
"rm -f") sed -i "/^$3$/d" "$STATE/container" ;;
"network ls" | "volume ls")
	[[ "$*" == *label=com.docker.compose.project=here* ]] || exit 98
	case $* in
	"network ls -q"*) sed 's/^/id-/' "$STATE/network" ;;
	*"ls -q"* | *"ls --format {{.Name}}"*) cat "$STATE/$1" ;;
	*) exit 97 ;;
	esac
	;;
"network rm" | "volume rm")
	grep -qx "used-$3" "$STATE/container" && exit 1
	sed -i "/^${3#id-}$/d" "$STATE/$1"
	;;
*) exit 99 ;;
esac
"""

COMPOSE = """#!/bin/bash
set -eu
case $1 in
up)
	for made in network:edge network:cell volume:ca volume:store $MAKES; do
		file=$STATE/${made%%:*}
		grep -qx "${made#*:}" "$file" || echo "${made#*:}" >>"$file"
	done
	exit "$STATUS"
	;;
ps) echo c1 ;;
port) echo 127.0.0.1:1 ;;
*) exit 99 ;;
esac
"""

GO = """#!/bin/bash
[[ $* == "env GOVERSION" ]] && echo go1.999
"""

KINDS = ("container", "network", "volume")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder with one file for each kind, empty, of the engine that is first in PATH."""
    for name, text in (("docker", DOCKER), ("docker-compose", COMPOSE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    for kind in KINDS:
        (tmp_path / kind).touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, value in (("STATE", str(tmp_path)), ("COMPOSE_PROJECT_NAME", "here"), ("MAKES", ""), ("STATUS", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("COMPOSE", raising=False)
    return tmp_path


def up() -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts" / "up.sh"), "--no-build", "controller"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def parts(state: Path) -> dict[str, list[str]]:
    return {kind: (state / kind).read_text(encoding="utf-8").split() for kind in KINDS}


@pytest.mark.parametrize("makes", ["", "container:c1"])
def test_a_first_start_that_fails_leaves_nothing(state: Path, makes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKES", makes)
    done = up()
    assert done.returncode == 1
    assert "removed network edge, which it had made" in done.stderr
    assert "removed volume store, which it had made" in done.stderr
    assert parts(state) == {"container": [], "network": [], "volume": []}


def test_a_later_start_that_fails_leaves_what_was_there(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {"container": ["c0"], "network": ["cell"], "volume": ["ca", "redis-data"]}
    for kind, names in before.items():
        (state / kind).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    monkeypatch.setenv("MAKES", "container:c1")  # may have replaced c0
    assert up().returncode == 1
    assert parts(state) == before | {"container": ["c0", "c1"]}


def test_a_volume_in_use_stays_and_the_others_are_removed(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (state / "container").write_text("used-ca\n", encoding="utf-8")
    monkeypatch.setenv("STATUS", "18")
    assert up().returncode == 18
    assert parts(state) == {"container": ["used-ca"], "network": [], "volume": ["ca"]}


def test_a_start_that_succeeds_keeps_all(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATUS", "0")
    done = up()
    assert done.returncode == 0, done.stderr
    assert "removed" not in done.stderr
    assert parts(state) == {"container": [], "network": ["edge", "cell"], "volume": ["ca", "store"]}


@pytest.fixture
def compose_2(state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `scripts/setup.sh compose` builds Compose 2 for this checkout, not built yet: one that this machine has is
    not found.
    """
    folders = os.environ["PATH"].split(":")
    found = ":".join(folder for folder in folders if not (Path(folder) / "docker-compose-2").exists())
    monkeypatch.setenv("PATH", found)
    (state / "go").write_text(GO, encoding="utf-8")
    (state / "go").chmod(0o755)
    monkeypatch.setenv("AIRBOUND_CACHE", str(state / "cache"))
    monkeypatch.setenv("COMPOSE", "docker-compose-2")
    monkeypatch.setenv("STATUS", "0")
    module = hashlib.sha256((ROOT / "tools" / "compose" / "go.mod").read_bytes()).hexdigest()[:16]
    return state / "cache" / "compose" / f"{module}-go1.999" / "docker-compose-2"


def test_compose_2_of_the_set_up_is_found(compose_2: Path) -> None:
    compose_2.parent.mkdir(parents=True)
    compose_2.write_text(COMPOSE, encoding="utf-8")
    compose_2.chmod(0o755)
    done = up()
    assert done.returncode == 0, done.stderr
    assert "docker-compose-2 run --rm airbound cells" in done.stdout


@pytest.mark.usefixtures("compose_2")
def test_compose_2_that_was_not_built_is_said_with_its_command() -> None:
    done = up()
    assert done.returncode == 2
    assert done.stderr == "airbound: there is no docker-compose-2; scripts/setup.sh compose builds it\n"
