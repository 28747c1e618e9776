# SPDX-License-Identifier: Apache-2.0
"""What the HTML pages have in common: style sheet and frame; pure."""

from __future__ import annotations

import html as markup
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

STYLE = """
:root { color-scheme: light dark;
  --ink: #1b2733; --paper: #ffffff; --soft: #f3f5f7; --faint: #8a96a3; --rule: #d5dbe1; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e8ed; --paper: #14191f; --soft: #1d242c; --faint: #7e8b98; --rule: #39434d; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .25rem; }
p, ul { margin: .5rem 0; } ul { padding-left: 1.2rem; }
.what { color: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; white-space: nowrap; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; }
thead th { font-weight: 600; background: var(--soft); }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; display: block; }
.wide { max-width: 40rem; }
.grid { display: grid; gap: .5rem 1rem; grid-template-columns: repeat(auto-fit, minmax(min(16.5rem, 100%), 1fr)); }
.grid figure { max-width: 27rem; }
details { margin: .75rem 0; } summary { cursor: pointer; color: var(--faint); }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; font-size: .85rem; white-space: pre-wrap; }
svg text { fill: var(--ink); }
"""


def document(title: str, style: str, body: Sequence[str]) -> str:
    """Write a page of its parts; the title is text, the parts are HTML."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{markup.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )
