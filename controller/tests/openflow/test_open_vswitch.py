# SPDX-License-Identifier: Apache-2.0
"""With the real Open vSwitch, the real process and a real controller: what is counted, limited and marked, and what is
left when one of them is killed.
"""

import json
import re
import signal
import sys
import time
from typing import Any

import pytest

from airbound_testing.openflow_site import BSSID, CONFIG, OPENFLOW_PORT, Site

pytestmark = pytest.mark.long

# Rules are what is looked at while they are in force: the lease outlasts a controller that does not run for long.
PATIENT = "[safety]\nlease_ms = 60_000\n"
PATIENT_METERS = PATIENT + '[openflow]\nmeters = "on"\n[capacity]\ndefault_bps = 4e6\n'
METERS = CONFIG + '[openflow]\nmeters = "on"\n[capacity]\ndefault_bps = 4e6\n'
MARKS = PATIENT + '[openflow]\nmarks = ["udp:4000=ef", "tcp=8"]\n'
# So few, and so short, that a busy machine loses none: neither what waits in the sockets of Open vSwitch's user-space
# datapath while that does not run, for two seconds, nor what a sender that has not run for as long sends then at once,
# beyond a meter's burst. It is a gap in forwarding that loses them.
PACKETS = {"rate": 100, "size": 200}  # a second, octets
GAP_MAX = 0.2 * PACKETS["rate"]  # packets that are lost in a row


def test_who_sends_what_to_whom_by_which_protocol(site: Site) -> None:
    site.start_all(1)
    senders = [site.send(1, 2, port, rate=100) for port in (443, 4000)]
    site.serve(2, 80)
    uploaded = int(site.upload(1, 2, 80, 2).line())
    octets = 1_042  # of a packet, with its headers
    counted: dict[str, dict[str, Any]] = {}

    def is_counted() -> bool:
        """What is sent is listed as long as it goes on; the first packets count before their address is learnt."""
        found = site.traffic(1)
        counted.update({row["protocol"].removeprefix("TRAFFIC_PROTOCOL_"): row for row in found if row["address"]})
        learnt_late = sum(int(row["uplink_bytes"]) for row in found if not row["address"])
        return (
            counted.keys() >= {"QUIC", "UDP", "TCP"}
            and all(int(counted[protocol]["uplink_bytes"]) >= 90 * octets for protocol in ("QUIC", "UDP"))
            and int(counted["TCP"]["uplink_bytes"]) + learnt_late >= uploaded
        )

    site.ovs.until(is_counted)
    assert {row["address"] for row in counted.values()} == {"10.0.0.2"}
    assert int(counted["TCP"]["uplink_bytes"]) > int(counted["TCP"]["downlink_bytes"]) > 0  # an upload, and its ACKs
    for protocol, sender in zip(("QUIC", "UDP"), senders, strict=True):
        assert int(counted[protocol]["uplink_bytes"]) % octets == 0
        assert int(counted[protocol]["uplink_bytes"]) <= sender.end() * octets
    (switch,) = site.switches()
    assert switch["bound_by"] == "SWITCH_BINDING_ACCESS_POINT"
    assert switch["counts_for_cell"]
    assert (int(switch["errors_total"]), int(switch["malformed_total"])) == (0, 0)


def test_an_active_sender_is_known_by_the_switch_alone_while_it_sends(site: Site) -> None:
    site.start_all(1, 2)
    assert cell(site)["active_senders"] == 0
    sender = site.send(1, 2, 4000, rate=200)
    site.ovs.until(lambda: cell(site)["active_senders"] == 1)
    sender.end()
    site.ovs.until(lambda: cell(site)["active_senders"] == 0)


def test_without_an_access_points_agent_the_switch_makes_the_cell_and_ends_it(site: Site) -> None:
    site.start_controller()
    site.ovs.until(site.answers)
    binding = f"{site.ovs.datapath_id:016x}={BSSID}"
    site.start_openflow("--bridge", binding, "--station-port", "v1")
    site.ovs.connect(f"tcp:127.0.0.1:{OPENFLOW_PORT}")
    site.ovs.until(lambda: site.switches() and site.switches()[0]["counts_for_cell"])
    site.send(1, 2, 4000, rate=200)
    site.ovs.until(lambda: cell(site)["active_senders"] == 1)
    phone = site.ovs.mac(1).hex(":")
    assert f"cell {BSSID}" in site.airbound("explain", "--plain-text", BSSID)
    assert "access point not connected" in site.airbound("explain", "--plain-text", BSSID)
    assert phone in site.airbound("stations", "--plain-text", BSSID)
    assert "10.0.0.2" in site.airbound("explain", "--plain-text", phone)
    assert site.ovs.mac(2).hex(":") not in site.airbound("stations", "--plain-text", BSSID)  # on the wire
    site.kill("openflow")
    site.ovs.until(lambda: json.loads(site.airbound("cells", "--plain-text", "--json"))["cells"] == [])


def cell(site: Site) -> dict[str, int]:
    found: dict[str, int] = json.loads(site.airbound("cells", "--plain-text", "--json"))["cells"][0]
    return found


@pytest.mark.parametrize("site", [PATIENT_METERS], indirect=True)
def test_a_meter_limits_an_active_sender_without_an_agent_to_its_share(site: Site) -> None:
    site.start_all(1)
    sender = site.send(1, 2, 4000, rate=1_250)  # 10 Mb/s; a share is 4 Mb/s, with headroom 5
    site.ovs.until(lambda: any("meter:" in flow for flow in site.ovs.flows()))
    receiver = site.receive(2, 4000)
    time.sleep(3)
    site.ovs.until(lambda: int(site.switches()[0]["meter_dropped_bytes"]) > 100_000)
    sender.end()
    found = receiver.end()
    # Above: a tenth of a second's worth passes at once, and what waits in a late receiver's socket. Below: a sender, a
    # switch or a receiver that is late takes from it.
    assert 1.0 <= found["bytes"] * 8 / found["seconds"] / 1e6 <= 6.5
    site.ovs.until(lambda: not any("meter:" in flow for flow in site.ovs.flows()))  # it no longer sends


@pytest.mark.parametrize("site", [MARKS], indirect=True)
def test_what_goes_to_a_station_is_marked_by_its_class(site: Site) -> None:
    site.start_all(1)
    for port, dscp in ((4000, [46]), (4001, [0])):
        receiver = site.receive(1, port + 1_000)
        site.ovs.run(*site.ovs.at(2, sys.executable, "-c", SEND_FROM, str(port), str(port + 1_000)))
        assert receiver.end()["dscp"] == dscp


SEND_FROM = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.bind(("", int(sys.argv[1])))
for _ in range(20):
    out.sendto(bytes(100), ("10.0.0.1", int(sys.argv[2])))
    time.sleep(0.02)
"""


@pytest.mark.parametrize("site", [METERS], indirect=True)
def test_a_killed_process_leaves_forwarding_and_nothing_of_its_rules_after_the_lease(site: Site) -> None:
    site.start_all(1)
    site.ovs.fail_open_after(300)
    receiver, sender = site.receive(2, 4000), site.send(1, 2, 4000, **PACKETS)
    site.ovs.until(lambda: any("meter:" in flow for flow in site.ovs.flows()))
    site.kill("openflow")
    site.ovs.until(lambda: not any("meter:" in flow for flow in site.ovs.flows()))  # the lease is 3 s, under traffic
    site.start_openflow()
    site.until_openflow_listens()
    site.until_rules()
    site.ovs.until(lambda: cookies(site) == 1)  # leftovers of the one before are gone
    sender.end()
    assert receiver.end()["lost_in_a_row"] <= GAP_MAX


def test_after_a_long_outage_the_switch_connects_in_a_second_or_two(site: Site) -> None:
    site.start_all(1)
    site.kill("openflow")
    time.sleep(24)  # with waits of 1, 2, 4, 8, 8 s the next attempt would be 7 s away
    assert not site.is_connected()
    site.start_openflow()
    site.until_openflow_listens()
    began_s = time.monotonic()
    site.ovs.until(site.is_connected)
    assert time.monotonic() - began_s < 4  # it takes up to 1.5
    site.until_rules()


def cookies(site: Site) -> int:
    """How many connections have flows."""
    return len({match[1] for flow in site.ovs.flows() if (match := re.search(r"cookie=0xa1b0(....)", flow))})


def test_a_controller_that_is_killed_and_started_again_costs_no_packet(site: Site) -> None:
    site.start_all(1)
    receiver, sender = site.receive(2, 4000), site.send(1, 2, 4000, **PACKETS)
    site.ovs.until(lambda: any("CONTROLLER" in flow for flow in site.ovs.flows()))
    site.kill("controller")
    site.ovs.until(lambda: not any("CONTROLLER" in flow for flow in site.ovs.flows()))  # the lease is over
    site.start_controller()
    site.ovs.until(site.answers)
    site.kill("access-point")
    site.start_access_point(1)
    site.until_rules()
    sender.end()
    assert receiver.end()["lost_in_a_row"] <= GAP_MAX


def test_a_switch_that_is_killed_and_started_again_is_right_again(site: Site) -> None:
    site.start_all(1)
    site.ovs.kill_daemon()
    site.ovs.until(lambda: site.switches() == [])
    site.ovs.start_daemon()
    site.until_rules()
    receiver, sender = site.receive(2, 4000), site.send(1, 2, 4000, **PACKETS)
    time.sleep(2)
    assert sender.end() > 0
    found = receiver.end()
    assert found["packets"] > 0
    assert found["lost_in_a_row"] <= GAP_MAX


def test_a_process_that_is_stopped_ends_its_rules_at_once_and_keeps_forwarding(site: Site) -> None:
    site.start_all(1)
    receiver, sender = site.receive(2, 4000), site.send(1, 2, 4000, **PACKETS)
    time.sleep(1)
    site.kill("openflow", signal.SIGTERM)
    assert not any("CONTROLLER" in flow or "meter:" in flow for flow in site.ovs.flows())
    time.sleep(3)
    sender.end()
    assert receiver.end()["lost_in_a_row"] <= GAP_MAX
