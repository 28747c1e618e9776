# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import venv
from pathlib import Path

import pytest

from airbound_lab.errors import UsageError
from airbound_lab.run import host


def test_all_missing_tools_are_named_at_once_with_their_packages(tmp_path: Path) -> None:
    (tmp_path / "ip").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "ip").chmod(0o755)
    with pytest.raises(UsageError) as raised:
        host.check_tools(path=str(tmp_path))
    message = str(raised.value)
    assert raised.value.exit_status == 2
    assert all(tool in message for tool in ("hostapd", "wpa_supplicant", "iw", "tc", "setarch", "python3"))
    assert "lacks setarch, python3, tc" in message
    assert "apt-get install hostapd iproute2 iw python3 util-linux wpasupplicant" in message


def test_open_vswitch_is_needed_only_by_an_access_point_with_one(tmp_path: Path) -> None:
    for tool in host.TOOL_PACKAGES:
        (tmp_path / tool).touch(mode=0o755)
    host.check_tools(path=str(tmp_path))
    with pytest.raises(UsageError, match=r"lacks .*ovs-vswitchd.*; install with: apt-get install openvswitch-switch "):
        host.check_tools(path=str(tmp_path), ovs=True)
    with pytest.raises(UsageError, match=r"lacks iperf3, irtt; install with: apt-get install iperf3 irtt "):
        host.check_tools(path=str(tmp_path), debian_programs=True)
    programs = host.programs((), build=_built(tmp_path))
    alone, with_switch = (set(host.hashes(programs, agents=False, ovs=ovs)) for ovs in (False, True))
    assert with_switch - alone == set(host.SWITCH_TOOL_PACKAGES)


def _built(directory: Path) -> Path:
    (directory / "airbound-traffic").touch(mode=0o755)
    return directory


def test_only_what_the_modes_need_must_be_built(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"airbound-traffic; run: make build"):
        host.programs(("cubic",), build=tmp_path)
    (tmp_path / "airbound-traffic").touch(mode=0o755)
    assert host.programs(("cubic", "bbr"), build=tmp_path).traffic == str(tmp_path / "airbound-traffic")
    with pytest.raises(UsageError, match=r"airbound-ap.*airbound-phone"):
        host.programs(("cubic", "bdp@aifsn=4"), build=tmp_path)
    with pytest.raises(UsageError, match=r"not built: .*libairbound-mark\.so; run: make build"):
        host.programs(("cubic",), build=tmp_path, marks=True)


def test_python_is_the_interpreter_behind_a_virtual_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    monkeypatch.setenv("AIRBOUND_LAB_PYTHON", str(tmp_path / "venv" / "bin" / "python"))
    found = host.programs((), build=_built(tmp_path))
    assert not Path(found.python).is_relative_to(tmp_path)
    [packages] = found.packages
    assert Path(packages).is_relative_to(tmp_path / "venv")
    monkeypatch.setenv("AIRBOUND_LAB_PYTHON", str(tmp_path / "no-python"))
    with pytest.raises(UsageError, match="no-python does not run"):
        host.programs((), build=tmp_path)


def test_a_kernel_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"no kernel at .*nowhere"):
        host.kernel(str(tmp_path / "nowhere"))
    monkeypatch.setenv(host.KERNEL_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match="no kernel at"):
        host.kernel(None)


def test_a_given_kernel_wins_over_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "linux").touch(mode=0o755)
    monkeypatch.setenv(host.KERNEL_VARIABLE, "/nowhere")
    assert host.kernel(str(tmp_path / "linux")) == Path(tmp_path / "linux").resolve()


def test_a_kernel_of_another_line_is_refused(tmp_path: Path) -> None:
    kernel = tmp_path / "linux"
    kernel.write_text("#!/bin/sh\necho 6.12.117\n", encoding="utf-8")
    kernel.chmod(0o755)
    host.check_line(kernel, "6.12")
    with pytest.raises(UsageError, match=r"linux is Linux 6\.12\.117, but --kernel-line is 6\.1$"):
        host.check_line(kernel, "6.1")
    kernel.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="does not name its version"):
        host.check_line(kernel, "6.1")


def test_the_hashes_are_of_all_that_a_mode_uses(tmp_path: Path) -> None:
    names = ("airbound-traffic", "airbound-ap", "airbound-phone")
    for name in names:
        (tmp_path / name).touch(mode=0o755)
    programs = host.programs(("bdp",), build=tmp_path)
    alone, with_agents = (host.hashes(programs, agents=agents) for agents in (False, True))
    assert set(with_agents) - set(alone) == {"access point agent", "phone agent", "controller"}
    assert {"traffic", "lab", "hostapd", "tc"} <= set(alone)
    assert "marks" not in alone
    (tmp_path / "libairbound-mark.so").touch(mode=0o755)
    assert set(host.hashes(programs, agents=False, marks=True)) - set(alone) == {"marks"}
    (tmp_path / "airbound-traffic").write_text("changed", encoding="utf-8")
    changed = host.hashes(programs, agents=True)
    assert {name for name in changed if changed[name] != with_agents[name]} == {"traffic"}


def test_a_hash_of_sources_is_of_their_contents_and_names(tmp_path: Path) -> None:
    for place in ("here", "there/again"):
        (tmp_path / place / "x").mkdir(parents=True)
        for name in ("a.py", "b.py"):
            (tmp_path / place / "x" / name).write_text(name, encoding="utf-8")
    here, there = ((tmp_path / place / "x" / name for name in names) for place, names in
                   (("here", ("a.py", "b.py")), ("there/again", ("b.py", "a.py"))))  # fmt: skip
    same = host._sha256_of(here)
    assert host._sha256_of(there) == same
    (tmp_path / "here" / "x" / "b.py").write_text("c", encoding="utf-8")
    assert host._sha256_of((tmp_path / "here" / "x").glob("*.py")) != same
