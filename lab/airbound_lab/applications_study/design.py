# SPDX-License-Identifier: Apache-2.0
"""What is run of the study of applications; pure.

Kumatani, Hirai, Miki, Yamaguchi and Oguchi (2012) measured three uploading applications on phones with Android 2.3:
live video (Ustream), one file, ten photos. Section 6: one phone alone. Section 7.1: one phone with TCP (iperf) beside
0 to 7 others, all TCP or all UDP, 256 ms, 60 s. Section 7.2: live video for 90 s beside 7 phones that send UDP, ten
times.

    alone        section 6: each application by itself
    throughput   section 7.1: the TCP phone's throughput, by the number of phones
    video        section 7.2: interruptions of live video, by trial, for both kinds of senders

The cells: `paper` has the paper's phones, whose window was at most 63 segments and whose rate control (probably) took
collisions for a bad channel; section 6 of the paper used 802.11n, whose rate control here is minstrel. `11n` and `11ac`
have phones of today and an access point with OpenWrt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airbound_lab.compare.one_cell import OneCell
from airbound_lab.settings.application import Application, File, Live, Photos
from airbound_lab.settings.lists import check_each_once, check_known
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from airbound_lab.settings.application import SenderKind

PARTS = ("alone", "throughput", "video")
PAPER, TODAY_N, TODAY_AC = "paper", "11n", "11ac"
CELLS = (PAPER, TODAY_N, TODAY_AC)
BACKGROUNDS = ("tcp", "udp")
SENDERS: tuple[SenderKind, ...] = ("drop", "wait")
MODE = "cubic"

CLAMP_SEGS = 63
"""Android 2.3's largest window."""
SEND_BUFFER_BYTES = 110_208
"""Android 2.3's largest send buffer over Wi-Fi (`net.tcp.buffersize.wifi`)."""
DELAY_MS = 256.0
"""Of section 7."""
ALONE_DELAY_MS = 16.0
"""Of section 6, which does not name it."""
THROUGHPUT_SECONDS, THROUGHPUT_WARMUP_S = 60, 5
VIDEO_S = 90
AFTER_VIDEO_S = 3
"""For which the player still shows what it has: its buffer, and as much again."""
RATE_KBPS = 700
"""The best of what Ustream recommended for high quality."""
PHONES = 8
FILE_BYTES = 67_000_000


@dataclass(frozen=True, slots=True)
class Case(OneCell):
    """One cell to be run, for one seed."""

    cell: str
    part: str
    what: str
    """An application by itself, the background, or the sender of live video."""
    terminals: int
    parameters: Parameters

    @property
    def row(self) -> str:
        """Where it is run, where runs are listed."""
        return f"{self.cell}: {self.part}, {self.terminals} phones"

    @property
    def column(self) -> str:
        """What is run, where runs are listed."""
        return self.what


@dataclass(frozen=True, slots=True)
class Design:
    """What is asked for."""

    cells: tuple[str, ...] = (PAPER,)
    parts: tuple[str, ...] = PARTS
    terminals: tuple[int, ...] = tuple(range(1, PHONES + 1))
    """Of `throughput`."""
    video_terminals: tuple[int, ...] = (PHONES,)
    """Of `video`."""
    senders: tuple[SenderKind, ...] = SENDERS
    rate_kbps: int = RATE_KBPS
    video_s: int = VIDEO_S
    seconds: int = THROUGHPUT_SECONDS
    """Of `throughput`."""
    alone_s: int = 60
    """Of live video by itself; the file and the photos have twice as long."""
    file_bytes: int = FILE_BYTES
    seeds: tuple[int, ...] = tuple(range(1, 11))
    """Of `video`; the others are run with the first."""

    def check(self) -> None:
        """Raise UsageError if something is unknown, there twice, or impossible."""
        check_known(
            {"--cells": (self.cells, CELLS), "--parts": (self.parts, PARTS), "--senders": (self.senders, SENDERS)}
        )
        check_each_once(
            {
                "--cells": self.cells,
                "--parts": self.parts,
                "--senders": self.senders,
                "--terminals": self.terminals,
                "--video-terminals": self.video_terminals,
                "--seeds": self.seeds,
            }
        )

    def cases(self) -> list[Case]:
        """All cells to be run, in the order of the tables.

        Raises:
            ValidationError: the numbers are out of limits.
        """
        return [case for cell in self.cells for part in self.parts for case in _PARTS[part](self, cell)]


def _alone(design: Design, cell: str) -> list[Case]:
    buffer_bytes = SEND_BUFFER_BYTES if cell == PAPER else None
    wanted: list[tuple[str, Application, int]] = [
        ("live", Live(rate_kbps=design.rate_kbps, length_s=design.alone_s), design.alone_s),
        ("file", File(size_bytes=design.file_bytes), 2 * design.alone_s),
        ("photos, one connection", Photos(), 2 * design.alone_s),
        ("photos, a connection each", Photos(connections="each"), 2 * design.alone_s),
    ]
    cases = []
    for name, application, seconds in wanted:
        limited = replace(application, send_buffer_bytes=buffer_bytes)
        scenario = Scenario(name, (Action(0, "start-application", phone=1, application=limited),))
        parameters = parameters_of(
            cell, alone=True, terminals=1, scenario=scenario, seconds=seconds + AFTER_VIDEO_S, warmup_seconds=0,
            wired_delays_ms=(ALONE_DELAY_MS,), seeds=design.seeds[:1],
        )  # fmt: skip
        cases.append(Case(cell, "alone", name, 1, parameters))
    return cases


def _throughput(design: Design, cell: str) -> list[Case]:
    cases = []
    for background in BACKGROUNDS:
        for terminals in design.terminals:
            if terminals == 1 and background != BACKGROUNDS[0]:
                continue  # the same
            others = [
                Action(0, "start-traffic", phone=phone, protocol="udp" if background == "udp" else "tcp")
                for phone in range(2, terminals + 1)
            ]
            scenario = Scenario(f"tcp beside {background}", (Action(0, "start-traffic", phone=1), *others))
            parameters = parameters_of(
                cell, terminals=terminals, scenario=scenario, seconds=design.seconds,
                warmup_seconds=min(THROUGHPUT_WARMUP_S, design.seconds - 1), seeds=design.seeds[:1],
            )  # fmt: skip
            cases.append(Case(cell, "throughput", background, terminals, parameters))
    return cases


def _video(design: Design, cell: str) -> list[Case]:
    cases = []
    for sender in design.senders:
        for terminals in design.video_terminals:
            live = Live(
                rate_kbps=design.rate_kbps,
                length_s=design.video_s,
                sender=sender,
                send_buffer_bytes=SEND_BUFFER_BYTES if cell == PAPER else None,
            )
            others = [Action(0, "start-traffic", phone=phone, protocol="udp") for phone in range(2, terminals + 1)]
            scenario = Scenario("live video", (Action(0, "start-application", phone=1, application=live), *others))
            for seed in design.seeds:
                parameters = parameters_of(
                    cell, terminals=terminals, scenario=scenario, seconds=design.video_s + AFTER_VIDEO_S,
                    warmup_seconds=0, seeds=(seed,),
                )  # fmt: skip
                cases.append(Case(cell, "video", sender, terminals, parameters))
    return cases


_PARTS = {"alone": _alone, "throughput": _throughput, "video": _video}


def parameters_of(cell: str, *, alone: bool = False, **given: Any) -> Parameters:
    """Return the parameters of a cell."""
    common: dict[str, Any] = {"modes": (MODE,), "kernel_line": "6.12", "wired_delays_ms": (DELAY_MS,)} | given
    if cell == PAPER:
        radio: dict[str, Any] = {"phy": "11n-20"} if alone else {"rate_control": "aarf"}
        return Parameters(**common, **radio, cwnd_clamp_segs=CLAMP_SEGS)
    return Parameters(**common, phy="11n-20" if cell == TODAY_N else "11ac-80", ap="openwrt")
