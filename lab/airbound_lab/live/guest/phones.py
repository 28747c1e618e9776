# SPDX-License-Identifier: Apache-2.0
"""The phones: each carries out its programme, one activity after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airbound_lab.guest.supplicant import Supplicant
from airbound_lab.live import programme
from airbound_lab.live.guest.traffic import FRAMES_PER_S, Download, Upload

if TYPE_CHECKING:
    from airbound_lab.live.guest.loop import Loop
    from airbound_lab.live.programme import Activity

UPLOAD_MAX_S = 240.0
"""A collapsed cell could keep a phone busy with one file for ever."""
RETURN_POLL_S = 0.5
RETURN_ATTEMPTS = 40


class Phone:
    """One phone of the cell."""

    def __init__(self, loop: Loop, station: dict[str, Any], plan: dict[str, Any]) -> None:
        """Know what it does; `begin` begins."""
        self._loop = loop
        self._station = station
        self._activities = programme.activities(plan["seed"], station["number"], plan["files"])
        self._supplicant = Supplicant(station["interface"])
        self._left: list[int] = []
        self._turn = 0
        self._latest: Upload | None = None
        self._download: Download | None = None
        self._fetched_bytes = 0
        self.doing: Activity | None = None
        self.uploads = 0
        self.errors: dict[str, int] = {}

    def begin(self) -> None:
        """Begin its programme."""
        self._next()

    @property
    def address(self) -> str:
        """Its IPv4 address."""
        return str(self._station["address"])

    @property
    def fetched_bytes(self) -> int:
        """What it has received of all files that it fetched."""
        return self._fetched_bytes + (self._download.received_bytes if self._download is not None else 0)

    def srtt_ms(self) -> float | None:
        """Return the smoothed RTT of its upload, as its kernel has it; None while it uploads nothing."""
        return self._latest.srtt_ms() if self._latest is not None else None

    def _next(self) -> None:
        self._turn += 1
        self.doing = activity = next(self._activities)
        match activity.kind:
            case "idle":
                self._loop.after(activity.seconds, self._next)
            case "away":
                self._supplicant.command("DISCONNECT")
                self._loop.after(activity.seconds, self._return)
            case "video":
                frame_bytes = activity.rate_kbps * 1000 // 8 // FRAMES_PER_S
                video = self._upload(0, self._count_and_go_on, frame_bytes=frame_bytes)
                self._loop.after(activity.seconds, video.stop)
                self._limit(video, activity.seconds + UPLOAD_MAX_S)
            case "download":
                self._fetched_bytes = self.fetched_bytes
                [size_bytes] = activity.items_bytes
                self._download = Download(
                    self._loop,
                    self._station["name"],
                    self._addresses("downloads_port"),
                    size_bytes,
                    self._count_and_go_on,
                )
                self._limit(self._download, UPLOAD_MAX_S)
            case "file" | "photos":
                self._left = list(activity.items_bytes)
                self._upload_next("")

    def _upload_next(self, error: str) -> None:
        if error or not self._left:
            self._count_and_go_on(error)
            return
        upload = self._upload(self._left.pop(0), self._pause_between)
        self._limit(upload, UPLOAD_MAX_S)

    def _pause_between(self, error: str) -> None:
        gap_s = self.doing.gap_s if self.doing is not None and self._left and not error else 0.0
        self._loop.after(gap_s, lambda: self._upload_next(error))

    def _count_and_go_on(self, error: str) -> None:
        self.uploads += 1
        if error:
            self.errors[error] = self.errors.get(error, 0) + 1
        self._next()

    def _upload(self, size_bytes: int, done: Any, *, frame_bytes: int = 0) -> Upload:
        self._latest = Upload(
            self._loop,
            self._station["name"],
            self._addresses("port"),
            size_bytes,
            done,
            frame_bytes=frame_bytes,
            uid=programme.UIDS[self.doing.kind] if self.doing is not None else None,
        )
        return self._latest

    def _addresses(self, port: str) -> tuple[str, tuple[str, int]]:
        """Its own, and its server's."""
        server = self._station["server"]
        return self._station["address"], (server["address"], server[port])

    def _limit(self, upload: Upload | Download, seconds: float) -> None:
        turn = self._turn

        def abort() -> None:
            if self._turn == turn:
                upload.abort()

        self._loop.after(seconds, abort)

    def _return(self, attempts: int = RETURN_ATTEMPTS) -> None:
        """Associate again; the next activity begins when that is done, or after some time without."""
        if attempts % RETURN_ATTEMPTS == 0:
            self._supplicant.command("RECONNECT")
        elif not attempts or "wpa_state=COMPLETED" in self._supplicant.command("STATUS"):
            self._next()
            return
        self._loop.after(RETURN_POLL_S, lambda: self._return(attempts - 1))
