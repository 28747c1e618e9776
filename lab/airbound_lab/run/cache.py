# SPDX-License-Identifier: Apache-2.0
"""Where the lab keeps what takes long to make: the same folder as scripts/lib.sh and lab/kernel/build.sh."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return it: $AIRBOUND_CACHE, or `airbound` among the user's caches."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("AIRBOUND_CACHE") or caches / "airbound")
