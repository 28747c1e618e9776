# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from airbound_lab import host
from airbound_lab.errors import UsageError


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


def test_only_what_the_modes_need_must_be_built(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"airbound-traffic; run: make build"):
        host.programs(("cubic",), build=tmp_path)
    (tmp_path / "airbound-traffic").touch(mode=0o755)
    assert host.programs(("cubic", "bbr"), build=tmp_path).traffic == str(tmp_path / "airbound-traffic")
    with pytest.raises(UsageError, match=r"airbound-ap.*airbound-phone"):
        host.programs(("cubic", "bdp"), build=tmp_path)


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
