# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.plan import topology
from airbound_lab.settings import modes
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.qdisc import QDISCS


@given(st.integers(1, 100), st.integers(1, 3), st.lists(st.floats(0, 500), min_size=1, max_size=100))
def test_addresses_and_macs_are_valid_and_all_different(
    terminals: int, access_points: int, delays_ms: list[float]
) -> None:
    parameters = Parameters(terminals=terminals, access_points=access_points, wired_delays_ms=tuple(delays_ms))
    cell = topology.build(parameters)
    nodes = (*cell.access_points, *cell.phones, *cell.servers)
    addresses = [topology.CONTROLLER_ADDRESS, *(node.address for node in nodes)]
    macs = [topology.CONTROLLER_MAC, *(node.mac for node in nodes)]
    macs += [mac for access_point in cell.access_points for mac in (access_point.wire_mac, access_point.bssid)]
    assert (cell.access_points[0].address, cell.access_points[0].mac) == (topology.AP_ADDRESS, topology.AP_MAC)
    assert (cell.access_points[0].interface, cell.access_points[0].bssid) == (topology.RADIO, topology.BSSID)
    network = ipaddress.ip_network("10.0.0.0/16")
    assert all(ipaddress.ip_address(address) in network for address in addresses)
    assert len(set(addresses)) == len(addresses)
    assert len(set(macs)) == len(macs)
    assert all(int(mac[:2], 16) & 3 == 2 for mac in macs)


def test_radios_are_the_access_points_then_the_phones() -> None:
    cell = topology.build(Parameters(terminals=3, access_points=2))
    assert [node.radio for node in (*cell.access_points, *cell.phones)] == [f"phy{i}" for i in range(5)]
    assert [node.interface for node in (*cell.access_points, *cell.phones)] == [f"wlan{i}" for i in range(5)]
    assert [phone.name for phone in cell.phones] == ["sta1", "sta2", "sta3"]


def test_a_wire_leads_from_the_first_access_point_to_each_other() -> None:
    cell = topology.build(Parameters(terminals=1, access_points=3))
    for other in cell.access_points[1:]:
        wire = f"link add {other.name} type veth peer name eth0 address {other.wire_mac} netns {other.name}\n"
        assert wire in topology.access_point_ip(cell)
        assert f"link set {other.name} master br0 up\n" in topology.access_point_ip(cell)
        assert f"neigh add {other.address} lladdr {other.mac} dev eth0 nud permanent\n" in topology.controller_ip(cell)
        assert "link set eth0 master br0 up\n" in topology.other_access_point_ip(other)


def test_every_access_point_has_the_queue_of_the_first() -> None:
    cell = topology.build(Parameters(terminals=1, access_points=2, ap_qdisc="fq_codel", ap_queue_packets=100))
    assert topology.other_access_point_tc(cell, cell.access_points[1]) == (
        "qdisc replace dev wlan1 root fq_codel limit 100\n"
    )


def test_phones_with_equal_delay_share_a_server() -> None:
    cell = topology.build(Parameters(terminals=5, wired_delays_ms=(4.0, 64.0, 256.0)))
    assert [server.delay_ms for server in cell.servers] == [4, 64, 256]
    assert [cell.server_of(phone).index for phone in cell.phones] == [1, 2, 3, 1, 2]


def test_no_server_is_made_that_no_phone_uses() -> None:
    assert len(topology.build(Parameters(terminals=2, wired_delays_ms=(4.0, 64.0, 256.0))).servers) == 2


def test_the_delay_is_split_over_both_directions() -> None:
    cell = topology.build(Parameters(terminals=1, wired_delays_ms=(5.0,)))
    assert "dev server1 root netem delay 2.5ms" in topology.access_point_tc(cell)
    assert "dev eth0 root netem delay 2.5ms" in topology.server_tc(cell.servers[0])


def test_without_delay_there_is_no_netem() -> None:
    cell = topology.build(Parameters(terminals=1, wired_delays_ms=(0.0,)))
    assert "netem" not in topology.access_point_tc(cell) + topology.server_tc(cell.servers[0])


@pytest.mark.parametrize(
    ("changes", "wire"),
    [
        ({"controller_delay_ms": 500.0}, "netem delay 500ms limit 1000000"),
        ({"controller_loss_percent": 10.0}, "netem delay 0ms loss 10% limit 1000000"),
        ({"controller_delay_ms": 2.5, "controller_loss_percent": 0.5}, "netem delay 2.5ms loss 0.5% limit 1000000"),
    ],
)
def test_reports_and_commands_meet_the_same_delay_and_loss(changes: dict[str, float], wire: str) -> None:
    perfect, cell = (topology.build(Parameters(terminals=1, **more)) for more in ({}, changes))
    added = f"qdisc replace dev controller root {wire}\n"
    assert topology.access_point_tc(cell) == topology.access_point_tc(perfect) + added
    assert topology.controller_tc(cell) == f"qdisc replace dev eth0 root {wire}\n"
    assert topology.controller_tc(perfect) == ""


@pytest.mark.parametrize("mode", [*modes.NAMED, "bdp+bbr", "bdp+vegas"])
def test_bbr_runs_on_fq_and_dctcp_on_fq_codel_unless_another_qdisc_is_given(mode: str) -> None:
    cell = topology.build(Parameters(terminals=1))
    made_for = {"bbr": "fq limit 1000", "dctcp": "fq_codel limit 1000"}
    expected = made_for.get(mode.rpartition("+")[2], "pfifo limit 1000")
    assert topology.phone_tc(cell, cell.phones[0], mode) == f"qdisc replace dev wlan1 root {expected}\n"
    given = topology.build(Parameters(terminals=1, qdisc="fq_codel", queue_packets=70))
    assert topology.phone_tc(given, given.phones[0], mode) == "qdisc replace dev wlan1 root fq_codel limit 70\n"


def test_the_access_point_queue_is_a_knob_of_its_own() -> None:
    cell = topology.build(Parameters(terminals=1, ap_qdisc="fq_codel", ap_queue_packets=100))
    assert "dev wlan0 root fq_codel limit 100" in topology.access_point_tc(cell)


def test_a_clamp_of_cwnd_is_a_metric_of_the_route_to_the_server() -> None:
    cell = topology.build(Parameters(terminals=2, wired_delays_ms=(4.0, 64.0), cwnd_clamp_segs=63))
    routes = [line for line in topology.phone_ip(cell, cell.phones[1]).splitlines() if line.startswith("route")]
    assert routes == ["route add 10.0.5.1/32 dev wlan2 scope link src 10.0.0.12 cwnd lock 63"]
    assert "route" not in topology.phone_ip(topology.build(Parameters(terminals=1)), cell.phones[0])


@pytest.mark.parametrize(
    ("qdisc", "words"), [("cake", "cake unlimited"), ("cake-ack-filter", "cake unlimited ack-filter")]
)
def test_cake_does_not_shape_and_has_its_own_limit(qdisc: str, words: str) -> None:
    cell = topology.build(Parameters(terminals=1, qdisc=qdisc, ap_qdisc=qdisc, queue_packets=7, ap_queue_packets=7))
    assert f"qdisc replace dev wlan0 root {words}\n" in topology.access_point_tc(cell)
    assert topology.phone_tc(cell, cell.phones[0], "cubic") == f"qdisc replace dev wlan1 root {words}\n"
    assert qdisc in QDISCS


def test_on_6_12_an_interface_has_one_queue_with_wmm_as_well() -> None:
    plain, wmm = (topology.build(Parameters(terminals=1, wmm=wmm, kernel_line="6.12")) for wmm in (False, True))
    assert topology.access_point_tc(wmm) == topology.access_point_tc(plain)
    assert topology.phone_tc(wmm, wmm.phones[0], "cubic") == topology.phone_tc(plain, plain.phones[0], "cubic")


def test_with_wmm_each_access_category_has_a_queue_of_its_own() -> None:
    cell = topology.build(Parameters(terminals=1, wmm=True, queue_packets=70, ap_qdisc="fq_codel", ap_queue_packets=90))
    assert topology.phone_tc(cell, cell.phones[0], "cubic").splitlines() == [
        "qdisc replace dev wlan1 root handle 1: mq",
        *(f"qdisc replace dev wlan1 parent 1:{number} pfifo limit 70" for number in (1, 2, 3, 4)),
    ]
    assert "qdisc replace dev wlan0 parent 1:4 fq_codel limit 90\n" in topology.access_point_tc(cell)


def test_pfifo_fast_has_the_limit_of_its_interface() -> None:
    cell = topology.build(Parameters(terminals=1, qdisc="pfifo_fast"))
    assert topology.phone_tc(cell, cell.phones[0], "cubic") == "qdisc replace dev wlan1 root pfifo_fast\n"
