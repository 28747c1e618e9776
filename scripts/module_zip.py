# SPDX-License-Identifier: Apache-2.0
"""Writes a directory into a zip whose bytes depend on the files' content alone: sorted, with the time
$SOURCE_DATE_EPOCH and with one of two modes.

module_zip.py DIRECTORY ZIP
"""

import os
import sys
import time
import zipfile
from pathlib import Path

UNIX = 3
"""Of `create_system`: the attributes are a mode."""
OLDEST = (1980, 1, 1, 0, 0, 0)
"""No zip has an earlier time."""


def main(directory: Path, target: Path) -> None:
    """Text with line ends of Windows is refused: no shell of a phone reads it."""
    written = max(OLDEST, time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6])
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(each for each in directory.rglob("*") if each.is_file()):
            content = path.read_bytes()
            is_text = b"\0" not in content
            if is_text and b"\r" in content:
                sys.exit(f"{path}: a carriage return in text")
            entry = zipfile.ZipInfo(path.relative_to(directory).as_posix(), written)
            entry.create_system = UNIX
            entry.compress_type = zipfile.ZIP_DEFLATED
            executable = not is_text or content.startswith(b"#!")
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, content, compresslevel=9)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
