# SPDX-License-Identifier: Apache-2.0

from typing import Any

import pytest

from airbound import log_fields, log_text

BEST_EFFORT = log_fields.queue("best_effort", 4, 15, 1023, 0)
VIDEO = log_fields.queue("video", 2, 7, 15, 94)
ADMITTED = log_fields.queue("video", 2, 7, 15, 94, admission=True)
SENDING = {"code": "not_sending"}


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({}, ""),
        ({"bounds": []}, "released"),
        ({"bounds": [log_fields.bound("10.0.4.1", 20, 35), log_fields.bound("", 2, 4)]},
         "20..35 segs to 10.0.4.1, 2..4 segs to all"),
        ({"bounds": [log_fields.bound("", 2, 4)] * 8, "bounds_left_out": 3}, f"{'2..4 segs to all, ' * 8}and 3 more"),
        ({"bounds": [log_fields.bound("", 2, 4)] * 9, "bounds_left_out": 3}, f"{'2..4 segs to all, ' * 8}and 4 more"),
        ({"queues": []}, "released"),
        ({"queues": [BEST_EFFORT], "announced": [VIDEO]},
         "best effort AIFSN 4, CW 15..1023; stations' video AIFSN 2, CW 7..15, TXOP limit 3008 us"),
        ({"queues": [], "announced": [ADMITTED]},
         "stations' video AIFSN 2, CW 7..15, TXOP limit 3008 us, admitted stations only"),
        ({"bounds": [log_fields.bound("10.0.4.1", 20, 35, 10073)]}, "20..35 segs of uid 10073 to 10.0.4.1"),
        ({"flows": []}, "released"),
        ({"flows": [log_fields.flow(10073, "10.0.4.1", "video", 29_000, 0), log_fields.flow(None, "", "", 0, 2_000_000)]
          },
         "uid 10073 to 10.0.4.1 as video 2.9 % of the air admitted, all to all UDP at 2.0 Mb/s"),
        ({"windows": []}, "released"),
        ({"windows": [log_fields.window("02:00:00:00:00:01", "10.0.4.1", 9000), log_fields.window("x", "", 5)]},
         "02:00:00:00:00:01 9000 bytes to 10.0.4.1, x 5 bytes to all"),
    ],
)  # fmt: skip
def test_what_was_sent(fields: dict[str, Any], what: str) -> None:
    assert log_text.what(fields) == what


def test_the_reasons() -> None:
    assert log_text.why({}) == ""
    assert log_text.why({"reasons": [SENDING, {"code": "9999", "subject": "x"}]}) == (
        "the terminal sends nothing; code 9999: x"
    )
    assert log_text.why({"reasons": [SENDING] * 8, "reasons_left_out": 2}).endswith("nothing; and 2 more")
