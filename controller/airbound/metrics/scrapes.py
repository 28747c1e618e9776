# SPDX-License-Identifier: Apache-2.0
"""Answers to scrapes: those that come at nearly the same time share one page."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from airbound.metrics.page import Page, Pages
from airbound.metrics.snapshot import Sampler
from airbound.runtime import garbage

REUSED_S = 0.5  # a page is as good as new for this long: a client that always asks costs two pages a second
TIMEOUT_S = 8.0  # less than Prometheus's 10 s


class Scrapes:
    """The pages of one controller. `page` is for any thread but the event loop's."""

    def __init__(self, sampler: Sampler, pages: Pages, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.pages_total = 0
        self._sampler = sampler
        self._pages = pages
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._latest: Future[Page] | None = None
        self._made_at_s = 0.0

    def page(self) -> Page:
        """The page of now, nearly. One thread makes it, others that ask meanwhile wait for that.

        Raises:
            TimeoutError: the event loop did not answer in time.
            RuntimeError: the event loop has ended.
        """
        with self._lock:
            latest, is_ours = self._latest, False
            if latest is None or self._is_old(latest):
                latest = self._latest = Future()
                is_ours = True
        if is_ours:
            self._make(latest)
        return latest.result(TIMEOUT_S)

    def _is_old(self, latest: "Future[Page]") -> bool:
        if not latest.done():
            return False
        return latest.exception() is not None or self._clock_s() - self._made_at_s >= REUSED_S

    def _make(self, latest: "Future[Page]") -> None:
        try:
            with garbage.paused():
                page = self._pages.page(self._sampler.request().result(TIMEOUT_S))
        except BaseException as error:  # noqa: BLE001  # those who wait must not wait for ever
            latest.set_exception(error)
        else:
            self._made_at_s, self.pages_total = self._clock_s(), self.pages_total + 1
            latest.set_result(page)
