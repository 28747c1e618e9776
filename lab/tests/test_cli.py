# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from airbound_lab import cli
from airbound_lab.errors import LabError
from airbound_lab.figures import results
from airbound_lab.records import trace
from airbound_lab.run import host
from airbound_lab.settings.modes import NAMED
from airbound_lab.settings.parameters import SETTINGS, Parameters
from airbound_lab.settings.qdisc import QDISCS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import EachPhone, TraceLines

    from airbound_lab.figures.results import Results, Run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--terminals", "0"], "--terminals: 0: "),
        (["--modes", "newreno"], "--modes[0]: 'newreno': "),
        (["--modes", "cubic@red"], "--modes[0]: 'cubic@red': 'red' is none of phones-fq_codel, phones-cake-diffserv4"),
        (["--modes", "cubic,cubic@aifsn=99"], "--modes: 'cubic@aifsn=99': --ap-aifsn: 99: "),
        (["--ap-cwmin", "16"], "--ap-cwmin: 16: not 2^k - 1"),
        (["--scenario", "sideways"], "'sideways'"),
        (["--scenario", "/nowhere.json"], "/nowhere.json"),
        (["--loss", "200"], "--loss: 200.0: "),
        (["--json", "/nowhere/out.json"], "/nowhere"),
        (["--controller-config", "/nowhere"], "/nowhere"),
        (["--wired-delays", "4,-1"], "--wired-delays[1]: -1.0: "),
        (["--trace"], "trace: --json FILE is needed"),
        (["--medium-trace", "2,3"], "--medium-trace: --logs DIR is needed"),
        (["--debian-programs"], "--debian-programs: --logs DIR is needed"),
        (["--medium-trace", "20,11", "--logs", "x"], "--medium-trace: it ends after the run, which has 30 s"),
        (["--medium-trace=-1,5", "--logs", "x"], "--medium-trace: from_s: -1.0: "),
        (["--medium-trace", "1,0", "--logs", "x"], "--medium-trace: length_s: 0.0: "),
        (["--medium-trace", "nan,1", "--logs", "x"], "--medium-trace: from_s: nan: "),
    ],
)
def test_a_wrong_request_ends_with_status_2_and_the_reason(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_help_of_run_explains_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    settings = capsys.readouterr().out.partition("MODE@SETTING")[2].partition("examples:")[0]
    assert {*QDISCS, *SETTINGS} <= set(re.findall(r"[\w-]+", settings))


def test_the_help_of_run_explains_every_mode(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    modes = capsys.readouterr().out.partition("modes:")[2].partition("examples:")[0]
    assert set(NAMED) <= set(modes.replace(",", " ").split())


@pytest.mark.parametrize(
    ("arguments", "rate_control"),
    [
        ([], "minstrel"),
        (["--phones", "today"], "minstrel"),
        (["--phones", "2013"], "aarf"),
        (["--phones", "2013", "--rate-control", "fixed"], "fixed"),
        (["--rate-control", "fixed", "--phones", "2013"], "fixed"),
    ],
)
def test_phones_are_of_a_time_by_their_rate_control_and_nothing_else(
    arguments: list[str], rate_control: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list[Parameters]()

    def note(parameters: Parameters, *_: object, **__: object) -> None:
        found.append(parameters)
        raise LabError("enough")

    monkeypatch.setattr(cli, "_measure", note)
    assert cli.main(["run", *arguments]) == 1
    assert found == [Parameters(rate_control=rate_control)]  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["5..1", "a..b", "1..", "x", ""])
def test_seeds_that_are_none_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        cli.main(["run", "--seeds", text])
    assert raised.value.code == 2
    assert "--seeds" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["5", "1,2,3", "a,b", ""])
def test_windows_that_are_none_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        cli.main(["run", "--medium-trace", text])
    assert raised.value.code == 2
    assert "--medium-trace" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["1", "1-2-3", "1-a", "1-2,"])
def test_pairs_that_are_none_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        cli.main(["run", "--hidden", text])
    assert raised.value.code == 2
    assert "not a list of pairs such as 1-2,1-3" in capsys.readouterr().err


def test_without_the_tools_the_error_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host.check_tools, "__defaults__", (str(tmp_path),))
    assert cli.main(["run"]) == 2
    assert "apt-get install hostapd" in capsys.readouterr().err


def test_plot_and_report_of_a_file(make_results: Callable[..., Results], tmp_path: Path) -> None:
    results.save(make_results(modes=("cubic", "bdp")), tmp_path / "out.json")
    assert cli.main(["plot", str(tmp_path / "out.json"), "--directory", str(tmp_path / "p"), "--format", "png"]) == 0
    assert {path.name for path in (tmp_path / "p").iterdir()} == {"totals.png", "phones-cubic.png", "phones-bdp.png"}
    assert cli.main(["report", str(tmp_path / "out.json"), "--out", str(tmp_path / "r.html")]) == 0
    assert "<svg" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_plot_names_a_mode_with_its_settings(make_results: Callable[..., Results], tmp_path: Path) -> None:
    results.save(make_results(modes=("cubic", "bdp+vegas@aifsn=4")), tmp_path / "out.json")
    assert cli.main(["plot", str(tmp_path / "out.json"), "--directory", str(tmp_path)]) == 0
    for name in ("totals", "phones-bdp+vegas@aifsn=4"):
        assert "bdp+vegas@aifsn=4" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")


def test_plot_draws_a_history_if_there_is_one(
    make_results: Callable[..., Results],
    trace_lines: TraceLines,
    each_phone: Callable[[Run, EachPhone], Run],
    tmp_path: Path,
) -> None:
    found = make_results(modes=("cubic", "bdp"), terminals=4)
    bounds = {"bound_min_segs": 3, "bound_max_segs": 9}
    lines = trace_lines((1, "window", {}), (2, "timeout", bounds), (3, "dup_ack", {"ssthresh_segs": 5, "times": 40}))
    history = replace(trace.parse(lines, 5_000_000, 6), lost=12)
    # The fourth phone has no connection.
    traced = each_phone(found.runs[1], lambda i, phone: replace(phone, trace=history if i < 3 else None))
    found = replace(found, runs=(found.runs[0], traced))
    results.save(found, tmp_path / "out.json")
    assert cli.main(["plot", str(tmp_path / "out.json"), "--directory", str(tmp_path)]) == 0
    drawn = (tmp_path / "trace-bdp.svg").read_text(encoding="utf-8")
    for text in (
        "bdp, seed 1",
        "phone 3, 4 ms",
        "timeout",
        "dup ack",
        ">40<",
        "bounds",
        "ssthresh",
        "(12 records lost)",
    ):
        assert text in drawn
    assert "fast retransmit" not in drawn
    assert not (tmp_path / "trace-cubic.svg").exists()


@pytest.mark.parametrize("command", ["plot", "report"])
def test_a_results_file_that_is_none_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.json").write_text("{}", encoding="utf-8")
    assert cli.main([command, str(tmp_path / "out.json")]) == 2
    assert "out.json: 'schema' is missing" in capsys.readouterr().err
