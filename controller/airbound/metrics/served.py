# SPDX-License-Identifier: Apache-2.0
"""Whether and where a controller serves metrics. prometheus_client is imported only where it does: that takes a tenth
of a second, and much more in the lab's guest.
"""

from typing import TYPE_CHECKING

from airbound.grpc.endpoints import ListenError
from airbound.metrics.hooks import Hooks
from airbound.metrics.options import Metrics
from airbound.runtime import log
from airbound.runtime.runner import Runner

if TYPE_CHECKING:
    from airbound.metrics.exporter import Exporter


class ServedMetrics:
    """Metrics from the construction to `stop`, which is in the event loop.

    The default address may be taken, by another controller on the same machine: then this one serves none, and does all
    else. What an operator asked for is an error if it cannot be had.

    Raises:
        ListenError: the configured address cannot be listened on, or a file for TLS cannot be read.
    """

    def __init__(self, runner: Runner, options: Metrics, hooks: Hooks) -> None:
        self._listen = options.listen
        self._exporter: Exporter | None = None
        self._why_not = ""
        if not options.listen:
            return
        from airbound.metrics import exporter  # noqa: PLC0415  # see above

        try:
            self._exporter = exporter.Exporter(runner, options, hooks)
        except OSError as error:
            self._why_not = f"cannot serve metrics on {options.listen}: {error.strerror or error}"
            if options != Metrics():
                raise ListenError(self._why_not) from error
            return
        self._exporter.start()

    def controller_listens(self) -> None:
        """The controller serves agents and operators from now on; log where the metrics are."""
        if self._exporter is not None:
            self._exporter.ready = True
            host = self._listen.rpartition(":")[0]
            log.event("info", "metrics", f"{host}:{self._exporter.port}", "")
        elif self._why_not:
            log.event("warning", "metrics", "none", self._why_not)

    def controller_stops(self) -> None:
        """It no longer does."""
        if self._exporter is not None:
            self._exporter.ready = False

    def stop(self) -> None:
        """End."""
        if self._exporter is not None:
            self._exporter.stop()
