# SPDX-License-Identifier: Apache-2.0
"""What the tests of deployments share."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def compose() -> dict[str, Any]:
    """docker-compose.yml as YAML has it, variables as they are written."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="session")
def image_environment() -> dict[str, str]:
    """What the controller's image sets, by ENV of its last stage."""
    text = (ROOT / "controller" / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    lines = re.findall(r"^ENV (.*)$", re.sub(r"\\\n\s*", " ", text), re.MULTILINE)
    return dict(word.split("=", 1) for line in lines for word in line.split())
