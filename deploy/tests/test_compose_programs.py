# SPDX-License-Identifier: Apache-2.0
"""What the Compose test runs in containers finds its modules there: the test itself needs an engine."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEPS = Path(__file__).with_name("compose-steps.sh").read_text(encoding="utf-8")


def test_the_agents_of_the_compose_test_start_in_the_controllers_image() -> None:
    command = STEPS[STEPS.index("start_agents()") :].partition("\n}")[0]
    mounted = {there: ROOT / here for here, there in re.findall(r'-v "\$ROOT/([^:]+):([^:]+):ro"', command)}
    [given] = re.findall(r"-e PYTHONPATH=(\S+)", command)
    # The image has the controller and its packages, and nothing that this checkout has installed as editable.
    paths = [mounted[path] for path in given.split(":")]
    paths += [ROOT / "controller", Path(sysconfig.get_path("platlib"))]
    done = subprocess.run(
        [sys.executable, "-S", mounted["/compose_cell.py"], "127.0.0.1:1", "127.0.0.1:1", "/nowhere"],
        env={"PYTHONPATH": ":".join(map(str, paths))},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "enrolled\n", done.stderr  # nobody; then it lacks an access point
