# SPDX-License-Identifier: Apache-2.0

import datetime

import pytest

from airbound.operator import color, event_text
from airbound.operator.event_text import Writer
from airbound.v1 import access_point_pb2, events_pb2, operations_pb2, reason_pb2

NOON = datetime.datetime(2026, 1, 31, 12, 3, 4, 120_000, datetime.UTC)
NOON_US = round(NOON.timestamp() * 1e6)
SENDERS = reason_pb2.Reason(code=reason_pb2.REASON_CODE_ACTIVE_SENDERS, before=4, after=5)


def bounds(*limits: tuple[str, int, int], reasons: tuple[reason_pb2.Reason, ...] = (SENDERS,)) -> events_pb2.Event:
    sent = [operations_pb2.BoundSent(destination=to, min_segs=low, max_segs=high) for to, low, high in limits]
    return events_pb2.Event(
        sequence=7,
        time_us=NOON_US,
        level=events_pb2.EVENT_LEVEL_INFO,
        kind="bounds",
        subject="192.0.2.7",
        terminal="192.0.2.7",
        cell="02:00:00:00:00:01",
        reasons=reasons,
        bounds=events_pb2.EventBounds(bounds=sent),
    )


REFUSED = events_pb2.Event(
    time_us=NOON_US, level=events_pb2.EVENT_LEVEL_WARNING, kind="refused", subject="terminal 192.0.2.7",
    reasons=[reason_pb2.Reason(code=reason_pb2.REASON_CODE_MALFORMED, subject="mac 'a\x1b[31m'")],
)  # fmt: skip


def shown(*events: events_pb2.Event, **options: object) -> list[str]:
    writer = Writer(colored=False, **options)  # type: ignore[arg-type]
    return [text for event in events for text in writer.lines(event_text.line(event, datetime.UTC))]


def test_a_line_says_what_is_in_force_and_why() -> None:
    assert shown(bounds(("198.51.100.1", 1, 12))) == [
        "12:03:04.120   bounds        192.0.2.7          1..12 segs to 198.51.100.1: active senders 4 -> 5"
    ]
    assert shown(bounds(("198.51.100.1", 1, 12), ("", 2, 4)))[0].endswith(
        "  1..12 segs to 198.51.100.1, 2..4 segs to all: active senders 4 -> 5"
    )
    exempt = reason_pb2.Reason(code=reason_pb2.REASON_CODE_EXEMPT)
    (released,) = shown(bounds(reasons=(exempt,)))
    assert released.endswith("  released: exempted by an operator: computed and shown, not applied")


def test_a_warning_is_marked_and_cannot_reach_the_terminal() -> None:
    (text,) = shown(REFUSED)
    assert text.startswith("12:03:04.120 ! refused       terminal 192.0.2.7  mac 'a?[31m'")


def test_lines_stay_aligned_with_the_longest_subject_so_far() -> None:
    long = events_pb2.Event(time_us=NOON_US, kind="connected", subject="2001:db8::1234:5678")
    first, second, third = shown(REFUSED, long, REFUSED)
    assert first.index("mac") == 29 + len("terminal 192.0.2.7") + 2
    assert third.index("mac") == 29 + len("2001:db8::1234:5678") + 2
    assert second.endswith("connected     2001:db8::1234:5678")


def test_very_much_of_anything_is_counted() -> None:
    many = bounds(*((f"198.51.100.{number}", 1, 2) for number in range(11)), reasons=(SENDERS,) * 10)
    (text,) = shown(many)
    assert "198.51.100.7, and 3 more: active" in text
    assert text.endswith("; and 2 more")
    fields = event_text.fields(many)
    assert (len(fields["bounds"]), len(fields["reasons"])) == (11, 10)


def test_queues_and_free_text_and_unknown_codes() -> None:
    queue = access_point_pb2.Edca(
        category=access_point_pb2.ACCESS_CATEGORY_BEST_EFFORT, aifsn=4, cw_min=15, cw_max=1023, txop_limit=2
    )
    unknown = reason_pb2.Reason(code=9999)  # type: ignore[arg-type]
    event = events_pb2.Event(
        time_us=NOON_US, kind="edca", subject="x", reasons=[unknown], queues=events_pb2.EventQueues(queues=[queue])
    )
    assert shown(event)[0].endswith("best effort AIFSN 4, CW 15..1023, TXOP limit 64 us: code 9999")
    fields = event_text.fields(event)
    assert fields["reasons"] == [{"code": "9999"}]
    assert fields["queues"] == [{"category": "best_effort", "aifsn": 4, "cw_min": 15, "cw_max": 1023, "txop_limit": 2}]
    told = events_pb2.Event(time_us=NOON_US, kind="edca", queues=events_pb2.EventQueues(stations=[queue]))
    assert shown(told)[0].endswith("stations' best effort AIFSN 4, CW 15..1023, TXOP limit 64 us")
    fields = event_text.fields(told)
    assert (fields["queues"], len(fields["announced"]), fields["announced"][0]["aifsn"]) == ([], 1, 4)
    own = events_pb2.Event(time_us=NOON_US, kind="edca", queues=events_pb2.EventQueues())
    assert shown(own)[0].endswith("released")
    assert shown(events_pb2.Event(time_us=NOON_US, kind="reload", text="bdp.gain 1 -> 2"))[0].endswith(
        "bdp.gain 1 -> 2"
    )


def test_limits_of_windows() -> None:
    limits = [
        operations_pb2.WindowLimitSent(station="02:00:00:00:01:01", destination="10.0.4.1", max_bytes=28_960),
        operations_pb2.WindowLimitSent(station="02:00:00:00:01:02", max_bytes=4_000),
    ]
    event = events_pb2.Event(
        time_us=NOON_US, kind="windows", subject="x", windows=events_pb2.EventWindows(limits=limits)
    )
    text = "02:00:00:00:01:01 28960 bytes to 10.0.4.1, 02:00:00:00:01:02 4000 bytes to all"
    assert shown(event)[0].endswith(text)
    assert event_text.fields(event)["windows"] == [
        {"station": "02:00:00:00:01:01", "destination": "10.0.4.1", "max_bytes": 28_960},
        {"station": "02:00:00:00:01:02", "max_bytes": 4_000},
    ]
    released = events_pb2.Event(time_us=NOON_US, kind="windows", windows=events_pb2.EventWindows())
    assert shown(released)[0].endswith("released")


def test_flows_of_a_terminal() -> None:
    flows = [
        events_pb2.FlowSent(
            uid=0,
            destination="10.0.4.1",
            category=access_point_pb2.ACCESS_CATEGORY_VIDEO,
            admitted_us_per_s=285_000,
        ),
        events_pb2.FlowSent(udp_bps=2_000_000),
        events_pb2.FlowSent(category=99),  # type: ignore[arg-type]
    ]
    event = events_pb2.Event(time_us=NOON_US, kind="flows", subject="x", flows=events_pb2.EventFlows(flows=flows))
    text = "uid 0 to 10.0.4.1 as video 28.5 % of the air admitted, all to all UDP at 2.0 Mb/s, all to all"
    assert shown(event)[0].endswith(text)
    assert event_text.fields(event)["flows"] == [
        {"uid": 0, "destination": "10.0.4.1", "category": "video", "admitted_us_per_s": 285_000},
        {"udp_bps": 2_000_000},
        {},
    ]
    released = events_pb2.Event(time_us=NOON_US, kind="flows", flows=events_pb2.EventFlows())
    assert shown(released)[0].endswith("released")


def test_a_bound_of_an_application_and_a_category_for_those_that_are_admitted() -> None:
    sent = operations_pb2.BoundSent(destination="10.0.4.1", min_segs=8, max_segs=16, uid=10_073)
    event = events_pb2.Event(time_us=NOON_US, kind="bounds", bounds=events_pb2.EventBounds(bounds=[sent]))
    assert shown(event)[0].endswith("8..16 segs of uid 10073 to 10.0.4.1")
    assert event_text.fields(event)["bounds"][0]["uid"] == 10_073
    video = access_point_pb2.Edca(
        category=access_point_pb2.ACCESS_CATEGORY_VIDEO, aifsn=2, cw_min=7, cw_max=15, txop_limit=94, admission=True
    )
    event = events_pb2.Event(time_us=NOON_US, kind="edca", queues=events_pb2.EventQueues(stations=[video]))
    assert shown(event)[0].endswith("CW 7..15, TXOP limit 3008 us, admitted stations only")
    assert event_text.fields(event)["announced"][0]["admission"] is True


def test_fields_are_those_of_the_log() -> None:
    assert event_text.fields(bounds(("198.51.100.1", 1, 12), ("", 2, 4))) == {
        "sequence": 7,
        "time": "2026-01-31T12:03:04.120Z",
        "level": "info",
        "kind": "bounds",
        "subject": "192.0.2.7",
        "terminal": "192.0.2.7",
        "cell": "02:00:00:00:00:01",
        "reasons": [{"code": "active_senders", "before": 4, "after": 5}],
        "bounds": [
            {"destination": "198.51.100.1", "min_segs": 1, "max_segs": 12},
            {"min_segs": 2, "max_segs": 4},
        ],
        "why": "active senders 4 -> 5",
    }
    assert event_text.fields(REFUSED)["level"] == "warning"


def test_a_date_stands_where_it_changes() -> None:
    next_day = events_pb2.Event(time_us=NOON_US + 86_400_000_000, kind="x")
    lines = shown(REFUSED, next_day, next_day, today=NOON.date())
    assert [line[:12] for line in lines] == ["12:03:04.120", "2026-02-01", "12:03:04.120", "12:03:04.120"]
    assert shown(REFUSED, today=datetime.date(2027, 1, 1))[0] == "2026-01-31"


@pytest.mark.parametrize("width", [60, 100])
def test_long_lines_are_wrapped_below_their_text(width: int) -> None:
    lines = shown(bounds(*((f"198.51.100.{number}", 1, 2) for number in range(8))), width=width)
    if width < 80:
        assert len(lines) == 1  # too narrow to wrap for
        return
    assert len(lines) > 2
    assert all(len(line) <= width for line in lines)
    assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {48}


def test_colour_is_beside_what_the_text_says() -> None:
    plain = shown(bounds(("198.51.100.1", 1, 12)), REFUSED)
    writer = Writer(colored=True)
    for event, text in zip((bounds(("198.51.100.1", 1, 12)), REFUSED), plain, strict=True):
        (painted,) = writer.lines(event_text.line(event, datetime.UTC))
        assert "\x1b[" in painted
        for style in (color.BOLD, color.DIM, color.GREEN, color.YELLOW):
            painted = painted.replace(f"\x1b[{style}m", "")
        assert painted.replace("\x1b[0m", "") == text
    assert Writer(colored=False).left_out(3) == "3 events left out"
