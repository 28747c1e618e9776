# SPDX-License-Identifier: Apache-2.0
"""Print the CycloneDX of a release: python -m release VERSION TIME FOLDER REQUIREMENTS PROGRAM=MODULES...

TIME is in seconds since 1970, FOLDER has the files of the release, REQUIREMENTS is the controller's lock file, MODULES
a file with a line "PATH VERSION" for each Go module of a program.
"""

import sys
from pathlib import Path

from release.parts import bom, file_hashes, go_modules, python_modules


def main(version: str, time_s: str, folder: str, requirements: str, *programs: str) -> None:
    """Read what the parts are, and print."""
    parts = {"airbound-controller": python_modules(Path(requirements).read_text(encoding="utf-8"))}
    for program in programs:
        name, _, modules = program.partition("=")
        parts[name] = go_modules(Path(modules).read_text(encoding="utf-8"))
    sys.stdout.write(bom(version, int(time_s), file_hashes(Path(folder)), parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
