# SPDX-License-Identifier: Apache-2.0
"""What the JSON of the dashboards has, without a server."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from airbound.metrics.reference import table
from airbound_dashboards import generate

DASHBOARDS = Path(__file__).parents[1]
FILES = sorted((DASHBOARDS / "generated").glob("*.json"))
BOARDS = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in FILES}
OWN = {"__interval", "__rate_interval", "__range"}
OF_PROMETHEUS = re.compile(r"\b(?:up|ALERTS|scrape_\w+|process_\w+)\b")


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    made = []
    for board in BOARDS.values():
        made += [target["expr"] for panel in panels(board) for target in panel["targets"]]
        made += [annotation["expr"] for annotation in board.get("annotations", {}).get("list", ())]
        made += [variable["query"]["query"] for variable in board["templating"]["list"] if variable["type"] == "query"]
    return made


def test_the_files_are_those_of_now() -> None:
    assert {file.stem: file.read_text(encoding="utf-8") for file in FILES} == generate.texts(), "run make generate"


def test_files_of_dashboards_that_there_are_no_more_are_removed(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}", encoding="utf-8")
    generate.write(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [file.name for file in FILES]


@pytest.mark.parametrize("name", BOARDS)
def test_the_schema_of_the_sdk_reads_a_file_and_writes_the_same(name: str) -> None:
    model = Dashboard.from_json(BOARDS[name])
    assert json.loads(json.dumps(model, cls=JSONEncoder)) == BOARDS[name]


def test_dashboards_are_told_apart_and_linked() -> None:
    uids = [board["uid"] for board in BOARDS.values()]
    assert len(set(uids)) == len(uids) == 4
    text = json.dumps(BOARDS)
    assert set(re.findall(r"/d/([\w-]+)", text)) <= set(uids)
    for board in BOARDS.values():
        (link,) = board["links"]
        assert set(link["tags"]) <= set(board["tags"])
        assert link["keepTime"]


@pytest.mark.parametrize("name", BOARDS)
def test_every_panel_says_what_it_shows_in_which_unit_from_which_source(name: str) -> None:
    shown = panels(BOARDS[name])
    assert len({panel["id"] for panel in shown}) == len(shown)
    assert len(shown) > 10
    for panel in shown:
        title = panel["title"]
        assert len(panel["description"]) > 10, title
        assert panel["description"].endswith("."), title
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, title
        defaults = panel["fieldConfig"]["defaults"]
        if panel["type"] in {"timeseries", "stat"}:
            assert defaults.get("unit"), title
        steps = [step["value"] for step in defaults.get("thresholds", {}).get("steps", ())]
        assert steps[1:] == sorted(steps[1:]), title
        assert not steps or steps[0] is None, title
        references = [target["refId"] for target in panel["targets"]]
        assert references == [chr(ord("A") + number) for number in range(len(references))], title


@pytest.mark.parametrize("name", BOARDS)
def test_panels_fill_their_rows_and_do_not_overlap(name: str) -> None:
    placed = [(panel["title"], panel["gridPos"]) for panel in BOARDS[name]["panels"]]
    for (one, a), (other, b) in combinations(placed, 2):
        apart = (
            a["x"] + a["w"] <= b["x"]
            or b["x"] + b["w"] <= a["x"]
            or a["y"] + a["h"] <= b["y"]
            or b["y"] + b["h"] <= a["y"]
        )
        assert apart, f"{one}, {other}"
    assert all(at["x"] + at["w"] <= 24 for _, at in placed)


@pytest.mark.parametrize("name", BOARDS)
def test_every_variable_that_is_used_is_there(name: str) -> None:
    board = BOARDS[name]
    known = {variable["name"] for variable in board["templating"]["list"]} | OWN
    assert "datasource" in known
    used = set(re.findall(r"\$\{?([A-Za-z_]\w*)", json.dumps([panel.get("targets", []) for panel in board["panels"]])))
    used |= set(re.findall(r"\$\{?([A-Za-z_]\w*)", json.dumps(board.get("annotations", {}))))
    used |= set(
        re.findall(
            r"\$\{?([A-Za-z_]\w*)", json.dumps([variable.get("query") for variable in board["templating"]["list"]])
        )
    )
    assert used <= known


def test_every_metric_that_is_asked_for_is_there() -> None:
    metrics = set(re.findall(r"`(airbound_\w+)`", table()))
    rules = (DASHBOARDS / "rules" / "recording.yml").read_text(encoding="utf-8")
    recorded = set(re.findall(r"record: (\S+)", rules))
    for expr in expressions():
        records = set(re.findall(r"[a-z_]*\w+:\w+:\w+", expr))
        assert records <= recorded, expr
        plain = re.sub(r"[a-z_]*\w+:\w+:\w+", "", expr)
        names = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"\bairbound_\w+", plain)}
        assert names <= metrics, expr
        assert names or records or OF_PROMETHEUS.search(expr), expr


def test_nothing_is_shown_for_each_cell_on_the_dashboard_of_all() -> None:
    for panel in panels(BOARDS["fleet"]):
        for target in panel["targets"]:
            if "{{bssid}}" in target.get("legendFormat", "") or panel["title"].startswith("Worst"):
                assert re.search(r"(top|bottom)k\(\$top", target["expr"]), panel["title"]
