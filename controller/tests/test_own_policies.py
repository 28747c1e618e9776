# SPDX-License-Identifier: Apache-2.0
"""Which policies from outside are found, and what is said of one that is not."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from airbound.core.policy_names import BUILT_IN

CONTROLLER = Path(__file__).parents[1]
POLICY = '''"""A policy."""

from airbound.core.policy import PolicyInput, Range


def fixed(given: PolicyInput) -> Range:
    """Always the same"""
    return Range(4, 8)


NUMBER = 5
'''
CheckConfig = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def check_config(tmp_path: Path) -> CheckConfig:
    """`airbound check-config` in a process of its own, whose modules are in a folder that PYTHONPATH names."""
    modules = tmp_path / "modules"
    modules.mkdir()

    def run(policy: str, /, cell: str = "", **files: str) -> subprocess.CompletedProcess[str]:
        for name, text in ({"mine.py": POLICY} | files).items():
            path = modules / name.replace("__", "/").replace("_py", ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        file = tmp_path / "airbound.toml"
        file.write_text(f'policy = "{policy}"\n{cell}', encoding="utf-8")
        command = [sys.executable, "-m", "airbound", "check-config", str(file)]
        environment = {"PYTHONPATH": f"{CONTROLLER}:{modules}", "PATH": "/usr/bin:/bin"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


def test_one_is_found_by_its_module_and_name(check_config: CheckConfig) -> None:
    done = check_config("mine:fixed")
    assert (done.returncode, done.stderr) == (0, "")


def test_one_is_found_by_the_name_of_its_entry_point(check_config: CheckConfig) -> None:
    metadata = {
        "mine-1.0.dist-info__METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n",
        "mine-1.0.dist-info__entry_points.txt": "[airbound.policies]\nours = mine:fixed\n",
    }
    done = check_config("ours", **metadata)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_cell_may_have_one_of_its_own(check_config: CheckConfig) -> None:
    done = check_config("bdp", cell='[[cell]]\nssid = "Lab"\npolicy = "mine:fixed"\n')
    assert (done.returncode, done.stderr) == (0, "")
    done = check_config("bdp", cell='[[cell]]\nssid = "Lab"\npolicy = "mine:fxied"\n')
    assert done.returncode == 2
    assert "cell.0.policy = 'mine:fxied': module mine has no fxied" in done.stderr


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (
            "bpd",
            f"did you mean bdp? expected {', '.join(BUILT_IN)}, MODULE:NAME of a policy of your own, or the name of",
        ),
        ("yours:fixed", "there is no module yours where Python looks: install it, or put its folder on PYTHONPATH"),
        ("mine:other", "module mine has no other"),
        ("mine:", "MODULE:NAME is expected"),
        ("mine:NUMBER", "it is neither a function nor a subclass of airbound.core.policy.Policy"),
        ("broken:fixed", "importing broken failed: ZeroDivisionError: division by zero"),
        ("needy:fixed", "module needy needs absent_module, which is not installed"),
        ("spelled wrongly.py:fixed", "there is no module spelled wrongly where Python looks"),
        (":fixed", "MODULE:NAME is expected"),
    ],
)
def test_each_mistake_is_named_and_what_to_do(check_config: CheckConfig, policy: str, expected: str) -> None:
    done = check_config(policy, broken_py="1 / 0\n", needy_py="import absent_module\n")
    assert done.returncode == 2
    assert f"policy = '{policy}': {expected}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
