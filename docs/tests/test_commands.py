# SPDX-License-Identifier: Apache-2.0
"""Every command of the documents is tried, in the way that commands.toml says."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from checks import check
from documents import Block, Command, blocks, commands
from machine import ROOT, Machine
from scene import Step, play
from table import TABLE

from airbound.configuration.layers import load
from airbound_lab.settings import scenario

PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "[!.]*/README.md", "phone-agent/*/README.md")
BLOCKS: list[Block] = [
    block
    for pattern in PAGES
    for path in sorted(ROOT.glob(pattern))
    for block in blocks(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
]
COMMANDS: list[Command] = [
    command
    for block in BLOCKS
    if not block.language and block.first not in TABLE["shown"]
    for command in commands(block)
]
LEFT_OUT_MAX = 5


def steps(kind: str) -> list[Step]:
    return [Step.from_table(step) for scene in TABLE[kind] for step in scene["steps"]]


EXECUTED = {kind: {step.text for step in steps(kind) if step.is_command} for kind in ("run", "long")}
CHECKED = {text for group in TABLE["checked"] for text in group["commands"]}
LEFT_OUT = {entry["command"] for entry in TABLE["left_out"]}


def test_every_command_has_one_entry_and_every_entry_a_command() -> None:
    ways = (EXECUTED["run"], EXECUTED["long"], CHECKED, LEFT_OUT)
    tried = set().union(*ways)
    assert [str(command) for command in COMMANDS if command.text not in tried] == []
    assert tried - {command.text for command in COMMANDS} == set()
    assert len(tried) == sum(len(way) for way in ways), "a command is tried in two ways"
    assert set(TABLE["shown"]) - {block.first for block in BLOCKS} == set()
    assert len(LEFT_OUT) <= LEFT_OUT_MAX
    assert all(entry["why"] for entry in TABLE["left_out"])


@pytest.mark.parametrize("text", sorted(CHECKED | EXECUTED["long"]))
def test_programs_take_the_options_and_names_are_those_that_there_are(text: str) -> None:
    check(text)


@pytest.mark.parametrize("scene", TABLE["run"], ids=lambda scene: scene["about"])
def test_commands_do_what_they_are_to(tmp_path: Path, scene: dict[str, Any]) -> None:
    with Machine(tmp_path) as machine:
        play(machine, [Step.from_table(step) for step in scene["steps"]])


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.language], ids=lambda block: f"{block.page}:{block.line}"
)
def test_configuration_that_is_shown_can_be_read(tmp_path: Path, block: Block) -> None:
    match block.language:
        case "toml":
            (tmp_path / "airbound.toml").write_text(block.text, encoding="utf-8")
            load(tmp_path / "airbound.toml", {})
        case "json":
            found = json.loads(block.text)
            found = found if "actions" in found else {"name": "shown", "actions": [found]}
            (tmp_path / "shown.json").write_text(json.dumps(found), encoding="utf-8")
            scenario.load(str(tmp_path / "shown.json"))
        case "python":
            compile(block.text, block.page, "exec")
        case "yaml":
            assert isinstance(yaml.safe_load(block.text), dict)
        case language:
            assert language in {"haproxy", "nft", "promql"}, "controller/tests reads these"
