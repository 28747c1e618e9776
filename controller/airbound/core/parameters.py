# SPDX-License-Identifier: Apache-2.0
"""Every number of the core that somebody may want to change, with its unit, its limits and its reason.

The configuration file's tables are these classes, field by field. pydantic checks types and limits whenever one is
made: a value of another type, out of its limits or not finite is a `pydantic.ValidationError` that names the field.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from airbound.core import policy_names
from airbound.core.edca import (
    AIFSN_MAX,
    CW_MAX,
    SET_AIFSN_MAX,
    SET_CW_MIN_MAX,
    SET_TXOP_LIMIT_MAX,
    STATIONS_AIFSN_MIN,
    STATIONS_CW_MAX_MIN,
    STATIONS_CW_MIN_MIN,
    is_contention_window,
)
from airbound.core.openflow_parameters import OpenflowParameters

Mode = Literal["observe", "control"]
PolicyName = Annotated[str, AfterValidator(policy_names.known)]
ShareName = Literal["air-time", "throughput"]
TableName = Literal["gingerbread", "jelly-bean"]

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

FORGET_MS_MAX = 86_400_000


def _within(low: float, high: float, text: str) -> Any:
    """A field's limits (inclusive) and one line for a person."""
    return Field(ge=low, le=high, description=text)


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class SafetyParameters:
    """How long anything stays in force without news. All of it fails open, to the kernel's defaults."""

    lease_ms: Annotated[
        int, _within(1_000, 60_000, "bounds are in force this long unless renewed; renewed every third of it")
    ] = 6_000
    cell_stale_ms: Annotated[
        int, _within(500, 600_000, "an access point that has not reported for longer releases its cell's bounds")
    ] = 3_000
    terminal_stale_ms: Annotated[
        int, _within(500, 600_000, "a terminal with bounds that has not reported for longer loses them")
    ] = 5_000
    sending_keep_ms: Annotated[
        int, _within(0, 600_000, "a destination stays bounded this long after its last queued byte")
    ] = 3_000
    forget_ms: Annotated[
        int, _within(1_000, FORGET_MS_MAX, "a cell that has not been reported for longer is forgotten")
    ] = 600_000


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class ReportingParameters:
    """When terminals report."""

    interval_ms: Annotated[int, _within(100, 60_000, "between reports of a terminal that sends or has bounds")] = 1_000
    heartbeat_ms: Annotated[int, _within(1_000, 600_000, "between reports of any other terminal")] = 10_000
    rtt_ratio_change: Annotated[
        float, _within(0, 100, "policy paper: report at once when RTT over minimum RTT moved by more than this share")
    ] = 0.2


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class IdentityParameters:
    """How terminals are joined to cells."""

    match_addresses: Annotated[
        bool,
        Field(
            description="a terminal is joined only if its stream comes from an IP address that the access point reports"
            " for its MAC; false for networks that translate addresses (NAT) between access point and controller"
        ),
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class MinRttParameters:
    """The smallest RTT to a destination, which a phone that starts in a full cell never sees itself."""

    share: Annotated[bool, Field(description="use the smallest of all terminals' minima, not only its own")] = True
    max_age_s: Annotated[int, _within(1, 86_400, "a minimum not reported again for this long no longer counts")] = 600
    confirm_ratio: Annotated[
        float, _within(1, 100, "a minimum is confirmed by another terminal's that is at most this many times larger")
    ] = 2.0
    unconfirmed_s: Annotated[
        float, _within(0, 3600, "a minimum that others contradict is shared for at most this long without confirmation")
    ] = 15.0


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class CapacityParameters:
    """The estimate of a cell's uplink capacity: cell/capacity.py."""

    default_bps: Annotated[float, _within(1e5, 1e11, "until a rate of a station or a sample is known")] = 20e6
    min_bps: Annotated[float, _within(1e4, 1e11, "no estimate is below this")] = 5e5
    max_bps: Annotated[float, _within(1e5, 1e12, "no estimate is above this")] = 5e9
    smoothing_s: Annotated[float, _within(0.1, 600, "time constant of the moving averages")] = 3.0
    change_ratio: Annotated[
        float, _within(0, 1, "decisions take over a new estimate when it moved by more than this share")
    ] = 0.03
    aggregate_frames: Annotated[
        int, _within(1, 1024, "that one channel access carries at most, of a station whose frames are aggregated")
    ] = 64

    @model_validator(mode="after")
    def _range(self) -> Self:
        if self.min_bps > self.max_bps:
            raise ValueError(f"min_bps is more than max_bps = {self.max_bps:g}")
        return self


def _contention_window(slots: int) -> int:
    if is_contention_window(slots):
        return slots
    raise ValueError(f"a contention window has 2^k - 1 slots: 1, 3, 7, ... {CW_MAX}")


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class EdcaParameters:
    """How long access points wait for the air beside uploads: cell/channel_access.py."""

    enabled: Annotated[bool, Field(description="false: access points keep their own EDCA parameters")] = True
    aifsn_extra: Annotated[
        int, _within(0, SET_AIFSN_MAX - 1, "slots that the access point's best effort queue waits beyond its stations'")
    ] = 2
    cw_min: Annotated[
        Annotated[int, _within(1, SET_CW_MIN_MAX, "its smallest contention window"), AfterValidator(_contention_window)]
        | None,
        Field(description="unset: the access point's own", examples=[15]),
    ] = None
    cw_max: Annotated[
        Annotated[int, _within(1, CW_MAX, "its largest contention window"), AfterValidator(_contention_window)] | None,
        Field(description="unset: the access point's own", examples=[1023]),
    ] = None
    txop_limit: Annotated[
        int,
        _within(
            0,
            SET_TXOP_LIMIT_MAX,
            "how long one access may last, units of 32 us; 0: one aggregate, so that it answers one station in it",
        ),
    ] = 0
    stations_aifsn: Annotated[
        Annotated[
            int,
            _within(
                STATIONS_AIFSN_MIN,
                AIFSN_MAX,
                "slots that the stations' best effort queues wait: the access point announces it at the same times",
            ),
        ]
        | None,
        Field(description="unset: as the access point announces of its own", examples=[5]),
    ] = None
    stations_cw_min: Annotated[
        Annotated[
            int,
            _within(STATIONS_CW_MIN_MIN, CW_MAX, "their smallest contention window"),
            AfterValidator(_contention_window),
        ]
        | None,
        Field(description="unset: as the access point announces of its own", examples=[31]),
    ] = None
    stations_cw_max: Annotated[
        Annotated[
            int,
            _within(STATIONS_CW_MAX_MIN, CW_MAX, "their largest contention window"),
            AfterValidator(_contention_window),
        ]
        | None,
        Field(description="unset: as the access point announces of its own", examples=[1023]),
    ] = None
    stations_txop_limit: Annotated[
        Annotated[int, _within(0, SET_TXOP_LIMIT_MAX, "how long one access of theirs may last, units of 32 us")] | None,
        Field(description="unset: as the access point announces of its own", examples=[0]),
    ] = None
    min_senders: Annotated[int, _within(1, 2_007, "with fewer active senders nothing is set")] = 2
    on_share: Annotated[float, _within(0, 1, "uplink's share of the payload from which it waits longer")] = 0.4
    off_share: Annotated[float, _within(0, 1, "share below which it no longer does")] = 0.25
    share_smoothing_s: Annotated[float, _within(0.1, 600, "time constant of the averages behind the share")] = 2.0
    linger_s: Annotated[float, _within(0, 600, "too few senders end it after this long")] = 3.0

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if self.off_share > self.on_share:
            raise ValueError(f"off_share is more than on_share = {self.on_share:g}")
        if self.cw_min is not None and self.cw_max is not None and self.cw_min > self.cw_max:
            raise ValueError(f"cw_min is more than cw_max = {self.cw_max}")
        smallest, largest = self.stations_cw_min, self.stations_cw_max
        if smallest is not None and largest is not None and smallest > largest:
            raise ValueError(f"stations_cw_min is more than stations_cw_max = {largest}")
        return self


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class WindowClampParameters:
    """Stations without a working agent, whose windows an access point can limit: window_clamp.py."""

    enabled: Annotated[
        bool,
        Field(
            description="false: no access point limits the windows of stations without an agent;"
            " one does so only if its owner allowed that as well (airbound-ap run --window-clamp)"
        ),
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class LiveParameters:
    """Applications of class live, by the phones' tables: cell/live.py."""

    enabled: Annotated[
        bool, Field(description="false: live flows get nothing that others do not, and nothing is announced for them")
    ] = True
    rate_bps: Annotated[
        float, _within(1e4, 1e9, "that a live flow needs at every moment; one that sends at more needs its own rate")
    ] = 700e3
    air_most: Annotated[float, _within(0, 0.9, "part of the air for live flows: further ones are refused a grant")] = (
        0.4
    )


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class PacingParameters:
    """UDP of phones with an agent: cell/pacing.py."""

    enabled: Annotated[
        bool,
        Field(
            description="false: UDP has no rate; true: it has what TCP leaves of its phone's share as a rate, at least"
            " half of it, and of background applications what is left; while others send"
        ),
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class PaperParameters:
    """The tables of the source paper."""

    table: Annotated[
        TableName, Field(description="Android release whose TCP the table is for: gingerbread ends near 63 segments")
    ] = "jelly-bean"


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class BdpParameters:
    """The formula: a share of the capacity times the minimum RTT, and a small queue."""

    gain: Annotated[float, _within(0.1, 100, "maximum over the pure share of the bandwidth-delay product")] = 1.0
    gain_alone: Annotated[float, _within(0.1, 100, "the same for a terminal that sends alone in its cell")] = 1.1
    queue_segs: Annotated[int, _within(0, 1000, "queue allowance of the whole cell")] = 4
    min_fraction: Annotated[float, _within(0, 1, "minimum over the pure share: recovery starts from here")] = 0.5
    floor_segs: Annotated[int, _within(1, 100, "no bound is below this; one segment stalls on delayed ACKs")] = 2


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class SharesParameters:
    """What policy aggregate gives to senders at different PHY rates."""

    by: Annotated[
        ShareName,
        Field(
            description="air-time: each sender has as much of the air as the others, a fast one carries more in it;"
            " throughput: each carries as much as the others, and the slowest decides how much that is"
        ),
    ] = "air-time"
    floor_bps: Annotated[
        float, _within(0, 1e10, "of IP that each sender may have at least, however much air a slow one needs for it")
    ] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class AggregateParameters:
    """The formula where frames are aggregated; elsewhere that of [bdp] applies."""

    efficiency: Annotated[
        float, _within(0.1, 0.99, "share of what the fullest aggregates carry that a sender's are to carry")
    ] = 0.93
    queue_ms: Annotated[float, _within(0, 1000, "queue that the cell may have for longer aggregates than that")] = 8.0
    delay_weight: Annotated[
        float,
        _within(0.01, 10, "in the search for the best length: how much throughput 1 % of the RTT is worth, per cent"),
    ] = 0.3


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Parameters:
    """All of them, with the values of a controller that has no configuration file."""

    policy: Annotated[
        PolicyName,
        Field(
            description="how bounds follow from what is known: by a share of the path and, where frames are aggregated,"
            " an aggregate beside it (aggregate); without the aggregate (bdp); by the source paper's tables (paper);"
            " or a policy of your own (docs/own-policy.md), MODULE:NAME or the name of its entry point"
        ),
    ] = "aggregate"
    safety: SafetyParameters = SafetyParameters()
    reporting: ReportingParameters = ReportingParameters()
    identity: IdentityParameters = IdentityParameters()
    min_rtt: MinRttParameters = MinRttParameters()
    capacity: CapacityParameters = CapacityParameters()
    edca: EdcaParameters = EdcaParameters()
    window_clamp: WindowClampParameters = WindowClampParameters()
    openflow: OpenflowParameters = OpenflowParameters()
    live: LiveParameters = LiveParameters()
    pacing: PacingParameters = PacingParameters()
    paper: PaperParameters = PaperParameters()
    bdp: BdpParameters = BdpParameters()
    aggregate: AggregateParameters = AggregateParameters()
    shares: SharesParameters = SharesParameters()
