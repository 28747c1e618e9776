# SPDX-License-Identifier: Apache-2.0
"""What a phone sends has a user of its own, and a class by the table of the phones' agents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airbound_lab.plan import classes, guest_plan
from airbound_lab.plan.guest_paths import Programs
from airbound_lab.settings.application import File, Live, Photos
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario

PROGRAMS = Programs(
    "/b/airbound-traffic", "/b/python", "/b/controller", "/b/airbound-ap", "/b/airbound-phone", "/b/commands.py",
    applications_watch="/b/applications_watch.py", videos="/v",
)  # fmt: skip
ACTIONS = (
    Action(1, "start-application", phone=1, application=Live(sender="wait")),
    Action(0, "start-traffic", phone=2, app_class="live", protocol="udp"),
    Action(0, "start-traffic", phone=3),
    Action(2, "start-application", phone=2, application=Photos()),
    Action(2, "start-application", phone=3, application=File(), app_class="none"),
    Action(3, "start-traffic", phone=1, app_class="background", marked=True),
)


def parameters(**given: Any) -> Parameters:
    return Parameters(scenario=Scenario("x", ACTIONS), terminals=3, seconds=8, **given)


def plan_of(mode: str, given: Parameters) -> dict[str, Any]:
    return guest_plan.plan(given, mode, 1, PROGRAMS)


def test_the_table_has_a_user_for_each_start_of_what_has_a_class() -> None:
    assert classes.table(parameters()) == "live uid 10001\nlive uid 10002\nburst uid 10003\nbackground uid 10004\n"
    assert [classes.uid_of(parameters(), action) for action in ACTIONS] == [10002, 10001, None, 10003, None, 10004]


def test_without_classes_there_is_no_table() -> None:
    without = parameters(classes=False)
    assert classes.table(without) is None
    assert [classes.uid_of(without, action) for action in ACTIONS] == [None] * len(ACTIONS)
    assert classes.table(replace(without, classes=True, scenario=Scenario("x", ACTIONS[2:3]))) is None


def test_each_sends_as_its_user() -> None:
    plan = plan_of("airbound", parameters())
    sends = [line for line in plan["traffic"]["plan"].splitlines() if line.startswith("send")]
    users = {line.split()[1]: [word for word in line.split() if word.startswith(("uid", "priority"))] for line in sends}
    assert users == {
        "name=sta1": ["uid=10004", "priority=261"],
        "name=sta2": ["uid=10001"],
        "name=sta3": [],
    }
    live, photos, file = (client["argv"] for client in plan["applications"]["clients"])
    assert live[:4] == ["/usr/bin/setpriv", "--reuid=10002", "--clear-groups", "/usr/bin/ffmpeg"]
    assert photos[1] == "--reuid=10003"
    assert file[0] == "/usr/bin/curl"


def test_agents_read_the_table_where_there_is_one() -> None:
    def agents(plan: dict[str, Any]) -> list[bool]:
        phones = [part for part in plan["components"] if part["name"].startswith("phone")]
        return [classes.TABLE_FILE in part["argv"] for part in phones]

    plan = plan_of("airbound", parameters())
    assert plan["applications_table"] == classes.table(parameters())
    assert agents(plan) == [True] * 3
    without = plan_of("airbound", parameters(classes=False))
    assert without["applications_table"] is None
    assert agents(without) == [False] * 3
    assert plan_of("cubic", parameters())["applications_table"] is None
