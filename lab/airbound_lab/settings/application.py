# SPDX-License-Identifier: Apache-2.0
"""The applications that a phone of a scenario may run, each a real program of Debian; pure.

- `live`: live video, by ffmpeg over RTMP to nginx with its RTMP module, as Ustream had it. The video was encoded before
  (run/videos.py); ffmpeg sends each frame when it is due. What the sender does while the network takes less than the
  video has is ffmpeg's fifo muxer's: it `drop`s what is queued and goes on with the next key frame, or it `wait`s.
- `file`: one file, by curl to nginx's WebDAV.
- `photos`: several files, one after the other, on `one` connection or `each` on one of its own, with a pause.

And a program of our own, which repeats a benchmark:

- `http`: clients that fetch one byte, again and again (guest_programs/http_transactions.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from airbound_lab.settings.validation import STRICT

SizeBytes = Annotated[int, Field(ge=1, le=500_000_000)]
"""The guest has memory for two copies of it."""
SendBufferBytes = Annotated[int, Field(ge=4096, le=1 << 24)] | None
"""The largest send buffer of the phone's TCP (`net.ipv4.tcp_wmem`); None: as large as everybody's in the lab."""

SenderKind = Literal["drop", "wait"]

FRAMES_PER_S = 25


@dataclass(frozen=True, slots=True, config=STRICT)
class Live:
    """Live video of `length_s` at a constant bit rate."""

    kind: Literal["live"] = "live"
    rate_kbps: Annotated[int, Field(ge=50, le=20_000)] = 700
    length_s: Annotated[int, Field(ge=1, le=600)] = 60
    sender: SenderKind = "drop"
    queue_frames: Annotated[int, Field(ge=1, le=10_000)] = 60
    """What the sender queues before its socket; 60 is ffmpeg's."""
    send_buffer_bytes: SendBufferBytes = None


@dataclass(frozen=True, slots=True, config=STRICT)
class File:
    """One file."""

    kind: Literal["file"] = "file"
    size_bytes: SizeBytes = 67_000_000
    send_buffer_bytes: SendBufferBytes = None


@dataclass(frozen=True, slots=True, config=STRICT)
class Photos:
    """Several files, one after the other."""

    kind: Literal["photos"] = "photos"
    count: Annotated[int, Field(ge=1, le=100)] = 10
    size_bytes: SizeBytes = 1_000_000
    connections: Literal["one", "each"] = "one"
    pause_s: Annotated[float, Field(ge=0, le=60)] = 0.0
    asks: bool = True
    """Before each photo curl asks the server whether it may send it (`Expect: 100-continue`), which takes a round trip.
    Libraries that apps use (OkHttp, URLSession) do not, unless the app wants it."""
    send_buffer_bytes: SendBufferBytes = None


@dataclass(frozen=True, slots=True, config=STRICT)
class Http:
    """Transactions of one byte by clients of which each begins the next one when the last one has ended."""

    kind: Literal["http"] = "http"
    clients: Annotated[int, Field(ge=1, le=100)] = 1
    connections: Literal["one", "each"] = "each"
    """One for each client, or one for each transaction."""
    length_s: Annotated[float, Field(gt=0, le=3600)] = 10.0
    """No transaction begins later; one that has not ended by then does not count."""
    send_buffer_bytes: SendBufferBytes = None


Application = Annotated[Live | File | Photos | Http, Field(discriminator="kind")]
