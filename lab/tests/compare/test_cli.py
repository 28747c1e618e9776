# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab import cli
from airbound_lab.compare import batch, matrix
from airbound_lab.run import host, runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from airbound_lab.compare.matrix import Task
    from airbound_lab.figures.results import Run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "nopreset"], "--preset: 'nopreset' is none of quick, grid"),
        (["--modes", "nomode"], "--modes: 'nomode': none of"),
        (["--modes", "cubic@aifsn=99"], "cubic@aifsn=99: --ap-aifsn: 99: "),
        (["--scenario", "sideways"], "'sideways' is none of"),
        (["--terminals", "0"], "--terminals: 0: "),
        (["--modes", "bdp", "--report-interval-ms", "1"], "bdp: --report-interval-ms: 1: "),
        (["--modes", "bdp", "--controller-delay-ms", "-1"], "bdp: --controller-delay-ms: -1.0: "),
        (["--modes", "bdp", "--controller-loss", "100"], "bdp: --controller-loss: 100.0: "),
        (["--subject", "bbr", "--modes", "cubic,bdp"], "--subject: 'bbr' is none of the modes that are compared"),
        (["--controller-config", "/nowhere"], "controller-config: cannot read /nowhere"),
    ],
)
def test_a_wrong_request_ends_with_status_2_and_the_reason(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--delays", "4+x"],
        ["--terminals", "a"],
        ["--rate-control", "arf"],
        ["--phones", "2012"],
        ["--loss", "x"],
        ["--jobs", "0"],
        ["--jobs", "x"],
    ],
)
def test_what_cannot_be_read_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        cli.main(["compare", *arguments])
    assert raised.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_the_help_explains_every_preset(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["compare", "--help"])
    words = capsys.readouterr().out.split()
    assert set(matrix.PRESETS) <= set(words)


@pytest.mark.parametrize(
    ("arguments", "rate_controls"),
    [
        ([], {"minstrel", "aarf"}),
        (["--phones", "2013"], {"aarf"}),
        (["--phones", "today,2013"], {"minstrel", "aarf"}),
        (["--phones", "2013", "--rate-control", "fixed"], {"fixed"}),
    ],
)
def test_phones_are_of_a_time_by_their_rate_control(
    arguments: list[str], rate_controls: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set[str]()

    def note(tasks: Iterable[Task], *_: object) -> None:
        found.update(task.condition.rate_control for task in tasks)

    monkeypatch.setattr(batch, "carry_out", note)
    assert cli.main(["compare", "--modes", "cubic", *arguments]) == 0
    assert found == rate_controls


def test_the_conditions_of_the_command_line_are_those_of_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set[tuple[bool, int, float, float, str]]()

    def note(tasks: Iterable[Task], *_: object) -> None:
        found.update(
            (
                each.gro,
                each.report_interval_ms,
                each.controller_delay_ms,
                each.controller_loss_percent,
                each.station_rates,
            )
            for each in (task.condition for task in tasks)
        )

    monkeypatch.setattr(batch, "carry_out", note)
    arguments = ["--gro", "--report-interval-ms", "2000", "--controller-delay-ms", "500", "--controller-loss", "10"]
    arguments += ["--station-rates", "none"]
    assert cli.main(["compare", "--modes", "cubic,bdp", *arguments]) == 0
    assert found == {(True, 2000, 500.0, 10.0, "none")}


@pytest.mark.parametrize(
    ("arguments", "access_point"),
    [
        (["--preset", "grid"], ("plain", "6.1")),
        (["--preset", "gate-11ac"], ("openwrt", "6.12")),
        (["--preset", "grid", "--phones", "today", "--ap", "openwrt"], ("openwrt", "6.12")),
        (["--preset", "matrix-11n", "--ap", "plain"], ("plain", "6.1")),
    ],
)
def test_the_access_point_is_the_presets_unless_it_is_named(
    arguments: list[str], access_point: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set[tuple[str, str]]()

    def note(tasks: Iterable[Task], *_: object) -> None:
        found.update((task.condition.ap, task.condition.kernel_line) for task in tasks)

    monkeypatch.setattr(batch, "carry_out", note)
    assert cli.main(["compare", *arguments]) == 0
    assert found == {access_point}


def test_several_presets_have_the_modes_and_seeds_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set[tuple[str, int]]()

    def note(tasks: Iterable[Task], *_: object) -> None:
        found.update((task.variant.name, task.seed) for task in tasks)

    monkeypatch.setattr(batch, "carry_out", note)
    each = []
    for preset in ("gate-11n", "gate-11ac"):
        assert cli.main(["compare", "--preset", preset]) == 0
        each.append(found.copy())
        found.clear()
    assert cli.main(["compare", "--preset", "gate-11n,gate-11ac"]) == 0
    assert found == each[0] | each[1]
    assert each[0] != each[1]


def test_what_the_radios_are_asked_is_of_every_run_and_in_the_conditions_name(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Task] = []
    monkeypatch.setattr(batch, "carry_out", lambda tasks, *_: found.extend(tasks))
    radios = "--phones today --phy 11ac-80 --ap openwrt --distances 5,60 --rts 1000 --orphan"
    assert cli.main(["compare", *radios.split(), "--modes", "cubic,airbound"]) == 0
    for task in found:
        parameters = task.condition.parameters(task.variant, task.seed)
        assert (parameters.distances_m, parameters.rts_bytes, parameters.orphan) == ((5.0, 60.0), 1000, True)
        assert "distances 5+60 m, RTS above 1000 bytes, drivers that orphan" in str(task)
    assert len(found) == 6


@pytest.fixture
def compare(tmp_path: Path, made: list[str]) -> Callable[..., int]:
    """Runs the command; of the kernel only the version and the hash are asked."""
    assert made == []
    kernel = tmp_path / "linux"
    kernel.write_text("#!/bin/sh\necho 6.1.192\n", encoding="utf-8")
    kernel.chmod(0o755)
    fixed = ["compare", "--kernel", str(kernel), "--directory", str(tmp_path / "out"), "--jobs", "1"]
    fixed += ["--terminals", "2,3", "--rate-control", "minstrel", "--seconds", "4", "--warmup-seconds", "2"]

    def run(*arguments: str) -> int:
        return cli.main([*fixed, *arguments])

    return run


def document(tmp_path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    return data


def test_what_is_stored_is_not_made_again_and_what_failed_is(
    compare: Callable[..., int], made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare("--modes", "cubic,bbr", "--seeds", "1", "--subject", "cubic") == 1
    assert made == [f"{mode}, seed 1: {phones} phones" for phones in (2, 3) for mode in ("cubic", "bbr")]
    shown = capsys.readouterr()
    assert "2 of 4 runs failed; the next start makes them again" in shown.err
    assert (
        "uplink, 802.11g, minstrel (today), 3 phones, 4 ms: bbr, seed 1: bbr, seed 1: the guest ended early"
        in shown.err
    )
    assert "cubic meets the criterion under 2 of 2 conditions." in shown.out
    assert [row["modes"]["bbr"]["runs"] for row in document(tmp_path)["conditions"]] == [0, 0]
    assert "ended early" in (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")

    made[:] = ["before"] * 5
    assert compare("--modes", "cubic,bbr", "--seeds", "1", "--subject", "cubic") == 0
    assert made[5:] == ["bbr, seed 1: 2 phones", "bbr, seed 1: 3 phones"]
    assert [row["modes"]["bbr"]["runs"] for row in document(tmp_path)["conditions"]] == [1, 1]
    assert "ended early" not in (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")

    # More of it: only what is new is made. A setting of the access point is another run.
    made[:] = ["before"] * 5
    assert compare("--modes", "cubic,cubic@aifsn=4", "--seeds", "1..2", "--terminals", "2") == 0
    assert made[5:] == ["cubic, seed 1: 2 phones", "cubic, seed 2: 2 phones", "cubic, seed 2: 2 phones"]


def test_a_report_on_what_is_stored_makes_no_run_and_leaves_out_what_is_not_there(
    compare: Callable[..., int], made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made += ["before"] * 5
    all_of_it = ("--modes", "cubic,bbr,airbound", "--seeds", "1..3", "--stored")
    assert compare(*all_of_it) == 2
    assert "none of the 18 runs with the present programs" in capsys.readouterr().err
    assert compare("--modes", "cubic,bbr", "--seeds", "2", "--terminals", "3", "--subject", "cubic") == 0
    before = list(made)
    capsys.readouterr()

    assert compare(*all_of_it) == 0
    assert made == before
    shown = capsys.readouterr()
    assert "2 of 18 runs are stored" in shown.err
    # airbound, whose wins are counted if it is compared, has no run.
    assert "criterion" not in shown.out
    found = document(tmp_path)
    assert (found["seeds"], found["modes"]) == ([2], ["cubic", "bbr"])
    assert [row["terminals"] for row in found["conditions"]] == [3]
    assert compare(*all_of_it, "--subject", "bbr") == 0
    assert "bbr meets the criterion under" in capsys.readouterr().out
    assert compare(*all_of_it, "--list") == 2
    assert "--stored and --list: only one of them" in capsys.readouterr().err


def test_another_program_makes_a_run_again_if_the_mode_uses_it(
    compare: Callable[..., int], made: list[str], tmp_path: Path
) -> None:
    made += ["before"] * 5
    assert compare("--modes", "cubic,bdp", "--seeds", "1", "--terminals", "2") == 0
    with (tmp_path / "build" / "airbound-phone").open("ab") as program:
        program.write(b"changed")
    del made[5:]
    assert compare("--modes", "cubic,bdp", "--seeds", "1", "--terminals", "2") == 0
    assert made[5:] == ["bdp, seed 1: 2 phones"]


def test_the_kernel_s_line_is_in_the_document_and_makes_another_run(
    compare: Callable[..., int], made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ("--modes", "cubic", "--seeds", "1", "--terminals", "2")
    assert compare(*only) == 0
    assert compare(*only, "--kernel-line", "6.12") == 2
    assert "is Linux 6.1.192, but --kernel-line is 6.12" in capsys.readouterr().err
    (tmp_path / "linux").write_text("#!/bin/sh\necho 6.12.117\n", encoding="utf-8")
    assert [row["kernel_line"] for row in document(tmp_path)["conditions"]] == ["6.1"]
    assert compare(*only, "--kernel-line", "6.12") == 0
    assert [row["kernel_line"] for row in document(tmp_path)["conditions"]] == ["6.12"]
    assert len(made) == 2


def test_a_stored_file_that_is_none_is_reported_and_made_again(
    compare: Callable[..., int], made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare("--modes", "cubic", "--seeds", "1", "--terminals", "2") == 0
    [path] = (tmp_path / "out" / "runs").iterdir()
    path.write_text("{", encoding="utf-8")
    capsys.readouterr()
    assert compare("--modes", "cubic", "--seeds", "1", "--terminals", "2") == 0
    assert f"{path}: not JSON" in capsys.readouterr().err
    assert len(made) == 2


def test_list_shows_what_is_missing_and_makes_nothing(
    compare: Callable[..., int], made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare("--modes", "cubic", "--seeds", "1", "--terminals", "2") == 0
    capsys.readouterr()
    assert compare("--modes", "cubic,vegas", "--seeds", "1", "--list") == 0
    assert [re.split("  +", line) for line in capsys.readouterr().out.splitlines()[1:3]] == [
        ["uplink, 802.11g, minstrel (today), 2 phones, 4 ms", "2", "1", "vegas"],
        ["uplink, 802.11g, minstrel (today), 3 phones, 4 ms", "2", "2", "cubic vegas"],
    ]
    assert len(made) == 1
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 1


@pytest.mark.parametrize("missing", ["airbound-traffic", "airbound-phone"])
def test_list_needs_no_build_and_counts_every_run_as_to_make(
    missing: str, compare: Callable[..., int], made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare("--modes", "cubic", "--seeds", "1", "--terminals", "2") == 0
    (tmp_path / "build" / missing).unlink()
    capsys.readouterr()
    assert compare("--modes", "cubic,bdp", "--seeds", "1", "--list") == 0
    shown = capsys.readouterr()
    assert "4 of 4 runs to make, about " in shown.out
    assert f"not built: {tmp_path / 'build' / missing}; run: make build; until then every run" in shown.err
    assert compare("--modes", "cubic,bdp", "--seeds", "1") == 2
    assert len(made) == 1


def test_list_builds_no_kernel(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "build.sh"
    script.write_text(
        '#!/bin/sh\ncase "$*" in *--print-hash) echo a1b2 ;; *) touch "$0.built"; exit 1 ;; esac\n', encoding="utf-8"
    )
    script.chmod(0o755)
    monkeypatch.delenv(host.KERNEL_VARIABLE, raising=False)
    monkeypatch.setenv("AIRBOUND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(host, "BUILD_SCRIPT", str(script))
    list_runs = ["compare", "--directory", str(tmp_path / "out"), "--terminals", "2", "--modes", "cubic", "--list"]
    assert cli.main([*list_runs, "--seeds", "1", "--phones", "2013", "--ap", "plain"]) == 0
    shown = capsys.readouterr()
    assert "1 of 1 runs to make" in shown.out
    assert "no kernel of Linux 6.1 is built" in shown.err
    kernel = tmp_path / "cache" / "uml" / "a1b2" / "linux"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("#!/bin/sh\necho 6.1.192\n", encoding="utf-8")
    kernel.chmod(0o755)
    assert cli.main([*list_runs, "--seeds", "1", "--phones", "2013", "--ap", "plain"]) == 0
    assert capsys.readouterr().err == ""
    assert not script.with_name("build.sh.built").exists()
    assert made == []


def test_an_interrupted_comparison_keeps_what_was_done(
    compare: Callable[..., int], made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runs.run_one

    def interrupted(*arguments: Any) -> Run:
        if len(made) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(runs, "run_one", interrupted)
    assert compare("--modes", "cubic,vegas", "--seeds", "1,2") == 130
    assert 1 <= len(list((tmp_path / "out" / "runs").iterdir())) <= 3
    stored = len(list((tmp_path / "out" / "runs").iterdir()))
    monkeypatch.setattr(runs, "run_one", real)
    del made[:]
    assert compare("--modes", "cubic,vegas", "--seeds", "1,2") == 0
    assert len(made) == 8 - stored
