# SPDX-License-Identifier: Apache-2.0
"""Draws dashboards from a Prometheus. Usage, with times as ISO 8601 (UTC), Unix seconds, or -SECONDS before now:

airbound-dashboards --prometheus http://127.0.0.1:9090 --from -1800 --to -0 --out docs/images
airbound-dashboards --prometheus URL --from 2026-01-01T12:00:00 --to 2026-01-01T12:30:00 --board cell --set bssid=...
"""

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from airbound_dashboards.api import Prometheus, QueryError
from airbound_dashboards.chosen import Span
from airbound_dashboards.generate import BOARDS, texts
from airbound_dashboards.picture.content import content
from airbound_dashboards.picture.page import draw

STEPS = 240  # about as many as a panel has pixels for in Grafana, a third


def moment(text: str) -> float:
    """Unix time of what stands on the command line.

    Raises:
        ValueError: it is no time.
    """
    if text.startswith("-"):
        return time.time() - float(text[1:])
    try:
        return float(text)
    except ValueError:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def setting(text: str) -> tuple[str, str]:
    """NAME=VALUE.

    Raises:
        ValueError: it is something else.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text}: expected NAME=VALUE")
    return name, value


def draw_all(  # noqa: PLR0917  # as the command line has them
    prometheus: Prometheus, span: Span, directory: Path, boards: list[str], wanted: dict[str, str], note: str = ""
) -> list[Path]:
    """Draw dashboards; the files that were written.

    Raises:
        QueryError: Prometheus does not answer.
        LookupError: a variable has no choice, or not the wanted one.
    """
    written, made = [], texts()
    for name in boards:
        board = json.loads(made[name])
        known = {variable["name"] for variable in board["templating"]["list"]}
        of_board = {key: value for key, value in wanted.items() if key in known}
        written.append(directory / f"dashboard-{name}.png")
        draw(content(board, prometheus, span, of_board), span, written[-1], note)
    return written


def main(words: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", required=True, metavar="URL")
    parser.add_argument("--from", dest="from_s", type=moment, required=True, metavar="TIME")
    parser.add_argument("--to", dest="to_s", type=moment, required=True, metavar="TIME")
    parser.add_argument("--step", type=float, metavar="SECONDS", help=f"default: a {STEPS}th of the range")
    parser.add_argument(
        "--scrape", type=float, default=15.0, metavar="SECONDS", help="scrape interval; default %(default)g"
    )
    parser.add_argument("--board", action="append", choices=BOARDS, help="default: all")
    parser.add_argument("--set", action="append", type=setting, default=[], metavar="NAME=VALUE", help="of a variable")
    parser.add_argument("--note", default="", help="stands beside the times")
    parser.add_argument(
        "--out", type=Path, default=Path("out/dashboards"), metavar="DIRECTORY", help="default %(default)s"
    )
    arguments = parser.parse_args(words)
    if arguments.to_s <= arguments.from_s:
        parser.error("--to is not after --from")
    step_s = arguments.step or max(1.0, round((arguments.to_s - arguments.from_s) / STEPS))
    span = Span(arguments.from_s, arguments.to_s, step_s, arguments.scrape)
    boards = arguments.board or list(BOARDS)
    try:
        for file in draw_all(
            Prometheus(arguments.prometheus), span, arguments.out, boards, dict(arguments.set), arguments.note
        ):
            print(file)
    except (QueryError, LookupError, ValueError) as error:
        print(f"airbound-dashboards: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
