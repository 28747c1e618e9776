# SPDX-License-Identifier: Apache-2.0
"""Values of labels: any text a peer may send becomes one line of a bounded length that every parser reads."""

import hashlib
from collections.abc import Mapping

VALUE_MAX_CHARACTERS = 128
_HASH_CHARACTERS = 16
_ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def printable(text: str) -> str:
    """The text with whatever is not printable as Python writes it. A text that is too long ends with its hash, so that
    two of them stay two.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    if len(text) > VALUE_MAX_CHARACTERS:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARACTERS]
        text = f"{text[: VALUE_MAX_CHARACTERS - _HASH_CHARACTERS - 1]}~{digest}"
    return text


def octets_text(octets: bytes) -> str:
    r"""Octets that should be UTF-8, as a network's name; what is not shows as \xNN."""
    return printable(octets.decode("utf-8", "backslashreplace"))


def label_set(values: Mapping[str, str]) -> str:
    r"""`{name="value",...}`, escaped: backslash, line feed and quote. Values are printable."""
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPED)}"' for name, value in values.items()) + "}"
