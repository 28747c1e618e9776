# SPDX-License-Identifier: Apache-2.0
"""Completion as a real bash does it."""

import subprocess
import sys
from pathlib import Path

import pytest

from airbound.core.policy_names import BUILT_IN
from airbound.operator import cli
from airbound.operator.completion import parsers

ASK = """
source "$1"
shift
complete -p airbound >/dev/null || exit 9
function=$(complete -p airbound | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=(airbound "$@")
COMP_CWORD=$#
COMP_LINE="airbound $*"
COMP_POINT=${#COMP_LINE}
COMPREPLY=()
"$function" airbound "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `airbound completion bash` prints."""
    command = [sys.executable, "-m", "airbound", "completion", "bash"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    path = tmp_path_factory.mktemp("completion") / "airbound.bash"
    path.write_text(printed, encoding="utf-8")
    return path


def completed(script: Path, *words: str, within: Path | None = None) -> set[str]:
    """What bash offers for the last of these words."""
    command = ["bash", "--norc", "--noprofile", "-c", ASK, "bash", str(script), *words]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=within)
    return {word.strip() for word in result.stdout.splitlines() if word.strip()}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ce"], {"cells"}),
        (["c"], {"ca", "cells", "check", "check-config", "class", "completion", "config", "controller", "counters"}),
        (["config", ""], {"show"}),
        (["controller", "--po"], {"--policy"}),
        (["controller", "--policy", ""], set(BUILT_IN)),
        (["controller", "--log", "j"], {"json"}),
        (["mode", ""], {"observe", "control", "configured"}),
        (["completion", ""], {"bash", "zsh"}),
    ],
)
def test_commands_options_and_choices(script: Path, words: list[str], offered: set[str]) -> None:
    assert completed(script, *words) == offered


def test_every_command_and_every_option_is_offered(script: Path) -> None:
    top, *below = parsers(cli.parser())
    names = {parser.prog.split()[1] for parser in below}
    assert names <= completed(script, "")
    for parser in (top, *below):
        options = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
        assert options <= completed(script, *parser.prog.split()[1:], "--")


def test_files_are_offered_where_one_is_expected(script: Path, tmp_path: Path) -> None:
    (tmp_path / "airbound.toml").touch()
    assert completed(script, "check-config", "air", within=tmp_path) == {"airbound.toml"}
    assert completed(script, "controller", "--config", "air", within=tmp_path) == {"airbound.toml"}


def test_zsh(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "zsh"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("#compdef airbound\n")
    assert "check-config" in printed


@pytest.mark.parametrize(("module", "words"), [("shtab", ["completion", "bash"]), ("textual", ["top"])])
def test_without_its_library_a_command_says_what_to_install(module: str, words: list[str]) -> None:
    code = (
        f"import sys\nfrom airbound.operator import cli\nsys.modules[{module!r}] = None\n"
        f"sys.stdin.isatty = sys.stdout.isatty = lambda: True\nsys.exit(cli.main({words!r}))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert result.returncode == 1
    assert module in result.stderr
    assert "pip install 'airbound[cli]'" in result.stderr


def test_shtab_is_loaded_by_this_command_only() -> None:
    code = (
        "import sys\nfrom airbound.operator import cli\ncli.parser()\nassert 'shtab' not in sys.modules\n"
        "cli.main(['completion', 'bash'])\nassert 'shtab' in sys.modules\nassert 'grpc' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
