# SPDX-License-Identifier: Apache-2.0
"""The configuration: TOML, strict, frozen.

TOML because the interpreter reads it without further packages, and because a TOML string is always a string: YAML 1.1
takes some MAC addresses for numbers in base 60. The tables are the core's parameter classes; pydantic checks them. An
unknown key is an error with the nearest known one, a value out of its limits is an error with the limits. Where values
come from beside a file is `airbound.configuration`.
"""

import contextlib
import dataclasses
import datetime
import difflib
import json
import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from airbound import own_policies
from airbound.core.addresses import exempt_name, mac_from_text, mac_text
from airbound.core.overrides import CellOverride
from airbound.core.parameters import Mode, Parameters
from airbound.endpoints import endpoint as network_endpoint
from airbound.metrics.options import Metrics
from airbound.pki.options import TlsOptions
from airbound.store.options import StoreOptions

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

LogStyle = Literal["text", "json"]

DEFAULT_LISTEN = "127.0.0.1:50051"
DEFAULT_OPERATORS = "127.0.0.1:50052"
UNIX = "unix:"
CELLS_MAX = 1_000
FILE_MAX_BYTES = 16 << 20  # some times what `CELLS_MAX` tables with every key take
BYTE_ORDER_MARK = "\ufeff"
SHOWN_MAX_CHARACTERS = 200  # of a value in an error
MISTAKES_MAX = 100  # that one error names
SSID_PATTERN_MAX_CHARACTERS = 256

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ConfigError(ValueError):
    """What is wrong, in which file or variable, at which key: each mistake is one of `texts`."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts[:MISTAKES_MAX]
        if len(texts) > MISTAKES_MAX:
            self.texts = (*self.texts, f"{len(texts) - MISTAKES_MAX} mistakes more")
        super().__init__("; ".join(self.texts))


class InvalidError(ValueError):
    """What is wrong with a document, and where: the keys that lead there, and the value if it is a plain one. If more
    is wrong, that is in `others`.
    """

    others: tuple["InvalidError", ...] = ()

    def __init__(self, location: tuple[str, ...], message: str, value: str = "", *, unknown: bool = False) -> None:
        self.location = location
        self.message = message
        cut = f"{value[:SHOWN_MAX_CHARACTERS]}…" if len(value) > SHOWN_MAX_CHARACTERS else value
        self.shown = f" = {cut}" if cut else ""
        self.unknown = unknown
        super().__init__(self.text(".".join(location)))

    def text(self, name: str) -> str:
        """What is wrong, of something that has this name where it was written."""
        if self.unknown:
            return f"unknown key {name}; {self.message}"
        return f"{name}{self.shown}: {self.message}" if name else self.message


def _endpoint(value: str) -> str:
    if value.startswith(UNIX):
        raise ValueError("agents come over the network: expected ADDRESS:PORT")
    return network_endpoint(value)


def _operator_endpoint(value: str) -> str:
    if value.startswith(UNIX):
        if value.startswith(f"{UNIX}/"):
            return value
        raise ValueError("expected unix:/PATH, an absolute path")
    return network_endpoint(value)


def _name(value: str) -> str:
    if value.isprintable():
        return exempt_name(value)
    raise ValueError("expected a printable name")


def _exempt(value: Any) -> bool | tuple[str, ...]:
    if isinstance(value, bool):
        return value
    if isinstance(value, list | tuple) and all(isinstance(name, str) and name for name in value):
        return tuple(map(_name, value))
    raise ValueError("expected true, false or a list of names of terminals")


def _bssid(value: str) -> str:
    return mac_text(mac_from_text(value))


def checked_endpoint(value: str, name: str) -> str:
    """ADDRESS:PORT (IPv6 addresses in brackets) or, where operators' tools connect to, unix:/PATH.

    Raises:
        ConfigError: it is something else.
    """
    try:
        return _operator_endpoint(value)
    except ValueError as error:
        raise ConfigError(f"{name} = {value!r}: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Limits:
    """What peers may take of the controller."""

    streams_max: Annotated[int, Field(ge=1, le=1_000_000, description="open streams of agents")] = 20_000
    streams_per_address_max: Annotated[
        int,
        Field(
            ge=0,
            le=1_000_000,
            description="in plain text: of them, those that come from one address, which may stand for many where"
            " addresses are translated (NAT); 0: no such limit",
        ),
    ] = 1_000
    streams_per_name_max: Annotated[
        int,
        Field(
            ge=0,
            le=1_000_000,
            description="with TLS: of them, those of one role and name, as certificates have them; of a terminal 4 at"
            " most. A device has one, an access point one for each BSS; one that has just been lost counts for up to"
            " 45 s. 0: no such limit",
        ),
    ] = 64
    connections_max: Annotated[
        int,
        Field(
            ge=1,
            le=1_000_000,
            description="connections of agents, with streams or without; less if the process may have fewer files open",
        ),
    ] = 25_000
    handshake_s: Annotated[
        float, Field(ge=0.1, le=600, description="within which a connection has done the handshakes of TLS and HTTP/2")
    ] = 10.0
    idle_connection_s: Annotated[
        float, Field(ge=1, le=86_400, description="for which a connection may be without a call")
    ] = 60.0
    first_report_s: Annotated[
        float, Field(ge=0.1, le=86_400, description="within which a stream has its first report")
    ] = 30.0
    slow_reader_s: Annotated[
        float, Field(ge=0.1, le=86_400, description="for which a command may wait for an agent that does not read")
    ] = 30.0
    connections_per_address_warned: Annotated[
        int, Field(ge=0, le=1_000_000, description="connections from one address, above which that is logged; 0: never")
    ] = 1_000
    reports_per_s: Annotated[float, Field(ge=0.1, le=10_000, description="reports of one stream")] = 20.0
    entries_per_s: Annotated[
        float,
        Field(
            ge=1,
            le=10_000_000,
            description="with TLS: entries (stations, destinations) in the reports of one role and name; of switches"
            " eight times as many",
        ),
    ] = 10_000.0
    log_lines_per_s: Annotated[
        float,
        Field(ge=1, le=1_000_000, description="lines of the log, and as many warnings; more are counted and left out"),
    ] = 100.0


Names = tuple[Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_name)], ...]
Bssids = tuple[Annotated[str, AfterValidator(_bssid)], ...]
Patterns = tuple[Annotated[str, Field(min_length=1, max_length=SSID_PATTERN_MAX_CHARACTERS)], ...]


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class CellTable:
    """What is otherwise in some cells: in those of these BSSIDs, or in those whose SSID matches a pattern."""

    bssid: Annotated[Bssids, Field(description="of the cell, or a list of them")] = ()
    ssid: Annotated[
        Patterns,
        Field(description="of the cells, case sensitive, or a list: * is any text, ? any character, [ab] one of these"),
    ] = ()
    mode: Annotated[Mode | None, Field(description="unset: the controller's")] = None
    exempt: Annotated[
        bool | tuple[str, ...],
        PlainValidator(_exempt),
        Field(
            description="true: the whole cell; a list: terminals of these names and stations of these MAC addresses,"
            " while they are in it"
        ),
    ] = False
    parameters: Annotated[
        dict[str, Any], Field(description="`policy` and every table below, key by key; what is unset: the controller's")
    ] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Events:
    """How much is kept of what happened, for `airbound events`."""

    kept: Annotated[int, Field(ge=0, le=1_000_000, description="events; older ones are forgotten")] = 10_000
    bytes_max: Annotated[
        int, Field(ge=0, le=1 << 32, description="memory that they may take; older ones are forgotten")
    ] = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Config:
    """All that a controller is given at its start; without a file, these defaults."""

    listen: Annotated[
        str, AfterValidator(_endpoint), Field(description="where agents connect to: ADDRESS:PORT, [::1]:PORT for IPv6")
    ] = DEFAULT_LISTEN
    operators: Annotated[
        tuple[Annotated[str, AfterValidator(_operator_endpoint)], ...],
        Field(description="where operators' tools connect to, each ADDRESS:PORT or unix:/PATH"),
    ] = (DEFAULT_OPERATORS,)
    log: Annotated[LogStyle, Field(description="one line for each decision, with its reasons: as text, or as JSON")] = (
        "text"
    )
    mode: Annotated[Mode, Field(description="observe computes and shows, and applies nothing")] = "control"
    exempt: Annotated[
        Names,
        Field(description="names of terminals, in plain text their IP addresses; BSSIDs of cells; MACs of stations"),
    ] = ()
    limits: Limits = Limits()
    events: Events = Events()
    store: StoreOptions = StoreOptions()
    metrics: Metrics = Metrics()
    tls: TlsOptions = TlsOptions()
    parameters: Parameters = Parameters()
    cell: Annotated[tuple[CellTable, ...], Field(max_length=CELLS_MAX, description="overrides of single cells")] = ()


_CONFIG = TypeAdapter(Config)
_CELL = TypeAdapter(CellTable)
_PARAMETERS = TypeAdapter(Parameters)
_PARAMETER_NAMES = tuple(field.name for field in dataclasses.fields(Parameters))


def load(path: Path) -> Config:
    """Read a configuration file.

    Raises:
        ConfigError: the file cannot be read or is not a valid configuration.
    """
    return parse(read(path), str(path))


def read(path: Path) -> str:
    """The text of a file. It may be a link, as Kubernetes makes them, and /dev/null, as docker-compose.yml has it.

    Raises:
        ConfigError: the file cannot be read, is none, is too large, or is no text.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not keep us waiting
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
            os.close(descriptor)
            raise ConfigError(f"{path}: cannot be read: is no file")
        with os.fdopen(descriptor, "rb") as file:
            octets = file.read(FILE_MAX_BYTES + 1)
        if len(octets) > FILE_MAX_BYTES:
            raise ConfigError(f"{path}: has more than {FILE_MAX_BYTES} bytes")
        text = octets.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if text.startswith(BYTE_ORDER_MARK):
        raise ConfigError(f"{path}: begins with a byte order mark, as some editors write it: save it as UTF-8 without")
    return text


def parse(text: str, origin: str) -> Config:
    """A configuration from TOML; `origin` names it in errors.

    Raises:
        ConfigError: the text is not TOML or not a valid configuration.
    """
    try:
        return validated(document(text))
    except InvalidError as error:
        raise ConfigError(*(f"{origin}: {each}" for each in (error, *error.others))) from error


def document(text: str) -> dict[str, Any]:
    """What TOML says.

    Raises:
        InvalidError: the text is not TOML.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5000 digits is a plain ValueError
        raise InvalidError((), f"not TOML: {error}") from error


def validated(raw: dict[str, Any]) -> Config:
    """A configuration from what TOML says.

    Raises:
        InvalidError: an unknown key, a wrong type, a value out of its limits. All that is wrong is in it.
    """
    wrong = list[InvalidError]()
    if "parameters" in raw:
        wrong.append(InvalidError(("parameters",), "its tables stand at the top of the file", unknown=True))
    for location, value in _leaves(raw):
        if isinstance(value, datetime.date | datetime.time):  # JSON has none
            wrong.append(InvalidError(location, "dates and times are not used here", str(value)))
    _load_policies(raw, wrong)
    parameters, rest = _split({key: value for key, value in raw.items() if key != "parameters"})
    cells = rest.get("cell")
    if isinstance(cells, list):
        rest["cell"] = [_cell(number, entry, wrong) for number, entry in enumerate(cells)]
    # In JSON's strict mode a table may become a dataclass and a list a tuple, and nothing else changes its type.
    config: Config | None = None
    try:
        config = _CONFIG.validate_json(_json({**rest, "parameters": parameters}))
    except ValidationError as error:
        wrong += _all_invalid(error)
    if config is None:
        _look_at_cells(rest.get("cell"), parameters, wrong)
    elif config.cell:
        checked = _checked_cells(dict(enumerate(config.cell)), config.parameters, wrong)
        config = dataclasses.replace(config, cell=checked)
    if config is None or wrong:
        raise _together(wrong)
    return config


def _load_policies(raw: dict[str, Any], wrong: list[InvalidError]) -> None:
    """Load the policies from outside that are named anywhere."""
    cells = raw.get("cell")
    tables = {(): raw} | {
        ("cell", str(number)): cell for number, cell in enumerate(cells if isinstance(cells, list) else ())
    }
    for location, table in tables.items():
        name = table.get("policy") if isinstance(table, dict) else None
        if isinstance(name, str):
            try:
                own_policies.load(name)
            except own_policies.PolicyError as error:
                wrong.append(InvalidError((*location, "policy"), str(error), repr(name)))


def _json(raw: dict[str, Any]) -> str:
    return json.dumps(raw, default=str)  # dates, which are reported


def _together(wrong: list[InvalidError]) -> InvalidError:
    """One error of all that is wrong: of a key, what was found first."""
    by_location: dict[tuple[str, ...], InvalidError] = {}
    for error in wrong:
        by_location.setdefault(error.location, error)
    first, *others = by_location.values()
    first.others = tuple(others)
    return first


def _look_at_cells(raw: Any, parameters: dict[str, Any], wrong: list[InvalidError]) -> None:
    """Find what is wrong with overrides where something else is wrong already, by what is right of all."""
    valid = dict[int, CellTable]()
    found = list[InvalidError]()
    base: Parameters | None = None
    with contextlib.suppress(ValidationError):
        base = _PARAMETERS.validate_json(_json(parameters))
    for number, entry in enumerate(raw[:CELLS_MAX] if isinstance(raw, list) else ()):
        with contextlib.suppress(ValidationError):
            valid[number] = _CELL.validate_json(_json(entry))
        if number not in valid and isinstance(entry, dict):  # its parameters may be wrong as well
            only = {"ssid": [f"\0{number}"], "parameters": entry["parameters"]}
            with contextlib.suppress(ValidationError):
                valid[number] = _CELL.validate_json(_json(only))
    _checked_cells(valid, base or Parameters(), found)
    # Without the parameters in force only single values are known to be wrong, not how those of a table go together.
    of_parameters = 3  # cell, its number, a table or a key
    wrong += [
        error
        for error in found
        if base is not None or error.shown or error.unknown or len(error.location) < of_parameters
    ]


def _split(raw: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The core's parameters, and everything else."""
    parameters = {key: raw[key] for key in _PARAMETER_NAMES if key in raw}
    return parameters, {key: value for key, value in raw.items() if key not in parameters}


def _cell(number: int, entry: Any, wrong: list[InvalidError]) -> Any:
    """A [[cell]] table as `CellTable` has it."""
    if not isinstance(entry, dict):
        return entry
    if "parameters" in entry:
        location = ("cell", str(number), "parameters")
        wrong.append(InvalidError(location, "its tables stand in the cell's, [cell.bdp]", unknown=True))
    parameters, rest = _split({key: value for key, value in entry.items() if key != "parameters"})
    lists = {key: [rest[key]] for key in ("bssid", "ssid") if isinstance(rest.get(key), str)}
    return {**rest, **lists, "parameters": parameters}


def _checked_cells(cells: dict[int, CellTable], base: Parameters, wrong: list[InvalidError]) -> tuple[CellTable, ...]:
    """The overrides, with values of their parameters as they are in force. Wrong is an override for no cell, or for one
    that has an override already, and one whose parameters are.
    """
    seen: dict[str, int] = {}
    checked = []
    for number, cell in cells.items():
        location = ("cell", str(number))
        if bool(cell.bssid) == bool(cell.ssid):
            wrong.append(InvalidError(location, "expected bssid or ssid, one of them"))
        for name in (*cell.bssid, *cell.ssid):
            if seen.setdefault(name, number) != number:
                key, other = "bssid" if cell.bssid else "ssid", seen[name]
                text = f"cell.{other} has it already, and comes first"
                wrong.append(InvalidError((*location, key), text, repr(name)))
        try:
            parameters = overridden(base, cell.parameters)
        except ValidationError as error:
            wrong += _all_invalid(error, location)
            continue
        in_force = _chosen(dataclasses.asdict(parameters), cell.parameters)
        checked.append(dataclasses.replace(cell, parameters=in_force))
    return tuple(checked)


def overridden(parameters: Parameters, changes: dict[str, Any]) -> Parameters:
    """Parameters with some of their keys changed.

    Raises:
        ValidationError: a key is unknown, or a value wrong.
    """
    if not changes:
        return parameters
    return _PARAMETERS.validate_json(json.dumps(_merged(dataclasses.asdict(parameters), changes)))


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    both = {key: base[key] for key in base.keys() & changes.keys()}
    tables = {key: _merged(old, changes[key]) for key, old in both.items() if _are_tables(old, changes[key])}
    return {**base, **changes, **tables}


def _are_tables(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)


def _chosen(values: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    """Of nested values those whose keys are in `keys`."""
    return {key: _chosen(values[key], inner) if isinstance(inner, dict) else values[key] for key, inner in keys.items()}


def cell_overrides(config: Config) -> tuple[CellOverride, ...]:
    """The overrides of single cells as the core has them."""
    return tuple(
        CellOverride(
            name=f"cell.{number}",
            bssids=tuple(map(mac_from_text, cell.bssid)),
            ssids=cell.ssid,
            mode=cell.mode,
            exempt=cell.exempt is True,
            exempt_terminals=frozenset() if isinstance(cell.exempt, bool) else frozenset(cell.exempt),
            parameters=overridden(config.parameters, cell.parameters),
        )
        for number, cell in enumerate(config.cell)
    )


def _leaves(value: Any, location: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that is neither a table nor a list, with its key."""
    if not isinstance(value, dict | list):
        yield location, value
        return
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(inner, (*location, str(name)))


def _all_invalid(error: ValidationError, within: tuple[str, ...] = ()) -> list[InvalidError]:
    return [_invalid(found, within) for found in error.errors()]


def _invalid(found: "ErrorDetails", within: tuple[str, ...]) -> InvalidError:
    """One thing that is wrong: its key, its value and what would be right."""
    location = tuple(str(part) for part in found["loc"])
    location = within + (location[1:] if location[:1] == ("parameters",) else location)
    if found["type"] == "unexpected_keyword_argument":
        return InvalidError(location, _hint(location), unknown=True)
    value = "" if isinstance(found["input"], dict) else repr(found["input"])
    message = found["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if found["type"] == "dataclass_type":
        message = f"should be a table, [{'.'.join(part for part in location if not part.isdecimal())}]"
    if location == ("cell",) and isinstance(found["input"], dict):
        message = "should be written [[cell]]"
    return InvalidError(location, message, value)


def _hint(location: tuple[str, ...]) -> str:
    *table, unknown = location
    known = known_keys(tuple(table))
    prefix = "".join(f"{part}." for part in table)
    near = difflib.get_close_matches(unknown, known, n=1)
    return f"did you mean {prefix}{near[0]}?" if near else f"known keys: {', '.join(sorted(known))}"


def known_keys(table: tuple[str, ...]) -> list[str]:
    """What may stand in a table, the topmost one if it has no name; nothing in what is no table."""
    if table[:1] == ("cell",) and len(table) > 1:
        dataclass: Any = CellTable if len(table) == 2 else Parameters  # noqa: PLR2004  # cell and its number
        table = table[2:]
    else:
        dataclass = Config
    for part in table:
        if not dataclasses.is_dataclass(dataclass):
            return []
        fields = {field.name: field for field in (*dataclasses.fields(dataclass), *dataclasses.fields(Parameters))}
        dataclass = type(fields[part].default) if part in fields else None
    if not dataclasses.is_dataclass(dataclass):
        return []
    names = [field.name for field in dataclasses.fields(dataclass) if field.name != "parameters"]
    return [*names, *_PARAMETER_NAMES] if dataclass in {Config, CellTable} else names
