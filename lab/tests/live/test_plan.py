# SPDX-License-Identifier: Apache-2.0
"""The plan of a live cell's guest."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from airbound_lab.live import plan as plans
from airbound_lab.live.guest_process import command_line
from airbound_lab.live.settings import Settings

PROGRAMS = plans.Programs("/b/airbound-ap", "/b/airbound-phone", "/b/airbound-link")
LINK = "/x/link"
SETTINGS = Settings("controller.example:50051", terminals=2, without_agent=1, delay_ms=30.0, seed=5)


def test_agents_of_the_access_point_and_of_the_first_phones() -> None:
    plan = plans.plan(SETTINGS, PROGRAMS, LINK)
    assert [(agent["name"], agent["netns"]) for agent in plan["agents"]] == [
        ("live-ap", ""),
        ("live-phone1", "sta1"),
        ("live-phone2", "sta2"),
    ]
    assert [(station["label"], station["agent"]) for station in plan["stations"]] == [
        ("live-phone1", "live-phone1"),
        ("live-phone2", "live-phone2"),
        ("live-phone3", None),
    ]
    assert json.loads(json.dumps(plan)) == plan


def test_the_access_point_limits_windows_unless_it_is_not_to() -> None:
    for settings in (SETTINGS, replace(SETTINGS, no_window_clamp=True)):
        access_point, *phones = plans.plan(settings, PROGRAMS, LINK)["agents"]
        assert ("--window-clamp" in access_point["argv"]) is not settings.no_window_clamp
        assert not any("--window-clamp" in phone["argv"] for phone in phones)


def test_phones_have_the_table_of_their_applications() -> None:
    plan = plans.plan(SETTINGS, PROGRAMS, LINK)
    access_point, *phones = plan["agents"]
    assert plan["applications_table"].startswith("live uid ")
    assert "--applications" not in access_point["argv"]
    for phone in phones:
        assert phone["argv"][phone["argv"].index("--applications") + 1] == "/run/lab/applications.table"


def test_each_agent_has_its_own_certificate_and_token() -> None:
    plan = plans.plan(SETTINGS, PROGRAMS, LINK)
    for agent in plan["agents"]:
        argv = agent["argv"]
        assert argv[argv.index("--credentials-dir") + 1] == f"/run/lab/credentials/{agent['name']}"
        assert argv[argv.index("--token-file") + 1] == f"/run/result/tokens/{agent['name']}"
        assert argv[argv.index("--enroll") + 1] == "10.0.1.1:50053"
        assert argv[argv.index("--controller") + 1] == "10.0.1.1:50051"
        assert "--plain-text" not in argv
        assert agent["has_credentials"]


def test_the_link_goes_from_the_controllers_namespace_to_the_given_addresses() -> None:
    link = plans.plan(SETTINGS, PROGRAMS, LINK)["link"]
    assert link["netns"] == "controller"
    assert link["argv"][2:4] == ["--directory", link["directory"]]
    assert link["host_directory"] == LINK
    near = dict(word.split("=") for word in link["argv"][4:])
    far = dict(word.split("=") for word in plans.far_targets(SETTINGS))
    assert near == {"controller": "10.0.1.1:50051", "enrolment": "10.0.1.1:50053"}
    assert far == {"controller": "controller.example:50051", "enrolment": "controller.example:50053"}


def test_plain_text_enrols_nobody() -> None:
    settings = Settings("127.0.0.1:50051", plain_text=True, terminals=1)
    plan = plans.plan(settings, PROGRAMS, LINK)
    assert plans.far_targets(settings) == ["controller=127.0.0.1:50051"]
    assert len(plan["link"]["argv"]) == 5
    for agent in plan["agents"]:
        assert "--plain-text" in agent["argv"]
        assert not {"--enroll", "--token-file", "--credentials-dir"} & set(agent["argv"])
        assert not agent["has_credentials"]


def test_phones_leave_and_come_back_by_their_supplicant() -> None:
    plan = plans.plan(SETTINGS, PROGRAMS, LINK)
    assert plan["wpa_supplicant"].startswith("ctrl_interface=/run/wpa_supplicant\n")
    assert 'ssid="airbound"' in plan["wpa_supplicant"]


def test_the_guests_time_keeps_to_real_time_and_its_keys_are_nobodys() -> None:
    command = command_line(Path("/k/linux"), SETTINGS, Path("/x/time"), 77)
    assert command[0] == "/k/linux"
    assert "time-travel=ext:/x/time" in command
    assert not any(word.startswith("time-travel-start") for word in command)
    assert "airbound_seed=77" in command
    assert "mac80211_hwsim.radios=4" in command


def test_the_radio_of_today() -> None:
    today = replace(SETTINGS, phy="11ac-80", ap="openwrt", distances_m=(5.0, 40.0))
    plan = plans.plan(today, PROGRAMS, LINK)
    assert "ieee80211ac=1" in plan["access_point"]["hostapd"]
    assert "tx_queue_data2_burst=2.0" in plan["access_point"]["hostapd"]  # as OpenWrt has it
    assert len(plan["links"]) == 2 * today.phones
    command = command_line(Path("/k/linux"), today, Path("/x/time"), 77)
    assert {"mac80211_hwsim.dcf_streams=2", "mac80211_hwsim.dcf_5_ghz=1"} <= set(command)
    assert not any("dcf_" in word for word in command_line(Path("/k/linux"), SETTINGS, Path("/x/time"), 77))


def test_files_are_as_large_as_the_radios_are_fast() -> None:
    sizes = {plans.plan(replace(SETTINGS, phy=phy), PROGRAMS, LINK)["files"] for phy in ("11g", "11n-40", "11ac-80")}
    assert sizes == {1, 6, 12}


def test_each_server_receives_and_sends() -> None:
    plan = plans.plan(SETTINGS, PROGRAMS, LINK)
    [server] = plan["servers"]
    assert server["port"] != server["downloads_port"]
    for station in plan["stations"]:
        assert {"port": server["port"], "downloads_port": server["downloads_port"]}.items() <= station["server"].items()


def test_the_line_of_the_kernel_is_that_of_the_cell() -> None:
    assert [Settings("c:1", kernel_line=line).parameters().kernel_line for line in ("6.1", "6.12")] == ["6.1", "6.12"]
