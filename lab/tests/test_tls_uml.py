# SPDX-License-Identifier: Apache-2.0
"""A cell with mutual TLS: agents enrol, bounds are in force, certificates are renewed in running streams, a revoked
phone is free when its lease ends, and a controller that is started again releases nobody.
"""

from __future__ import annotations

import compileall
import datetime as dt
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.run import boot, host
from airbound_lab.settings.scenario import Action, Scenario, built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.figures.results import PhoneResult

pytestmark = pytest.mark.uml

LEASE_S = 6.0
"""The controller's default."""
LIFE_DAYS = 30
"""Of an agent's certificate, the controller's default."""
SAMPLE_MS = 20
"""How often each phone's rules are read from its kernel."""

PHONES = 5
REVOKED = 1
OTHERS = range(2, PHONES + 1)
IN_FORCE_BY_S = 5.0
REVOKED_S = 8.0
KILLED_S = 18.0
STARTED_S = 18.2
SECONDS = 30
FULL_CELL_S = 1.0
"""Longer than a round trip between a phone and the controller in a cell with one unbounded sender."""


@pytest.fixture(scope="module")
def cell(boot_cell: Callable[..., Cell]) -> Cell:
    """Five phones send; phone 1 is revoked; then the controller is killed and started again."""
    actions = (
        *(Action(0, "start-traffic", phone=i) for i in range(1, PHONES + 1)),
        Action(REVOKED_S, "revoke", component=f"phone{REVOKED}"),
        Action(KILLED_S, "kill", component="controller"),
        Action(STARTED_S, "start", component="controller"),
    )
    return boot_cell(
        "paper-jb",
        scenario=Scenario("revoked and restarted", actions),
        terminals=PHONES,
        wired_delays_ms=(256.0,),
        seconds=SECONDS,
        bounds_interval_ms=SAMPLE_MS,
        tls=True,
    )


def log_of(cell: Cell, component: str) -> str:
    """What a component logged in the whole run."""
    return (cell.logs / "log" / f"{component}.log").read_text(encoding="utf-8")


def seconds_of_agents(cell: Cell, component: str, message: str) -> list[float]:
    """When an agent logged a message, on the time line of the run."""
    stamps = re.findall(rf'^time=(\S+) level=\S+ msg="?{re.escape(message)}"? ', log_of(cell, component), re.MULTILINE)
    return [cell.seconds_of(stamp) for stamp in stamps]


def rules_between(phone: PhoneResult, from_s: float, to_s: float) -> list[tuple[str, ...]]:
    """The rules in a phone's kernel at the first moment, and each set of rules up to the second."""
    before = [change.rules for change in phone.rules if change.t_s <= from_s]
    return [before[-1], *(change.rules for change in phone.rules if from_s < change.t_s <= to_s)]


def test_every_agent_enrols_once_and_before_the_traffic(cell: Cell) -> None:
    names = {"access-point/ap", *(f"terminal/phone{i}" for i in range(1, PHONES + 1))}
    log = log_of(cell, "controller")
    assert sorted(re.findall(r"^\S+ info token (\S+): made for 1 use", log, re.MULTILINE)) == sorted(names)
    assert sorted(re.findall(r"^\S+ info enrolled (\S+): ", log, re.MULTILINE)) == sorted(names)
    for name in names:
        component = name.partition("/")[2]
        [enrolled_s] = seconds_of_agents(cell, component, "enrolled")
        assert enrolled_s < 0
        assert f"id=spiffe://airbound.internal/{name} " in log_of(cell, component)


def test_nothing_is_in_plain_text(cell: Cell) -> None:
    log = log_of(cell, "controller")
    assert "plain-text" not in log
    # In plain text the name of a terminal is its address.
    assert set(re.findall(r"^\S+ info connected (\S+)$", log, re.MULTILINE)) == {
        f"phone{i}" for i in range(1, PHONES + 1)
    }


def test_certificates_have_the_guests_dates(cell: Cell) -> None:
    booted = dt.datetime.fromtimestamp(boot.START_NS_SINCE_1970 / 1e9, dt.UTC)
    for component in ("ap", "phone1"):
        [end] = re.findall(r"msg=enrolled .* until=(\S+)$", log_of(cell, component), re.MULTILINE)
        since_boot = dt.datetime.fromisoformat(end) - dt.timedelta(days=LIFE_DAYS) - booted
        assert dt.timedelta(0) <= since_boot < dt.timedelta(minutes=1)


def test_bounds_are_in_force_in_every_kernel(cell: Cell) -> None:
    for phone in cell.run.phones:
        assert all(rules_between(phone, IN_FORCE_BY_S, REVOKED_S))


def test_a_revoked_phones_stream_ends_at_once_and_its_bounds_end_with_the_lease(cell: Cell) -> None:
    log = log_of(cell, "controller")
    [revoked] = re.findall(r"^(\S+) warning revoked terminal/phone1: .*; 1 streams ended", log, re.MULTILINE)
    [ended] = re.findall(r"^(\S+) info disconnected phone1$", log, re.MULTILINE)
    assert cell.seconds_of(ended) == pytest.approx(REVOKED_S, abs=0.1)
    assert cell.seconds_of(revoked) == pytest.approx(REVOKED_S, abs=0.1)
    agent_noticed_s = seconds_of_agents(cell, "phone1", "no stream to the controller")[0]
    assert REVOKED_S <= agent_noticed_s <= REVOKED_S + FULL_CELL_S
    assert re.search(r'msg="no stream to the controller" .*PermissionDenied.* is revoked"', log_of(cell, "phone1"))
    phone = cell.run.phones[REVOKED - 1]
    freed_s = next(change.t_s for change in phone.rules if change.t_s > REVOKED_S and not change.rules)
    # The last renewal was before the revocation; a sampling interval more.
    assert REVOKED_S < freed_s <= REVOKED_S + LEASE_S + 0.2
    assert rules_between(phone, freed_s, SECONDS) == [()]


def test_a_revoked_phone_stays_refused_after_a_restart_of_the_controller(cell: Cell) -> None:
    log = log_of(cell, "controller")
    refused = re.findall(r"^(\S+) warning refused terminal at .*10\.0\.0\.11\S* .* is revoked$", log, re.MULTILINE)
    times_s = [cell.seconds_of(stamp) for stamp in refused]
    assert any(REVOKED_S < at_s < KILLED_S for at_s in times_s)
    assert any(at_s > STARTED_S for at_s in times_s)


def test_no_other_phone_is_released_by_the_revocation_or_by_the_restart(cell: Cell) -> None:
    for i in OTHERS:
        assert all(rules_between(cell.run.phones[i - 1], IN_FORCE_BY_S, SECONDS)), f"phone {i}"
        # What the old process had set has ended by now; the new one renewed it, for the certificate that was there.
        assert rules_between(cell.run.phones[i - 1], STARTED_S + LEASE_S, SECONDS)[0]
        # The first second, in which all fill their queues, may cost an agent an answer and its stream.
        connected_s = seconds_of_agents(cell, f"phone{i}", "connected to the controller")
        [again_s] = [at_s for at_s in connected_s if at_s > IN_FORCE_BY_S]
        assert again_s > STARTED_S


@pytest.fixture(scope="module")
def renewed(boot_cell: Callable[..., Cell]) -> Cell:
    """The shortest life that a controller gives; two phones send while all renewals are due.

    The certificates are of 300 s before they were signed (BACKDATED) and end 864 s after that; a renewal is due between
    half and two thirds of these 1164 s, so 282 to 476 s after the enrolment, which is a few seconds before time zero.
    """
    starts = (Action(260 + i, "start-traffic", phone=i) for i in (1, 2))
    return boot_cell(
        "bdp",
        scenario=Scenario("renewals", tuple(starts)),
        terminals=2,
        distances_m=(100.0,),
        seconds=485,
        bounds_interval_ms=SAMPLE_MS,
        controller_config="[tls]\nagent_days = 0.01\n",
        tls=True,
    )


def test_certificates_are_renewed_in_running_streams_without_a_gap(renewed: Cell) -> None:
    under_load_s = 266.0
    for component in ("ap", "phone1", "phone2"):
        [renewed_s] = seconds_of_agents(renewed, component, "renewed the certificate")
        assert under_load_s < renewed_s < 480
        first_s, second_s = seconds_of_agents(renewed, component, "connected to the controller")
        assert first_s < 0
        assert renewed_s <= second_s < renewed_s + 1, "the stream moves to the new certificate"
        assert not seconds_of_agents(renewed, component, "no stream to the controller")
    for phone in renewed.run.phones:
        assert all(rules_between(phone, under_load_s, 485)), phone.rules
        assert min(phone.series.goodput_mbps[int(under_load_s) :]) > 0
    for component in ("phone1", "phone2"):
        assert "the lease ended" not in log_of(renewed, component)


ELSEWHERE = {
    "seed": 2, "terminals": 5, "wired_delays_ms": (4.0, 64.0, 256.0), "seconds": 8, "warmup_seconds": 2, "tls": True,
}  # fmt: skip


def everything(cell: Cell) -> dict[str, Any]:
    """What must not differ: what each component logged, with its certificates, and all figures."""
    components = ("operator", "controller", "ap", *(f"phone{i}" for i in range(1, 6)))
    return {name: log_of(cell, name) for name in components} | {"figures": cell.run.comparable()}


@pytest.mark.parametrize("place", ["elsewhere", "a-path-of-quite-another-length/" * 5])
def test_same_result_with_programs_at_another_path(
    place: str, boot_cell: Callable[..., Cell], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Where objects lie in the memory of the controller and of the operator's commands depends on the length of paths,
    # and on whether modules are compiled already, or have a directory for that (plan/guest_paths.py). The names of the
    # scenarios differ as well.
    here = everything(boot_cell("airbound", **ELSEWHERE))
    moved_to = tmp_path / place
    moved_to.mkdir(parents=True)
    (moved_to / "venv").symlink_to(sys.prefix)
    monkeypatch.setenv("AIRBOUND_LAB_PYTHON", str(moved_to / "venv" / "bin" / "python3"))
    found = host.programs(("airbound",))
    of_controller = moved_to / "controller"
    shutil.copytree(Path(found.controller_source) / "airbound", of_controller / "airbound")
    if place == "elsewhere":
        assert compileall.compile_dir(of_controller, quiet=1)
    files = ("traffic", "access_point_agent", "phone_agent", "operator_commands")
    copies = {name: shutil.copy(getattr(found, name), moved_to) for name in files}
    elsewhere = replace(found, controller_source=str(of_controller), **copies)
    monkeypatch.setattr(host, "programs", lambda *_args, **_options: elsewhere)
    scenario = Scenario(f"moved to {place}", built_in("uplink").actions)
    assert everything(boot_cell("airbound", scenario=scenario, fresh=True, **ELSEWHERE)) == here


def test_another_seed_has_another_authority(cell: Cell, boot_cell: Callable[..., Cell]) -> None:
    fingerprint, *_ = re.findall(r"fingerprint +(\S{64})", log_of(cell, "operator"))
    other = boot_cell("airbound", **ELSEWHERE)
    assert "fingerprint" in log_of(other, "operator")
    assert fingerprint not in log_of(other, "operator")


def test_agents_of_a_controller_that_starts_late_have_their_tokens(boot_cell: Callable[..., Cell]) -> None:
    cell = boot_cell("bdp", scenario=built_in("recovery"), terminals=2, seconds=16, warmup_seconds=10, tls=True)
    for component in ("ap", "phone1", "phone2"):
        [enrolled_s] = seconds_of_agents(cell, component, "enrolled")
        assert enrolled_s > 10
    assert all(phone.rules[-1].rules for phone in cell.run.phones)
