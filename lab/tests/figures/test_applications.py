# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airbound_lab.errors import LabError
from airbound_lab.figures.application_results import Connections, Transactions, Transfer
from airbound_lab.figures.applications import Records, figures, parse
from airbound_lab.settings.application import Application, File, Http, Live, Photos
from airbound_lab.settings.scenario import Action

ZERO_NS, ZERO_S = 5_000_000_000, 1_700_000_000.0
RECORDS = Records(
    ended={"statuses": {"0": 0}, "arrived": ""},
    watched={"records": {}, "connections": {}},
    outputs={},
    recorded={},
    zero_monotonic_ns=ZERO_NS,
    zero_since_1970_s=ZERO_S,
    end_s=30.0,
)


def of_one(application: Application, at_s: float = 0.0, **changes: Any) -> Any:
    [found] = figures([Action(at_s, "start-application", 1, application=application)], replace(RECORDS, **changes))
    return found


def flv(times_ms: list[int]) -> tuple[bytes, list[int]]:
    """Return a file of frames of 100 bytes, and where each ends."""
    data, ends = b"FLV\x01\x01\x00\x00\x00\x09\x00\x00\x00\x00", []
    for time_ms in times_ms:
        body = b"\x27\x01\x00\x00\x00" + bytes(95)
        data += b"\x09" + len(body).to_bytes(3) + time_ms.to_bytes(3) + bytes(4) + body + (11 + len(body)).to_bytes(4)
        ends.append(len(data) - 4)
    return data, ends


def recorded(times_ms: list[int], delay_ms: int) -> dict[str, Any]:
    data, ends = flv(times_ms)
    growth = [[ZERO_NS + (at + delay_ms) * 1_000_000, end + 4] for at, end in zip(times_ms, ends, strict=True)]
    return {
        "recorded": {0: data},
        "watched": {"records": {"0.flv": growth}, "connections": {}},
    }


def test_photos_begin_when_the_one_before_is_answered_or_the_pause_is_over() -> None:
    output = "0 201 0.500000\n0 000 1.000000\n0 201 0.250000\n"
    arrived = f"/0/0 {ZERO_S + 2.45:.3f} 201 100\n/0/1 {ZERO_S + 3.7:.3f} 201 100\n"
    ended = {"statuses": {"0": 0}, "arrived": arrived}
    found = of_one(Photos(count=2, pause_s=1.0), at_s=2.0, outputs={0: output}, ended=ended)
    assert found.status == "done"
    assert found.transfers == (Transfer(2.0, 2.45, 2.5), Transfer(3.5, 3.7, 3.75))


def test_what_is_not_through_at_the_end_of_the_run_has_begun_all_the_same() -> None:
    ended = {"statuses": {"0": None}, "arrived": ""}
    found = of_one(Photos(count=3), outputs={0: "0 201 0.500000\n"}, ended=ended)
    assert found.status == "running"
    assert found.transfers == (Transfer(0.0, None, 0.5), Transfer(0.5, None, None))
    assert of_one(File(), ended=ended).transfers == (Transfer(0.0, None, None),)


def test_an_upload_that_was_refused_is_no_result() -> None:
    with pytest.raises(LabError, match=r"application 0: curl ended with 0, nginx answered 507"):
        of_one(File(), outputs={0: "0 507 0.5\n"})


def test_records_of_other_applications_are_no_result() -> None:
    with pytest.raises(LabError, match=r"records of the applications: KeyError\('0'\)"):
        of_one(File(), ended={"statuses": {}, "arrived": ""})
    with pytest.raises(LabError, match=r"applications.json: not JSON"):
        parse("{", "applications.json")
    with pytest.raises(LabError, match=r"applications.json: not a JSON object"):
        parse("[]", "applications.json")


def test_bytes_of_a_connection_stay_counted_when_it_is_gone() -> None:
    samples = [
        [ZERO_NS + 100_000_000, [[4001, 1000, 10, 20_000, 1]]],
        [ZERO_NS + 200_000_000, [[4000, 50, 2, 90_000, 0], [4001, 3000, 20, 30_000, 2]]],
        [ZERO_NS + 300_000_000, [[4000, 500, 4, 80_000, 0]]],
    ]
    found = of_one(File(), watched={"records": {}, "connections": {"0": samples}})
    assert found.connections == Connections(
        t_s=(0.1, 0.2, 0.3),
        acked_bytes=(1000, 3050, 3500),
        cwnd_segs=(10, 2, 4),
        srtt_ms=(20.0, 90.0, 80.0),
        retransmits=(1, 2, 2),
        made=(1, 2, 2),
    )


def test_a_frame_has_arrived_when_the_recorded_file_has_all_of_it() -> None:
    times_ms = list(range(0, 4000, 40))
    found = of_one(Live(length_s=4), **recorded(times_ms, delay_ms=100))
    assert found.video.media_s[:3] == (0.0, 0.04, 0.08)
    assert found.video.arrived_s[:3] == (0.1, 0.14, 0.18)
    assert found.video.shown_from_s == pytest.approx(2.1)
    assert found.interruptions() == []


def test_a_sender_that_has_ended_without_the_last_scenes_has_skipped_them() -> None:
    found = of_one(Live(length_s=7), **recorded(list(range(0, 4000, 40)), delay_ms=100))
    [interruption] = found.interruptions("skipped")
    assert interruption.missing_s == pytest.approx(3.0, abs=0.05)
    assert found.interruptions("continued") == []


def test_a_sender_that_still_runs_may_still_send_them() -> None:
    ended = {"statuses": {"0": None}, "arrived": ""}
    found = of_one(Live(length_s=7), ended=ended, **recorded(list(range(0, 4000, 40)), delay_ms=100))
    [interruption] = found.interruptions("continued")
    assert interruption.start_s + interruption.length_s == pytest.approx(30.0)


def lines(*transactions: tuple[int, float, float]) -> str:
    """What clients print: number, begin and end in seconds of the run."""
    return "".join(
        f"{n} {ZERO_NS + round(began * 1e9)} {ZERO_NS + round(ended * 1e9)}\n" for n, began, ended in transactions
    )


def test_transactions_have_their_clients_times_and_the_last_ones_have_not_ended() -> None:
    output = lines((0, 10, 10.5), (1, 10, 12), (0, 10.6, 10.85))
    found = of_one(Http(clients=3, length_s=4), at_s=10.0, outputs={0: output}).transactions
    assert found == Transactions((500.0, 2000.0, 250.0), (3150.0, 2000.0, 4000.0))


def test_a_transaction_that_ends_after_the_time_is_not_counted() -> None:
    output = lines((0, 10, 11), (0, 11, 14.001))
    found = of_one(Http(clients=1, length_s=4), at_s=10.0, outputs={0: output}).transactions
    assert found == Transactions((1000.0,), (3000.0,))


def test_clients_that_the_run_outlives_fetch_until_its_end() -> None:
    found = of_one(Http(clients=1, length_s=100), at_s=10.0, ended={"statuses": {"0": None}, "arrived": ""})
    assert (found.status, found.transactions) == ("running", Transactions((), (20_000.0,)))


def test_a_transaction_that_failed_is_no_result() -> None:
    output = f"{lines((0, 1, 2))}error: the octet 6 for /5\n"
    with pytest.raises(LabError, match="application 0: error: the octet 6 for /5"):
        of_one(Http(), outputs={0: output})
    with pytest.raises(LabError, match="invalid literal"):
        of_one(Http(), outputs={0: "0 1 x\n"})
