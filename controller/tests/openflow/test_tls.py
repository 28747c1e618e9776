# SPDX-License-Identifier: Apache-2.0
"""The real Open vSwitch, the real process and a real controller, by mutual TLS with certificates of `airbound ca`."""

import json
import sys

from airbound_testing.openflow_site import BSSID, Site

CONTROLLER = '[tls]\ndirectory = "{ca}"\nenrollment = ""\n'


def test_a_switch_is_seen_and_has_a_controller_by_tls(site: Site) -> None:
    ovs = site.ovs
    ca, name = ovs.directory / "ca", f"{ovs.datapath_id:016x}"
    site.airbound("ca", "init", "--directory", str(ca))
    for kind, holder in (("operator", "me"), ("switch", "openflow-1"), ("switch", name)):
        site.airbound("ca", kind, holder, "--directory", str(ca), "--out", str(ovs.directory / holder))
    file = ovs.directory / "tls.toml"
    file.write_text(CONTROLLER.format(ca=ca), encoding="utf-8")
    site.start("controller", "airbound", "controller", "--config", str(file), "--metrics", "")
    files = str(ovs.directory / "openflow-1")
    site.start("openflow", "airbound", "openflow", "--tls-dir", files, "--bridge", f"{name}={BSSID}")
    ovs.set_ssl(ovs.directory / name)
    ovs.connect("ssl:127.0.0.1:6653")

    def seen() -> bool:
        command = (sys.executable, "-m", "airbound", "switches", "--json", "--tls-dir", str(ovs.directory / "me"))
        switches = json.loads(ovs.run(*command, check=False) or '{"switches": []}')["switches"]
        return [(switch["datapath_id"], switch["name"], switch["bssid"]) for switch in switches] == [
            (name, "openflow-1", BSSID)
        ]

    ovs.until(seen)
    # Open vSwitch writes its state into the database every few seconds only.
    ovs.until(lambda: "true" in ovs.vsctl("get", "controller", "br0", "is_connected"))
    assert len([flow for flow in ovs.flows() if "priority=0" in flow]) == 4
