# SPDX-License-Identifier: Apache-2.0
"""One live site for all tests of a run: it takes its time to start."""

import asyncio
import math
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airbound_dashboards.api import Prometheus
from airbound_dashboards.chosen import Span
from airbound_dashboards.live.complete import without_data
from airbound_dashboards.live.site import CONTROLLED, CYCLE_S, WATCHED, Running, site

DASHBOARDS = Path(__file__).parents[1]
RULES = sorted((DASHBOARDS / "rules").glob("*.yml"))
STARTED_WITHIN_S, READY_WITHIN_S = 240.0, 240.0  # of a busy machine; nothing waits longer than it must
STEP_S = 2.0
READY = (  # what the tests need beside data for each query
    'sum(increase(airbound_terminal_decisions_total{terminal="phone-3", action="set"}[10m])) > 1',
    'sum(increase(airbound_terminal_decisions_total{terminal="phone-3", action="release"}[10m])) > 0',
    'airbound_terminal_bounds_in_force{terminal="phone-3"} == 1',
    'airbound_terminal_rtt_seconds{terminal="phone-3"}',  # absent while it pauses
    'count_over_time(airbound_terminal_no_bounds_info{terminal="phone-3"}[10m]) > 1',
    'airbound_terminal_cwnd_max_segments{terminal="phone-1"} > 0',
    'airbound_terminal_cwnd_max_segments{terminal="phone-2"} > 0',
    'count(count by (terminal) (airbound_terminal_info{terminal!="phone-10"})) == 9',
    f'airbound_cell_rtt_ratio{{bssid="{CONTROLLED}"}}',
    f'bssid:airbound_cell_rtt_ratio:median{{bssid="{WATCHED}"}} > 5',
    f'ALERTS{{alertname="AirboundCellBloated", alertstate="firing", bssid="{WATCHED}"}}',
    'instance_stage:airbound_control_loop_seconds:p99_5m{stage="write"} >= 0',
    "sum(airbound_enrolled) > 0",
    'sum(increase(airbound_refusals_total{reason="out_of_order"}[10m])) > 0',
    "sum(increase(airbound_streams_opened_total[10m])) > 0",
    "sum(increase(airbound_streams_closed_total[10m])) > 0",
    "sum(up) == 2",
    # It was switched to observe, and back.
    f'max_over_time(airbound_cell_control_info{{bssid="{CONTROLLED}", mode="observe"}}[10m])',
    f'airbound_cell_control_info{{bssid="{CONTROLLED}", mode="control"}}',
)


class LiveSite:
    """A site in a thread of its own: the agents go on while a test asks. Alerts have no tolerance time here."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.started_s = self.ready_s = time.time()
        self._running: Running | None = None
        self._error: BaseException | None = None
        self._up = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()
        assert self._up.wait(STARTED_WITHIN_S), "the site did not start in time"
        self.check()

    def stop(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self.check()

    def check(self) -> None:
        """An agent that ended, or a command against the contract, is an error of the test."""
        if self._error is not None:
            raise self._error

    @property
    def running(self) -> Running:
        self.check()
        assert self._running is not None
        return self._running

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # it is raised in the test's thread
            self._error = error
        finally:
            self._up.set()

    async def _serve(self) -> None:
        async with site(self.directory, self._rules(), CYCLE_S) as self._running:
            self._up.set()
            await self._stop.wait()

    def _rules(self) -> list[Path]:
        made = []
        for file in RULES:
            text = file.read_text(encoding="utf-8")
            made.append(self.directory / file.name)
            made[-1].write_text(re.sub(r"^(\s+for:) .*$", r"\1 0s", text, flags=re.MULTILINE), encoding="utf-8")
        return made


def span_until(live: LiveSite, now_s: float) -> Span:
    """From the start to a moment, which is a step of the range."""
    steps = math.ceil((now_s - live.started_s) / STEP_S)
    return Span(now_s - steps * STEP_S, now_s, STEP_S, scrape_s=STEP_S)


def missing(live: LiveSite, now_s: float) -> list[str]:
    """What the tests would not find at a moment. Prometheus has no rules' results in its first seconds: a record may
    be absent though all that it is made from is there."""
    prometheus = Prometheus(live.running.prometheus)
    unready = [expr for expr in READY if not prometheus.instant(expr, now_s)]
    return unready or without_data(prometheus, span_until(live, now_s))


def _now_s() -> float:
    """Whole seconds: Prometheus takes and returns milliseconds, and what is rounded may be after the span's end."""
    return float(math.floor(time.time()))


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    made = LiveSite(tmp_path_factory.mktemp("site"))
    try:
        made.start()
        now_s = _now_s()
        until_s = now_s + READY_WITHIN_S
        while absent := missing(made, now_s):
            made.check()
            assert now_s < until_s, f"nothing in time: {absent}"
            time.sleep(0.25)
            now_s = _now_s()
        made.ready_s = now_s
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def prometheus(live: LiveSite) -> Prometheus:
    return Prometheus(live.running.prometheus)


@pytest.fixture(scope="session")
def span(live: LiveSite) -> Span:
    return span_until(live, live.ready_s)
