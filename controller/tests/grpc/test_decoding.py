# SPDX-License-Identifier: Apache-2.0
"""Octets that are no message of their call: refused and counted, on every port, and not an error of the controller."""

import logging
from pathlib import Path

import grpc
import grpc.aio
import pytest

from airbound.core.reasons import Code
from airbound_testing.agents import channel
from airbound_testing.live import LiveController
from airbound_testing.pki import Site

NO_MESSAGE = b"\x0a\xff"
UNARY = ("/airbound.v1.OperationsService/GetController", "/grpc.health.v1.Health/Check")
STREAMED = ("/airbound.v1.OperationsService/ListCells", "/airbound.v1.EventsService/FollowEvents")
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


async def refused(to: grpc.aio.Channel, path: str) -> grpc.aio.AioRpcError:
    """What a call with such octets ends with."""
    try:
        if path in UNARY:
            await to.unary_unary(path)(NO_MESSAGE)
        elif path == REFLECTION:
            [answer async for answer in to.stream_stream(path)(iter([NO_MESSAGE]))]
        else:
            [answer async for answer in to.unary_stream(path)(NO_MESSAGE)]
    except grpc.aio.AioRpcError as error:
        return error
    raise AssertionError(f"{path} has answered")


@pytest.mark.parametrize("path", [*UNARY, *STREAMED, REFLECTION])
async def test_an_operator_is_refused_and_it_is_counted(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async with LiveController() as live:
        error = await refused(live.channel_of_operator(), path)
        assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "message: not what it must be")
        assert live.runner.counts.totals["refused_total", Code.MALFORMED] == 1
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("path", [UNARY[1], "/airbound.v1.CertificateService/Renew"])
async def test_an_agent_is_refused_and_it_is_counted(
    path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path / "ca")
    async with (
        site.security() as security,
        LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()) as live,
        channel(live.target, site.client("terminal", "x").secured()) as to,
    ):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await to.unary_unary(path)(NO_MESSAGE)
        assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert live.runner.counts.totals["refused_total", Code.MALFORMED] == 1
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_who_is_no_operator_is_refused_for_that(tmp_path: Path) -> None:
    site = Site(tmp_path / "ca")
    async with (
        site.security() as security,
        LiveController(security=security, secured=lambda role, name: site.client(role, name).secured()) as live,
        channel(live.operators, site.client("terminal", "x").secured()) as to,
    ):
        error = await refused(to, UNARY[0])
        assert error.code() == grpc.StatusCode.PERMISSION_DENIED
        assert live.runner.counts.totals["refused_total", Code.MALFORMED] == 0
