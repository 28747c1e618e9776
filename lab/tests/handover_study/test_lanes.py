# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ipaddress
import re
from typing import Any

import pytest

from airbound_lab.handover_study import lanes
from airbound_lab.handover_study.design import Design
from airbound_lab.handover_study.lanes import Lane


def wanted(count: int) -> list[Lane]:
    cases = Design(seeds=tuple(range(1, count + 1))).cases()
    return [Lane(case, "tcp") for case in cases[:count]]


@pytest.mark.parametrize("ipv6", [False, True])
def test_every_lane_has_addresses_of_its_own(*, ipv6: bool) -> None:
    plan = lanes.plan(wanted(300), ipv6=ipv6)["lanes"]["lanes"]
    addresses = [ipaddress.ip_address(lane[end]) for lane in plan for end in ("phone", "server")]
    assert len(set(addresses)) == 600
    assert {address.version for address in addresses} == {6 if ipv6 else 4}


@pytest.mark.parametrize("ipv6", [False, True])
def test_neighbours_are_each_other(*, ipv6: bool) -> None:
    plan = lanes.plan(wanted(300), ipv6=ipv6)

    def found(text: str) -> Any:
        macs = dict(re.findall(r"link set \w(\d+) address (\S+) up", text))
        own = dict(re.findall(r"address add (\S+)/\d+ dev \w(\d+)", text))
        peers = re.findall(r"neighbour add (\S+) lladdr (\S+) dev \w(\d+) nud permanent", text)
        return macs, {number: address for address, number in own.items()}, {n: (a, mac) for a, mac, n in peers}

    phone_macs, phones, phone_peers = found(plan["namespaces"]["phone"]["ip"])
    server_macs, servers, server_peers = found(plan["namespaces"]["server"]["ip"])
    assert len(phones) == len(set(phone_macs.values()) | set(server_macs.values())) / 2 == 300
    for number, address in phones.items():
        assert server_peers[number] == (address, phone_macs[number])
        assert phone_peers[number] == (servers[number], server_macs[number])
    for number, lane in enumerate(plan["lanes"]["lanes"]):
        assert (lane["phone"], lane["server"]) == (phones[str(number)], servers[str(number)])


def test_the_path_is_that_of_the_case() -> None:
    [case] = Design(rtts_ms=(256,), lost_s=(3,), before_s=(4,), held_s=(11,), after_s=(20,), seeds=(7,)).cases()
    [lane] = lanes.plan([Lane(case, "udp")], ipv6=False)["lanes"]["lanes"]
    path = lane["path"]
    assert (path["one_way_ns"], path["lost_ns"], path["held_ns"]) == (128_000_000, 3 * 10**9, 11 * 10**9)
    assert (path["before_ns"], path["after_ns"], path["seed"]) == (4 * 10**9, 20 * 10**9, 7)
    assert path["loss_at_ns"] == round(case.handover.loss_at_s(7) * 1e9)
    assert lane["records"] * lane["period_ns"] >= (case.handover.complete_s(7) + 15) * 1e9


@pytest.mark.parametrize("count", [0, lanes.LANES_MAX + 1])
def test_a_guest_has_room_for_so_many(count: int) -> None:
    [case, *_] = Design().cases()
    with pytest.raises(ValueError, match="lanes"):
        lanes.plan([Lane(case, "udp")] * count, ipv6=False)
