# SPDX-License-Identifier: Apache-2.0

import ast
from pathlib import Path

import pytest

import airbound
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.v1 import reason_pb2

PREFIX = "REASON_CODE_"
ON_THE_WIRE = {name.removeprefix(PREFIX): number for name, number in reason_pb2.ReasonCode.items()}


def test_every_code_has_the_name_and_number_of_the_contract() -> None:
    assert {code.name: code.value for code in Code} == ON_THE_WIRE


@pytest.mark.parametrize(
    ("code", "waits", "releases"),
    [
        (Code.UNSPECIFIED, False, False),
        (Code.CELL_UNKNOWN, True, False),
        (Code.NO_RTT_SAMPLE, True, False),
        (Code.OBSERVE_MODE, False, True),
        (Code.INTERNAL_ERROR, False, True),
        (Code.STARTED_SENDING, False, False),
        (Code.REPLACED, False, False),
    ],
)
def test_what_a_code_asks_for(code: Code, waits: bool, releases: bool) -> None:  # noqa: FBT001
    reason = Reason(code)
    assert (reason.waits, reason.releases) == (waits, releases)


def test_the_limits_between_waiting_and_releasing() -> None:
    """Numbers below 20 wait, those below 40 and from 160 to 179 release, as reason.proto groups them."""
    for code in Code:
        assert Reason(code).waits is (0 < code < 20)
        assert Reason(code).releases is (20 <= code < 40 or 160 <= code < 180)


def test_a_refusal_carries_its_reason() -> None:
    reason = Reason(Code.OUT_OF_RANGE, "srtt_us", after=-1)
    assert RefusedError(reason).reason is reason
    assert "OUT_OF_RANGE" in str(RefusedError(reason))


def _used() -> set[str]:
    """Codes that the controller's code names, other than to count or to describe them."""
    product = Path(airbound.__file__).parent
    described = {product / "core" / "reasons.py", product / "reason_text.py"}
    found = set[str]()
    for file in product.rglob("*.py"):
        if file not in described and file.relative_to(product).parts[0] not in {"metrics", "v1"}:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Code":
                    found.add(node.attr)
    return found


def test_every_code_is_used() -> None:
    """One that nothing gives any more is removed: from here, the contract (where its number is reserved), the texts."""
    assert {code.name for code in Code} - _used() == set()
