# SPDX-License-Identifier: Apache-2.0
"""Wherever programs are on the host, the guest's plan is the same, and finds them."""

from __future__ import annotations

import compileall
import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from airbound_lab.plan import guest_paths, guest_plan
from airbound_lab.plan.guest_paths import Programs
from airbound_lab.settings.parameters import Parameters


def programs_at(place: str) -> Programs:
    """All programs below a directory."""
    return Programs(
        traffic=f"{place}/build/airbound-traffic",
        python=f"{place}/python/bin/python3.11",
        controller_source=f"{place}/controller",
        access_point_agent=f"{place}/build/airbound-ap",
        phone_agent=f"{place}/build/airbound-phone",
        operator_commands=f"{place}/lab/operator_commands.py",
        senders_watch=f"{place}/lab/senders_watch.py",
        applications_watch=f"{place}/lab/applications_watch.py",
        http_transactions=f"{place}/lab/http_transactions.py",
        quic=f"{place}/build/airbound-quic",
        videos=f"{place}/cache/videos/0123",
        packages=(f"{place}/.venv/site-packages", f"{place}/dist-packages"),
        compiled=f"{place}/cache/python/0123",
        marks=f"{place}/build/libairbound-mark.so",
        policy=f"{place}/cache/policies/0123",
    )


@pytest.mark.parametrize(
    "more", [{"tls": True}, {"watch_senders_ms": 100}, {"check_minutes": 5, "seconds": 320}], ids=str
)
def test_a_plan_is_the_same_wherever_the_programs_are(more: dict[str, Any]) -> None:
    parameters = Parameters(modes=("airbound",), **more)
    plans = []
    for place in ("/here", "/a/place/with/a/longer/path"):
        programs, directories = guest_paths.in_guest(programs_at(place))
        plan = guest_plan.plan(parameters, "airbound", 1, programs, host_directories=directories, trace=True)
        plans.append(json.dumps(plan))
        assert place not in plans[-1]
    assert plans[0] == plans[1]


def test_each_program_is_what_it_was(tmp_path: Path) -> None:
    programs = programs_at(str(tmp_path / "some" / "where"))
    moved, directories = guest_paths.in_guest(programs)
    for field in fields(Programs):
        paths, were = getattr(moved, field.name), getattr(programs, field.name)
        for path, was in zip(
            *((several,) if isinstance(several, str) else several for several in (paths, were)), strict=True
        ):
            name, _, rest = path.removeprefix(f"{guest_paths.GUEST_DIRECTORY}/").partition("/")
            assert os.path.normpath(f"{directories[name]}/{rest}") == was, field.name


def test_what_is_not_given_is_nowhere() -> None:
    moved, _ = guest_paths.in_guest(Programs("/b/traffic", "/usr/bin/python3", "/b/controller", "", "", "", ""))
    assert (moved.access_point_agent, moved.senders_watch, moved.packages) == ("", "", ())


def test_links_are_there_while_a_guest_runs(tmp_path: Path) -> None:
    run, real = tmp_path / "run", tmp_path / "real"
    for directory in (run, real):
        directory.mkdir()
    (tmp_path / "link").symlink_to(real)

    def fails() -> None:
        assert (run / "host" / "build").readlink() == real
        raise LookupError

    # The guest's kernel follows one link only, so each is to be to a directory.
    with pytest.raises(LookupError), guest_paths.linked(run, {"build": str(tmp_path / "link")}):
        fails()
    assert list(run.iterdir()) == []
    assert real.is_dir()


def test_python_reads_the_same_names_whatever_has_been_compiled(tmp_path: Path) -> None:
    programs = programs_at(str(tmp_path))
    modules = (Path(programs.controller_source) / "airbound", Path(programs.packages[0]) / "grpc" / "aio")
    for directory in modules:
        directory.mkdir(parents=True)
        (directory / "__init__.py").touch()
        (directory / "data").mkdir()
    (modules[0] / "compiled").mkdir()
    (modules[0] / "compiled" / "__init__.py").touch()
    assert compileall.compile_dir(modules[0] / "compiled", quiet=1)
    run = tmp_path / "run"
    run.mkdir()
    _, directories = guest_paths.in_guest(programs)
    with guest_paths.linked(run, directories):
        pass
    compiled = modules[0] / "compiled"
    assert names_in(modules[0]) == ["__init__.py", "__pycache__", "compiled", "data"]
    assert names_in(modules[1]) == ["__init__.py", "__pycache__", "data"]
    assert names_in(compiled) == ["__init__.py", "__pycache__"]
    assert names_in(modules[1] / "data") == [], "no module is in it"
    assert names_in(modules[1].parent) == ["aio"], "no module is in it"
    assert len(names_in(compiled / "__pycache__")) == 1, "not in a directory of compiled ones"


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())
