# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from airbound_lab.plan import guest_plan, quic, topology
from airbound_lab.plan.guest_paths import Programs
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario

PROGRAMS = Programs("/b/traffic", "/b/python", "/b/controller", "/b/ap", "/b/phone", "/b/ops", quic="/b/airbound-quic")
MIXED = Scenario(
    "mixed",
    (
        Action(1.5, "start-traffic", phone=2, protocol="quic"),
        Action(4, "stop-traffic", phone=2),
        Action(0, "start-traffic", phone=1),
        Action(2, "start-traffic", phone=3, protocol="quic"),
    ),
)
PARAMETERS = Parameters(scenario=MIXED, terminals=3, wired_delays_ms=(4.0, 64.0), seconds=8, modes=("cubic",))


def test_each_upload_has_a_sender_and_a_receiver_on_a_port_of_its_own() -> None:
    first, second = quic.plan(topology.build(PARAMETERS), 1, PROGRAMS.quic, "/run/result")
    assert (first["server_netns"], first["client_netns"], first["at_ms"]) == ("server2", "sta2", 1500)
    words = " ".join(first["client"])
    assert "--name sta2 --to 10.0.5.1:5002 --start-ms 1500 --stop-ms 4000 --seconds 8 --zero-ns T0_NS" in words
    assert words.endswith("--out /run/result/quic-0.jsonl")
    assert " ".join(first["server"]) == (
        "/b/airbound-quic receive --name server2-quic --listen 10.0.5.1:5002 --seconds 8 --zero-ns T0_NS"
        " --out /run/result/quic-0-server.jsonl"
    )
    assert (second["server_netns"], second["client_netns"]) == ("server1", "sta3")
    assert "--to 10.0.4.1:5003" in " ".join(second["client"])
    assert quic.sample_files(PARAMETERS, 1) == [
        *("quic-0.jsonl", "quic-0-server.jsonl", "quic-1.jsonl", "quic-1-server.jsonl"),
    ]


def test_the_generator_sends_the_rest() -> None:
    plan = guest_plan.plan(PARAMETERS, "cubic", 1, PROGRAMS)
    assert [part["name"] for part in plan["real_programs"]] == ["quic-0", "quic-1"]
    text = plan["traffic"]["plan"]
    assert "quic" not in text
    assert [line.split()[1] for line in text.splitlines() if line.startswith("send")] == ["name=sta1"]
