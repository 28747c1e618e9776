# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from typing import Any

import pytest

from airbound_lab.settings.parameters import variant


@pytest.mark.parametrize(
    ("name", "mode", "settings"),
    [
        ("cubic", "cubic", {}),
        ("bdp+vegas", "bdp+vegas", {}),
        ("vegas@cake-ack-filter", "vegas", {"ap_qdisc": "cake-ack-filter"}),
        ("cubic@fq_codel@queue=200", "cubic", {"ap_qdisc": "fq_codel", "ap_queue_packets": 200}),
        ("vegas@aifsn=4@cwmin=31@cwmax=63", "vegas", {"ap_aifsn": 4, "ap_cw_min": 31, "ap_cw_max": 63}),
        ("cubic@cwnd-clamp=63", "cubic", {"cwnd_clamp_segs": 63}),
        ("airbound@agents=0@window-scale=7", "airbound", {"agents": 0, "window_scale": 7}),
        ("bdp@tls", "bdp", {"tls": True}),
        ("bdp@config=a/b.toml", "bdp", {"controller_config": "a/b.toml"}),
        ("cubic@no-aql", "cubic", {"aql": False}),
        ("bdp@txop=47@wmm@driver-queue=8", "bdp", {"ap_txop_limit": 47, "wmm": True, "ap_driver_queue_frames": 8}),
    ],
)
def test_settings_follow_the_mode(name: str, mode: str, settings: dict[str, Any]) -> None:
    found = variant(name)
    assert (found.mode, dict(found.settings), str(found)) == (mode, settings, name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nomode@cake", "none of cubic"),
        ("@cake", "none of cubic"),
        ("cubic@", "'' is none of phones-fq_codel, phones-cake-diffserv4"),
        (
            "cubic@red",
            "'red' is none of phones-fq_codel, phones-cake-diffserv4, pfifo, pfifo_fast, fq_codel, fq, cake, cake-ack",
        ),
        ("cubic@aifsn", "'aifsn' is none of"),
        ("cubic@aifsn=", "'' is not a whole number"),
        ("cubic@aifsn=-1", "'-1' is not a whole number"),
        ("cubic@aifsn=²", "'²' is not a whole number"),
        ("cubic@colour=1", "'colour=1' is none of"),
        ("cubic@wmm=1", "'wmm=1' is none of"),
        ("cubic@tls", "'tls': cubic has no agents"),
        ("cubic@window-clamp", "'window-clamp': cubic has no agents, and so no access point's"),
        ("cubic@openflow", "'openflow': cubic has no agents, and so no controller of switches"),
        ("bdp@ovs@meters", "'meters': switch is set twice"),
        ("cubic@config=mine.toml", "'config=mine.toml': cubic has no agents, and so no controller to configure"),
        ("bdp@config=", "'config=': a file follows the ="),
        ("bdp@config", "'config' is none of"),
        ("cubic@agents=5", "'agents=5': cubic has no agents, and so no phones with one"),
        ("cubic@aifsn=4@aifsn=5", "'aifsn=5': ap_aifsn is set twice"),
        ("cubic@cake@pfifo", "'pfifo': ap_qdisc is set twice"),
    ],
)
def test_what_is_no_variant_is_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        variant(name)
