# SPDX-License-Identifier: Apache-2.0
"""What asyncio or gRPC logs as an error fails the test: an exception in a callback of the event loop, in a task that
nobody awaits, or in a servicer goes nowhere else.

Hypothesis fails no test for how long an example took.

Tests that are marked `long` begin first.
"""

import gc
import inspect
import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("airbound", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("airbound")

_LOGGERS = ("asyncio", "grpc")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests begin first: the last file keeps one of the processes busy, and the others wait for it."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []
        self._formatter = logging.Formatter("%(name)s: %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        text = self._formatter.format(record)
        # gRPC has one completion queue for a process, and each test a loop of its own: what a call of the test before
        # leaves in the queue is for a loop that is closed. A controller has one loop.
        if "PollerCompletionQueue._handle_events" in text and text.endswith("RuntimeError: Event loop is closed"):
            return
        self.texts.append(text)


@pytest.fixture(autouse=True)
def _no_errors_in_the_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    errors = _Errors()
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(errors)
    yield
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        gc.collect()  # a task's exception is logged once the task is gone
    for name in _LOGGERS:
        logging.getLogger(name).removeHandler(errors)
    if errors.texts:
        pytest.fail("\n".join(["errors in the event loop:", *errors.texts]), pytrace=False)
