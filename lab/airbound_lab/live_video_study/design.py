# SPDX-License-Identifier: Apache-2.0
"""What is run of the study of live video with control; pure.

One phone sends live video beside others that send all they can, in modes with and without control, in three cells with
256 ms to the servers:

    2013   phones of 2013, as Kumatani et al. (2012) had them: windows of at most 63 segments, a rate control that takes
           collisions for a bad channel; the access point announces WMM, without which there are no categories
    11g    802.11g, phones of today
    11n    802.11n, 20 MHz, phones of today, an access point with OpenWrt

What the others send is `udp`, or `tcp`; of them, so many `claim` to be live by their own tables, or `mark` what they
send as video by themselves.

Linux 6.12's mac80211 has fq_codel for each station and air time fairness, so the access point of every mode has both;
`cubic@no-aql` is without the latter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from airbound_lab.applications_study.design import AFTER_VIDEO_S, CLAMP_SEGS, DELAY_MS, RATE_KBPS, SEND_BUFFER_BYTES
from airbound_lab.compare.one_cell import OneCell
from airbound_lab.errors import UsageError
from airbound_lab.settings import variant
from airbound_lab.settings.application import Live
from airbound_lab.settings.lists import check_each_once, check_known
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from airbound_lab.settings.application import SenderKind

Protocol = Literal["udp", "tcp"]

PHONES_OF_2013, TODAY_G, TODAY_N = "2013", "11g", "11n"
CELLS = (PHONES_OF_2013, TODAY_G, TODAY_N)
PROTOCOLS: tuple[Protocol, ...] = ("udp", "tcp")
MARKS = "cubic@live-marks"
"""DSCP and priorities alone: the live phones mark, and nobody controls who else does."""
MODES = ("cubic", "bbr", MARKS, f"{MARKS}@phones-cake-diffserv4", "airbound@no-classes", "airbound")


@dataclass(frozen=True, slots=True)
class Case(OneCell):
    """One cell to be run, for one seed."""

    cell: str
    terminals: int
    videos: int
    others: str
    """What the others send."""
    mode: str
    parameters: Parameters

    @property
    def row(self) -> str:
        """Where it is run, where runs are listed."""
        videos = "1 video" if self.videos == 1 else f"{self.videos} videos"
        return f"{self.cell}, {self.terminals} phones, {videos}, others {self.others}"


@dataclass(frozen=True, slots=True)
class Design:
    """What is asked for."""

    cells: tuple[str, ...] = CELLS
    terminals: tuple[int, ...] = (8,)
    protocols: tuple[Protocol, ...] = ("udp",)
    videos: tuple[int, ...] = (1,)
    """Phones that send live video; cells with fewer phones are left out."""
    claim: int = 0
    """Others that claim to be live."""
    mark: int = 0
    """Others that mark what they send as video."""
    agents: int | None = None
    """Phones with an agent, in modes with agents; the first ones send the video."""
    modes: tuple[str, ...] = MODES
    sender: SenderKind = "wait"
    rate_kbps: int = RATE_KBPS
    video_s: int = 90
    seeds: tuple[int, ...] = (1, 2, 3)

    def check(self) -> None:
        """Raise UsageError if something is unknown, there twice, or impossible."""
        check_known({"--cells": (self.cells, CELLS), "--others": (self.protocols, PROTOCOLS)})
        check_each_once(
            {
                "--cells": self.cells,
                "--terminals": self.terminals,
                "--videos": self.videos,
                "--others": self.protocols,
                "--modes": self.modes,
                "--seeds": self.seeds,
            }
        )
        if min(self.videos) < 1 or min(self.videos) > max(self.terminals):
            raise UsageError(f"--videos: {min(self.videos)}, of {max(self.terminals)} phones")
        others = min(terminals - videos for terminals, videos in self._sizes())
        if self.claim < 0 or self.mark < 0 or self.claim + self.mark > others:
            raise UsageError(f"--claim, --mark: {self.claim} and {self.mark} of {others} other phones")

    def _sizes(self) -> list[tuple[int, int]]:
        """Numbers of phones, and of videos among them."""
        return [(terminals, videos) for terminals in self.terminals for videos in self.videos if videos <= terminals]

    def cases(self) -> list[Case]:
        """All cells to be run, in the order of the tables.

        Raises:
            ValidationError: the numbers are out of limits.
        """
        return [
            self._case(cell, size, protocol, mode, seed)
            for cell in self.cells
            for size in self._sizes()
            for protocol in self.protocols
            for mode in self.modes
            for seed in self.seeds
        ]

    def _case(self, cell: str, size: tuple[int, int], protocol: Protocol, mode: str, seed: int) -> Case:
        terminals, videos = size
        parameters = parameters_of(
            cell,
            terminals=terminals,
            scenario=self._scenario(cell, terminals, videos, protocol),
            seconds=self.video_s + AFTER_VIDEO_S,
            warmup_seconds=0,
            seeds=(seed,),
        ).of_mode(mode)
        if self.agents is not None and variant.has_agents(mode):
            parameters = replace(parameters, agents=min(self.agents, terminals))
        words = [protocol, *([f"{self.claim} claim"] if self.claim else []), *([f"{self.mark} mark"] * bool(self.mark))]
        return Case(cell, terminals, videos, ", ".join(words), mode, parameters)

    def _scenario(self, cell: str, terminals: int, videos: int, protocol: Protocol) -> Scenario:
        live = Live(
            rate_kbps=self.rate_kbps,
            length_s=self.video_s,
            sender=self.sender,
            send_buffer_bytes=SEND_BUFFER_BYTES if cell == PHONES_OF_2013 else None,
        )
        actions = [Action(0, "start-application", phone=phone, application=live) for phone in range(1, videos + 1)]
        for number, phone in enumerate(range(videos + 1, terminals + 1)):
            claims, marks = number < self.claim, self.claim <= number < self.claim + self.mark
            actions.append(
                Action(
                    0,
                    "start-traffic",
                    phone=phone,
                    protocol="tcp" if claims else protocol,  # of UDP an agent reports nothing
                    app_class="live" if claims else "",
                    marked=marks,
                )
            )
        return Scenario("live video", tuple(actions))


def parameters_of(cell: str, **given: Any) -> Parameters:
    """Return the parameters of a cell."""
    common: dict[str, Any] = {"modes": ("cubic",), "kernel_line": "6.12", "wired_delays_ms": (DELAY_MS,)} | given
    if cell == TODAY_N:
        return Parameters(**common, phy="11n-20", ap="openwrt")
    if cell == TODAY_G:
        return Parameters(**common, wmm=True)
    return Parameters(**common, wmm=True, rate_control="aarf", cwnd_clamp_segs=CLAMP_SEGS)
