# SPDX-License-Identifier: Apache-2.0
"""A client of the operations service, for the commands."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from airbound.core.addresses import mac_from_text
from airbound.core.class_choices import CLASS_WORDS, OWN
from airbound.v1 import (
    enrollment_pb2,
    enrollment_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    pki_pb2,
    pki_pb2_grpc,
    replicas_pb2,
    replicas_pb2_grpc,
)

if TYPE_CHECKING:
    from airbound.operator.tls_files import ClientIdentity

Result = TypeVar("Result")

OPTIONS = (
    # A proxy of the environment is for the web; the agents do not use it either.
    ("grpc.enable_http_proxy", 0),
    # A command that follows events connects again soon after a controller is back.
    ("grpc.max_reconnect_backoff_ms", 2_000),
)
_MODES = {"observe": operations_pb2.MODE_OBSERVE, "control": operations_pb2.MODE_CONTROL}


_NO_METHOD = "Method not found!"  # gRPC's text for a service that a port does not have
_NOT_OPERATORS = (
    "not the one for operators (--controller ADDR:PORT): the controller's log has it at its start, `operators on`;"
    " 50052 unless the configuration says otherwise"
)
_NOBODY_LISTENS = (
    "Nobody listens there: is the controller running (`systemctl status airbound-controller`, `airbound controller`),"
    " and is that its address for operators (--controller ADDR:PORT, 50052 unless configured)?"
)
_TLS_THERE = "A controller with TLS closes such connections: leave out --plain-text and $AIRBOUND_PLAIN_TEXT"
_NO_TLS_THERE = "What listens there has no TLS: --plain-text if it is a controller in plain text, else another port"
_OTHER_AUTHORITY = (
    "Its certificate is not of your authority: `airbound login --token TOKEN` with a token of this controller, or"
    " --tls-dir DIR with another certificate of yours"
)
_NO_SUCH_HOST = "No such host: --controller ADDR:PORT"
_SLOW = "It may be busy: --timeout S waits longer"


class UnreachableError(OSError):
    """No controller answers there."""


class RefusedError(ValueError):
    """The controller answered, and the answer is no."""


class NotFoundError(RefusedError):
    """It knows nothing of that name."""


def channel(endpoint: str, identity: "ClientIdentity | None") -> grpc.Channel:
    """A connection; in plain text if there is no identity to connect with."""
    options: list[tuple[str, Any]] = list(OPTIONS)
    if identity is None:
        return grpc.insecure_channel(endpoint, options=options)
    # gRPC's Python compares the server's certificate with the name that was dialled, and looks at DNS names only. The
    # authority gives this name to controllers only: a certificate with it has the role controller in its URI.
    options.append(("grpc.ssl_target_name_override", identity.server_name))
    credentials = grpc.ssl_channel_credentials(identity.authorities_pem, identity.key_pem, identity.certificate_pem)
    return grpc.secure_channel(endpoint, credentials, options=options)


class Client:
    """One connection to a controller; a context manager.

    Every method raises UnreachableError if nobody answers in time, and RefusedError for any other error.
    """

    def __init__(self, endpoint: str, timeout_s: float, identity: "ClientIdentity | None" = None) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._secure = identity is not None
        self._channel = channel(endpoint, identity)
        self._stub: Any = operations_pb2_grpc.OperationsServiceStub(self._channel)
        self._replicas: Any = replicas_pb2_grpc.ReplicasServiceStub(self._channel)
        self._health: Any = health_pb2_grpc.HealthStub(self._channel)
        self._admin: Any = pki_pb2_grpc.EnrollmentAdminServiceStub(self._channel)
        self._certificates: Any = enrollment_pb2_grpc.CertificateServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._channel.close()

    def controller(self) -> operations_pb2.GetControllerResponse:
        """Mode, policy and counters."""
        answer: operations_pb2.GetControllerResponse = self._call(
            lambda: self._stub.GetController(operations_pb2.GetControllerRequest(), **self._options)
        )
        return answer

    def configuration(self) -> operations_pb2.GetConfigurationResponse:
        """Every value of the configuration in force and where it comes from."""
        answer: operations_pb2.GetConfigurationResponse = self._call(
            lambda: self._stub.GetConfiguration(operations_pb2.GetConfigurationRequest(), **self._options)
        )
        return answer

    def cells(self, bssid: str = "") -> operations_pb2.ListCellsResponse:
        """Every cell, or one."""
        request = operations_pb2.ListCellsRequest(bssid=bssid)
        return self._merged(lambda: self._stub.ListCells(request, **self._options), operations_pb2.ListCellsResponse())

    def watch_cells(self) -> Iterator[operations_pb2.Cell]:
        """Every cell, then each again when it changes; without end."""
        for response in self.stream(lambda: self._stub.WatchCells(operations_pb2.WatchCellsRequest())):
            yield response.cell

    def stations(self, bssid: str) -> operations_pb2.ListStationsResponse:
        """The stations of a cell."""
        request = operations_pb2.ListStationsRequest(bssid=bssid)
        answer: operations_pb2.ListStationsResponse = self._call(
            lambda: self._stub.ListStations(request, **self._options)
        )
        return answer

    def terminals(self, bssid: str = "") -> operations_pb2.ListTerminalsResponse:
        """Every terminal, or those joined to one cell."""
        request = operations_pb2.ListTerminalsRequest(bssid=bssid)
        return self._merged(
            lambda: self._stub.ListTerminals(request, **self._options), operations_pb2.ListTerminalsResponse()
        )

    def switches(self) -> operations_pb2.ListSwitchesResponse:
        """Every OpenFlow switch."""
        request = operations_pb2.ListSwitchesRequest()
        return self._merged(
            lambda: self._stub.ListSwitches(request, **self._options), operations_pb2.ListSwitchesResponse()
        )

    def station_traffic(self, mac: str) -> operations_pb2.GetStationTrafficResponse:
        """What a station sends and receives by the switch of its cell."""
        request = operations_pb2.GetStationTrafficRequest(station=mac)
        answer: operations_pb2.GetStationTrafficResponse = self._call(
            lambda: self._stub.GetStationTraffic(request, **self._options)
        )
        return answer

    def explain(
        self, name: str
    ) -> (
        operations_pb2.ExplainTerminalResponse
        | operations_pb2.ExplainCellResponse
        | operations_pb2.ExplainStationResponse
    ):
        """The cell of a BSSID, the terminal of a name or MAC or else the station of a MAC, and what its parameters,
        bounds or limits follow from.
        """
        try:
            mac_from_text(name)
        except ValueError:
            return self.explain_terminal(name)
        try:
            return self.explain_cell(name)
        except NotFoundError:
            pass
        try:
            return self.explain_terminal(name)
        except NotFoundError as terminal:
            try:
                return self.explain_station(name)
            except NotFoundError:
                raise terminal from None

    def explain_station(self, mac: str) -> operations_pb2.ExplainStationResponse:
        """A station, and the limits of its windows and what they follow from."""
        request = operations_pb2.ExplainStationRequest(station=mac)
        answer: operations_pb2.ExplainStationResponse = self._call(
            lambda: self._stub.ExplainStation(request, **self._options)
        )
        return answer

    def explain_cell(self, bssid: str) -> operations_pb2.ExplainCellResponse:
        """A cell, and what its access point's EDCA parameters follow from."""
        request = operations_pb2.ExplainCellRequest(bssid=bssid)
        answer: operations_pb2.ExplainCellResponse = self._call(
            lambda: self._stub.ExplainCell(request, **self._options)
        )
        return answer

    def explain_terminal(self, terminal: str) -> operations_pb2.ExplainTerminalResponse:
        """A terminal's bounds and what they follow from."""
        request = operations_pb2.ExplainTerminalRequest(terminal=terminal)
        answer: operations_pb2.ExplainTerminalResponse = self._call(
            lambda: self._stub.ExplainTerminal(request, **self._options)
        )
        return answer

    def set_mode(self, mode: str, bssid: str = "", *, for_ms: int = 0) -> operations_pb2.SetModeResponse:
        """Set "observe", "control" or what is "configured", of the controller or of one cell; for a time, or with 0
        until somebody ends it.
        """
        configured = mode == "configured"
        request = operations_pb2.SetModeRequest(
            mode=None if configured else _MODES[mode], bssid=bssid, configured=configured, for_ms=for_ms
        )
        answer: operations_pb2.SetModeResponse = self._call(lambda: self._stub.SetMode(request, **self._options))
        return answer

    def exempt(self, name: str, *, exempt: bool) -> operations_pb2.ExemptTerminalResponse:
        """Exempt terminals of a name, the cell of a BSSID or the station of a MAC, from control, or end that."""
        request = operations_pb2.ExemptTerminalRequest(name=name, exempt=exempt)
        answer: operations_pb2.ExemptTerminalResponse = self._call(
            lambda: self._stub.ExemptTerminal(request, **self._options)
        )
        return answer

    def set_class(self, terminal: str, uid: int | None, word: str) -> operations_pb2.SetClassResponse:
        """Choose a class by its word, or what is the terminal's "own", for all of its applications or for one."""
        own = word == OWN
        number = 0 if own else CLASS_WORDS.index(word)
        request = operations_pb2.SetClassRequest(
            terminal=terminal, uid=uid, own=own,
            application_class=number,  # type: ignore[arg-type]  # the same numbers: tested
        )  # fmt: skip
        answer: operations_pb2.SetClassResponse = self._call(lambda: self._stub.SetClass(request, **self._options))
        return answer

    def replicas(self) -> replicas_pb2.ListReplicasResponse:
        """Every replica of the controller."""
        request = replicas_pb2.ListReplicasRequest()
        answer: replicas_pb2.ListReplicasResponse = self._call(
            lambda: self._replicas.ListReplicas(request, **self._options)
        )
        return answer

    def owned_cells(self) -> replicas_pb2.ListOwnedResponse:
        """Every cell and its owner."""
        request = replicas_pb2.ListOwnedRequest()
        answer: replicas_pb2.ListOwnedResponse = self._call(lambda: self._replicas.ListOwned(request, **self._options))
        return answer

    def issue_token(self, role: str, name: str, uses: int, lifetime_s: int) -> pki_pb2.IssueTokenResponse:
        """A token for a role and name."""
        request = pki_pb2.IssueTokenRequest(role=role, name=name, uses=uses, lifetime_s=lifetime_s)
        answer: pki_pb2.IssueTokenResponse = self._call(lambda: self._admin.IssueToken(request, **self._options))
        return answer

    def enrolled(self, role: str = "") -> pki_pb2.ListEnrolledResponse:
        """Who has a certificate."""
        request = pki_pb2.ListEnrolledRequest(role=role)
        return self._merged(lambda: self._admin.ListEnrolled(request, **self._options), pki_pb2.ListEnrolledResponse())

    def revoke(self, request: pki_pb2.RevokeRequest) -> pki_pb2.RevokeResponse:
        """End certificates before their time."""
        answer: pki_pb2.RevokeResponse = self._call(lambda: self._admin.Revoke(request, **self._options))
        return answer

    def move_cell(self, bssid: str, access_point: str) -> pki_pb2.MoveCellResponse:
        """Have another access point report a cell."""
        request = pki_pb2.MoveCellRequest(bssid=bssid, access_point=access_point)
        answer: pki_pb2.MoveCellResponse = self._call(lambda: self._admin.MoveCell(request, **self._options))
        return answer

    def renew(self, request: bytes) -> enrollment_pb2.Credentials:
        """Another certificate for whom this connection's is."""
        answer: enrollment_pb2.RenewResponse = self._call(
            lambda: self._certificates.Renew(enrollment_pb2.RenewRequest(request=request), **self._options)
        )
        return answer.credentials

    def health(self) -> health_pb2.HealthCheckResponse:
        """What the controller reports of its health."""
        answer: health_pb2.HealthCheckResponse = self._call(
            lambda: self._health.Check(health_pb2.HealthCheckRequest(), **self._options)
        )
        return answer

    # For clients of other services on the same connection

    @property
    def timeout_s(self) -> float:
        """How long an answer is waited for."""
        return self._timeout_s

    def stub(self, stub_class: Callable[[grpc.Channel], Any]) -> Any:
        """A stub of a service."""
        return stub_class(self._channel)

    def answer(self, call: Callable[[], Result]) -> Result:
        """What a call returns."""
        result: Result = self._call(call)
        return result

    def stream(self, call: Callable[[], Any]) -> Iterator[Any]:
        """What a call sends, until it ends or the caller has had enough."""
        stream = self._call(call)
        try:
            while (response := self._call(lambda: next(stream, None))) is not None:
                yield response
        finally:
            stream.cancel()

    @property
    def _options(self) -> dict[str, Any]:
        return {"timeout": self._timeout_s}

    def _hint(self, details: str) -> str:
        """What to do about a connection that failed, as gRPC describes it."""
        hints = (
            (self._secure, ("CERTIFICATE_VERIFY_FAILED", "certificate verify failed"), _OTHER_AUTHORITY),
            (self._secure, ("WRONG_VERSION_NUMBER", "handshake", "Handshake", "SSL"), _NO_TLS_THERE),
            (not self._secure, ("Socket closed", "Connection reset", "recvmsg"), _TLS_THERE),
            (True, ("Connection refused", "No such file", "Permission denied"), _NOBODY_LISTENS),
            (True, ("DNS resolution failed", "Domain name not found"), _NO_SUCH_HOST),
            (True, ("Deadline",), _SLOW),
        )
        return next((f". {hint}" for applies, words, hint in hints if applies and any(map(details.count, words))), "")

    def _merged(self, call: Callable[[], Any], whole: Result) -> Result:
        """All pages of an answer as one."""
        message: Any = whole
        for page in self._call(lambda: list(call())):
            message.MergeFrom(page)
        return whole

    def _call(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}:
                details = error.details() or ""
                text = f"no controller answers at {self._endpoint}: {details}{self._hint(details)}"
                raise UnreachableError(text) from error
            if error.code() is grpc.StatusCode.UNIMPLEMENTED and error.details() == _NO_METHOD:
                raise RefusedError(f"{self._endpoint} is a port of the controller, but {_NOT_OPERATORS}") from error
            if error.code() is grpc.StatusCode.CANCELLED:  # as calls that a port does not know end (grpc_server.py)
                text = f"{self._endpoint} ended the call: it stops, or is older than this command"
                raise RefusedError(text) from error
            kind = NotFoundError if error.code() is grpc.StatusCode.NOT_FOUND else RefusedError
            raise kind(f"{error.details()} ({error.code().name.lower()})") from error
