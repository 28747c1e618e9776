# SPDX-License-Identifier: Apache-2.0
"""Connections as the options ask for: TLS, user and password.

RESP 2: nothing here needs more, and in it a connection that subscribes receives everything as a reply.
"""

import asyncio
import os
import ssl
from pathlib import Path
from urllib.parse import quote

from redis.asyncio import Connection, SSLConnection
from redis.exceptions import RedisError, ResponseError

from airbound.config import ConfigError
from airbound.configuration.secret import read_secret
from airbound.store.options import StoreOptions
from airbound.store.types import StoreError

UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)  # raised for an unexpected reply
# The parsers of hiredis and redis-py raise the last ones: for a list that is too long, an ASK without an address.
FAILURES = (RedisError, OSError, TimeoutError, MemoryError, *UNREADABLE)
RESP = 2


class Connections:
    """Makes connections to any of the servers.

    Raises:
        StoreError: a file that the options name cannot be used.
    """

    def __init__(self, options: StoreOptions, replica: str) -> None:
        self._options = options
        self._name = f"airbound:{quote(replica)}"
        self._tls = _tls(options) if options.url.startswith("rediss:") else None
        self._password()  # so that a file that cannot be used ends the start, and not each attempt after it

    async def open(self, host: str, port: int) -> Connection:
        """A connection that the server has confirmed.

        Raises:
            StoreError: there is none within the time-out.
        """
        connection = self._make(host, port)
        try:
            async with asyncio.timeout(self._options.timeout_s):
                await connection.connect()  # waits for the replies to AUTH and CLIENT SETNAME
        except FAILURES as error:
            await connection.disconnect(nowait=True)
            raise StoreError(f"{host}:{port}: {describe(error)}") from error
        return connection

    def _make(self, host: str, port: int) -> Connection:
        kind = Connection if self._tls is None else SSLConnection
        connection = kind(
            host=host,
            port=port,
            username=self._options.user or None,
            password=self._password(),
            client_name=self._name,
            driver_info=None,
            protocol=RESP,
            socket_timeout=None,
            socket_connect_timeout=self._options.timeout_s,
        )
        if isinstance(connection, SSLConnection):
            connection.ssl_context.context = self._tls
        return connection

    def _password(self) -> str | None:
        """Read each time, so that it can be changed while the controller runs."""
        path = self._options.password_file
        if not path:
            return None
        try:
            return read_secret(Path(path), "store.password_file")
        except ConfigError as error:
            raise StoreError(str(error)) from error


def describe(error: BaseException) -> str:
    """What is known of a failure."""
    text = str(error)
    cause = error.__context__
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and (cause.errno or 0) > 0:
        return os.strerror(cause.errno or 0)
    if isinstance(error, ResponseError) and error.status_code:  # which redis-py takes from the text
        return f"{error.status_code} {text}"
    if isinstance(error, TimeoutError) or not text:
        return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    return text


def _tls(options: StoreOptions) -> ssl.SSLContext:
    """Only the CAs of the file count where there is one; redis-py itself would add them to the system's."""
    try:
        context = ssl.create_default_context(cafile=options.ca_file or None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if options.certificate_file:
            context.load_cert_chain(options.certificate_file, options.key_file)
    except OSError as error:  # an SSLError is one
        files = ", ".join(filter(None, (options.ca_file, options.certificate_file, options.key_file)))
        raise StoreError(f"{files}: {error}") from error
    return context
