# SPDX-License-Identifier: Apache-2.0
"""Values by their keys, differences, the hash."""

from airbound.config import Config, parse
from airbound.configuration.values import config_hash, differences, flat

BSSID = "02:00:00:00:00:0a"
CELLS = f"""
[bdp]
gain = 2

[[cell]]
bssid = '{BSSID}'
exempt = ['192.0.2.7']
[cell.bdp]
queue_segs = 0

[[cell]]
ssid = ['office-*', 'lab']
mode = 'observe'
exempt = true
policy = 'paper'
capacity.default_bps = 5_000_000
"""


def test_values_of_a_configuration_by_their_keys() -> None:
    values = flat(parse(CELLS, "x"))
    assert {key: value for key, value in values.items() if key.startswith("cell.")} == {
        "cell.0.bssid": (BSSID,),
        "cell.0.exempt": ("192.0.2.7",),
        "cell.0.bdp.queue_segs": 0,
        "cell.1.ssid": ("office-*", "lab"),
        "cell.1.mode": "observe",
        "cell.1.exempt": True,
        "cell.1.policy": "paper",
        "cell.1.capacity.default_bps": 5e6,
    }
    assert values.keys() - {"cell"} >= flat(Config()).keys()


def test_differences_of_overrides() -> None:
    after = CELLS.replace("mode = 'observe'\n", "").replace("queue_segs = 0", "gain = 3")
    assert set(differences(parse(CELLS, "x"), parse(after, "x"))) == {
        "cell.0.bdp.queue_segs 0 -> None",
        "cell.0.bdp.gain None -> 3.0",
        "cell.1.mode observe -> None",
    }


def test_equal_configurations_have_equal_hashes_however_they_are_written() -> None:
    one = parse("mode = 'observe'\n[bdp]\ngain = 2\n[[cell]]\nssid = 'a'\n[cell.bdp]\ngain = 3", "x")
    same = parse(
        "bdp.gain = 2.0\nmode = 'observe'\npolicy = 'aggregate'\n[[cell]]\nssid = ['a']\nbdp = {gain = 3.0}", "y"
    )
    other = parse("mode = 'observe'\n[bdp]\ngain = 2\n[[cell]]\nssid = 'a'\n[cell.bdp]\ngain = 4", "x")
    assert config_hash(one) == config_hash(same)
    assert len({config_hash(one), config_hash(other), config_hash(Config())}) == 3
    assert len(config_hash(one)) == 64


def test_differences_are_named_by_their_keys_in_the_file() -> None:
    after = parse("exempt = ['192.0.2.7']\nmode = 'observe'\n[bdp]\ngain = 2.0\n[limits]\nstreams_max = 5", "x")
    assert differences(Config(), Config()) == []
    assert set(differences(Config(), after)) == {
        "exempt () -> ('192.0.2.7',)",
        "mode control -> observe",
        "bdp.gain 1.0 -> 2.0",
        "limits.streams_max 20000 -> 5",
    }
