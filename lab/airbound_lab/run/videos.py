# SPDX-License-Identifier: Apache-2.0
"""The videos that phones of a run send live: encoded once on this machine, kept by what they are made of.

Of noise, so that each frame needs the bits that it is given; with one thread, so that an encoder makes the same again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from airbound_lab.errors import LabError, MissingError
from airbound_lab.plan import applications
from airbound_lab.run import host
from airbound_lab.run.cache import cache_directory
from airbound_lab.settings.application import FRAMES_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound_lab.settings.application import Live

KEY_FRAME_EVERY_S = 2


def command(application: Live, target: str) -> list[str]:
    """Return the encoder's command."""
    rate = f"{application.rate_kbps}k"
    pattern = f"testsrc2=size=320x240:rate={FRAMES_PER_S},noise=alls=40:allf=t:all_seed=1"
    return [
        *("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y", "-f", "lavfi", "-i", pattern),
        *("-t", str(application.length_s), "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency"),
        *("-threads", "1", "-g", str(KEY_FRAME_EVERY_S * FRAMES_PER_S), "-pix_fmt", "yuv420p"),
        *("-b:v", rate, "-minrate", rate, "-maxrate", rate, "-bufsize", rate),
        *("-x264-params", "nal-hrd=cbr:scenecut=0", "-flags", "+bitexact", "-fflags", "+bitexact"),
        *("-map_metadata", "-1", "-f", "flv", target),
    ]


def directory_with(wanted: Iterable[Live], cache: Path | None = None) -> Path:
    """Return a directory that has the videos of all of these, by `applications.video_file`.

    Raises:
        MissingError: there is no ffmpeg.
        LabError: ffmpeg fails.
    """
    ffmpeg = shutil.which("ffmpeg", path=host.SYSTEM_PATH)
    if ffmpeg is None:
        raise MissingError("this machine lacks ffmpeg; install with: apt-get install ffmpeg (or: make setup)")
    recipe = hashlib.sha256(Path(__file__).read_bytes() + host.sha256(Path(ffmpeg)).encode()).hexdigest()[:16]
    directory = (cache or cache_directory()) / "videos" / recipe
    directory.mkdir(parents=True, exist_ok=True)
    for application in sorted(set(wanted), key=applications.video_file):
        path = directory / applications.video_file(application)
        if not path.exists():
            # As a whole or not at all; another process may encode the same.
            new = path.with_name(f"{path.name}.{os.getpid()}")
            result = subprocess.run(command(application, str(new)), capture_output=True, text=True, check=False)
            if result.returncode != 0:
                new.unlink(missing_ok=True)
                raise LabError(f"ffmpeg cannot encode {path.name}: {result.stderr.strip()[-500:]}")
            new.replace(path)
    return directory
