# SPDX-License-Identifier: Apache-2.0
"""What is run or compared: a mode, if wanted with settings of the access point, phones or agents; pure.

    MODE[@SETTING]...        vegas@cake-ack-filter    cubic@fq_codel@queue=200    bdp@config=FILE

A setting is a word, or a word with a number or a file. Which there are is declared with the parameters that they set.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airbound_lab.settings import modes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound_lab.settings.option import Setting

    Settings = Mapping[str, tuple[str, Setting]]
    """By their words, each with the parameter that it sets."""

HELP_INDENT = 15
HELP_COLUMNS = 120


@dataclass(frozen=True, slots=True)
class Variant:
    """A mode with settings; `settings` are parameters by name."""

    name: str
    mode: str
    settings: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    @property
    def has_agents(self) -> bool:
        """Whether the controller and the agents run."""
        return modes.parse(self.mode).has_agents


def has_agents(name: str) -> bool:
    """Whether the controller and the agents run in the variant of a name; ValueError says what is wrong."""
    return modes.parse(name.partition("@")[0]).has_agents


def policy(name: str) -> str:
    """MODULE:NAME of the policy from outside in the variant of a name; empty if there is none."""
    return modes.parse(name.partition("@")[0]).policy


def parse(name: str, known: Settings) -> Variant:
    """Return the variant of a name; ValueError says what is wrong. Limits of numbers are the parameters', and what is
    in a file is read when the parameters of the mode are made.
    """
    mode, *words = name.split("@")
    agents = has_agents(mode)
    found: dict[str, Any] = {}
    for word in words:
        parameter, setting, value = _setting(word, known)
        if setting.lacks and not agents:
            raise ValueError(f"{word!r}: {mode} has no agents, and so no {setting.lacks}")
        if parameter in found:
            raise ValueError(f"{word!r}: {parameter} is set twice")
        found[parameter] = value
    return Variant(name, mode, tuple(found.items()))


def _setting(word: str, known: Settings) -> tuple[str, Setting, Any]:
    key, equals, number = word.partition("=")
    parameter, setting = known.get(key, ("", None))
    if setting is None or bool(equals) != bool(setting.unit):
        every = ", ".join(_written(setting) for _, setting in known.values())
        raise ValueError(f"{word!r} is none of {every}")
    if not setting.unit:
        return parameter, setting, setting.value
    if setting.read is not int:
        if not number:
            raise ValueError(f"{word!r}: a {setting.unit.lower()} follows the =")
        return parameter, setting, number
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"{word!r}: {number!r} is not a whole number")
    return parameter, setting, int(number)


def _written(setting: Setting) -> str:
    if not setting.unit:
        return setting.word
    return f"{setting.word}={'N' if setting.read is int else setting.unit}"


def read(chosen: Variant, known: Settings) -> dict[str, Any]:
    """The values of a variant's settings, with the files that are named read.

    Raises:
        UsageError: a file cannot be read.
    """
    readers = {parameter: setting.read for parameter, setting in known.values() if setting.read is not int}
    return {
        parameter: readers[parameter](value) if parameter in readers else value for parameter, value in chosen.settings
    }


def help_text(known: Settings) -> str:
    """Return the settings for a command's help."""
    by_owner: dict[str, list[str]] = {}
    for _, setting in known.values():
        by_owner.setdefault(setting.whose, []).append(f"{setting} ({setting.note})" if setting.note else str(setting))
    groups = "; ".join(f"{whose}: {', '.join(words)}" for whose, words in by_owner.items())
    lines = textwrap.wrap(
        f"with settings {groups}",
        HELP_COLUMNS,
        initial_indent=" " * HELP_INDENT,
        subsequent_indent=" " * HELP_INDENT,
        break_on_hyphens=False,
    )
    return "\n".join(["  MODE@SETTING@...", *lines])
