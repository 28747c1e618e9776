# SPDX-License-Identifier: Apache-2.0
"""The template of translations: every sentence of the pages and of the menu, with the places that it is in.

Usage: python -m luci_pages.translations, which writes po/templates/airbound.pot.
"""

import json
import re
from collections.abc import Iterator

from luci_pages.site import APPLICATION

TEMPLATE = APPLICATION / "po/templates/airbound.pot"
HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8"\n'

_STRING = r"'(?:[^'\\]|\\.)*'"
_CALL = re.compile(rf"(?<![\w.])_\(\s*({_STRING}(?:\s*\+\s*{_STRING})*)\s*\)")
_ANY_CALL = re.compile(r"(?<![\w.])_\(")


class NotASentenceError(ValueError):
    """A call of _() with something else than strings: no translation could be found for it."""


def of_javascript(source: str) -> Iterator[tuple[int, str]]:
    """The line and the sentence of each call of _().

    Raises:
        NotASentenceError: a call has something else than strings.
    """
    calls = list(_CALL.finditer(source))
    if len(calls) != len(_ANY_CALL.findall(source)):
        raise NotASentenceError("_() of something else than strings")
    for call in calls:
        parts = re.findall(_STRING, call[1])
        sentence = "".join(part[1:-1].replace("\\'", "'") for part in parts)
        yield source.count("\n", 0, call.start()) + 1, sentence


def sentences() -> dict[str, list[str]]:
    """The places of each sentence, in the order of the files."""
    found: dict[str, list[str]] = {}
    for file in sorted((APPLICATION / "htdocs").rglob("*.js")):
        for line, sentence in of_javascript(file.read_text(encoding="utf-8")):
            found.setdefault(sentence, []).append(f"{file.relative_to(APPLICATION)}:{line}")
    for folder in ("luci/menu.d", "rpcd/acl.d"):
        for file in sorted((APPLICATION / "root/usr/share" / folder).glob("*.json")):
            for entry in json.loads(file.read_text(encoding="utf-8")).values():
                sentence = entry.get("title") or entry["description"]
                found.setdefault(sentence, []).append(str(file.relative_to(APPLICATION)))
    return found


def template() -> str:
    """The template's text."""
    entries = [HEADER]
    for sentence, places in sorted(sentences().items()):
        lines = "".join(f"#: {place}\n" for place in dict.fromkeys(places))
        quoted = sentence.replace("\\", "\\\\").replace('"', '\\"')
        entries.append(f'{lines}msgid "{quoted}"\nmsgstr ""\n')
    return "\n".join(entries)


if __name__ == "__main__":
    TEMPLATE.write_text(template(), encoding="utf-8")
