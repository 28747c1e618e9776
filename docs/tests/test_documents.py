# SPDX-License-Identifier: Apache-2.0
import pytest
from documents import Simple, blocks, commands, options, simple_commands, without_comment

PAGE = """\
# A page

```
first --option VALUE      # a comment
second \\
    --more a,\\
b
# only a comment

third 'a # b' >file
```

1. An item:

   ```toml
   [table]
     key = 1
   ```

`inline` is none, and neither is

    this.
"""


def test_blocks_have_their_page_line_language_and_text() -> None:
    first, second = blocks("x.md", PAGE)
    assert (first.page, first.line, first.language, first.first) == (
        "x.md", 3, "", "first --option VALUE      # a comment",
    )  # fmt: skip
    assert (second.line, second.language, second.text) == (15, "toml", "[table]\n  key = 1\n")


def test_commands_are_joined_and_have_no_comments() -> None:
    found = [(command.line, command.text) for command in commands(blocks("x", PAGE)[0])]
    assert found == [
        (4, "first --option VALUE"),
        (5, "second --more a,b"),
        (10, "third 'a # b' >file"),
    ]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("a # b", "a "),
        ("# b", ""),
        ("a#b", "a#b"),
        ("a 'b # c' # d", "a 'b # c' "),
        ('a "b # c"', 'a "b # c"'),
        ("a 's/^#x = /x/'", "a 's/^#x = /x/'"),
    ],
)
def test_a_comment_begins_a_word_outside_of_quotes(line: str, wanted: str) -> None:
    assert without_comment(line) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a b >c", [Simple("a", ["b"])]),
        ("A=1 a b >>c && sudo d e &", [Simple("a", ["b"]), Simple("d", ["e"])]),
        ("a 'b c' | d", [Simple("a", ["b c"]), Simple("d", [])]),
        ("for x in 1 2; do a $x >b/$x; done", [Simple("a", ["$x"])]),
    ],
)
def test_simple_commands(text: str, wanted: list[Simple]) -> None:
    assert simple_commands(text) == wanted


def test_options_are_words_that_begin_with_a_dash() -> None:
    assert options(["-d", "--no-deps", "--scale", "a=3", "--set=x", "a-b", "-800", "--", "-"]) == [
        "-d", "--no-deps", "--scale", "--set",
    ]  # fmt: skip
