# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.guest import applications as guest
from airbound_lab.plan import applications, guest_plan
from airbound_lab.plan.guest_paths import Programs
from airbound_lab.run import videos
from airbound_lab.settings.application import File, Http, Live, Photos
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import APPLICATION_ACTIONS, Action, Scenario

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = Programs(
    "/b/airbound-traffic", "/b/python", "/b/controller", "/b/airbound-ap", "/b/airbound-phone", "/b/commands.py",
    applications_watch="/b/applications_watch.py", http_transactions="/b/http.py", videos="/v",
    marks="/b/libairbound-mark.so",
)  # fmt: skip
APPLICATIONS = (
    Action(3, "start-application", phone=2, application=Photos(count=3, pause_s=1.5)),
    Action(0, "start-application", phone=1, application=Live(rate_kbps=500, length_s=20, send_buffer_bytes=110_208)),
    Action(3, "start-application", phone=3, application=File(size_bytes=5000)),
    Action(99, "start-application", phone=3, application=File()),
)


def plan_of(mode: str = "cubic", actions: tuple[Action, ...] = APPLICATIONS) -> dict[str, Any]:
    scenario = Scenario("applications", actions)
    parameters = Parameters(scenario=scenario, terminals=3, wired_delays_ms=(4.0, 64.0), seconds=30)
    return guest_plan.plan(parameters, mode, 1, PROGRAMS)


def test_they_start_in_order_and_not_after_the_end() -> None:
    steps = [step for step in plan_of()["timeline"] if step["do"] == guest.START_APPLICATION]
    assert [(step["at_ms"], step["application"]) for step in steps] == [(0, 0), (3000, 1), (3000, 2)]
    assert [client["netns"] for client in plan_of()["applications"]["clients"]] == ["sta1", "sta2", "sta3"]
    assert (guest.START_APPLICATION,) == APPLICATION_ACTIONS


def test_a_run_without_one_has_no_part_of_them() -> None:
    plan = plan_of(actions=(Action(0, "start-traffic"),))
    assert plan["applications"] is None
    assert all("net/ipv4/tcp_wmem" not in station["sysctls"] for station in plan["stations"])


def test_each_goes_to_its_phones_server_by_a_port_of_its_own() -> None:
    part = plan_of()["applications"]
    first, second = part["servers"]
    assert (first["netns"], second["netns"]) == ("server1", "server2")
    assert "listen 10.0.4.1:1935;" in first["config"]
    assert "listen 10.0.4.1:8082;" in first["config"]
    assert "listen 10.0.5.1:8081;" in second["config"]
    assert "rtmp" not in second["config"]
    live, photos, file = (client["argv"] for client in part["clients"])
    assert live[-1] == "rtmp://10.0.4.1:1935/live/0"
    assert "/v/video-500kbps-20s.flv" in live
    assert [word for word in photos if word.startswith(("http:", "file:"))] == [
        "http://10.0.5.1:8081/1/0",
        "file:///run/lab/applications/pause-1-1",
        "http://10.0.5.1:8081/1/1",
        "file:///run/lab/applications/pause-1-2",
        "http://10.0.5.1:8081/1/2",
    ]
    assert file[-1] == "http://10.0.4.1:8082/2/0"
    watched = [word for word in part["watch"]["argv"] if word.startswith("connections=")]
    assert watched == ["connections=0/sta1/1935", "connections=1/sta2/8081", "connections=2/sta3/8082"]


def test_who_fetches_has_a_server_of_its_own_that_needs_no_configuration() -> None:
    fetches = Action(3, "start-application", phone=2, application=Http(clients=8, connections="one", length_s=2.5))
    photos = Action(4, "start-application", phone=2, application=Photos())
    part = plan_of(actions=(fetches, photos))["applications"]
    nginx, http = part["servers"]
    assert (nginx["netns"], http["netns"]) == ("server2", "server2")
    assert "listen 10.0.5.1:8081;" in nginx["config"]
    assert "8080" not in nginx["config"]
    assert (http["config"], http["arrived"], http["directories"]) == (None, None, [])
    assert http["argv"] == ["/b/python", "-S", "/b/http.py", "serve", http["pid_file"], "10.0.5.1:8080"]
    client, _ = part["clients"]
    assert client["argv"] == ["/b/python", "-S", "/b/http.py", "fetch", "10.0.5.1:8080", "8", "one", "2.5"]
    assert [word for word in part["watch"]["argv"] if "=" in word] == [
        "record=/run/lab/applications/server2/record", "connections=0/sta2/8080", "connections=1/sta2/8081"
    ]  # fmt: skip


def test_who_fetches_has_no_class_and_no_user_of_its_own() -> None:
    fetches = Action(3, "start-application", phone=2, application=Http())
    assert fetches.class_name() == ""
    [client] = plan_of("airbound", (fetches,))["applications"]["clients"]
    assert client["argv"][0] == "/b/python"


def test_photos_go_without_asking_if_that_is_wanted() -> None:
    photos = replace(APPLICATIONS[0], application=Photos(count=3, asks=False))
    [client] = plan_of(actions=(photos,))["applications"]["clients"]
    assert client["argv"].count("Expect:") == 3


def test_live_video_marks_what_it_sends_and_its_server_the_answers() -> None:
    scenario = Scenario("applications", APPLICATIONS)
    parameters = Parameters(scenario=scenario, terminals=3, wired_delays_ms=(4.0, 64.0), seconds=30, live_marks=True)
    part = guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["applications"]
    mark = ["/usr/bin/env", "LD_PRELOAD=/b/libairbound-mark.so", "AIRBOUND_DSCP=34"]
    live, *others = ([word for word in client["argv"] if not word.startswith("-")] for client in part["clients"])
    assert [word for word in live if word in mark] == mark
    assert not any(word in mark for words in others for word in words)
    with_live, without = part["servers"]
    assert with_live["argv"][:3] == mark
    assert without["argv"][0] == "/usr/sbin/nginx"


def test_photos_on_a_connection_each_close_it() -> None:
    [each] = plan_of(actions=(replace(APPLICATIONS[0], application=Photos(count=4, connections="each")),))[
        "applications"
    ]["clients"]
    assert each["argv"].count("Connection: close") == 4
    assert "Expect:" not in each["argv"]
    assert each["pauses"] == []
    [one] = plan_of(actions=APPLICATIONS[:1])["applications"]["clients"]
    assert "Connection: close" not in one["argv"]


def test_a_phone_with_one_has_the_modes_congestion_control_and_its_own_send_buffer() -> None:
    settings = [station["sysctls"] for station in plan_of("bbr")["stations"]]
    assert [each["net/ipv4/tcp_congestion_control"] for each in settings] == ["bbr"] * 3
    assert settings[0]["net/ipv4/tcp_wmem"] == "4096 110208 110208"
    assert "net/ipv4/tcp_wmem" not in settings[1]


def test_what_a_sender_does_when_its_queue_is_full_is_the_muxers() -> None:
    [drops], [waits] = (
        plan_of(actions=(replace(APPLICATIONS[1], application=Live(sender=sender, queue_frames=9)),))["applications"][
            "clients"
        ]
        for sender in ("drop", "wait")
    )
    assert "-drop_pkts_on_overflow" in drops["argv"]
    assert "-drop_pkts_on_overflow" not in waits["argv"]
    assert drops["argv"][drops["argv"].index("-queue_size") + 1] == "9"


def test_all_that_the_encoder_is_given_is_in_a_videos_name() -> None:
    names = {applications.video_file(Live(rate_kbps=rate, length_s=length)) for rate in (300, 700) for length in (5, 9)}
    assert len(names) == 4
    commands = [videos.command(replace(Live(), sender=s, send_buffer_bytes=b), "x") for s in ("drop", "wait")
                for b in (None, 9999)]  # fmt: skip
    assert all(command == commands[0] for command in commands)
    assert "-threads 1" in " ".join(commands[0])


def test_a_video_is_encoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text(f'#!/bin/sh\necho made >>{tmp_path}/calls\nfor last; do :; done\necho video >"$last"\n')
    ffmpeg.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(videos.host, "SYSTEM_PATH", str(tmp_path))
    for _ in range(2):
        found = videos.directory_with([Live(length_s=3), Live(length_s=3, sender="wait")], tmp_path / "cache")
    assert [path.name for path in found.iterdir()] == ["video-700kbps-3s.flv"]
    assert (tmp_path / "calls").read_text() == "made\n"


def test_an_encoder_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text('#!/bin/sh\nfor last; do :; done\necho half >"$last"\necho no encoder >&2\nexit 1\n')
    ffmpeg.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(videos.host, "SYSTEM_PATH", str(tmp_path))
    with pytest.raises(videos.LabError, match=r"cannot encode video-700kbps-60s.flv: no encoder"):
        videos.directory_with([Live()], tmp_path / "cache")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    ffmpeg.unlink()
    with pytest.raises(videos.MissingError, match=r"lacks ffmpeg; install with: apt-get install ffmpeg"):
        videos.directory_with([Live()], tmp_path / "cache")
