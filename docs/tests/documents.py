# SPDX-License-Identifier: Apache-2.0
"""Fenced blocks of Markdown, and the shell commands in them. Pure: text in, values out."""

import itertools
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[a-z]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_CONTINUED = re.compile(r"\\\n\s*")
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


class Block(NamedTuple):
    """A fenced block. `language` is what follows the fence, empty for commands, output and formulas."""

    page: str
    line: int
    language: str
    text: str

    @property
    def first(self) -> str:
        """The first line that says something."""
        return self.text.strip().partition("\n")[0].strip()


class Command(NamedTuple):
    """A command line: without its comment, continued lines joined, one blank between words."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def blocks(page: str, markdown: str) -> list[Block]:
    """The fenced blocks of a page, without their indentation."""
    return [
        Block(
            page,
            markdown.count("\n", 0, found.start()) + 1,
            found["language"],
            re.sub(f"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
        )
        for found in _FENCE.finditer(markdown)
    ]


def commands(block: Block) -> Iterator[Command]:
    """The command lines of a block of commands."""
    line = block.line + 1
    # A continued line keeps its number: the joined text is shorter than what stands in the page.
    for written in re.findall(r"(?:[^\n]*\\\n)*[^\n]*\n", block.text):
        text = " ".join(without_comment(joined(written)).split())
        if text:
            yield Command(block.page, line, text)
        line += written.count("\n")


def joined(written: str) -> str:
    """Continued lines as one. A list of values that goes on without a blank is one word."""
    return _CONTINUED.sub(lambda found: "" if written[found.start() - 1] == "," else " ", written).strip()


def without_comment(line: str) -> str:
    """The line up to a `#` that begins a word outside of quotes."""
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and line[place - 1 : place] in {"", " ", "\t"}:
            return line[:place]
    return line


class Simple(NamedTuple):
    """A simple command of a command line: `A=1 sudo program words... >file` is program, words."""

    program: str
    words: list[str]


_SEPARATORS = {"&&", "||", ";", "|", "&", "do"}
_BEFORE = re.compile(r"sudo|done|for|[A-Za-z_]\w*=.*")


def simple_commands(text: str) -> list[Simple]:
    """What a command line runs, without variables before it, sudo, and where its output goes."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    redirected = False
    for word in lexer:
        if word in _SEPARATORS:
            found.append([])
        elif word.startswith((">", "<")):
            redirected = True
        elif redirected:
            redirected = False
        else:
            found[-1].append(word)
    simple = []
    for words in found:
        if words[:1] == ["for"]:
            continue
        rest = list(itertools.dropwhile(_BEFORE.fullmatch, words))
        if rest:
            simple.append(Simple(rest[0], rest[1:]))
    return simple


def options(words: list[str]) -> list[str]:
    """The options among words, without their values."""
    return [found[0] for word in words if (found := _OPTION.match(word))]
