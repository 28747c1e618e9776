# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound import reason_text
from airbound.core.reasons import Code, Reason

CODES = [code for code in Code if code is not Code.UNSPECIFIED]


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_text_of_its_own(code: Code) -> None:
    text = reason_text.text(Reason(code, "SUBJECT", 11.0, 12.0, 13.0))
    assert text
    assert "None" not in text
    assert text not in {
        reason_text.text(Reason(other, "SUBJECT", 11.0, 12.0, 13.0)) for other in CODES if other != code
    }
    assert text != code.name.lower().replace("_", " ")


@pytest.mark.parametrize("code", list(Code))
def test_a_reason_without_its_values_has_a_text(code: Code) -> None:
    """A newer controller may send a code with other values than this program expects."""
    assert reason_text.text(Reason(code))


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Reason(Code.ACTIVE_SENDERS, "", 3, 4), "active senders 3 -> 4"),
        (Reason(Code.ACTIVE_SENDERS, "", 0, 1), "active senders 0 -> 1"),
        (Reason(Code.CAPACITY, "", 20e6, 21.56e6), "capacity 20.0 -> 21.6 Mb/s"),
        (Reason(Code.MIN_RTT, "10.0.4.1", 2000, 1540), "minimum RTT to 10.0.4.1 2.0 -> 1.5 ms"),
        (Reason(Code.RTT_RATIO, "10.0.4.1", 1, 1.55), "RTT ratio to 10.0.4.1 1.0 -> 1.6"),
        (Reason(Code.POLICY), "the policy or a parameter changed"),
        (Reason(Code.POLICY, "bdp"), "the policy bdp or a parameter changed"),
        (Reason(Code.TOO_LARGE, after=2_000_000, limit=1_048_576), "a message of 2000000 bytes, at most 1048576"),
        (Reason(Code.OUT_OF_RANGE, "x", after=2**63, limit=5), "x = 9.22337203685478e+18: out of range, at most 5"),
        (Reason(Code.OUT_OF_RANGE, "x", after=7, limit=50), "x = 7: out of range, at least 50"),
        (Reason(Code.TERMINAL_STALE, limit=0.5), "it has not reported for more than 0.5 s"),
        (Reason(Code.RATE_LIMITED, limit=20), "more than 20 reports a second"),
        (Reason(Code.OUT_OF_ORDER_STREAK, after=5), "5 reports in a row were out of order"),
    ],
)
def test_values_are_in_the_units_of_people(reason: Reason, text: str) -> None:
    assert reason_text.text(reason) == text
