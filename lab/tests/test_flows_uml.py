# SPDX-License-Identifier: Apache-2.0
"""What a phone's agent does with flows, in a cell of User Mode Linux: packets of one leave in the access category for
video, and UDP of one has a rate. A controller of the test's own grants them to phone 1.
"""

from __future__ import annotations

import json
from statistics import mean
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.plan import guest_plan
from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Cell, ProgramsBeside

pytestmark = pytest.mark.uml

PORT = 50999
SERVER = "10.0.4.1"
PHONES = 8
LIVE_MBPS = 0.7
SECONDS = 50
FROM_S, UNTIL_S, LEASE_S = 16.0, 28.0, 6.0
"""Of the grant, after the agent's first report, which comes some seconds before the traffic."""

SETTLED_S = 3
"""What waited before the grant comes first."""

CELL: dict[str, Any] = {
    "terminals": PHONES, "agents": 1, "wired_delays_ms": (256.0,), "rate_control": "aarf", "wmm": True,
    "cwnd_clamp_segs": 63, "seconds": SECONDS,
}  # fmt: skip
ALONE: dict[str, Any] = {
    "terminals": 1, "rate_control": "minstrel", "wired_delays_ms": (16.0,), "cwnd_clamp_segs": None,
}  # fmt: skip


class Granted:
    """A run, and what the agent reported."""

    def __init__(self, cell: Cell) -> None:
        self._run = cell.run
        zero_us = json.loads((cell.logs / "end.json").read_text(encoding="utf-8"))["time_zero_monotonic_us"]
        lines = (cell.logs / "flows.jsonl").read_text(encoding="ascii").splitlines()
        self.reports: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self.in_force = [report for report in self.reports if report.get("generation") == "1"]
        """In these the agent says that it has the flow."""
        self._from_s, self._to_s = ((self.in_force[number]["at_us"] - zero_us) / 1e6 for number in (0, -1))

    def check_lease(self) -> None:
        """The agent had the flow when it was granted, and no longer than its lease."""
        first_us = self.reports[0]["at_us"]
        in_force_s = [(report["at_us"] - first_us) / 1e6 for report in self.in_force]
        assert FROM_S <= in_force_s[0] < FROM_S + 2
        assert UNTIL_S <= in_force_s[-1] < UNTIL_S + LEASE_S
        assert "generation" not in self.reports[-1]

    def rates_mbps(self) -> tuple[list[float], list[float]]:
        """What phone 1's data came at, second by second: with the flow, and before and after it."""
        series = self._run.phones[0].series
        rates = list(zip(series.t_s, series.goodput_mbps, strict=True))
        inside = [rate for t_s, rate in rates if self._from_s + SETTLED_S <= t_s - 1 and t_s <= self._to_s]
        return inside, [rate for t_s, rate in rates if 1 < t_s <= self._from_s or t_s - 1 > self._to_s + 1]


@pytest.fixture
def boot(
    boot_cell: Callable[..., Cell],
    programs_beside: type[ProgramsBeside],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Granted]:
    """Boots a cell whose first phone has an agent, and that a controller which grants it a flow."""

    def boot(name: str, flow: dict[str, Any], *actions: Action, **changes: Any) -> Granted:
        beside = programs_beside(tmp_path, monkeypatch)
        guest = beside.add(host.REPOSITORY / "lab" / "tests" / "flows_guest.py")
        beside.start("")
        agent = tmp_path / "airbound-phone"
        (tmp_path / "phone-agent").symlink_to(agent.readlink())
        agent.unlink()
        agent.write_text(
            f"""#!/bin/sh
for each; do
	shift
	if [ "$last" = --controller ]; then
		controller=$each
		each=127.0.0.1:{PORT}
	fi
	set -- "$@" "$each"
	last=$each
done
{guest} {PORT} "$controller" '{json.dumps({"address": SERVER} | flow)}' {FROM_S} {UNTIL_S} \\
	>/run/result/log/flows.log 2>&1 &
exec {beside.AGENT.removesuffix("agent")}phone-agent "$@"
""",
            encoding="utf-8",
        )
        agent.chmod(0o755)
        scenario = Scenario(f"flows, {name}", actions)
        cell = boot_cell("bdp", scenario=scenario, **(CELL | changes))
        assert (cell.logs / "log" / "flows.log").read_text(encoding="utf-8") == ""
        return Granted(cell)

    return boot


def live_beside_udp() -> list[Action]:
    """Phone 1 sends as much as a live video, the others as much UDP as they can."""
    others = [Action(0, "start-traffic", phone=phone, protocol="udp") for phone in range(2, PHONES + 1)]
    return [Action(0, "start-traffic", phone=1, rate_mbps=LIVE_MBPS), *others]


@pytest.mark.parametrize("demands", [False, True], ids=["no admission demanded", "admission demanded"])
def test_a_live_flow_has_its_rate_while_it_leaves_as_video(
    boot: Callable[..., Granted], monkeypatch: pytest.MonkeyPatch, *, demands: bool
) -> None:
    """Where the access point demands admission, a mark without admitted time would change nothing."""
    if demands:
        plain = guest_plan._hostapd
        monkeypatch.setattr(guest_plan, "_hostapd", lambda *arguments: plain(*arguments) + "wmm_ac_vi_acm=1\n")
    flow = {"category": "ACCESS_CATEGORY_VIDEO", "admitted_us_per_s": 200_000}
    granted = boot(f"video, {demands}", flow, *live_beside_udp())
    about = granted.reports[0]
    assert [about.get(can) for can in ("can_mark", "can_admit", "can_pace")] == [True] * 3
    assert "flows_refusal" not in about
    granted.check_lease()
    assert "failures_total" not in granted.reports[-1]
    assert int(granted.in_force[-1]["marked_packets_total"]) > 500
    inside, outside = granted.rates_mbps()
    print(inside, outside)  # noqa: T201  (with -s: for the docs)
    # What had to wait before may still come first.
    assert mean(inside) > 0.98 * LIVE_MBPS
    assert min(inside) > 0.85 * LIVE_MBPS
    assert mean(outside) < 0.9 * LIVE_MBPS


UDP_MBPS = 2.0


def test_udp_has_its_rate(boot: Callable[..., Granted]) -> None:
    udp = Action(0, "start-traffic", phone=1, protocol="udp")
    granted = boot("UDP", {"udp_bps": str(round(UDP_MBPS * 1e6))}, udp, **ALONE)
    granted.check_lease()
    inside, outside = granted.rates_mbps()
    print(inside, outside)  # noqa: T201  (as above)
    # Of the packets' bits some are of headers.
    assert 0.95 * UDP_MBPS < mean(inside) <= UDP_MBPS
    assert min(outside) > 5 * UDP_MBPS
    assert int(granted.in_force[-1]["dropped_packets_total"]) > 1000


def test_tcp_has_none(boot: Callable[..., Granted]) -> None:
    tcp = Action(0, "start-traffic", phone=1)
    granted = boot("TCP", {"udp_bps": str(round(UDP_MBPS * 1e6))}, tcp, **ALONE)
    granted.check_lease()
    inside, outside = granted.rates_mbps()
    print(inside, outside)  # noqa: T201  (as above)
    assert min(inside) > 0.95 * mean(outside) > 5 * UDP_MBPS
    assert "dropped_packets_total" not in granted.in_force[-1]
