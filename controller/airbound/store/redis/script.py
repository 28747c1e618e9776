# SPDX-License-Identifier: Apache-2.0
"""Scripts and commands, and where they belong.

A server runs a script by its SHA-1, and replies NOSCRIPT if it does not have the text: after a restart, a promotion or
SCRIPT FLUSH. So a command keeps its script at hand.
"""

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

Part = bytes | str | int


@dataclass(frozen=True, slots=True)
class Script:
    """A script in Lua."""

    text: str
    sha1: str


def script(*parts: str) -> Script:
    """A script of one or several parts."""
    text = "\n".join(parts)
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


class Command(NamedTuple):
    """A command; the tag says to which hash slot all its keys belong."""

    tag: bytes
    parts: tuple[Part, ...]
    script: Script | None = None

    def with_text(self) -> "Command":
        """The same with the script's text, which the server keeps."""
        if self.script is None:
            return self
        return self._replace(parts=("EVAL", self.script.text, *self.parts[2:]))


def run(tag: bytes, script: Script, keys: tuple[Part, ...], *arguments: Part) -> Command:
    """The command that runs a script."""
    return Command(tag, ("EVALSHA", script.sha1, len(keys), *keys, *arguments), script)
