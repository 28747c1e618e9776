# SPDX-License-Identifier: Apache-2.0
"""What a live cell is made of; pure."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic.dataclasses import dataclass

from airbound_lab.settings.option import Option
from airbound_lab.settings.parameters import DistancesM, Parameters
from airbound_lab.settings.radio import DEFAULT_PHY, PhyName
from airbound_lab.settings.validation import STRICT
from airbound_lab.settings.values import (
    KERNEL_LINE_OF,
    TERMINALS_MAX,
    AccessPointKind,
    DelayMs,
    KernelLine,
    RateControl,
    Seed,
)

ENROLMENT_PORT = 50053
PORT_MAX = 65_535
NAME_BYTES_MAX = 48
"""A name on a certificate has 64 at most, and the phones' numbers come after this one."""


def split_address(text: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT; an IPv6 address is in brackets. ValueError says what is wrong."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) <= PORT_MAX:
        raise ValueError("not HOST:PORT")
    if ":" in host.strip("[]") and not (host.startswith("[") and host.endswith("]")):
        raise ValueError("an IPv6 address is written in brackets")
    return host, int(port)


def _address(text: str) -> str:
    split_address(text)
    return text


def _name(text: str) -> str:
    if not re.fullmatch(rf"[A-Za-z0-9._-]{{1,{NAME_BYTES_MAX}}}", text):
        raise ValueError(f"not 1 to {NAME_BYTES_MAX} letters, digits, '.', '_' or '-'")
    return text


Address = Annotated[str, AfterValidator(_address)]


@dataclass(frozen=True, slots=True, config=STRICT)
class Settings:
    """The cell and its controller; pydantic's ValidationError names what is wrong."""

    controller: Annotated[Address, Option("where the controller serves agents", "HOST:PORT")]
    enroll: Annotated[
        Address | None,
        Option("where it enrols devices (default: port 50053 of the same host)", "HOST:PORT"),
    ] = None
    plain_text: Annotated[bool, Option("without TLS and certificates; for tests")] = False
    name: Annotated[
        str, AfterValidator(_name), Option(f"devices are NAME-ap, NAME-phone1 (<= {NAME_BYTES_MAX})", "NAME")
    ] = "live"
    terminals: Annotated[int, Field(ge=0), Option("phones with an agent (default: {default})", "N")] = 4
    without_agent: Annotated[int, Field(ge=0), Option("phones without (default: {default})", "N")] = 1
    no_window_clamp: Annotated[
        bool, Option("the access point's agent does not limit the windows of phones without one")
    ] = False
    radio: Annotated[RateControl, Option("all radios' rate control (default: {default})")] = "minstrel"
    delay_ms: Annotated[DelayMs, Option("round trip to their server (default: {default})", "MS")] = 20.0
    seed: Annotated[Seed, Option("of what the phones do (default: {default})", "N")] = 1
    phy: Annotated[PhyName, Option("the radios, as of run (default: {default})")] = DEFAULT_PHY
    ap: Annotated[AccessPointKind, Option("the access point, as of run (default: {default})")] = "plain"
    distances_m: DistancesM = None
    kernel_line: Annotated[KernelLine | None, Option("as of run (default: 6.1, with --ap openwrt 6.12)")] = None

    @model_validator(mode="after")
    def _check_phones(self) -> Self:
        if not 1 <= self.phones <= TERMINALS_MAX:
            raise ValueError(f"--terminals and --without-agent: together {self.phones}, not 1 to {TERMINALS_MAX}")
        return self

    @model_validator(mode="after")
    def _check_enrolment(self) -> Self:
        if self.plain_text and self.enroll is not None:
            raise ValueError("--plain-text excludes --enroll")
        return self

    @model_validator(mode="after")
    def _check_radios(self) -> Self:
        self.parameters()  # which knows what goes together
        return self

    @property
    def line(self) -> KernelLine:
        """The Linux of all hosts."""
        return self.kernel_line or KERNEL_LINE_OF[self.ap]

    @property
    def phones(self) -> int:
        """All phones."""
        return self.terminals + self.without_agent

    @property
    def enrolment(self) -> str:
        """Where devices enrol, HOST:PORT."""
        return self.enroll or f"{split_address(self.controller)[0]}:{ENROLMENT_PORT}"

    @property
    def access_point(self) -> str:
        """Name of the access point."""
        return f"{self.name}-ap"

    def phone(self, number: int) -> str:
        """Return the name of a phone; phones count from 1, those with an agent come first."""
        return f"{self.name}-phone{number}"

    def devices(self) -> tuple[str, ...]:
        """Names of those that have an agent, and so a certificate."""
        return (self.access_point, *(self.phone(i) for i in range(1, self.terminals + 1)))

    def parameters(self) -> Parameters:
        """Return the parameters of the same cell in the lab."""
        return Parameters(
            terminals=self.phones,
            wired_delays_ms=(self.delay_ms,),
            rate_control=self.radio,
            modes=("airbound",),
            seeds=(self.seed,),
            phy=self.phy,
            ap=self.ap,
            distances_m=self.distances_m,
            kernel_line=self.line,
        )
