# SPDX-License-Identifier: Apache-2.0
"""A file system of two megabytes that a test fills and frees. It is a tmpfs, which root alone may mount."""

import contextlib
import errno
import subprocess
from pathlib import Path
from typing import Self

SIZE_BYTES = 2 << 20
_BLOCK = bytes(4096)


class SmallDisk:
    """Mounted on a folder; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def __enter__(self) -> Self:
        """Mount it.

        Raises:
            RuntimeError: this process may not mount anything.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES},mode=0700", "airbound-test", str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"cannot mount a tmpfs, which needs root: {done.stderr.strip()}")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def fill(self) -> None:
        """Leave not one block."""
        with self._filler.open("ab", buffering=0) as filler:
            while True:
                try:
                    filler.write(_BLOCK)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    return

    def free(self) -> None:
        """Take away what `fill` wrote."""
        with contextlib.suppress(FileNotFoundError):
            self._filler.unlink()
