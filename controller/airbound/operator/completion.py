# SPDX-License-Identifier: Apache-2.0
"""What makes a shell complete the commands and their options, from the parser itself."""

import argparse
from collections.abc import Iterator

import shtab

FILE = "FILE"


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """A script for bash or zsh. Where FILE is expected, names of files are offered."""
    for command in parsers(parser):
        for action in command._actions:  # noqa: SLF001  # argparse has no other way to list them
            if action.metavar == FILE:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks for it
    return shtab.complete(parser, shell)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser, and those of all commands below it."""
    yield parser
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                yield from parsers(below)
