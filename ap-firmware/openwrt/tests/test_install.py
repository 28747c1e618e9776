# SPDX-License-Identifier: Apache-2.0
"""The package on an access point: installed, configured, started, removed. No process runs here; see new_owner.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from access_point import NETWORK, UJAIL

if TYPE_CHECKING:
    from pathlib import Path

    from access_point import AccessPoint

ENABLED = ("option enabled '1'", "list controller 'controller.example:50051'")
COPY = "var/run/airbound-ap.token"


def owner_and_mode(path: Path) -> tuple[int, int, int]:
    status = path.lstat()
    return status.st_uid, status.st_gid, status.st_mode & 0o7777


def test_after_installation_it_is_enabled_and_nothing_runs_before_somebody_configures_it(
    installed: AccessPoint,
) -> None:
    assert {path.name for path in (installed.root / "etc/rc.d").iterdir()} == {"S95airbound-ap", "K10airbound-ap"}
    assert installed.service() is None
    assert installed.log() == ""
    assert "network:x:101:101:" in (installed.root / "etc/passwd").read_text()
    assert owner_and_mode(installed.root / "etc/config/airbound") == (0, 0, 0o600)


def test_the_service_runs_as_hostapds_user_with_few_capabilities_and_for_ever(installed: AccessPoint) -> None:
    installed.configure(*ENABLED, "option token 'secret token'")
    installed.init("start")
    service = installed.service()
    assert service
    assert service["command"] == [
        "/usr/sbin/airbound-ap", "run", "--state-dir", "/var/run/airbound-ap", "--log-level", "info",
        "--interval", "1000ms", "--controller", "controller.example:50051", "--credentials-dir", "/etc/airbound",
        "--token-file", "/var/run/airbound-ap.token", "--window-clamp",
    ]  # fmt: skip
    assert (service["user"], service["group"], service["no_new_privs"]) == (["network"], ["network"], ["1"])
    assert service["jail"] == ["airbound-ap"]
    assert service["capabilities"] == ["/etc/capabilities/airbound-ap-windows.json"]
    assert service["respawn"] == ["3600", "5", "0"]
    assert service["reload_trigger"] == ["airbound", "wireless"]
    assert service["file"] == ["/etc/config/airbound", "/usr/sbin/airbound-ap"]
    assert "env" not in service
    assert owner_and_mode(installed.root / "etc/airbound") == (NETWORK, NETWORK, 0o700)
    assert owner_and_mode(installed.root / COPY) == (NETWORK, NETWORK, 0o600)
    assert (installed.root / COPY).read_text() == "secret token\n"


def test_without_window_clamp_and_station_flows_it_has_one_capability(installed: AccessPoint) -> None:
    installed.configure(*ENABLED, "option window_clamp '0'", "option station_flows '0'")
    installed.init("start")
    service = installed.service()
    assert service
    assert "--window-clamp" not in service["command"]
    assert "--no-station-flows" in service["command"]
    assert service["jail"] == ["airbound-ap"]
    assert service["capabilities"] == ["/etc/capabilities/airbound-ap.json"]


def test_without_all_three_there_is_neither_capability_nor_jail(installed: AccessPoint) -> None:
    installed.configure(*ENABLED, "option edca '0'", "option window_clamp '0'", "option station_flows '0'")
    (installed.root / UJAIL).unlink()
    installed.init("start")
    service = installed.service()
    assert service
    assert service["user"] == ["network"]
    assert "--no-edca" in service["command"]
    assert not {"jail", "capabilities"} & service.keys()


def test_station_flows_take_the_capabilities_of_following_connections(installed: AccessPoint) -> None:
    installed.configure(*ENABLED, "option edca '0'", "option window_clamp '0'")
    installed.init("start")
    service = installed.service()
    assert service
    assert service["command"][-1] == "--no-edca"
    assert service["jail"] == ["airbound-ap"]
    assert service["capabilities"] == ["/etc/capabilities/airbound-ap-windows.json"]


def test_following_connections_takes_capabilities_of_its_own(installed: AccessPoint) -> None:
    installed.configure(*ENABLED, "option edca '0'", "option bridge 'br-lan'")
    installed.init("start")
    service = installed.service()
    assert service
    assert service["command"][-4:] == ["--no-edca", "--window-clamp", "--bridge", "br-lan"]
    assert service["user"] == ["network"]
    assert service["jail"] == ["airbound-ap"]
    assert service["capabilities"] == ["/etc/capabilities/airbound-ap-windows.json"]
    # Without ujail, as for EDCA parameters.
    (installed.root / UJAIL).unlink()
    installed.init("reload")
    service = installed.service()
    assert service
    assert not {"user", "jail", "capabilities"} & service.keys()


def test_where_ujail_or_the_user_is_missing_it_runs_as_root(installed: AccessPoint) -> None:
    installed.configure(*ENABLED)
    (installed.root / UJAIL).unlink()
    installed.init("start")
    service = installed.service()
    assert service
    assert not {"user", "group", "jail", "capabilities", "no_new_privs"} & service.keys()
    assert owner_and_mode(installed.root / "etc/airbound") == (0, 0, 0o700)
    # ujail is installed later: key and certificate change their owner.
    installed.add_ujail()
    installed.init("reload")
    assert owner_and_mode(installed.root / "etc/airbound") == (NETWORK, NETWORK, 0o700)
    (installed.root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/ash\n")
    installed.init("reload")
    service = installed.service()
    assert service
    assert "user" not in service


def test_lists_and_limits_reach_the_agent(installed: AccessPoint) -> None:
    installed.configure(
        *ENABLED, "list controller '[2001:db8::1]:50051'", "list enroll 'other.example:50053'",
        "list interface 'phy0-ap0'", "list interface 'phy1-ap0'", "option memory_limit_mb '24'",
        "option interval_ms '500'", "option log_level 'debug'", "option credentials_dir '/overlay/airbound'",
        "option hostapd_config '/var/run/hostapd-phy0.conf'",
    )  # fmt: skip
    installed.init("start")
    service = installed.service()
    assert service
    command = " ".join(service["command"])
    assert "--controller controller.example:50051 --controller [2001:db8::1]:50051" in command
    assert "--enroll other.example:50053" in command
    assert "--interface phy0-ap0 --interface phy1-ap0" in command
    assert "--interval 500ms" in command
    assert "--log-level debug" in command
    assert "--credentials-dir /overlay/airbound" in command
    assert "--hostapd-config /var/run/hostapd-phy0.conf" in command
    assert "--token-file" not in command
    assert service["env"] == ["GOMEMLIMIT=24MiB"]


def test_a_token_of_roots_file_is_copied_for_the_agents_user(installed: AccessPoint) -> None:
    token = installed.root / "etc/token"
    token.write_text("from a file\n")
    token.chmod(0o600)
    installed.configure(*ENABLED, "option token_file '/etc/token'")
    installed.init("start")
    assert (installed.root / COPY).read_text() == "from a file\n"
    assert owner_and_mode(installed.root / COPY) == (NETWORK, NETWORK, 0o600)
    installed.init("stop")
    assert not (installed.root / COPY).exists()
    assert installed.service() is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("option interval_ms '99'", "wrong value"),
        ("option interval_ms '1s'", "wrong value"),
        ("option memory_limit_mb '4'", "wrong value"),
        ("option log_level 'chatty'", "wrong value"),
        ("option edca 'maybe'", "wrong value"),
        ("option window_clamp 'maybe'", "wrong value"),
        ("option station_flows 'maybe'", "wrong value"),
        ("option enabled 'si'", "wrong value"),
        ("list controller 'controller.example'", "'controller.example' is not ADDR:PORT"),
        ("list enroll '*:x'", "enroll '*:x' is not ADDR:PORT"),
        ("list interface 'phy0/ap0'", "interface 'phy0/ap0' is not the name of an interface"),
        ("list interface '..'", "interface '..' is not the name of an interface"),
        ("option bridge 'br-sixteen-bytes'", "bridge 'br-sixteen-bytes' is not the name of an interface"),
        ("option bridge '.'", "bridge '.' is not the name of an interface"),
        ("option bridge 'br lan'", "bridge 'br lan' is not the name of an interface"),
        ("option credentials_dir '/etc'", "a directory of its own"),
        ("option credentials_dir '/etc/'", "a directory of its own"),
        ("option credentials_dir '/etc/x/../..'", "a directory of its own"),
        ("option credentials_dir 'etc/airbound'", "a directory of its own"),
        ("option credentials_dir '/etc/config'", "has files of others"),
    ],
)
def test_a_wrong_value_is_logged_and_nothing_runs(installed: AccessPoint, line: str, complaint: str) -> None:
    installed.configure(*ENABLED, line)
    before = installed.files()
    assert complaint in installed.init("start")
    assert complaint in installed.log()
    assert installed.service() is None
    changed = {name for name, what in installed.files().items() if before.get(name) != what}
    assert changed <= {"var/log/messages", "var/run/procd"}


def test_without_a_controller_it_says_so(installed: AccessPoint) -> None:
    installed.configure("option enabled '1'")
    assert "has no controller" in installed.init("start")
    assert installed.service() is None


def test_a_service_that_is_switched_off_ends_at_the_reload(installed: AccessPoint) -> None:
    installed.configure(*ENABLED)
    installed.init("start")
    assert installed.service()
    installed.configure("option enabled '0'")
    installed.init("reload")
    assert installed.service() is None


def test_every_option_is_listed_for_who_validates_the_file(installed: AccessPoint) -> None:
    installed.configure(*ENABLED)
    installed.init("start")
    service = installed.service()
    assert service
    validated = {entry.partition(":")[0] for entry in service["validation"]}
    config = (installed.root / "usr/lib/opkg/info/airbound-ap.conffiles").read_text()
    assert config == "/etc/config/airbound\n"
    assert validated >= {"enabled", "controller", "token", "token_file", "enroll", "interface", "edca", "log_level"}


def test_removed_it_leaves_only_what_its_owner_has_made(access_point: AccessPoint, ipk: Path) -> None:
    before = access_point.files()
    access_point.install_ipk(ipk)
    access_point.configure(*ENABLED, "option token 'x'")
    access_point.init("start")
    (access_point.root / "var/run/airbound-ap/wlan0").mkdir()
    access_point.remove_ipk()
    assert access_point.service() is None
    left = {name for name, what in access_point.files().items() if before.get(name) != what}
    assert left == {"etc/airbound", "etc/config/airbound", "etc/group", "etc/passwd", "var/run/procd"}
    assert before.keys() - access_point.files().keys() == set()
