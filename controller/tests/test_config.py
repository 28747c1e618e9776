# SPDX-License-Identifier: Apache-2.0

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.config import Config, ConfigError, differences, load, parse
from airbound.core.parameters import BdpParameters, ParameterError

EXAMPLE = """
listen = "[::]:50051"
log = "json"
mode = "observe"
policy = "paper"
exempt = ["02:00:00:00:01:00"]

[paper]
generation = "gb"

[bdp]
gain = 2
queue_segs = 0

[safety]
lease_ms = 3000
"""


def test_an_empty_file_holds_the_defaults() -> None:
    assert parse("", "x") == Config()


def test_what_is_set_holds_and_the_rest_is_default() -> None:
    config = parse(EXAMPLE, "x")
    assert (config.listen, config.log, config.exempt) == ("[::]:50051", "json", ("02:00:00:00:01:00",))
    assert (config.parameters.mode, config.parameters.policy) == ("observe", "paper")
    assert config.parameters.paper.generation == "gb"
    assert config.parameters.bdp == BdpParameters(gain=2, queue_segs=0)
    assert config.parameters.safety.lease_ms == 3000
    assert config.parameters.senders == Config().parameters.senders


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("polcy = 'bdp'", "x.toml: unknown key polcy; did you mean policy?"),
        ("[bpd]", "x.toml: unknown key bpd; did you mean bdp?"),
        ("[bdp]\ngian = 1.0", "x.toml: unknown key bdp.gian; did you mean bdp.gain?"),
        ("zzz = 1", "x.toml: unknown key zzz; known keys: bdp, capacity, exempt, listen, log, min_rtt, mode, paper,"),
        ("policy = 'fair'", "x.toml: policy = 'fair': expected 'paper' or 'bdp'"),
        ("mode = 1", "x.toml: mode = 1: expected 'observe' or 'control'"),
        ("bdp = 1", "x.toml: bdp = 1: expected a table, [bdp]"),
        ("[bdp]\ngain = 0.0", "x.toml: bdp.gain = 0.0: expected 0.1 to 100"),
        (
            "[senders]\nstop_bytes_per_s = 20_000",
            "x.toml: senders.stop_bytes_per_s = 20000: expected at most start",
        ),
        (
            "[capacity]\nmin_bps = 6e9",
            "x.toml: capacity.min_bps = 6000000000.0: expected at most max_bps",
        ),
        ("[bdp]\ngain = nan", "x.toml: bdp.gain = nan: expected a finite number"),
        ("[bdp]\ngain = true", "x.toml: bdp.gain = True: expected a finite number"),
        ("[bdp]\nqueue_segs = 1.5", "x.toml: bdp.queue_segs = 1.5: expected a whole number"),
        ("[min_rtt]\nshare = 1", "x.toml: min_rtt.share = 1: expected true or false"),
        ("[paper]\ngeneration = 'ics'", "x.toml: paper.generation = 'ics': expected 'gb' or 'jb'"),
        ("[safety]\nlease_ms = 999", "x.toml: safety.lease_ms = 999: expected 1000 to 60000"),
        ("listen = 50051", "x.toml: listen = 50051: expected ADDRESS:PORT"),
        ("listen = '::1:50051'", "x.toml: listen = '::1:50051': expected ADDRESS:PORT"),
        ("listen = 'a:70000'", "x.toml: listen = 'a:70000': expected ADDRESS:PORT"),
        ("exempt = 'all'", "x.toml: exempt = 'all': expected a list of MAC addresses"),
        ("exempt = ['02:00']", "x.toml: exempt = '02:00': not six lower-case"),
        ("policy", "x.toml: not TOML: "),
        ("[capacity]\ndefault_bps = 1" + "0" * 400, "x.toml: capacity.default_bps = 1000000"),
        ("[capacity]\ndefault_bps = 1" + "0" * 5000, "x.toml: not TOML: "),
        ("x = " + "[" * 5000 + "]" * 5000, "x.toml: not TOML: "),
    ],
)
def test_a_wrong_file_is_told_where_and_what(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "x.toml")
    assert str(caught.value).startswith(complaint)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read"):
        load(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"binary\.toml: cannot be read"):
        load(tmp_path / "binary.toml")


def test_the_readmes_reference_is_the_default_configuration() -> None:
    readme = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
    reference = readme.split("```toml\n")[1].split("```")[0]
    assert parse(reference, "README.md") == Config()
    tables: dict[str, Any] = tomllib.loads(reference)
    for name in ("senders", "safety", "min_rtt", "capacity", "paper", "bdp"):
        parameters = getattr(Config().parameters, name)
        assert set(tables[name]) == set(parameters.__dataclass_fields__), name


@given(st.text(max_size=60))
def test_any_text_is_a_configuration_or_an_error(text: str) -> None:
    try:
        assert isinstance(parse(text, "x"), Config)
    except ConfigError as error:
        assert str(error).startswith("x: ")  # noqa: PT017  # either outcome is right


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "1", None, True])
def test_no_absurd_number_becomes_a_parameter(value: Any) -> None:
    with pytest.raises(ParameterError, match="gain = "):
        BdpParameters(gain=value)


def test_differences_are_named_by_their_keys_in_the_file() -> None:
    after = parse("exempt = ['02:00:00:00:01:00']\nmode = 'observe'\n[bdp]\ngain = 2.0", "x")
    assert differences(Config(), Config()) == []
    assert differences(Config(), after) == [
        "exempt () -> ('02:00:00:00:01:00',)",
        "mode control -> observe",
        "bdp.gain 1.25 -> 2.0",
    ]
