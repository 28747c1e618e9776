# SPDX-License-Identifier: Apache-2.0

import dataclasses
import math
import os
import tomllib
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from airbound.config import (
    FILE_MAX_BYTES,
    Config,
    ConfigError,
    Limits,
    cell_overrides,
    checked_endpoint,
    load,
    parse,
)
from airbound.core.addresses import mac_from_text, mac_text
from airbound.core.parameters import BdpParameters, Parameters
from airbound.core.policy_names import BUILT_IN
from airbound.metrics.options import Metrics

BSSID = "02:00:00:00:00:0a"
EXAMPLE = """
listen = "[::]:50051"
operators = ["127.0.0.1:50052", "unix:/run/airbound.sock"]
log = "json"
mode = "observe"
policy = "paper"
exempt = ["192.0.2.7"]

[paper]
table = "gingerbread"

[bdp]
gain = 2
queue_segs = 0

[safety]
lease_ms = 3000

[identity]
match_addresses = false

[limits]
streams_max = 5
"""
TABLES = {
    "limits": Limits,
    "metrics": Metrics,
    **{
        field.name: type(getattr(Parameters(), field.name))
        for field in dataclasses.fields(Parameters)
        if dataclasses.is_dataclass(getattr(Parameters(), field.name))
    },
}
KEYS = [(table, field) for table, dataclass in TABLES.items() for field in dataclasses.fields(dataclass)]


def plain(annotation: Any) -> Any:
    """The type of a field without its limits, and without none."""
    if hasattr(annotation, "__metadata__") or get_origin(annotation) in {UnionType, Union}:
        return plain(get_args(annotation)[0])
    return annotation


def test_an_empty_file_is_the_defaults() -> None:
    assert parse("", "x") == Config()


def test_what_is_set_is_in_force_and_the_rest_is_default() -> None:
    config = parse(EXAMPLE, "x")
    assert (config.listen, config.log, config.exempt) == ("[::]:50051", "json", ("192.0.2.7",))
    assert config.operators == ("127.0.0.1:50052", "unix:/run/airbound.sock")
    assert (config.mode, config.parameters.policy) == ("observe", "paper")
    assert config.parameters.paper.table == "gingerbread"
    assert config.parameters.bdp == BdpParameters(gain=2, queue_segs=0)
    assert config.parameters.safety.lease_ms == 3000
    assert not config.parameters.identity.match_addresses
    assert config.limits == Limits(streams_max=5)
    assert config.parameters.reporting == Config().parameters.reporting


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("polcy = 'bdp'", "x.toml: unknown key polcy; did you mean policy?"),
        ("[bpd]", "x.toml: unknown key bpd; did you mean bdp?"),
        ("[bdp]\ngian = 1.0", "x.toml: unknown key bdp.gian; did you mean bdp.gain?"),
        ("[limits]\nstreams = 1", "x.toml: unknown key limits.streams; did you mean limits.streams_max?"),
        ("[bdp.x]\ny = 1", "x.toml: unknown key bdp.x; known keys: "),
        (
            "zzz = 1",
            "x.toml: unknown key zzz; known keys: aggregate, bdp, capacity, cell, edca, events, exempt, identity,",
        ),
        ("[parameters]\npolicy = 'bdp'", "x.toml: unknown key parameters; its tables stand at the top of the file"),
        ("policy = 'fair'", f"x.toml: policy = 'fair': expected {', '.join(BUILT_IN)}, MODULE:NAME"),
        ("mode = 1", "x.toml: mode = 1: should be 'observe' or 'control'"),
        ("bdp = 1", "x.toml: bdp = 1: should be a table, [bdp]"),
        ("limits = []", "x.toml: limits = []: should be a table, [limits]"),
        ("[bdp]\ngain = 0.0", "x.toml: bdp.gain = 0.0: should be greater than or equal to 0.1"),
        ("[bdp]\ngain = 100.5", "x.toml: bdp.gain = 100.5: should be less than or equal to 100"),
        ("[bdp]\ngain = '1'", "x.toml: bdp.gain = '1': should be a valid number"),
        ("[capacity]\nmin_bps = 6e9", "x.toml: capacity: min_bps is more than max_bps = 5e+09"),
        ("[edca]\naifsn_extra = 7", "x.toml: edca.aifsn_extra = 7: should be less than or equal to 6"),
        ("[edca]\ncw_min = 127", "x.toml: edca.cw_min = 127: should be less than or equal to 63"),
        (
            "[edca]\ncw_min = 16",
            "x.toml: edca.cw_min = 16: a contention window has 2^k - 1 slots: 1, 3, 7, ... 1023",
        ),
        ("[edca]\ncw_max = 2047", "x.toml: edca.cw_max = 2047: should be less than or equal to 1023"),
        ("[edca]\ncw_min = 31\ncw_max = 15", "x.toml: edca: cw_min is more than cw_max = 15"),
        ("[edca]\nstations_aifsn = 1", "x.toml: edca.stations_aifsn = 1: should be greater than or equal to 2"),
        (
            "[edca]\nstations_cw_min = 127\nstations_cw_max = 63",
            "x.toml: edca: stations_cw_min is more than stations_cw_max = 63",
        ),
        ("[edca]\ntxop_limit = 95", "x.toml: edca.txop_limit = 95: should be less than or equal to 94"),
        ("[edca]\non_share = 0.2", "x.toml: edca: off_share is more than on_share = 0.2"),
        ("[edca]\naifs = 4", "x.toml: unknown key edca.aifs; known keys: aifsn_extra, cw_max, cw_min, enabled,"),
        ("[bdp]\ngain = nan", "x.toml: bdp.gain = nan: should be a finite number"),
        ("[bdp]\ngain = inf", "x.toml: bdp.gain = inf: should be a finite number"),
        ("[bdp]\ngain = -inf", "x.toml: bdp.gain = -inf: should be a finite number"),
        ("[bdp]\ngain = true", "x.toml: bdp.gain = True: should be a valid number"),
        ("[bdp]\nqueue_segs = 1.5", "x.toml: bdp.queue_segs = 1.5: should be a valid integer"),
        ("[bdp]\nqueue_segs = 1.0", "x.toml: bdp.queue_segs = 1.0: should be a valid integer"),
        ("[bdp]\nqueue_segs = true", "x.toml: bdp.queue_segs = True: should be a valid integer"),
        ("[min_rtt]\nshare = 1", "x.toml: min_rtt.share = 1: should be a valid boolean"),
        ("[min_rtt]\nshare = 'true'", "x.toml: min_rtt.share = 'true': should be a valid boolean"),
        ("[paper]\ntable = 'ics'", "x.toml: paper.table = 'ics': should be 'gingerbread' or 'jelly-bean'"),
        ("[safety]\nlease_ms = 999", "x.toml: safety.lease_ms = 999: should be greater than or equal to 1000"),
        ("[limits]\nstreams_max = 0", "x.toml: limits.streams_max = 0: should be greater than or equal to 1"),
        ("[metrics]\nlisten = 'here'", "x.toml: metrics.listen = 'here': expected ADDRESS:PORT"),
        ("[metrics]\nstations = 'name'", "x.toml: metrics.stations = 'name': should be 'pseudonym', 'mac' or 'off'"),
        ("[metrics]\ncells_max = -1", "x.toml: metrics.cells_max = -1: should be greater than or equal to 0"),
        ("[metrics]\nkey = 'a'", "x.toml: metrics: certificate and key belong together"),
        ("[metrics]\nclient_ca = 'a'", "x.toml: metrics: client_ca needs a certificate and a key"),
        ("[metrics]\nlitsen = ''", "x.toml: unknown key metrics.litsen; did you mean metrics.listen?"),
        ("metrics = '127.0.0.1:1'", "x.toml: metrics = '127.0.0.1:1': should be a table, [metrics]"),
        ("listen = 50051", "x.toml: listen = 50051: should be a valid string"),
        ("listen = '::1:50051'", "x.toml: listen = '::1:50051': expected ADDRESS:PORT"),
        ("listen = 'a:70000'", "x.toml: listen = 'a:70000': expected ADDRESS:PORT"),
        (
            "listen = 'unix:/run/x'",
            "x.toml: listen = 'unix:/run/x': agents come over the network: expected ADDRESS:PORT",
        ),
        ("operators = '127.0.0.1:1'", "x.toml: operators = '127.0.0.1:1': should be a valid array"),
        ("operators = ['unix:run']", "x.toml: operators.0 = 'unix:run': expected unix:/PATH, an absolute path"),
        ("operators = ['127.0.0.1:1', 'x']", "x.toml: operators.1 = 'x': expected ADDRESS:PORT"),
        ("exempt = 'all'", "x.toml: exempt = 'all': should be a valid array"),
        ("exempt = ['']", "x.toml: exempt.0 = '': "),
        ("exempt = [7]", "x.toml: exempt.0 = 7: should be a valid string"),
        ('exempt = ["a\\nb"]', "x.toml: exempt.0 = 'a\\nb': expected a printable name"),
        ("exempt = [2026-01-31]", "x.toml: exempt.0 = 2026-01-31: dates and times are not used here"),
        (
            "[limits]\nstreams_max = 07:32:00",
            "x.toml: limits.streams_max = 07:32:00: dates and times are not used here",
        ),
        ("[cell]\nmode = 'observe'", "x.toml: cell: should be written [[cell]]"),
        ("cell = 1", "x.toml: cell = 1: should be a valid array"),
        ("cell = [1]", "x.toml: cell.0 = 1: should be a table, [cell]"),
        ("[[cell]]\nmode = 'observe'", "x.toml: cell.0: expected bssid or ssid, one of them"),
        (f"[[cell]]\nbssid = '{BSSID}'\nssid = 'a'", "x.toml: cell.0: expected bssid or ssid, one of them"),
        ("[[cell]]\nbssid = 'here'", "x.toml: cell.0.bssid.0 = 'here': 'here' is not a MAC address"),
        ("[[cell]]\nssid = ''", "x.toml: cell.0.ssid.0 = '': String should have at least 1 character"),
        ("[[cell]]\nssid = 1", "x.toml: cell.0.ssid = 1: should be a valid array"),
        ("[[cell]]\nssid = 'a'\nmode = 'off'", "x.toml: cell.0.mode = 'off': should be 'observe' or 'control'"),
        ("[[cell]]\nssid = 'a'\nmdoe = 'observe'", "x.toml: unknown key cell.0.mdoe; did you mean cell.0.mode?"),
        (
            "[[cell]]\nssid = 'a'\ntokens = ''",
            "x.toml: unknown key cell.0.tokens; known keys: aggregate, bdp, bssid, capacity,",
        ),
        ("[[cell]]\nssid = 'a'\n[cell.limits]", "x.toml: unknown key cell.0.limits; known keys: "),
        ("[[cell]]\nssid = 'a'\n[cell.parameters]", "x.toml: unknown key cell.0.parameters; its tables stand in the"),
        ("[[cell]]\nssid = 'a'\nexempt = 1", "x.toml: cell.0.exempt = 1: expected true, false or a list of names"),
        ("[[cell]]\nssid = 'a'\nexempt = ['']", "x.toml: cell.0.exempt = ['']: expected true, false or a list of"),
        (
            "[[cell]]\nssid = 'a'\npolicy = 'x'",
            f"x.toml: cell.0.policy = 'x': expected {', '.join(BUILT_IN)}, MODULE:NAME",
        ),
        (
            "[[cell]]\nssid = 'a'\n[[cell]]\nssid = 'b'\n[cell.bdp]\ngian = 1",
            "x.toml: unknown key cell.1.bdp.gian; did you mean cell.1.bdp.gain?",
        ),
        ("[[cell]]\nssid = 'a'\nbdp = 1", "x.toml: cell.0.bdp = 1: should be a table, [cell.bdp]"),
        ("[[cell]]\nssid = 'a'\n[cell.bdp]\ngain = 0", "x.toml: cell.0.bdp.gain = 0: should be greater than"),
        (
            "[capacity]\nmax_bps = 1e6\n[[cell]]\nssid = 'a'\n[cell.capacity]\nmin_bps = 2e6",
            "x.toml: cell.0.capacity: min_bps is more than max_bps = 1e+06",
        ),
        (
            "[[cell]]\nssid = ['a', 'b']\n[[cell]]\nssid = ['c', 'b']",
            "x.toml: cell.1.ssid = 'b': cell.0 has it already, and comes first",
        ),
        (
            f"[[cell]]\nbssid = '{BSSID}'\n[[cell]]\nbssid = '{BSSID.upper()}'",
            f"x.toml: cell.1.bssid = '{BSSID}': cell.0 has it already, and comes first",
        ),
        ("[bdp]\ngain = 0\n[[cell]]\nssid = 'a'\n[cell.paper]\ntable = 'gingerbread'", "x.toml: bdp.gain = 0: "),
        ("[[cell]]\nssid = 'a'\nexempt = [2026-01-31]", "x.toml: cell.0.exempt.0 = 2026-01-31: dates and times are"),
        ("policy", "x.toml: not TOML: "),
        ("[capacity]\ndefault_bps = 1" + "0" * 400, "x.toml: capacity.default_bps = 1000000"),
        ("[capacity]\ndefault_bps = 1" + "0" * 5000, "x.toml: not TOML: "),
        ("x = " + "[" * 5000 + "]" * 5000, "x.toml: not TOML: "),
    ],
)
def test_an_error_names_file_key_and_value_and_what_would_be_right(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "x.toml")
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read"):
        load(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"binary\.toml: cannot be read"):
        load(tmp_path / "binary.toml")
    os.mkfifo(tmp_path / "pipe.toml")
    for name in ("pipe.toml", "."):
        with pytest.raises(ConfigError, match="cannot be read: is no file"):
            load(tmp_path / name)
    (tmp_path / "link.toml").symlink_to("good.toml")
    (tmp_path / "good.toml").write_text("mode = 'observe'\r\n", encoding="utf-8")
    assert load(tmp_path / "link.toml").mode == "observe"


def test_what_stands_for_an_empty_file_in_a_container_is_one() -> None:
    assert load(Path(os.devnull)) == Config()


def test_a_file_as_some_editors_write_it(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("mode = 'observe'", encoding="utf-8-sig")
    with pytest.raises(ConfigError, match=r"x\.toml: begins with a byte order mark, .*save it as UTF-8 without"):
        load(tmp_path / "x.toml")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("#" * (FILE_MAX_BYTES + 1), encoding="utf-8")
    with pytest.raises(ConfigError, match="has more than 16777216 bytes"):
        load(tmp_path / "x.toml")
    bssids = (mac_text(bytes([2, 0, 0, *number.to_bytes(3)])) for number in range(20_000))
    (tmp_path / "x.toml").write_text("\n".join(f"[[cell]]\nbssid = '{bssid}'" for bssid in bssids), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cell = .*…: .*at most 1000 items") as caught:
        load(tmp_path / "x.toml")
    assert len(str(caught.value)) < 1000


def test_an_error_names_a_hundred_mistakes(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("".join(f"wrong{number} = 1\n" for number in range(150)), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "x.toml")
    assert len(caught.value.texts) == 101
    assert caught.value.texts[-1] == "50 mistakes more"


@pytest.mark.parametrize(("table", "field"), KEYS, ids=[f"{table}.{field.name}" for table, field in KEYS])
def test_every_key_takes_its_type_alone(table: str, field: Any) -> None:
    kind = plain(field.type)
    default = getattr(getattr(Config() if hasattr(Config(), table) else Config().parameters, table), field.name)
    some = {"stations_aifsn": 2, "stations_cw_min": 3, "stations_cw_max": 63}.get(field.name, 1)
    right = str(default).lower() if kind is bool else repr(kind(some) if default is None else default)
    right = "[]" if default == () else right
    parse(f"[{table}]\n{field.name} = {right}", "x")
    wrong = {
        bool: ["0", "1.0", "'true'", "[]"],
        int: ["true", "1.5", "'1'", "nan", "[1]"],
        str: ["1", "true", "[]"],
        float: ["true", "'1.0'", "nan", "inf", "-1", "[1.0]"],
    }.get(kind, ["1", "true", "''"])
    for text in wrong:
        with pytest.raises(ConfigError, match=rf"x: {table}\.{field.name} = "):
            parse(f"[{table}]\n{field.name} = {text}", "x")


@given(st.data())
def test_one_wrong_character_in_a_right_file_is_an_error_or_a_configuration(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(EXAMPLE) - 1))
    character = data.draw(st.sampled_from("x0'\"[]=.-\n\0"))
    text = EXAMPLE[:position] + character + EXAMPLE[position + 1 :]
    try:
        config = parse(text, "x")
    except ConfigError as error:
        assert str(error).startswith("x: ")  # noqa: PT017  # either outcome is right
    else:
        # What still parses is what TOML says, key by key.
        document = tomllib.loads(text)
        for table in ("bdp", "safety"):
            for key, value in document.get(table, {}).items():
                assert getattr(getattr(config.parameters, table), key) == value


@given(
    gain=st.floats(0.1, 100),
    queue=st.integers(0, 1000),
    lease=st.integers(1000, 60_000),
    share=st.sampled_from(["true", "false"]),
    names=st.lists(st.from_regex(r"[a-z0-9.:/-]{1,20}", fullmatch=True), max_size=3),
)
def test_whatever_is_within_the_limits_is_taken_as_it_is(
    gain: float, queue: int, lease: int, share: str, names: list[str]
) -> None:
    text = (
        f"exempt = {names!r}\n[bdp]\ngain = {gain!r}\nqueue_segs = {queue}\n[safety]\nlease_ms = {lease}\n"
        f"[min_rtt]\nshare = {share}\n"
    )
    config = parse(text, "x")
    parameters = config.parameters
    assert (parameters.bdp.gain, parameters.bdp.queue_segs) == (gain, queue)
    assert (parameters.safety.lease_ms, parameters.min_rtt.share) == (lease, share == "true")
    assert config.exempt == tuple(names)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "1", None, True])
def test_no_absurd_number_becomes_a_parameter(value: Any) -> None:
    with pytest.raises(ValidationError, match="gain"):
        BdpParameters(gain=value)


def test_an_exempt_cell_is_known_however_its_bssid_is_written() -> None:
    config = parse("exempt = ['02-00-00-00-0A-0b', '192.0.2.7', 'FF:FF:FF:FF:FF:FF', 'A:b']", "x")
    assert config.exempt == ("02:00:00:00:0a:0b", "192.0.2.7", "FF:FF:FF:FF:FF:FF", "A:b")


CELLS = f"""
[bdp]
gain = 2

[[cell]]
bssid = '{BSSID.upper().replace(":", "-")}'
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


def test_an_override_has_the_controllers_values_and_its_own_on_top() -> None:
    config = parse(CELLS, "x")
    first, second = cell_overrides(config)
    assert (first.name, first.bssids, first.ssids) == ("cell.0", (mac_from_text(BSSID),), ())
    assert (first.mode, first.exempt, first.exempt_terminals) == (None, False, {"192.0.2.7"})
    assert first.parameters == dataclasses.replace(config.parameters, bdp=BdpParameters(gain=2, queue_segs=0))
    assert (second.name, second.bssids, second.ssids) == ("cell.1", (), ("office-*", "lab"))
    assert (second.mode, second.exempt, second.exempt_terminals) == ("observe", True, frozenset())
    assert (second.parameters.policy, second.parameters.capacity.default_bps) == ("paper", 5e6)
    assert second.parameters.bdp.gain == 2


def test_an_override_of_nothing_has_the_controllers_parameters_themselves() -> None:
    config = parse("[[cell]]\nssid = '*'\nmode = 'observe'", "x")
    assert cell_overrides(config)[0].parameters is config.parameters


@pytest.mark.parametrize(
    "endpoint", ["127.0.0.1:0", "127.0.0.1:65535", "[::1]:50051", "localhost:1", "unix:/run/airbound.sock"]
)
def test_endpoints(endpoint: str) -> None:
    assert checked_endpoint(endpoint, "--controller") == endpoint


@pytest.mark.parametrize(
    "endpoint",
    ["", ":", "here", "127.0.0.1", "127.0.0.1:", ":50051", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:\u0661",
     "::1:50051", "[::1]", "127.0.0.1:" + "1" * 5000, "unix:", "unix:run", "unix://"[:5] + "x"],
)  # fmt: skip
def test_what_is_no_endpoint(endpoint: str) -> None:
    with pytest.raises(ConfigError, match=r"^--controller = "):
        checked_endpoint(endpoint, "--controller")
