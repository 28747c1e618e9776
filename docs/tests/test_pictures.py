# SPDX-License-Identifier: Apache-2.0
"""The words under README's pictures of ten phones have the figures that the pictures show."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d+(?:\.\d+)?")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = {path: words for words, path in re.findall(r"!\[(Ten phones[^\]]*)\]\(([^)]*\.svg)\)", README)}
"""The words of each picture, by its path."""


def shown_in(picture: str) -> list[float]:
    """The labels of the picture that are numbers, of bars and of axes."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", (ROOT / picture).read_text(encoding="utf-8"))
    return [float(text) for text in texts if NUMBER.fullmatch(text)]


def test_there_are_such_pictures() -> None:
    assert len(PICTURES) == 4


@pytest.mark.parametrize("picture", PICTURES)
def test_each_figure_is_in_the_picture(picture: str) -> None:
    figures = NUMBER.findall(PICTURES[picture].partition("total throughput")[2].replace("TXOP 0", "TXOP"))
    assert len(figures) > 3
    labels = shown_in(picture)
    for figure in figures:
        # Half of the figure's last decimal, and half a tenth: the labels of bars are rounded as well.
        rounding = 0.5 * 10 ** -len(figure.partition(".")[2]) + 0.05
        assert [label for label in labels if abs(label - float(figure)) <= rounding], f"{figure} is not in {picture}"
