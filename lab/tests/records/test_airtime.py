# SPDX-License-Identifier: Apache-2.0

from airbound_lab.records.airtime import Airtime, parse

DUMP = """\
Station 02:00:00:00:01:00 (on wlan0)
	inactive time:	0 ms
	rx bytes:	123456
	tx duration:	70123 us
	rx duration:	3012345 us
	authorized:	yes
	connected time:	21 seconds
	associated at [boottime]:	4.210s
Station 02:00:00:00:02:00 (on wlan0)
	tx duration:	0 us
	rx duration:	12 us
	connected time:	3 seconds
"""


def test_each_station_has_its_own() -> None:
    assert parse(DUMP) == {
        "02:00:00:00:01:00": Airtime(3_012_345, 70_123, 21),
        "02:00:00:00:02:00": Airtime(12, 0, 3),
    }


def test_a_driver_that_does_not_count_has_none() -> None:
    assert parse(DUMP.replace("\trx duration:\t12 us\n", "")).keys() == {"02:00:00:00:01:00"}
    assert parse("") == {}
    assert parse("command failed: No such device (-19)\n") == {}
