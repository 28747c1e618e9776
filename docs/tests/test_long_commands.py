# SPDX-License-Identifier: Apache-2.0
"""What takes minutes to hours: `make test-docs-long`. `ARGS='-k containers'` chooses one of its scenes."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from machine import ROOT, Checkout
from scene import Step, play
from table import TABLE

from airbound_testing.processes import free_port

PROJECT = "airbound-documents"
PORTS = ("AIRBOUND_AGENTS_PORT", "AIRBOUND_ENROLLMENT_PORT", "AIRBOUND_OPERATORS_PORT", "GRAFANA_PORT")


@dataclass
class Engine:
    """A Docker engine, with a project of our own."""

    environment: dict[str, str]
    compose: str


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    environment = {"COMPOSE_PROJECT_NAME": PROJECT, "SCRATCH": str(tmp_path)}
    environment |= {name: str(free_port()) for name in PORTS}
    has_plugin = subprocess.run(["docker", "compose", "version"], check=False, capture_output=True).returncode == 0
    yield Engine(environment, "docker compose" if has_plugin else "docker-compose")
    label = f"label=com.docker.compose.project={PROJECT}"
    done = Checkout(ROOT, environment).run(
        f"make down; docker volume ls -q --filter {label} | grep -v _lab-cache | xargs -r docker volume rm"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.hours
@pytest.mark.parametrize("scene", TABLE["long"], ids=lambda scene: scene["about"])
def test_commands_that_take_long(tmp_path: Path, scene: dict[str, Any], request: pytest.FixtureRequest) -> None:
    steps = [Step.from_table(step) for step in scene["steps"]]
    environment = {}
    if scene.get("docker"):
        engine: Engine = request.getfixturevalue("engine")
        environment = engine.environment
        steps = [step._replace(text=step.text.replace("docker compose", engine.compose)) for step in steps]
    play(Checkout(ROOT if scene.get("where") == "checkout" else tmp_path, environment), steps)
