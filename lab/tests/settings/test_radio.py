# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from pydantic import ValidationError

from airbound_lab.plan import guest_plan
from airbound_lab.plan.guest_paths import Programs
from airbound_lab.settings import radio
from airbound_lab.settings.parameters import Parameters

PROGRAMS = Programs(*(f"/opt/{name}" for name in ("traffic", "python", "controller", "ap", "phone", "operator")))


def hostapd(**changes: object) -> list[str]:
    parameters = Parameters(terminals=1, **changes)  # type: ignore[arg-type]
    text: str = guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["access_point"]["hostapd"]
    return text.splitlines()


@pytest.mark.parametrize(
    ("phy", "lines"),
    [
        ("11g", {"hw_mode=g", "channel=6", "ieee80211n=0", "wmm_enabled=0"}),
        ("11n-20", {"hw_mode=g", "channel=6", "ieee80211n=1", "ht_capab=[SHORT-GI-20]", "wmm_enabled=1"}),
        ("11n-40", {"hw_mode=a", "channel=36", "ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]", "wmm_enabled=1"}),
        ("11ac-80", {"ieee80211ac=1", "vht_capab=[SHORT-GI-80][MAX-A-MPDU-LEN-EXP7]", "vht_oper_chwidth=1"}),
    ],
)
def test_hostapd_announces_the_profile(phy: str, lines: set[str]) -> None:
    assert lines <= set(hostapd(phy=phy))


def test_with_the_long_guard_interval_nothing_says_short() -> None:
    for phy in ("11n-20", "11n-40", "11ac-80"):
        assert not any("SHORT-GI" in line for line in hostapd(phy=phy, guard_interval="long"))
    assert not any(line.startswith("ht_capab") for line in hostapd(phy="11n-20", guard_interval="long"))


def test_the_kernel_is_told_nothing_of_802_11g() -> None:
    assert radio.boot_parameters(radio.PROFILES["11g"], 1, "short") == {}
    assert radio.boot_parameters(radio.PROFILES["11g"], 1, "short", aql=False) == {"dcf_aql": 0}


def test_the_kernel_is_told_streams_guard_interval_and_band() -> None:
    profiles = radio.PROFILES
    assert radio.boot_parameters(profiles["11n-20"], 1, "long") == {"dcf_streams": 1, "dcf_short_gi": 0}
    assert radio.boot_parameters(profiles["11ac-80"], 2, "short") == {
        "dcf_streams": 2, "dcf_short_gi": 1, "dcf_5_ghz": 1,
    }  # fmt: skip


def test_stations_look_for_the_access_point_where_it_is() -> None:
    for phy, frequency_mhz in (("11g", 2437), ("11ac-80", 5180)):
        plan = guest_plan.plan(Parameters(terminals=1, phy=phy), "cubic", 1, PROGRAMS)
        assert f"scan_freq={frequency_mhz}\n" in plan["wpa_supplicant"]


def test_a_driver_of_aggregates_has_room_for_several() -> None:
    plans = [guest_plan.plan(Parameters(phy=phy), "cubic", 1, PROGRAMS)["medium"] for phy in ("11g", "11n-20")]
    assert [medium["dcf_sta_queue_frames"] for medium in plans] == [64, 256]
    chosen = guest_plan.plan(Parameters(phy="11n-20", ap_driver_queue_frames=9), "cubic", 1, PROGRAMS)["medium"]
    assert (chosen["dcf_ap_queue_frames"], chosen["dcf_sta_queue_frames"]) == (9, 256)


def test_rts_is_sent_where_a_run_asks_for_it() -> None:
    assert "dcf_rts_bytes" not in guest_plan.plan(Parameters(), "cubic", 1, PROGRAMS)["medium"]
    assert guest_plan.plan(Parameters(rts_bytes=500), "cubic", 1, PROGRAMS)["medium"]["dcf_rts_bytes"] == 500


def test_interference_is_mean_times_of_bursts_and_pauses() -> None:
    assert "dcf_interference" not in guest_plan.plan(Parameters(), "cubic", 1, PROGRAMS)["medium"]
    medium = guest_plan.plan(Parameters(interference_us=(500, 1500)), "cubic", 1, PROGRAMS)["medium"]
    assert medium["dcf_interference"] == "500 1500"


def test_hidden_phones_are_pairs_of_radios() -> None:
    assert guest_plan.plan(Parameters(), "cubic", 1, PROGRAMS)["hidden"] == []
    parameters = Parameters(terminals=3, hidden=((1, 2), (3, 1)))
    assert guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["hidden"] == ["1 2", "3 1"]
    two = Parameters(terminals=3, hidden=((1, 2),), access_points=2)
    assert guest_plan.plan(two, "cubic", 1, PROGRAMS)["hidden"] == ["2 3"]


def test_each_phones_link_has_the_snr_of_its_distance_in_both_directions() -> None:
    assert guest_plan.plan(Parameters(terminals=2), "cubic", 1, PROGRAMS)["links"] == []
    near, far = (radio.link_snr_quarter_db(radio.PROFILES["11g"], distance_m) for distance_m in (5, 50))
    assert near - far == 120  # a decade at exponent 3
    links = guest_plan.plan(Parameters(terminals=3, distances_m=(5, 50)), "cubic", 1, PROGRAMS)["links"]
    assert links == [f"1 0 {near}", f"0 1 {near}", f"2 0 {far}", f"0 2 {far}", f"3 0 {near}", f"0 3 {near}"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phy": "11ac-80", "rate_control": "aarf"}, "aarf knows 802.11g's rates only"),
        ({"phy": "11n-20", "ap_rate_control": "aarf"}, "aarf knows 802.11g's rates only"),
        ({"streams": 2}, "not of 11g"),
        ({"guard_interval": "long"}, "not of 11g"),
        ({"phy": "11n-20", "streams": 3}, "less than or equal to 2"),
        ({"ap": "openwrt"}, "Linux 6.1 has no queues in mac80211"),
        ({"phy": "11ax"}, "phy"),
        ({"distances_m": (0,)}, "greater than 0"),
        ({"interference_us": (1000,)}, "interference_us"),
        ({"terminals": 2, "hidden": ((1, 3),)}, "1-3: not two of 2 phones"),
        ({"terminals": 2, "hidden": ((2, 2),)}, "2-2: not two of 2 phones"),
        ({"terminals": 2, "hidden": ((0, 2),)}, "greater than or equal to 1"),
        ({"interference_us": (0, 1000)}, "greater than or equal to 1"),
    ],
)
def test_radios_that_there_are_not_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Parameters(**changes)  # type: ignore[arg-type]


def test_an_openwrt_access_point_has_wmm_and_mac80211s_queues() -> None:
    parameters = Parameters(ap="openwrt", kernel_line="6.12")
    assert parameters.has_wmm
    assert guest_plan.plan(parameters, "cubic", 1, PROGRAMS)["medium"]["dcf_access_categories"] == 1
