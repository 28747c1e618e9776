# SPDX-License-Identifier: Apache-2.0
"""Metrics of a running controller over HTTP."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from concurrent.futures import Future
from http import HTTPStatus

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, gzip_accepted
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST

from airbound.endpoints import host_and_port
from airbound.metrics.hooks import Hooks
from airbound.metrics.http_server import Answer, HttpServer, Request, text
from airbound.metrics.options import Metrics
from airbound.metrics.page import Pages
from airbound.metrics.scrapes import Scrapes
from airbound.metrics.snapshot import Sampler
from airbound.runtime import log
from airbound.runtime.runner import Runner

HEALTH_TIMEOUT_S = 2.0


class Exporter:
    """Serves /metrics and /healthz from `start` to `stop`. Construct it in the event loop.

    Raises:
        OSError: the address cannot be listened on, or a file for TLS cannot be read.
    """

    def __init__(self, runner: Runner, options: Metrics, hooks: Hooks) -> None:
        self.ready = False  # whether the controller serves agents and operators
        self.sampler = Sampler(runner, hooks, asyncio.get_running_loop())
        self._loop = asyncio.get_running_loop()
        self._scrapes = Scrapes(self.sampler, Pages(options))
        self._failures = 0
        host, port = host_and_port(options.listen)
        answers = {"/metrics": self._metrics, "/healthz": self._healthz}
        self._server = HttpServer(host, port, answers, _tls(options) if options.certificate else None)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._server.port

    def start(self) -> None:
        """Serve."""
        self._server.start()

    def stop(self) -> None:
        """End."""
        self.ready = False
        self._server.stop()

    def _metrics(self, request: Request) -> Answer:
        try:
            page = self._scrapes.page()
        except TimeoutError:
            return text(HTTPStatus.SERVICE_UNAVAILABLE, "503 Service Unavailable: the event loop is late")
        except Exception as error:  # noqa: BLE001  # the next scrape may succeed
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._log, error)  # what observes the log belongs to its thread
            return text(HTTPStatus.INTERNAL_SERVER_ERROR, "500 Internal Server Error: see the controller's log")
        openmetrics, content_type = _format(request.accept)
        if gzip_accepted(request.accept_encoding):
            return Answer(HTTPStatus.OK, content_type, page.compressed(openmetrics=openmetrics), gzip=True)
        return Answer(HTTPStatus.OK, content_type, page.chunks(openmetrics=openmetrics))

    def _log(self, error: Exception) -> None:
        self._failures += 1
        if not self._failures & (self._failures - 1):  # the 1st, 2nd, 4th, 8th, ...
            log.event("warning", "metrics", "scrape", f"{type(error).__name__}: {error}")

    def _healthz(self, _: Request) -> Answer:
        """Whether the controller serves, and its event loop turns."""
        answered = Future[None]()
        try:
            self._loop.call_soon_threadsafe(answered.set_result, None)
            answered.result(HEALTH_TIMEOUT_S)
        except (RuntimeError, TimeoutError):
            return text(HTTPStatus.SERVICE_UNAVAILABLE, "503 Service Unavailable: the event loop does not answer")
        if not self.ready:
            return text(HTTPStatus.SERVICE_UNAVAILABLE, "503 Service Unavailable: the controller does not serve")
        return text(HTTPStatus.OK, "ok")


def _format(accept: str) -> tuple[bool, str]:
    """Whether a client is to be answered with OpenMetrics, and the content type."""
    try:
        _, content_type = choose_encoder(accept)
    except (TypeError, ValueError):  # a version that is none
        content_type = CONTENT_TYPE_PLAIN_0_0_4
    openmetrics = content_type.startswith("application/openmetrics-text")
    return openmetrics, CONTENT_TYPE_LATEST if openmetrics else CONTENT_TYPE_PLAIN_0_0_4


def _tls(options: Metrics) -> Callable[[], ssl.SSLContext]:
    """Makes a context for each connection: files that were renewed are in force at once."""

    def context() -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_3
        made.load_cert_chain(options.certificate, options.key, password="")  # never ask on a terminal
        if options.client_ca:
            made.verify_mode = ssl.CERT_REQUIRED
            made.load_verify_locations(options.client_ca)
        return made

    return context
