# SPDX-License-Identifier: Apache-2.0
"""Whether a live cell runs: `airbound-lab live --check`, and the health check of its container,

    python -m airbound_lab.live.check DIR

which takes a tenth of the processor time, since it imports nothing else of the lab.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from airbound_lab.errors import LabError
from airbound_lab.live import status as statuses


def check(directory: Path) -> None:
    """Print the status of the cell whose state is in a directory.

    Raises:
        LabError: it does not run.
    """
    path = directory / statuses.FILE
    try:
        status = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}") from error
    sys.stdout.write(f"{statuses.line(status)}\n")
    if not statuses.is_running(status, time.time()):
        raise LabError("the cell does not run")


if __name__ == "__main__":
    try:
        check(Path(sys.argv[1]))
    except LabError as error:
        sys.exit(f"airbound-lab: {error}")
