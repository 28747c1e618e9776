# SPDX-License-Identifier: Apache-2.0
"""What a run needs of this machine: tools, our own programs, the lab's kernel."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from airbound_lab.errors import LabError, MissingError, UsageError
from airbound_lab.plan import applications as application_plan
from airbound_lab.plan.guest_paths import Programs
from airbound_lab.run import policies
from airbound_lab.run.cache import cache_directory
from airbound_lab.settings import variant
from airbound_lab.settings.values import DEFAULT_KERNEL_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound_lab.settings.values import KernelLine

REPOSITORY = Path(__file__).resolve().parents[3]
LAB = REPOSITORY / "lab" / "airbound_lab"
GUEST_PROGRAMS = LAB / "guest_programs"
KERNEL_VARIABLE = "AIRBOUND_LAB_KERNEL"
BUILD_SCRIPT = "lab/kernel/build.sh"

TOOL_PACKAGES = {
    "setarch": "util-linux",
    "python3": "python3",
    "ip": "iproute2",
    "tc": "iproute2",
    "iw": "iw",
    "hostapd": "hostapd",
    "wpa_supplicant": "wpasupplicant",
}
"""Debian's package for each tool. The tools are in the same directories on the host and in the guest."""

SWITCH_TOOL_PACKAGES = dict.fromkeys(
    ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl"), "openvswitch-switch"
)
"""Of an access point with an Open vSwitch."""

TRAFFIC_TOOL_PACKAGES = {"iperf3": "iperf3", "irtt": "irtt"}
"""Of a run with both (plan/real_programs.py)."""

APPLICATION_TOOL_PACKAGES = {
    "curl": "curl",
    "ffmpeg": "ffmpeg",
    "nginx": "nginx",
    application_plan.RTMP_MODULE: "libnginx-mod-rtmp",
}
"""Of a run with real applications (plan/applications.py)."""

LAB_SOURCES = (
    *(
        "figures/applications",
        "figures/checked",
        "figures/grants",
        "figures/measure",
        "figures/player",
        "figures/senders",
        "records/flv",
    ),
    *("guest_programs/applications_watch", "guest_programs/http_transactions", "guest_programs/operator_commands"),
    "guest_programs/senders_watch",
    *(
        "plan/applications",
        "plan/certificates",
        "plan/guest_paths",
        "plan/guest_plan",
        "plan/open_vswitch",
        "plan/quic",
        "plan/real_programs",
        "plan/topology",
    ),
    *(
        "run/boot",
        "run/policies",
        "run/runs",
        "run/videos",
        "settings/application",
        "settings/modes",
        "settings/qdisc",
        "settings/radio",
        "settings/scenario",
    ),
)
"""What a run is made of, beside its parameters and what runs in the guest."""

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def _tools(*, ovs: bool, debian_programs: bool = False, applications: bool = False) -> dict[str, str]:
    return (
        TOOL_PACKAGES
        | (SWITCH_TOOL_PACKAGES if ovs else {})
        | (TRAFFIC_TOOL_PACKAGES if debian_programs else {})
        | (APPLICATION_TOOL_PACKAGES if applications else {})
    )


def _where(tool: str, path: str) -> str | None:
    """Return where a tool is, or a file that a tool loads."""
    if tool.startswith("/"):
        return tool if Path(tool).is_file() else None
    return shutil.which(tool, path=path)


def check_tools(
    path: str = SYSTEM_PATH, *, ovs: bool = False, debian_programs: bool = False, applications: bool = False
) -> None:
    """Raise one MissingError with every missing tool and its package; `ovs`: those of Open vSwitch as well;
    `debian_programs`: iperf3 and irtt; `applications`: ffmpeg, curl and nginx.
    """
    tools = _tools(ovs=ovs, debian_programs=debian_programs, applications=applications)
    missing = [tool for tool in tools if _where(tool, path) is None]
    if missing:
        packages = " ".join(sorted({tools[tool] for tool in missing}))
        raise MissingError(
            f"this machine lacks {', '.join(missing)}; install with: apt-get install {packages} (or: make setup)"
        )


def programs(
    modes: Iterable[str],
    build: Path = REPOSITORY / "build",
    *,
    trace: bool = False,
    marks: bool = False,
    quic: bool = False,
) -> Programs:
    """Find our own programs; MissingError names those that are needed and not built. `marks`: applications mark what
    they send; `quic`: phones upload by QUIC.
    """
    modes = tuple(modes)
    interpreter, packages = _interpreter(os.environ.get("AIRBOUND_LAB_PYTHON", sys.executable))
    found = Programs(
        traffic=str(build / "airbound-traffic"),
        python=interpreter,
        controller_source=str(REPOSITORY / "controller"),
        access_point_agent=str(build / "airbound-ap"),
        phone_agent=str(build / "airbound-phone"),
        operator_commands=str(GUEST_PROGRAMS / "operator_commands.py"),
        senders_watch=str(GUEST_PROGRAMS / "senders_watch.py"),
        applications_watch=str(GUEST_PROGRAMS / "applications_watch.py"),
        http_transactions=str(GUEST_PROGRAMS / "http_transactions.py"),
        packages=packages,
        marks=str(build / "libairbound-mark.so"),
        quic=str(build / "airbound-quic") if quic else "",
        policies=policies.staged(variant.policy(mode) for mode in modes),
    )
    needed = [found.traffic, *([found.marks] if marks else []), *([found.quic] if quic else [])]
    if any(variant.has_agents(mode) for mode in modes):
        needed += [found.access_point_agent, found.phone_agent]
    elif trace:
        needed.append(found.phone_agent)
    missing = [name for name in needed if not os.access(name, os.X_OK)]
    if missing:
        raise MissingError(f"not built: {', '.join(missing)}; run: make build")
    return found


_ASK_INTERPRETER = """
import json, os, sys
packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
print(json.dumps([os.path.realpath(sys._base_executable), packages]))
"""


def _interpreter(python: str) -> tuple[str, tuple[str, ...]]:
    """Return the interpreter behind a Python, which may be of a virtual environment, and where its packages are."""
    try:
        answer = subprocess.run([python, "-I", "-c", _ASK_INTERPRETER], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UsageError(f"{python} does not run: {error}") from error
    interpreter, packages = json.loads(answer.stdout)
    return interpreter, tuple(packages)


def kernel(given: str | None, line: KernelLine = DEFAULT_KERNEL_LINE) -> Path:
    """Return the lab kernel's program: the given one, that of the environment, or one built now if none is cached.

    Only what is built now is of the line for certain: see `check_line`.
    """
    chosen = given or os.environ.get(KERNEL_VARIABLE)
    if not chosen:
        build = [str(REPOSITORY / BUILD_SCRIPT), "--line", line]
        result = subprocess.run(build, stdout=subprocess.PIPE, text=True, check=False)
        lines = result.stdout.strip().splitlines()
        if result.returncode != 0 or not lines:
            raise LabError(f"{' '.join(build)} failed (status {result.returncode}); its messages are above")
        chosen = lines[-1]
    path = Path(chosen).resolve()
    if not os.access(path, os.X_OK) or not path.is_file():
        raise UsageError(
            f"no kernel at {path}; build it with {BUILD_SCRIPT} --line {line}, or set --kernel or {KERNEL_VARIABLE}"
        )
    return path


def built_kernel(given: str | None, line: KernelLine = DEFAULT_KERNEL_LINE) -> Path:
    """Return the lab kernel's program as `kernel` does, but build none: MissingError if there is none yet."""
    if given or os.environ.get(KERNEL_VARIABLE):
        return kernel(given, line)
    script = [str(REPOSITORY / BUILD_SCRIPT), "--line", line, "--print-hash"]
    result = subprocess.run(script, capture_output=True, text=True, check=False)
    path = (
        cache_directory() / ("uml" if line == DEFAULT_KERNEL_LINE else f"uml-{line}") / result.stdout.strip() / "linux"
    )
    if result.returncode != 0 or not os.access(path, os.X_OK):
        raise MissingError(f"no kernel of Linux {line} is built; run: {BUILD_SCRIPT} --line {line}")
    return path.resolve()


def check_line(kernel: Path, line: KernelLine) -> None:
    """Raise UsageError if a kernel is not of this line, as it says itself."""
    try:
        result = subprocess.run([str(kernel), "--version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{kernel} does not name its version: {error}") from error
    version = result.stdout.strip()
    if not version.startswith(f"{line}."):
        raise UsageError(f"{kernel} is Linux {version or 'without a version'}, but --kernel-line is {line}")


def hashes(
    programs: Programs,
    *,
    agents: bool,
    ovs: bool = False,
    applications: bool = False,
    marks: bool = False,
    policy: str = "",
    path: str = SYSTEM_PATH,
) -> dict[str, str]:
    """Hashes of all programs that the figures of a run depend on, beside the kernel: tools, sources, our own programs.

    `policy`: the one from outside. Python's and the tools' libraries are not among them; a Debian release and the lock
    file pin those.
    """
    tools = _tools(ovs=ovs, applications=applications)
    found = {tool: sha256(Path(where)) for tool in tools if (where := _where(tool, path))}
    found["traffic"] = sha256(Path(programs.traffic))
    if marks:
        found["marks"] = sha256(Path(programs.marks))
    if programs.quic:
        found["quic"] = sha256(Path(programs.quic))
    found["lab"] = _sha256_of([*(LAB / f"{name}.py" for name in LAB_SOURCES), *(LAB / "guest").glob("*.py")])
    if agents:
        found["access point agent"] = sha256(Path(programs.access_point_agent))
        found["phone agent"] = sha256(Path(programs.phone_agent))
        found["controller"] = _sha256_of((Path(programs.controller_source) / "airbound").rglob("*.py"))
    if policy:
        found["policy"] = Path(dict(programs.policies)[policy]).name
    return found


def _sha256_of(paths: Iterable[Path]) -> str:
    """Hash of several files with their names, wherever the checkout is."""
    lines = sorted(f"{path.parent.name}/{path.name} {sha256(path)}" for path in paths)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def sha256(path: Path) -> str:
    """Hash of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
