# SPDX-License-Identifier: Apache-2.0
import pytest

from airbound.replica import questions
from airbound_testing.agents import WAIT_S


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine leaves out no replica that answers late."""
    monkeypatch.setattr(questions, "ANSWER_S", WAIT_S)
